// Readers of the topics that controllers and planners take from sim2real_estimator.
//
// C++17, this header only. Every function is a template over the message, so that it takes those
// of geometry_msgs and sensor_msgs, and any struct with the same members; no ROS header is
// included. docs/messages.md lists the layouts.
//
// Errors: a message that contradicts itself, or is of another topic, throws a LayoutError, whose
// what() is a sentence; the reading given to it then holds anything, and a Payload is not valid.
// Nothing is read outside of the bytes of a message, whatever it says of itself, and numbers
// arrive bit for bit in either order of bytes.
//
// Memory: a reading that is given again is filled in place: payloads, estimates and bands allocate
// nothing unless a message is larger than those before, and an error its sentence. Samples and
// posteriors also allocate a list of their names for a moment. No reading takes more than a small
// multiple of its message.

#ifndef SIM2REAL_ESTIMATOR__READERS_HPP_
#define SIM2REAL_ESTIMATOR__READERS_HPP_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sim2real_estimator
{

/// A message is not what its topic has; what() says why and what to do.
class LayoutError : public std::runtime_error
{
public:
  using std::runtime_error::runtime_error;
};

/// The stamp in the header of a message [ns].
template<typename Message>
std::int64_t stamp_ns(const Message & message)
{
  return std::int64_t{1000000000} * message.header.stamp.sec + message.header.stamp.nanosec;
}

/// The place of a name, if it is there.
inline std::optional<std::size_t> find(
  const std::vector<std::string> & names, std::string_view name)
{
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(found - names.begin());
}

// Fields of a PointCloud2 ------------------------------------------------------------------------

namespace detail
{

static_assert(
  std::numeric_limits<double>::is_iec559 && sizeof(double) == 8, "FLOAT64 is a double here");

inline constexpr std::uint8_t kFloat64 = 8;

inline bool begins_with(std::string_view text, std::string_view beginning)
{
  return text.substr(0, beginning.size()) == beginning;
}

/// A PointCloud2 whose fields are FLOAT64 and lie beside one another within its points.
template<typename Cloud>
class Table
{
public:
  /// Check the cloud, which must outlive this.
  Table(const Cloud & cloud, const char * topic)
  : cloud_(cloud), topic_(topic)
  {
    rows_ = std::uint64_t{cloud.width} * cloud.height;
    const std::uint64_t step = cloud.point_step, bytes = cloud.data.size();
    // By division, since the product of three numbers of 32 bits may not fit into 64.
    const bool is_whole = step > 0 ? bytes % step == 0 && bytes / step == rows_ : bytes == 0;
    if (!is_whole) {
      refuse(
        "a cloud of " + std::to_string(rows_) + " points of " + std::to_string(step) +
        " bytes has " + std::to_string(bytes) + " bytes");
    }
    std::uint64_t used = 0;
    for (const auto & field : cloud.fields) {
      const std::uint64_t size = std::uint64_t{sizeof(double)} * field.count;
      if (field.datatype != kFloat64 || field.count == 0) {
        refuse("field '" + field.name + "' is not of FLOAT64 numbers");
      }
      if (field.offset + size > step) {
        refuse("field '" + field.name + "' does not fit into a point");
      }
      used += size;
    }
    // With it no reading is larger than its message.
    if (cloud.fields.empty() || used > step) {
      refuse("there are no fields, or they overlap");
    }
  }

  /// Number of points.
  std::size_t rows() const {return static_cast<std::size_t>(rows_);}

  /// The place of the first field of a name, which must have so many numbers.
  std::size_t place(const char * beginning, const char * end, std::size_t count) const
  {
    std::size_t k = 0;
    while (k < cloud_.fields.size() && !is_named(k, beginning, end)) {
      ++k;
    }
    expect(k, beginning, end, count);
    return k;
  }

  /// Refuse the cloud unless a field, by its place, has this name and so many numbers.
  void expect(
    std::size_t field, std::string_view beginning, std::string_view end, std::size_t count) const
  {
    if (field >= cloud_.fields.size() || !is_named(field, beginning, end) ||
      cloud_.fields[field].count != count)
    {
      refuse(
        "there is no field '" + std::string(beginning) + std::string(end) + "' of " +
        std::to_string(count) + " numbers where it should be");
    }
  }

  /// A number of a field: of a point below rows(), at a place below the field's count.
  double number(std::size_t field, std::size_t row, std::size_t k) const
  {
    const std::size_t at = row * cloud_.point_step + cloud_.fields[field].offset;
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < sizeof(double); ++i) {
      const std::size_t byte = cloud_.is_bigendian ? i : sizeof(double) - 1 - i;
      bits = bits << 8 | cloud_.data[at + sizeof(double) * k + byte];
    }
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }

  [[noreturn]] void refuse(const std::string & why) const
  {
    throw LayoutError(why + "; listen to " + topic_);
  }

private:
  bool is_named(std::size_t field, std::string_view beginning, std::string_view end) const
  {
    const std::string_view name = cloud_.fields[field].name;
    return begins_with(name, beginning) && name.substr(beginning.size()) == end;
  }

  const Cloud & cloud_;
  const char * topic_;
  std::uint64_t rows_ = 0;
};

/// Tell whether no two names are the same.
inline bool is_unique(const std::vector<std::string> & names)
{
  std::vector<std::string_view> sorted(names.begin(), names.end());
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
}

}  // namespace detail

