#ifndef SENSOR_MSGS__MSG__POINT_CLOUD2_HPP_
#define SENSOR_MSGS__MSG__POINT_CLOUD2_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "../../header.hpp"

namespace sensor_msgs::msg
{

struct PointField
{
  std::string name;
  std::uint32_t offset = 0;
  std::uint8_t datatype = 0;
  std::uint32_t count = 0;
};

struct PointCloud2
{
  look_alikes::Header header;
  std::uint32_t height = 0, width = 0;
  std::vector<PointField> fields;
  bool is_bigendian = false;
  std::uint32_t point_step = 0, row_step = 0;
  std::vector<std::uint8_t> data;
  bool is_dense = false;
};

}  // namespace sensor_msgs::msg

#endif  // SENSOR_MSGS__MSG__POINT_CLOUD2_HPP_
