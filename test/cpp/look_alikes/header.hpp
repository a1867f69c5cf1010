// Structs with the members of the messages, for computers without the headers of ROS.

#ifndef HEADER_HPP_
#define HEADER_HPP_

#include <cstdint>
#include <string>

namespace look_alikes
{

struct Time
{
  std::int32_t sec = 0;
  std::uint32_t nanosec = 0;
};

struct Header
{
  Time stamp;
  std::string frame_id;
};

}  // namespace look_alikes

#endif  // HEADER_HPP_
