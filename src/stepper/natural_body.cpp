#include "stepper/natural_body.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <cmath>
#include <cstdio>
#include <string>

#include "catena/base/error.hpp"

namespace catena {

NaturalMass natural_mass(double mass, const Vec3& inertia) {
  // moments typed with nine digits may miss the bound, a lamina's are seen to round-off
  constexpr double kZero = 1e-12, kBound = 1e-9;
  NaturalMass m;
  m.mass = mass;
  m.axes = 0;
  for (int i = 0; i < 3; ++i) {
    const double j = 0.5 * (inertia[(i + 1) % 3] + inertia[(i + 2) % 3] - inertia[i]);
    if (j < -kBound * inertia.sum()) {
      char value[32];
      std::snprintf(value, sizeof value, "%.3g", j);
      throw Error("its moments of inertia give J_" + std::to_string(i + 1) + " = " + value +
                      " kg m^2 < 0: the largest exceeds the sum of the others",
                  "", "no body has these moments; correct inertia");
    }
    if (j > kZero * inertia.sum()) {
      m.j[i] = j;
      m.axis[static_cast<std::size_t>(m.axes++)] = i;
    }
  }
  if (m.axes == 2) m.axis[2] = 3 - m.axis[0] - m.axis[1];
  return m;
}

namespace {

/// Of a lamina with left out axis k: a_k = a_i x a_j, (i, j, k) cyclic.
std::array<int, 2> before(int k) { return {(k + 1) % 3, (k + 2) % 3}; }

}  // namespace

void complete_axes(const NaturalMass& mass, NaturalCoordinates& s) {
  if (mass.axes != 2) return;
  const auto [i, j] = before(mass.axis[2]);
  s.a.col(mass.axis[2]) = s.a.col(i).cross(s.a.col(j));
}

void complete_rates(const NaturalMass& mass, const NaturalCoordinates& s, NaturalCoordinates& ds) {
  if (mass.axes != 2) return;
  const auto [i, j] = before(mass.axis[2]);
  ds.a.col(mass.axis[2]) = ds.a.col(i).cross(s.a.col(j)) + s.a.col(i).cross(ds.a.col(j));
}

void fold_axes(const NaturalMass& mass, const NaturalCoordinates& s, const NaturalCoordinates& ds,
               Mat3& f, Mat3& df) {
  if (mass.axes == 3) return;
  if (mass.axes == 2) {
    // f_k . (a_i' x a_j + a_i x a_j')
    const int k = mass.axis[2];
    const auto [i, j] = before(k);
    const Vec3 on = f.col(k), rate = df.col(k);
    f.col(i) += s.a.col(j).cross(on);
    f.col(j) += on.cross(s.a.col(i));
    df.col(i) += s.a.col(j).cross(rate) + ds.a.col(j).cross(on);
    df.col(j) += rate.cross(s.a.col(i)) + on.cross(ds.a.col(i));
    f.col(k).setZero();
    df.col(k).setZero();
    return;
  }
  for (int k = 0; k < 3; ++k) {
    if (mass.j[k] > 0.0) continue;
    f.col(k).setZero();
    df.col(k).setZero();
  }
}

Mat3 inverse_inertia(const NaturalMass& mass, const Mat3& a) {
  if (mass.axes == 0) return Mat3::Zero();
  if (mass.axes == 1) {
    const int k = mass.axis[0];
    const Vec3 along = a.col(k);
    const double length2 = along.squaredNorm();
    return (Mat3::Identity() - along * along.transpose() / length2) / (mass.j[k] * length2);
  }
  Mat3 inertia = Mat3::Zero();
  for (int n = 0; n < mass.axes; ++n) {
    const int k = mass.axis[static_cast<std::size_t>(n)];
    inertia +=
        mass.j[k] * (a.col(k).squaredNorm() * Mat3::Identity() - a.col(k) * a.col(k).transpose());
  }
  return inertia.inverse();
}

Vec3 spin_of(const NaturalMass& mass, const Mat3& a, const Mat3& p) {
  Vec3 sum = Vec3::Zero();
  for (int n = 0; n < mass.axes; ++n) {
    const int k = mass.axis[static_cast<std::size_t>(n)];
    sum += a.col(k).cross(p.col(k));
  }
  return sum;
}

void add_couple(const NaturalMass& mass, const Mat3& a, const Vec3& couple, Mat3& force) {
  if (mass.axes == 0) return;
  if (mass.axes == 1) {
    const int k = mass.axis[0];
    force.col(k) += couple.cross(a.col(k));
    return;
  }
  for (int k = 0; k < 3; ++k) force.col(k) += 0.5 * couple.cross(a.col(k));
}

InternalConstraints::InternalConstraints(const NaturalMass& mass, const Mat3& a)
    : mass_(mass), a_(a) {
  for (int m = 0; m < mass.axes; ++m)
    for (int n = m; n < mass.axes; ++n)
      pair_[static_cast<std::size_t>(rows_++)] = {mass.axis[static_cast<std::size_t>(m)],
                                                  mass.axis[static_cast<std::size_t>(n)]};
  f_.resize(rows_);
  factor_.resize(rows_, rows_);
  const auto gradient = [&](std::size_t row, int k) -> Vec3 {
    const auto [i, j] = pair_[row];
    if (k == i) return a_.col(j);
    return k == j ? Vec3(a_.col(i)) : Vec3(Vec3::Zero());
  };
  for (int r = 0; r < rows_; ++r) {
    const auto [i, j] = pair_[static_cast<std::size_t>(r)];
    f_[r] = i == j ? 0.5 * (a_.col(i).squaredNorm() - 1.0) : a_.col(i).dot(a_.col(j));
    for (int c = 0; c <= r; ++c) {
      double sum = 0.0;
      for (int n = 0; n < mass.axes; ++n) {
        const int k = mass.axis[static_cast<std::size_t>(n)];
        sum +=
            gradient(static_cast<std::size_t>(r), k).dot(gradient(static_cast<std::size_t>(c), k)) /
            mass.j[k];
      }
      factor_(r, c) = sum;
    }
  }
  if (rows_ == 0) return;
  Eigen::LLT<Eigen::Ref<Matrix>> in_place(factor_);
}

InternalConstraints::Rows InternalConstraints::solve(const Rows& b) const {
  Rows x = b;
  factor_.triangularView<Eigen::Lower>().solveInPlace(x);
  factor_.triangularView<Eigen::Lower>().transpose().solveInPlace(x);
  return x;
}

InternalConstraints::Rows InternalConstraints::product(const Mat3& x) const {
  Rows y(rows_);
  for (int r = 0; r < rows_; ++r) {
    const auto [i, j] = pair_[static_cast<std::size_t>(r)];
    y[r] = a_.col(j).dot(x.col(i));
    if (i != j) y[r] += a_.col(i).dot(x.col(j));
  }
  return y;
}

Mat3 InternalConstraints::transposed(const Rows& mu, const Mat3& a) const {
  Mat3 force = Mat3::Zero();
  for (int r = 0; r < rows_; ++r) {
    const auto [i, j] = pair_[static_cast<std::size_t>(r)];
    force.col(i) += mu[r] * a.col(j);
    if (i != j) force.col(j) += mu[r] * a.col(i);
  }
  return force;
}

Mat3 InternalConstraints::correction(double alpha) const {
  if (rows_ == 0) return Mat3::Zero();
  Mat3 rates = transposed(solve(Rows(-alpha * f_)), a_);
  for (int k = 0; k < 3; ++k) {
    if (mass_.j[k] > 0.0) rates.col(k) /= mass_.j[k];
  }
  return rates;
}

Mat3 InternalConstraints::force(double alpha, const Mat3& p, const Mat3& da) const {
  if (rows_ == 0) return Mat3::Zero();
  Mat3 rates = Mat3::Zero();
  for (int k = 0; k < 3; ++k) {
    if (mass_.j[k] > 0.0) rates.col(k) = p.col(k) / mass_.j[k];
  }
  return transposed(solve(Rows(alpha * f_ + product(rates))), da);
}

double InternalConstraints::misfit() const { return rows_ == 0 ? 0.0 : f_.cwiseAbs().maxCoeff(); }

Quat orientation_of(const NaturalMass& mass, const Mat3& a, const Quat& before) {
  if (mass.axes == 0) return before;
  if (mass.axes == 1) {
    const Vec3 old = before.toRotationMatrix().col(mass.axis[0]);
    return (Quat::FromTwoVectors(old, a.col(mass.axis[0])) * before).normalized();
  }
  // Newton's iteration for the orthogonal factor of the polar decomposition (Higham 1986)
  constexpr int kMostTurns = 20;
  Mat3 q = a;
  for (int turn = 0; turn < kMostTurns; ++turn) {
    const Mat3 next = 0.5 * (q + q.inverse().transpose());
    const double change = (next - q).cwiseAbs().maxCoeff();
    q = next;
    if (!(change > 1e-9)) break;  // converges quadratically
  }
  Quat found(q);
  found.normalize();
  if (found.dot(before) < 0.0) found.coeffs() = -found.coeffs();
  return found;
}

}  // namespace catena
