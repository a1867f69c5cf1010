// Rods on spherical joints: gradient of the summed Huber loss of their headings by the lengths.
// Columns are samples, as in the limit: x0 [nx][B], lengths [n][B], targets [H][3n][B].
#pragma once

#include <omp.h>
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/multibody.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace rods {

using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

constexpr double kRadius = 0.05, kMass = 1.0, kDelta = 0.1;

inline pinocchio::Model chain(int n) {
  pinocchio::Model model;
  pinocchio::JointIndex last = 0;
  for (int i = 0; i < n; i++)
    last = model.addJoint(last, pinocchio::JointModelSpherical(), pinocchio::SE3::Identity(),
                          "ball" + std::to_string(i));
  model.gravity.linear() << 0.0, 0.0, -9.81;
  return model;
}

// A length moves the next joint and the rod's own inertia.
inline void set_lengths(pinocchio::Model &model, const std::vector<double> &lengths) {
  for (size_t i = 0; i < lengths.size(); i++) {
    const double l = lengths[i], across = kMass * (l * l / 12 + kRadius * kRadius / 4);
    if (i) model.jointPlacements[i + 1].translation() = Vector3d(0, 0, -lengths[i - 1]);
    const Matrix3d moments = Vector3d(across, across, kMass * kRadius * kRadius / 2).asDiagonal();
    model.inertias[i + 1] = pinocchio::Inertia(kMass, Vector3d(0, 0, -l / 2), moments);
  }
}

// Quaternions are wxyz in x0 and xyzw in Pinocchio.
inline void read_state(int n, long batch, const double *x0, long b, VectorXd &q, VectorXd &v) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 4; k++) q[4 * i + (k + 3) % 4] = x0[(4 * i + k) * batch + b];
  for (int i = 0; i < 3 * n; i++) v[i] = x0[(4 * n + i) * batch + b];
}

// Semi-implicit Euler; the acceleration is in `a`.
inline void advance(const pinocchio::Model &model, const VectorXd &a, double h, VectorXd &q,
                    VectorXd &v, VectorXd &turn, VectorXd &before) {
  v += h * a;
  turn = h * v;
  before = q;
  pinocchio::integrate(model, before, turn, q);
}

// Adds the loss of one instant. `seen(i, R, c)` is told the rotation of every link and the slope
// c of the loss by its heading -R e3.
template <class Seen>
double loss(int n, const VectorXd &q, const double *target, long stride, Seen seen) {
  double sum = 0.0;
  Eigen::Quaterniond rotation = Eigen::Quaterniond::Identity();
  for (int i = 0; i < n; i++) {
    rotation = rotation * Eigen::Quaterniond(q[4 * i + 3], q[4 * i], q[4 * i + 1], q[4 * i + 2]);
    const Matrix3d matrix = rotation.toRotationMatrix();
    Vector3d slope;
    for (int k = 0; k < 3; k++) {
      const double r = -matrix(k, 2) - target[(3 * i + k) * stride];
      slope[k] = std::min(std::max(r, -kDelta), kDelta);
      sum += slope[k] * (r - 0.5 * slope[k]);
    }
    seen(i, matrix, slope);
  }
  return sum;
}

struct Ignore {
  void operator()(int, const Matrix3d &, const Vector3d &) const {}
};

// Derivatives of the next rotation by the last one (turned) and by the turn w, body axes.
inline void exponential_jacobians(const Vector3d &w, Matrix3d &turned, Matrix3d &right) {
  const double t2 = w.squaredNorm(), t = std::sqrt(t2);
  double a, b, c;
  if (t2 > 1e-2) {
    a = std::sin(t) / t;
    b = (1 - std::cos(t)) / t2;
    c = (1 - a) / t2;
  } else {
    a = 1 - t2 / 6 * (1 - t2 / 20 * (1 - t2 / 42 * (1 - t2 / 72)));
    b = 0.5 - t2 / 24 * (1 - t2 / 30 * (1 - t2 / 56));
    c = 1.0 / 6 - t2 / 120 * (1 - t2 / 42 * (1 - t2 / 72));
  }
  Matrix3d cross;
  cross << 0, -w[2], w[1], w[2], 0, -w[0], -w[1], w[0], 0;
  const Matrix3d squared = cross * cross;
  turned = Matrix3d::Identity() - a * cross + b * squared;
  right = Matrix3d::Identity() - b * cross + c * squared;
}

// What one thread needs for forward sensitivities by D = n lengths.
struct Sensitivities {
  int n;
  pinocchio::Model model;
  pinocchio::Data data, scratch;
  std::vector<pinocchio::Model> longer, shorter;
  VectorXd q, v, none, a, turn, before;
  MatrixXd dq, dv, da, by_length;