// ~/payload with ~/payload_uncertainty -----------------------------------------------------------

/// The numbers of a payload, in the order of geometry_msgs/Inertia.
inline constexpr std::array<const char *, 10> kPayloadNumbers{
  "mass", "com.x", "com.y", "com.z", "inertia.xx", "inertia.xy", "inertia.xz", "inertia.yy",
  "inertia.yz", "inertia.zz"};

/// Reason of a payload that is not valid while nothing is known, and where none is given.
inline constexpr int kUnknownReason = 1;
/// What is above is no reason.
inline constexpr int kMostReasons = 255;

/// What a link holds, and how well that is known.
struct Payload
{
  std::int64_t stamp_ns = 0;
  /// Of the link or tool in which it is given.
  std::string frame;
  /// The kPayloadNumbers: [kg], [m], about the centre of mass [kg m^2]; zero: nothing is held.
  std::array<double, 10> mean{};
  std::array<std::array<double, 10>, 10> covariance{};
  /// Of the cause to which the last change was put down.
  double probability = 0.0;
  /// Whether it may be relied on; only then are all numbers certainly finite.
  bool valid = false;
  /// Why it is not valid, a number of the table in docs/messages.md; 0 where it is.
  int reason = 0;

  double mass() const {return mean[0];}
  /// Standard deviation of a number, by its place.
  double sd(std::size_t k) const {return std::sqrt(std::max(covariance[k][k], 0.0));}
};

/// Tell whether both messages have come, and are of the same instant and frame.
template<typename Inertia, typename Cloud>
bool is_pair(const Inertia & inertia, const Cloud & cloud)
{
  return !cloud.fields.empty() && stamp_ns(inertia) == stamp_ns(cloud) &&
         inertia.header.frame_id == cloud.header.frame_id;
}

