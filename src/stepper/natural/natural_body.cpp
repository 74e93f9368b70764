#include "stepper/natural/natural_body.hpp"

#include <Eigen/LU>
#include <cmath>
#include <string>
#include <type_traits>

#include "catena/base/error.hpp"
#include "catena/base/text.hpp"

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
      throw Error("its moments of inertia give J_" + std::to_string(i + 1) + " = " +
                      short_text(j, 3) + " kg m^2 < 0: the largest exceeds the sum of the others",
                  "", "no body has these moments; correct inertia");
    }
    if (j > kZero * inertia.sum()) {
      m.j[i] = j;
      m.axis[m.axes++] = i;
    }
  }
  if (m.axes == 2) m.axis[2] = 3 - m.axis[0] - m.axis[1];
  return m;
}

bool has_vector(const NaturalMass& mass, const Vec3& x, double off) {
  constexpr double kTyped = 1e-9;
  if (mass.axes >= 2) return true;
  for (int k = 0; k < 3; ++k)
    if (!(mass.j[k] > 0.0) && std::abs(x[k]) > off + kTyped * x.norm()) return false;
  return true;
}

bool has_place(const NaturalMass& mass, const Vec3& x, const Vec3& r) {
  constexpr double kZero = 1e-12, kRoundOff = 1e-14;
  return has_vector(mass, x, kZero + kRoundOff * r.norm());
}

namespace {

/// The axes i, j of a lamina whose axis k is left out: a_k = a_i x a_j, (i, j, k) cyclic.
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
    const int k = mass.axis[n];
    inertia +=
        mass.j[k] * (a.col(k).squaredNorm() * Mat3::Identity() - a.col(k) * a.col(k).transpose());
  }
  return inertia.inverse();
}

Vec3 spin_of(const NaturalMass& mass, const Mat3& a, const Mat3& p) {
  Vec3 sum = Vec3::Zero();
  for (int n = 0; n < mass.axes; ++n) {
    const int k = mass.axis[n];
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

namespace {

/// The pairs of axes of each row, and how many rows `axes` axes have.
struct Pair {
  int i, j;
};
template <int kAxes>
constexpr auto pairs() {
  std::array<Pair, kAxes*(kAxes + 1) / 2> list{};
  std::size_t n = 0;
  for (int i = 0; i < kAxes; ++i)
    for (int j = i; j < kAxes; ++j) list[n++] = {i, j};
  return list;
}

/// Calls with(std::integral_constant<int, axes>) for 1 to 3 axes: loops over rows unroll.
template <class With>
void with_axes(int axes, With&& with) {
  if (axes == 3) with(std::integral_constant<int, 3>());
  if (axes == 2) with(std::integral_constant<int, 2>());
  if (axes == 1) with(std::integral_constant<int, 1>());
}

/// The place of the factor's row r and column c <= r.
constexpr std::size_t entry(std::size_t r, std::size_t c) { return r * (r + 1) / 2 + c; }

}  // namespace

InternalConstraints::InternalConstraints(const NaturalMass& mass, const Mat3& a)
    : mass_(mass), a_(a) {
  with_axes(mass.axes, [&](auto axes) {
    constexpr auto kPairs = pairs<decltype(axes)::value>();
    std::array<double, 3> w{};
    Mat3 c;  // a_i . a_j of the axes that are coordinates
    for (int i = 0; i < axes; ++i) {
      w[i] = 1.0 / mass.j[mass.axis[i]];
      for (int j = 0; j <= i; ++j) c(i, j) = c(j, i) = a.col(mass.axis[i]).dot(a.col(mass.axis[j]));
    }
    const auto weight = [&](int i, int k) { return i == k ? w[i] : 0.0; };
    for (std::size_t r = 0; r < kPairs.size(); ++r) {
      const auto [i, j] = kPairs[r];
      f_[r] = i == j ? 0.5 * (c(i, i) - 1.0) : c(i, j);
      for (std::size_t s = 0; s <= r; ++s) {
        const auto [k, l] = kPairs[s];
        // the gradient of row (i, j) is a_j on axis i and a_i on axis j, of (i, i) a_i alone
        double sum = weight(i, k) * c(j, l);
        if (k != l) sum += weight(i, l) * c(j, k);
        if (i != j) sum += weight(j, k) * c(i, l);
        if (i != j && k != l) sum += weight(j, l) * c(i, k);
        factor_[entry(r, s)] = sum;
      }
    }
    for (std::size_t r = 0; r < kPairs.size(); ++r) {
      for (std::size_t s = 0; s <= r; ++s) {
        double sum = factor_[entry(r, s)];
        for (std::size_t k = 0; k < s; ++k) sum -= factor_[entry(r, k)] * factor_[entry(s, k)];
        factor_[entry(r, s)] = s < r ? sum * factor_[entry(s, s)] : 1.0 / std::sqrt(sum);
      }
    }
  });
}

InternalConstraints::Rows InternalConstraints::solve(const Rows& b) const {
  Rows x = b;
  with_axes(mass_.axes, [&](auto axes) {
    constexpr std::size_t kRows = pairs<decltype(axes)::value>().size();
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t s = 0; s < r; ++s) x[r] -= factor_[entry(r, s)] * x[s];
      x[r] *= factor_[entry(r, r)];
    }
    for (std::size_t r = kRows; r-- > 0;) {
      for (std::size_t s = r + 1; s < kRows; ++s) x[r] -= factor_[entry(s, r)] * x[s];
      x[r] *= factor_[entry(r, r)];
    }
  });
  return x;
}

