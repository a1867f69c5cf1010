// A serial arm on hinges: its RK4 step by pinocchio::aba, the differences of that step, and the
// derivative algorithms of the four stages. Samples are consecutive: x [K][2n], u [K][n].
#pragma once

#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/regressor.hpp>
#include <pinocchio/multibody.hpp>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace arm {

using Eigen::Map;
using Eigen::Vector3d;
using Eigen::VectorXd;
using RowMatrix3d = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
using Dynamic = Eigen::Matrix<double, 10, 1>;

// Per joint: mass, com (3), inertia about it (xx yy zz xy xz yz), damping, friction, armature,
// offset.
constexpr int kParameters = 14;

struct Arm {
  pinocchio::Model model;
  std::unique_ptr<pinocchio::Data> data;
  int n;
  double friction_velocity;
  std::vector<Dynamic> rest;  // inertia of the links that are fixed to each body
  VectorXd damping, friction, offset;
  VectorXd q, v, effort, acceleration, q0, v0, sum_v, sum_a;
};

// Pinocchio is fastest for hinges about a coordinate axis.
inline pinocchio::JointModel hinge(const Vector3d &axis) {
  if (axis.isApprox(Vector3d::UnitX())) return pinocchio::JointModelRX();
  if (axis.isApprox(Vector3d::UnitY())) return pinocchio::JointModelRY();
  if (axis.isApprox(Vector3d::UnitZ())) return pinocchio::JointModelRZ();
  return pinocchio::JointModelRevoluteUnaligned(axis);
}

inline void set_parameters(Arm &a, const double *parameters) {
  for (int i = 0; i < a.n; i++) {
    const double *p = parameters + kParameters * i;
    Eigen::Matrix3d moments;
    moments << p[4], p[7], p[8], p[7], p[5], p[9], p[8], p[9], p[6];
    const pinocchio::Inertia link(p[0], Vector3d(p[1], p[2], p[3]), moments);
    const Dynamic whole = link.toDynamicParameters() + a.rest[i];
    a.model.inertias[i + 1] = pinocchio::Inertia::FromDynamicParameters(whole);
    a.damping[i] = p[10];
    a.friction[i] = p[11];
    a.model.armature[i] = p[12];
    a.offset[i] = p[13];
  }
}

// Leave in a.effort what acts on the joints at (a.q, a.v).
inline void find_effort(Arm &a, const double *u) {
  for (int i = 0; i < a.n; i++)
    a.effort[i] = u[i] - a.damping[i] * a.v[i] -
                  a.friction[i] * std::tanh(a.v[i] / a.friction_velocity);
}

// One RK4 step from x to y; `accelerate` leaves the acceleration at (a.q, a.v, a.effort).
template <class Accelerate>
void step(Arm &a, const double *x, const double *u, double h, double *y, Accelerate accelerate) {
  const double along[] = {0.5, 0.5, 1.0, 0.0}, weight[] = {1.0, 2.0, 2.0, 1.0};
  a.q0 = Map<const VectorXd>(x, a.n) + a.offset;
  a.v0 = Map<const VectorXd>(x + a.n, a.n);
  a.q = a.q0;
  a.v = a.v0;
  a.sum_v.setZero();
  a.sum_a.setZero();
  for (int stage = 0; stage < 4; stage++) {
    find_effort(a, u);
    accelerate();
    a.sum_v += weight[stage] * a.v;
    a.sum_a += weight[stage] * a.acceleration;
    a.q = a.q0 + along[stage] * h * a.v;
    a.v = a.v0 + along[stage] * h * a.acceleration;
  }
  Map<VectorXd>(y, a.n) = a.q0 - a.offset + h / 6.0 * a.sum_v;
  Map<VectorXd>(y + a.n, a.n) = a.v0 + h / 6.0 * a.sum_a;
}

inline void plain_step(Arm &a, const double *x, const double *u, double h, double *y) {
  step(a, x, u, h, y, [&] {
    a.acceleration = pinocchio::aba(a.model, *a.data, a.q, a.v, a.effort,
                                    pinocchio::Convention::LOCAL);
  });
}

}  // namespace arm

