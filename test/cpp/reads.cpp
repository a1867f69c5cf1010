// Reads messages from files, and prints what the readers found: one line of JSON per question.
//
// A line of the input is a topic and the files of its messages. Numbers are printed in hexadecimal,
// with all their bits. Everything is read twice into the same reading, and the allocations of the
// second time are counted.

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include <sim2real_estimator/readers.hpp>

#include "messages_of_bytes.hpp"

namespace reading = sim2real_estimator;

namespace
{

std::size_t allocations = 0;

std::string text(double number)
{
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), "\"%a\"", number);
  return buffer;
}

std::string text(const std::string & name) {return '"' + name + '"';}

template<typename Items>
std::string list(const Items & items)
{
  std::string line = "[";
  for (const auto & item : items) {
    line += (line.size() > 1 ? ", " : "") + text(item);
  }
  return line + "]";
}

std::string line_of(const reading::Payload & found)
{
  std::vector<double> covariance;
  for (const auto & row : found.covariance) {
    covariance.insert(covariance.end(), row.begin(), row.end());
  }
  return "\"frame\": " + text(found.frame) + ", \"mean\": " + list(found.mean) +
         ", \"covariance\": " + list(covariance) + ", \"valid\": " +
         std::to_string(found.valid) + ", \"reason\": " + std::to_string(found.reason) +
         ", \"probability\": " + text(found.probability) + ", \"sd\": " + text(found.sd(0));
}

std::string line_of(const reading::Estimate & found)
{
  return "\"names\": " + list(found.names) + ", \"mean\": " + list(found.mean) + ", \"sd\": " +
         list(found.sd) + ", \"heaviest\": " + list(found.heaviest);
}

std::string line_of(const reading::Bands & found)
{
  return "\"names\": " + list(found.names) + ", \"mean\": " + list(found.mean) + ", \"low\": " +
         list(found.low) + ", \"high\": " + list(found.high);
}

std::string line_of(const reading::Samples & found)
{
  std::vector<double> by_draw;
  for (std::size_t draw = 0; draw < found.count; ++draw) {
    for (std::size_t k = 0; k < found.names.size(); ++k) {
      by_draw.push_back(found.at(draw, k));
    }
  }
  const auto place = reading::find(found.names, found.names.back());
  return "\"names\": " + list(found.names) + ", \"values\": " + list(by_draw) + ", \"last\": " +
         std::to_string(place.value()) + ", \"none\": " +
         std::to_string(reading::find(found.names, "nobody").has_value());
}

std::string line_of(const reading::Posterior & found)
{
  std::vector<double> means, covariances;
  for (std::size_t k = 0; k < found.weights.size(); ++k) {
    for (std::size_t i = 0; i < found.labels.size(); ++i) {
      means.push_back(found.mean(k, i));
      for (std::size_t j = 0; j < found.labels.size(); ++j) {
        covariances.push_back(found.covariance(k, i, j));
      }
    }
  }
  return "\"labels\": " + list(found.labels) + ", \"weights\": " + list(found.weights) +
         ", \"means\": " + list(means) + ", \"covariances\": " + list(covariances);
}

/// Read twice, and print what was found.
template<typename Reading, typename Read>
void answer(Read read)
{
  Reading found;
  read(found);
  const std::size_t before = allocations;
  read(found);
  const std::size_t allocated = allocations - before;
  std::cout << "{\"stamp_ns\": " << found.stamp_ns << ", \"allocations\": " << allocated << ", " <<
    line_of(found) << "}\n";
}

void answer_line(const std::string & topic, const std::string & path, const std::string & other)
{
  if (topic == "payload") {
    const auto inertia = of_file<InertiaStamped>(path);
    const auto cloud = of_file<PointCloud2>(other);
    answer<reading::Payload>([&](auto & found) {reading::read_payload(inertia, cloud, found);});
  } else if (topic == "pair") {
    const auto inertia = of_file<InertiaStamped>(path);
    const auto cloud = of_file<PointCloud2>(other);
    std::cout << "{\"is_pair\": " << reading::is_pair(inertia, cloud) << "}\n";
  } else if (topic == "estimate") {
    const auto message = of_file<JointState>(path);
    answer<reading::Estimate>([&](auto & found) {reading::read_estimate(message, found);});
  } else if (topic == "bands") {
    const auto message = of_file<JointState>(path);
    answer<reading::Bands>([&](auto & found) {reading::read_bands(message, found);});
  } else if (topic == "samples") {
    const auto message = of_file<PointCloud2>(path);
    answer<reading::Samples>([&](auto & found) {reading::read_samples(message, found);});
  } else {
    const auto message = of_file<PointCloud2>(path);
    answer<reading::Posterior>([&](auto & found) {reading::read_posterior(message, found);});
  }
}

}  // namespace

// Counted, whoever allocates.
void * operator new(std::size_t size)
{
  ++allocations;
  if (void * found = std::malloc(size)) {
    return found;
  }
  throw std::bad_alloc();
}

void operator delete(void * memory) noexcept {std::free(memory);}
void operator delete(void * memory, std::size_t) noexcept {std::free(memory);}

int main()
{
  for (std::string line; std::getline(std::cin, line); ) {
    std::istringstream words(line);
    std::string topic, path, other;
    words >> topic >> path >> other;
    try {
      answer_line(topic, path, other);
    } catch (const reading::LayoutError & error) {
      std::string sentence;
      for (const char letter : std::string(error.what())) {
        // A text of JSON, whatever bytes a name has.
        const bool is_plain = letter >= ' ' && letter <= '~' && letter != '"' && letter != '\\';
        sentence += is_plain ? letter : '?';
      }
      std::cout << "{\"error\": " << text(sentence) << "}\n";
    }
  }
  return 0;
}