InternalConstraints::Rows InternalConstraints::product(const Mat3& x) const {
  Rows y{};
  with_axes(mass_.axes, [&](auto axes) {
    constexpr auto kPairs = pairs<decltype(axes)::value>();
    for (std::size_t r = 0; r < kPairs.size(); ++r) {
      const int i = mass_.axis[kPairs[r].i];
      const int j = mass_.axis[kPairs[r].j];
      y[r] = a_.col(j).dot(x.col(i));
      if (i != j) y[r] += a_.col(i).dot(x.col(j));
    }
  });
  return y;
}

Mat3 InternalConstraints::transposed(const Rows& mu, const Mat3& a) const {
  Mat3 force = Mat3::Zero();
  with_axes(mass_.axes, [&](auto axes) {
    constexpr auto kPairs = pairs<decltype(axes)::value>();
    for (std::size_t r = 0; r < kPairs.size(); ++r) {
      const int i = mass_.axis[kPairs[r].i];
      const int j = mass_.axis[kPairs[r].j];
      force.col(i) += mu[r] * a.col(j);
      if (i != j) force.col(j) += mu[r] * a.col(i);
    }
  });
  return force;
}

Mat3 InternalConstraints::correction(double alpha) const {
  Rows b{};
  for (std::size_t r = 0; r < b.size(); ++r) b[r] = -alpha * f_[r];
  Mat3 rates = transposed(solve(b), a_);
  for (int k = 0; k < 3; ++k) {
    if (mass_.j[k] > 0.0) rates.col(k) /= mass_.j[k];
  }
  return rates;
}

Mat3 InternalConstraints::force(double alpha, const Mat3& p, const Mat3& da) const {
  Mat3 rates = Mat3::Zero();
  for (int k = 0; k < 3; ++k) {
    if (mass_.j[k] > 0.0) rates.col(k) = p.col(k) / mass_.j[k];
  }
  Rows b = product(rates);
  for (std::size_t r = 0; r < b.size(); ++r) b[r] += alpha * f_[r];
  return transposed(solve(b), da);
}

Mat3 axes_of(const NaturalMass& mass, const Quat& q) {
  Mat3 a = q.toRotationMatrix();
  if (mass.axes >= 2) return a;
  for (int k = 0; k < 3; ++k)
    if (!(mass.j[k] > 0.0)) a.col(k).setZero();
  return a;
}

Quat orientation_of(const NaturalMass& mass, const Mat3& a, const Quat& before) {
  if (mass.axes == 0) return before;
  if (mass.axes == 1) {
    const Vec3 old = before.toRotationMatrix().col(mass.axis[0]);
    return (Quat::FromTwoVectors(old, a.col(mass.axis[0])) * before).normalized();
  }
  // Newton's iteration for the orthogonal factor of the polar decomposition (Higham 1986)
  constexpr int kMaxTurns = 20;
  Mat3 q = a;
  for (int turn = 0; turn < kMaxTurns; ++turn) {
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
