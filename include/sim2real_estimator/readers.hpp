// Readers of ~/payload, ~/estimate and ~/samples for C++17, header only.
//
// Functions are templates of the message classes, so nothing but the messages themselves is needed:
//
//   #include <geometry_msgs/msg/inertia_stamped.hpp>
//   #include <sensor_msgs/msg/point_cloud2.hpp>
//   #include <sim2real_estimator/readers.hpp>
//
//   auto payload = sim2real_estimator::read_payload(inertia, cloud);  // of one stamp
//   if (payload && payload->valid && payload->sd(0) < 0.05) { ... payload->mean[0] ... }
//
// docs/messages.md has the fields. Units are SI. A message that contradicts itself gives
// std::nullopt, never numbers.

#ifndef SIM2REAL_ESTIMATOR__READERS_HPP_
#define SIM2REAL_ESTIMATOR__READERS_HPP_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sim2real_estimator
{

// Mass [kg], centre of mass [m], inertia about that centre [kg m^2], in this order.
constexpr std::array<const char *, 10> payload_numbers = {
  "mass", "com.x", "com.y", "com.z", "inertia.xx",
  "inertia.xy", "inertia.xz", "inertia.yy", "inertia.yz", "inertia.zz"};

// Columns of a PointCloud2 of FLOAT64 fields: name -> values of all points, one after the other.
using Columns = std::map<std::string, std::vector<double>>;

// What a link holds; frame: in which it is given; reason: number of why it is not valid.
struct Payload
{
  std::string frame;
  std::int64_t stamp_ns = 0;
  std::array<double, 10> mean{};
  std::array<std::array<double, 10>, 10> covariance{};
  double probability = 0.0;
  bool valid = false;
  int reason = 0;

  // Standard deviation of one of the numbers.
  double sd(std::size_t number) const
  {
    return std::sqrt(std::max(covariance[number][number], 0.0));
  }
};

// Mean and standard deviation of a parameter, or of a combination of parameters.
struct Belief
{
  double mean = 0.0;
  double sd = 0.0;
};

namespace detail
{

constexpr std::uint8_t float64 = 8;

// Return a number whose bytes begin at a place.
inline double number_at(const std::uint8_t * place, bool is_bigendian)
{
  const std::uint16_t one = 1;
  std::uint8_t first;
  std::memcpy(&first, &one, 1);
  const bool is_little = first == 1;
  std::array<std::uint8_t, sizeof(double)> bytes;
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    bytes[k] = is_little == is_bigendian ? place[bytes.size() - 1 - k] : place[k];
  }
  double value;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

template<typename Message>
std::int64_t stamp_ns_of(const Message & message)
{
  return std::int64_t{1000000000} * message.header.stamp.sec + message.header.stamp.nanosec;
}

}  // namespace detail

// Return the columns of a PointCloud2; nothing where its layout and its data contradict each other.
template<typename PointCloud2>
std::optional<Columns> read_cloud(const PointCloud2 & message)
{
  const std::size_t step = message.point_step;
  const std::size_t points = std::size_t{message.width} * message.height;
  if (step == 0 ? points != 0 : message.data.size() / step != points ||
    message.data.size() % step != 0)
  {
    return std::nullopt;
  }
  Columns columns;
  for (const auto & field : message.fields) {
    const std::size_t size = sizeof(double) * std::size_t{field.count};
    if (field.datatype != detail::float64 || field.offset > step || size > step - field.offset) {
      return std::nullopt;
    }
    std::vector<double> values;
    values.reserve(points * field.count);
    for (std::size_t point = 0; point < points; ++point) {
      const std::uint8_t * place = message.data.data() + point * step + field.offset;
      for (std::size_t k = 0; k < field.count; ++k) {
        values.push_back(detail::number_at(place + k * sizeof(double), message.is_bigendian));
      }
    }
    columns[field.name] = std::move(values);
  }
  return columns;
}

// Return the payload of ~/payload and ~/payload_uncertainty; nothing where the two are not of one
// instant and frame, or not of this package.
template<typename InertiaStamped, typename PointCloud2>
std::optional<Payload> read_payload(const InertiaStamped & inertia, const PointCloud2 & cloud)
{
  Payload payload;
  payload.frame = inertia.header.frame_id;
  payload.stamp_ns = detail::stamp_ns_of(inertia);
  if (payload.stamp_ns != detail::stamp_ns_of(cloud) || payload.frame != cloud.header.frame_id) {
    return std::nullopt;
  }
  const auto columns = read_cloud(cloud);
  if (!columns) {
    return std::nullopt;
  }
  const auto find = [&](const std::string & name, std::size_t size) -> const double * {
      const auto found = columns->find(name);
      return found != columns->end() && found->second.size() == size ? found->second.data() :
             nullptr;
    };
  const double * probability = find("probability", 1);
  const double * valid = find("valid", 1);
  const double * reason = find("reason", 1);
  if (!probability || !valid || !reason) {
    return std::nullopt;
  }
  const auto & own = inertia.inertia;
  payload.mean = {own.m, own.com.x, own.com.y, own.com.z, own.ixx, own.ixy, own.ixz, own.iyy,
    own.iyz, own.izz};
  for (std::size_t row = 0; row < payload_numbers.size(); ++row) {
    const double * values = find(std::string("cov/") + payload_numbers[row], 10);
    if (!values) {
      return std::nullopt;
    }
    std::copy(values, values + 10, payload.covariance[row].begin());
  }
  payload.probability = *probability;
  payload.valid = *valid == 1.0;
  payload.reason = static_cast<int>(*reason);
  return payload;
}

// Return name -> mean and standard deviation of ~/estimate; nothing where numbers are missing.
template<typename JointState>
std::optional<std::map<std::string, Belief>> read_estimate(const JointState & message)
{
  const std::size_t size = message.name.size();
  if (message.position.size() != size || message.velocity.size() != size) {
    return std::nullopt;
  }
  std::map<std::string, Belief> beliefs;
  for (std::size_t k = 0; k < size; ++k) {
    beliefs[message.name[k]] = {message.position[k], message.velocity[k]};
  }
  return beliefs;
}

// Return parameter -> draws of ~/samples; draws of the same index belong together.
template<typename PointCloud2>
std::optional<Columns> read_samples(const PointCloud2 & message)
{
  return read_cloud(message);
}

}  // namespace sim2real_estimator

#endif  // SIM2REAL_ESTIMATOR__READERS_HPP_