/// Read a geometry_msgs/InertiaStamped of ~/payload, and the PointCloud2 that is its pair.
template<typename Inertia, typename Cloud>
void read_payload(const Inertia & inertia, const Cloud & cloud, Payload & payload)
{
  payload.valid = false;
  const detail::Table<Cloud> table(cloud, "~/payload_uncertainty");
  if (!is_pair(inertia, cloud)) {
    throw LayoutError("the two messages are of different instants or frames; wait for is_pair");
  }
  // Probability, valid, reason, and of each number its mean and its row.
  if (table.rows() != 1 || cloud.fields.size() != 3 + 2 * kPayloadNumbers.size()) {
    table.refuse("the points or fields are not those of a payload");
  }
  payload.stamp_ns = stamp_ns(inertia);
  payload.frame = inertia.header.frame_id;
  const auto & own = inertia.inertia;
  payload.mean = {
    own.m, own.com.x, own.com.y, own.com.z, own.ixx, own.ixy, own.ixz, own.iyy, own.iyz, own.izz};
  const auto one = [&](const char * name) {return table.number(table.place("", name, 1), 0, 0);};
  payload.probability = one("probability");
  const double valid = one("valid"), reason = one("reason");
  bool is_finite = std::isfinite(payload.probability);
  for (std::size_t i = 0; i < 10; ++i) {
    const double mean = table.number(table.place("mean/", kPayloadNumbers[i], 1), 0, 0);
    if (std::memcmp(&mean, &payload.mean[i], sizeof(mean)) != 0) {
      table.refuse(
        std::string("the two messages differ in '") + kPayloadNumbers[i] + "'");
    }
    const std::size_t row = table.place("cov/", kPayloadNumbers[i], 10);
    is_finite = is_finite && std::isfinite(mean);
    for (std::size_t k = 0; k < 10; ++k) {
      payload.covariance[i][k] = table.number(row, 0, k);
      is_finite = is_finite && std::isfinite(payload.covariance[i][k]);
    }
  }
  if (valid == 1.0 && !is_finite) {
    table.refuse("a valid payload has a number that is not finite");
  }
  payload.valid = valid == 1.0;
  const bool is_reason = reason >= kUnknownReason && reason <= kMostReasons;
  payload.reason = payload.valid ? 0 : is_reason ? static_cast<int>(reason) : kUnknownReason;
}

template<typename Inertia, typename Cloud>
Payload read_payload(const Inertia & inertia, const Cloud & cloud)
{
  Payload payload;
  read_payload(inertia, cloud, payload);
  return payload;
}

// ~/estimate and ~/bands -------------------------------------------------------------------------

/// Mean and standard deviation of every parameter, then of combinations that data can tell.
struct Estimate
{
  std::int64_t stamp_ns = 0;
  std::vector<std::string> names;
  std::vector<double> mean;
  std::vector<double> sd;
  /// Values in the heaviest mode, NaN for combinations; empty where there is one mode.
  std::vector<double> heaviest;
};

/// Read a sensor_msgs/JointState of ~/estimate.
template<typename JointState>
void read_estimate(const JointState & message, Estimate & estimate)
{
  const std::size_t size = message.name.size();
  if (message.position.size() != size || message.velocity.size() != size ||
    (!message.effort.empty() && message.effort.size() != size))
  {
    throw LayoutError("not every name has a mean and a deviation; listen to ~/estimate");
  }
  estimate.stamp_ns = stamp_ns(message);
  estimate.names.assign(message.name.begin(), message.name.end());
  estimate.mean.assign(message.position.begin(), message.position.end());
  estimate.sd.assign(message.velocity.begin(), message.velocity.end());
  estimate.heaviest.assign(message.effort.begin(), message.effort.end());
}

template<typename JointState>
Estimate read_estimate(const JointState & message)
{
  Estimate estimate;
  read_estimate(message, estimate);
  return estimate;
}

/// Mean, 5 % and 95 % quantile of every parameter.
struct Bands
{
  std::int64_t stamp_ns = 0;
  std::vector<std::string> names;
  std::vector<double> mean;
  std::vector<double> low;
  std::vector<double> high;
};

/// Read a sensor_msgs/JointState of ~/bands.
template<typename JointState>
void read_bands(const JointState & message, Bands & bands)
{
  const std::size_t size = message.name.size();
  if (message.position.size() != size || message.velocity.size() != size ||
    message.effort.size() != size)
  {
    throw LayoutError("not every name has a mean, a low and a high; listen to ~/bands");
  }
  bands.stamp_ns = stamp_ns(message);
  bands.names.assign(message.name.begin(), message.name.end());
  bands.mean.assign(message.position.begin(), message.position.end());
  bands.low.assign(message.velocity.begin(), message.velocity.end());
  bands.high.assign(message.effort.begin(), message.effort.end());
}

template<typename JointState>
Bands read_bands(const JointState & message)
{
  Bands bands;
  read_bands(message, bands);
  return bands;
}

// ~/samples --------------------------------------------------------------------------------------