  explicit Sensitivities(int n_)
      : n(n_), model(chain(n_)), data(model), scratch(model), longer(n_, model),
        shorter(n_, model), q(4 * n_), v(3 * n_), none(VectorXd::Zero(3 * n_)), a(3 * n_),
        turn(3 * n_), before(4 * n_), dq(3 * n_, n_), dv(3 * n_, n_), da(3 * n_, n_),
        by_length(3 * n_, n_) {}

  void set(const std::vector<double> &lengths, double eps) {
    set_lengths(model, lengths);
    for (int j = 0; j < n; j++) {
      auto moved = lengths;
      moved[j] += eps;
      set_lengths(longer[j], moved);
      moved[j] -= 2 * eps;
      set_lengths(shorter[j], moved);
    }
    dq.setZero();
    dv.setZero();
  }

  // A length moves a placement and an inertia: the torque regressor alone does not know it, so
  // the efforts' derivative by it is a central difference of rnea.
  void accelerate(double eps) {
    pinocchio::computeABADerivatives(model, data, q, v, none);
    data.Minv.triangularView<Eigen::StrictlyLower>() =
        data.Minv.transpose().triangularView<Eigen::StrictlyLower>();
    a = data.ddq;
    for (int j = 0; j < n; j++) {
      by_length.col(j) = pinocchio::rnea(longer[j], scratch, q, v, a);
      by_length.col(j) -= pinocchio::rnea(shorter[j], scratch, q, v, a);
    }
    by_length *= -1.0 / (2 * eps);
    da.noalias() = data.ddq_dq * dq;
    da.noalias() += data.ddq_dv * dv;
    da.noalias() += data.Minv * by_length;
  }

  void step(double h, double eps) {
    accelerate(eps);
    advance(model, a, h, q, v, turn, before);
    dv += h * da;
    for (int i = 0; i < n; i++) {
      Matrix3d turned, right;
      exponential_jacobians(turn.segment<3>(3 * i), turned, right);
      const MatrixXd next = turned * dq.middleRows<3>(3 * i) +
                            h * (right * dv.middleRows<3>(3 * i));
      dq.middleRows<3>(3 * i) = next;
    }
  }
};

}  // namespace rods

extern "C" {

// Forward differences: n + 1 rollouts of pinocchio::aba for every sample.
void rods_differences(int n, long batch, long steps, const double *x0, const double *lengths,
                      const double *targets, double *loss, double *gradient, double h, double eps,
                      int threads) {
#pragma omp parallel num_threads(threads)
  {
    pinocchio::Model model = rods::chain(n);
    pinocchio::Data data(model);
    rods::VectorXd q(4 * n), v(3 * n), none = rods::VectorXd::Zero(3 * n), turn(3 * n),
        before(4 * n);
    std::vector<double> own(n);
#pragma omp for schedule(static)
    for (long b = 0; b < batch; b++)
      for (int j = 0; j <= n; j++) {
        for (int i = 0; i < n; i++) own[i] = lengths[i * batch + b] + (i == j - 1 ? eps : 0);
        rods::set_lengths(model, own);
        rods::read_state(n, batch, x0, b, q, v);
        double sum = 0;
        for (long t = 0; t < steps; t++) {
          pinocchio::aba(model, data, q, v, none, pinocchio::Convention::LOCAL);
          rods::advance(model, data.ddq, h, q, v, turn, before);
          sum += rods::loss(n, q, targets + t * 3 * n * batch + b, batch, rods::Ignore());
        }
        if (j == 0) loss[b] = sum;
        else gradient[(j - 1) * batch + b] = (sum - loss[b]) / eps;
      }
  }
}

// Forward sensitivities from computeABADerivatives.
void rods_sensitivities(int n, long batch, long steps, const double *x0, const double *lengths,
                        const double *targets, double *loss, double *gradient, double h,
                        double eps, int threads) {
#pragma omp parallel num_threads(threads)
  {
    rods::Sensitivities s(n);
    std::vector<double> own(n);
    rods::MatrixXd angle(3, n);
    rods::VectorXd slope(n);
#pragma omp for schedule(static)
    for (long b = 0; b < batch; b++) {
      for (int i = 0; i < n; i++) own[i] = lengths[i * batch + b];
      s.set(own, eps);
      rods::read_state(n, batch, x0, b, s.q, s.v);
      loss[b] = 0;
      slope.setZero();
      for (long t = 0; t < steps; t++) {
        s.step(h, eps);
        angle.setZero();
        loss[b] += rods::loss(
            n, s.q, targets + t * 3 * n * batch + b, batch,
            [&](int i, const rods::Matrix3d &matrix, const rods::Vector3d &c) {
              angle += matrix * s.dq.middleRows<3>(3 * i);
              slope += angle.transpose() * (-matrix.col(2)).cross(c);
            });
      }
      for (int j = 0; j < n; j++) gradient[j * batch + b] = slope[j];
    }
  }
}

}  // extern "C"
