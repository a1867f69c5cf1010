#ifndef SENSOR_MSGS__MSG__JOINT_STATE_HPP_
#define SENSOR_MSGS__MSG__JOINT_STATE_HPP_

#include <string>
#include <vector>

#include "../../header.hpp"

namespace sensor_msgs::msg
{

struct JointState
{
  look_alikes::Header header;
  std::vector<std::string> name;
  std::vector<double> position, velocity, effort;
};

}  // namespace sensor_msgs::msg

#endif  // SENSOR_MSGS__MSG__JOINT_STATE_HPP_