/// Draws of all parameters; those of one draw belong together.
struct Samples
{
  std::int64_t stamp_ns = 0;
  std::vector<std::string> names;
  /// Number of draws.
  std::size_t count = 0;
  /// One draw after the other, each in the order of the names.
  std::vector<double> values;

  /// A number of a draw, by the place of its name.
  double at(std::size_t draw, std::size_t name) const {return values[draw * names.size() + name];}
};

/// Read a sensor_msgs/PointCloud2 of ~/samples.
template<typename Cloud>
void read_samples(const Cloud & message, Samples & samples)
{
  const detail::Table<Cloud> table(message, "~/samples");
  samples.stamp_ns = stamp_ns(message);
  samples.count = table.rows();
  samples.names.resize(message.fields.size());
  for (std::size_t k = 0; k < message.fields.size(); ++k) {
    if (message.fields[k].count != 1) {
      table.refuse("field '" + message.fields[k].name + "' has more than one number");
    }
    samples.names[k] = message.fields[k].name;
  }
  if (!detail::is_unique(samples.names)) {
    table.refuse("two fields have the same name");
  }
  samples.values.resize(samples.count * samples.names.size());
  for (std::size_t row = 0, at = 0; row < samples.count; ++row) {
    for (std::size_t k = 0; k < samples.names.size(); ++k, ++at) {
      samples.values[at] = table.number(k, row, 0);
    }
  }
}

template<typename Cloud>
Samples read_samples(const Cloud & message)
{
  Samples samples;
  read_samples(message, samples);
  return samples;
}

// ~/posterior ------------------------------------------------------------------------------------

/// The mixture of normal distributions of the coordinates, which ~/coordinates maps to parameters.
struct Posterior
{
  std::int64_t stamp_ns = 0;
  /// Of the p coordinates, such as log(elbow.damping).
  std::vector<std::string> labels;
  /// Of the K components, which sum to one.
  std::vector<double> weights;
  /// K times p, and K times p times p.
  std::vector<double> means;
  std::vector<double> covariances;

  double mean(std::size_t component, std::size_t coordinate) const
  {
    return means[component * labels.size() + coordinate];
  }
  double covariance(std::size_t component, std::size_t row, std::size_t column) const
  {
    return covariances[(component * labels.size() + row) * labels.size() + column];
  }
};

/// Read a sensor_msgs/PointCloud2 of ~/posterior.
template<typename Cloud>
void read_posterior(const Cloud & message, Posterior & posterior)
{
  constexpr std::string_view kMean = "mean/", kCovariance = "cov/";
  const detail::Table<Cloud> table(message, "~/posterior");
  table.expect(0, "weight", "", 1);
  // The weight, the means, and as many rows, in one order.
  const std::size_t rows = table.rows(), size = (message.fields.size() - 1) / 2;
  posterior.stamp_ns = stamp_ns(message);
  posterior.labels.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    std::string_view label = message.fields[1 + i].name;
    label.remove_prefix(std::min(kMean.size(), label.size()));
    posterior.labels[i] = label;
    table.expect(1 + i, kMean, label, 1);
    table.expect(1 + size + i, kCovariance, label, size);
  }
  if (size == 0 || message.fields.size() != 1 + 2 * size || !detail::is_unique(posterior.labels)) {
    table.refuse("the fields are not those of a posterior");
  }
  posterior.weights.resize(rows);
  posterior.means.resize(rows * size);
  posterior.covariances.resize(rows * size * size);
  for (std::size_t row = 0; row < rows; ++row) {
    posterior.weights[row] = table.number(0, row, 0);
    for (std::size_t i = 0; i < size; ++i) {
      posterior.means[row * size + i] = table.number(1 + i, row, 0);
      for (std::size_t k = 0; k < size; ++k) {
        posterior.covariances[(row * size + i) * size + k] = table.number(1 + size + i, row, k);
      }
    }
  }
}

template<typename Cloud>
Posterior read_posterior(const Cloud & message)
{
  Posterior posterior;
  read_posterior(message, posterior);
  return posterior;
}

}  // namespace sim2real_estimator

#endif  // SIM2REAL_ESTIMATOR__READERS_HPP_