extern "C" {

// placements [n][12]: rotation by rows, then translation, in the previous joint's frame.
// axes [n][3]; rest [n][10]: dynamic parameters in Pinocchio's order.
void *arm_new(int n, const double *placements, const double *axes, const double *rest,
              double friction_velocity) {
  auto *a = new arm::Arm;
  a->n = n;
  a->friction_velocity = friction_velocity;
  pinocchio::JointIndex last = 0;
  for (int i = 0; i < n; i++) {
    const pinocchio::SE3 place(arm::Map<const arm::RowMatrix3d>(placements + 12 * i),
                               arm::Map<const arm::Vector3d>(placements + 12 * i + 9));
    const arm::Vector3d axis = arm::Map<const arm::Vector3d>(axes + 3 * i);
    last = a->model.addJoint(last, arm::hinge(axis), place, "joint" + std::to_string(i));
    a->rest.push_back(arm::Map<const arm::Dynamic>(rest + 10 * i));
  }
  a->model.gravity.linear() << 0.0, 0.0, -9.81;
  a->data = std::make_unique<pinocchio::Data>(a->model);
  for (auto *vector : {&a->damping, &a->friction, &a->offset, &a->q, &a->v, &a->effort,
                       &a->acceleration, &a->q0, &a->v0, &a->sum_v, &a->sum_a})
    vector->setZero(n);
  return a;
}

void arm_delete(void *handle) { delete static_cast<arm::Arm *>(handle); }

// parameters [n][14].
void arm_set(void *handle, const double *parameters) {
  arm::set_parameters(*static_cast<arm::Arm *>(handle), parameters);
}

void arm_step(void *handle, long count, const double *x, const double *u, double h, double *y) {
  auto &a = *static_cast<arm::Arm *>(handle);
  for (long k = 0; k < count; k++)
    arm::plain_step(a, x + 2 * a.n * k, u + a.n * k, h, y + 2 * a.n * k);
}

// The same step; each stage also gets Pinocchio's derivatives by q, v and effort, and the torque
// regressor of the inertial parameters. They stay as they are: no chain rule joins the stages.
void arm_derivatives(void *handle, long count, const double *x, const double *u, double h,
                     double *y) {
  auto &a = *static_cast<arm::Arm *>(handle);
  for (long k = 0; k < count; k++)
    arm::step(a, x + 2 * a.n * k, u + a.n * k, h, y + 2 * a.n * k, [&] {
      pinocchio::computeABADerivatives(a.model, *a.data, a.q, a.v, a.effort);
      a.acceleration = a.data->ddq;
      pinocchio::computeJointTorqueRegressor(a.model, *a.data, a.q, a.v, a.acceleration);
    });
}

// Differences of the step, [columns][K][2n]; columns: state, parameters, duration, controls.
// Central where `central` is set, else forward.
void arm_differences(void *handle, long count, const double *x, const double *parameters,
                     const double *u, double h, double eps, int central, double *out) {
  auto &a = *static_cast<arm::Arm *>(handle);
  const int nx = 2 * a.n, np = arm::kParameters * a.n, columns = nx + np + 1 + a.n;
  std::vector<double> xs(x, x + nx * count), ps(parameters, parameters + np),
      us(u, u + a.n * count), base(nx * count), moved(nx * count);
  const auto steps_at = [&](int column, double by, std::vector<double> &result) {
    const int in_p = column - nx, in_u = in_p - np - 1;
    for (long k = 0; column < nx && k < count; k++) xs[nx * k + column] += by;
    for (long k = 0; in_u >= 0 && k < count; k++) us[a.n * k + in_u] += by;
    const bool moves_p = in_p >= 0 && in_p < np;
    if (moves_p) ps[in_p] += by;
    if (moves_p) arm::set_parameters(a, ps.data());
    arm_step(handle, count, xs.data(), us.data(), h + (in_p == np ? by : 0.0), result.data());
    for (long k = 0; column < nx && k < count; k++) xs[nx * k + column] = x[nx * k + column];
    for (long k = 0; in_u >= 0 && k < count; k++) us[a.n * k + in_u] = u[a.n * k + in_u];
    if (moves_p) ps[in_p] = parameters[in_p];
    if (moves_p) arm::set_parameters(a, ps.data());
  };
  arm_step(handle, count, x, u, h, base.data());
  for (int column = 0; column < columns; column++) {
    steps_at(column, eps, moved);
    if (central) steps_at(column, -eps, base);
    const double width = central ? 2.0 * eps : eps;
    for (long i = 0; i < nx * count; i++)
      out[nx * count * column + i] = (moved[i] - base[i]) / width;
  }
}

}  // extern "C"
