// Messages of the bytes that travel (CDR, little endian): those of ROS, or the look-alikes.

#ifndef MESSAGES_OF_BYTES_HPP_
#define MESSAGES_OF_BYTES_HPP_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <geometry_msgs/msg/inertia_stamped.hpp>
#include <sensor_msgs/msg/joint_state.hpp>
#include <sensor_msgs/msg/point_cloud2.hpp>

using geometry_msgs::msg::InertiaStamped;
using sensor_msgs::msg::JointState;
using sensor_msgs::msg::PointCloud2;
using sensor_msgs::msg::PointField;

/// Takes numbers and texts one after the other; a runtime_error at the end of the bytes.
class Bytes
{
public:
  explicit Bytes(std::vector<char> content, std::size_t head)
  : content_(std::move(content)), at_(head), head_(head) {}

  template<typename Number>
  std::enable_if_t<std::is_arithmetic_v<Number>> take(Number & number)
  {
    at_ += (sizeof(number) - (at_ - head_) % sizeof(number)) % sizeof(number);
    std::memcpy(&number, ahead(sizeof(number)), sizeof(number));
  }

  void take(std::string & text)
  {
    std::uint32_t size;
    take(size);
    const char * begin = ahead(size);
    text.assign(begin, begin + size - 1);
  }

  template<typename Item>
  void take(std::vector<Item> & items)
  {
    std::uint32_t size;
    take(size);
    items.resize(size);
    for (auto & item : items) {
      take(item);
    }
  }

  template<typename ... Parts>
  void take_all(Parts & ... parts) {(take(parts), ...);}

  void take(PointField & field)
  {
    take_all(field.name, field.offset, field.datatype, field.count);
  }

  template<typename Header>
  void take_header(Header & header)
  {
    take_all(header.stamp.sec, header.stamp.nanosec, header.frame_id);
  }

  void take(JointState & m)
  {
    take_header(m.header);
    take_all(m.name, m.position, m.velocity, m.effort);
  }

  void take(PointCloud2 & m)
  {
    take_header(m.header);
    std::uint8_t is_bigendian, is_dense;
    take_all(m.height, m.width, m.fields, is_bigendian, m.point_step, m.row_step, m.data, is_dense);
    m.is_bigendian = is_bigendian;
    m.is_dense = is_dense;
  }

  void take(InertiaStamped & m)
  {
    auto & i = m.inertia;
    take_header(m.header);
    take_all(i.m, i.com.x, i.com.y, i.com.z, i.ixx, i.ixy, i.ixz, i.iyy, i.iyz, i.izz);
  }

private:
  const char * ahead(std::size_t size)
  {
    if (at_ > content_.size() || size > content_.size() - at_) {
      throw std::runtime_error("the bytes of a message are cut off");
    }
    at_ += size;
    return content_.data() + at_ - size;
  }

  std::vector<char> content_;
  std::size_t at_, head_;
};

/// Return the message in a file.
template<typename Message>
Message of_file(const std::string & path)
{
  std::ifstream file(path, std::ios::binary);
  std::vector<char> content{std::istreambuf_iterator<char>(file), {}};
  Message message;
  constexpr std::size_t kMark = 4;  // of the order of bytes, before the fields
  Bytes(std::move(content), kMark).take(message);
  return message;
}

#endif  // MESSAGES_OF_BYTES_HPP_
