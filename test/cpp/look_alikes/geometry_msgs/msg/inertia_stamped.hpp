#ifndef GEOMETRY_MSGS__MSG__INERTIA_STAMPED_HPP_
#define GEOMETRY_MSGS__MSG__INERTIA_STAMPED_HPP_

#include "../../header.hpp"

namespace geometry_msgs::msg
{

struct Vector3
{
  double x = 0, y = 0, z = 0;
};

struct Inertia
{
  double m = 0;
  Vector3 com;
  double ixx = 0, ixy = 0, ixz = 0, iyy = 0, iyz = 0, izz = 0;
};

struct InertiaStamped
{
  look_alikes::Header header;
  Inertia inertia;
};

}  // namespace geometry_msgs::msg

#endif  // GEOMETRY_MSGS__MSG__INERTIA_STAMPED_HPP_
