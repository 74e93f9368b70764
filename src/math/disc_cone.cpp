#include "catena/math/disc_cone.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace catena {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr int kRounds = 25;
constexpr int kNewtonSteps = 15;
constexpr int kFixedPointSteps = 40;

/// Rows of disc i of the derivative of y / |y|: (1 - u u^T) / |y| on them.
template <class Rows>
Eigen::Matrix2d turn_of(const Rows& unit, double length) {
  return (Eigen::Matrix2d::Identity() - unit * unit.transpose()) / length;
}

class Solve {
 public:
  Solve(const DiscProblem& problem, const Vec6& r, const DiscCone& cone, bool coulomb)
      : p_(problem), r_(r), cone_(cone), coulomb_(coulomb) {}

  Vec6 run(Vec6 z) const {
    Vec6 best = z;
    double least = norm_at(z);
    for (int round = 0; round < kRounds; ++round) {
      newton(z);
      const double now = norm_at(z);
      if (!(now >= least)) {
        least = now;
        best = z;
      }
      if (least <= 8.0 * kEpsilon * (r_.norm() + p_.largest * best.norm())) break;
      for (int i = 0; i < kFixedPointSteps; ++i) z = image(z, 1.0 / p_.largest);
    }
    // the image of the solution is the solution, and admissible to the last bit
    return image(best, 1.0);
  }

 private:
  /// P(z - rho w).
  Vec6 image(const Vec6& z, double rho) const {
    const Vec6 y = z - rho * (p_.d * z + r_);
    if (!coulomb_) return project_disc_cone(cone_, y);
    Vec6 out = y;
    out[0] = std::max(0.0, y[0]);
    return cut_discs(cone_, out);
  }

  double norm_at(const Vec6& z) const { return (z - image(z, 1.0)).norm(); }

  /// The derivative of P at y, with the normal impulse `normal` that P gives. Coulomb: the
  /// radius of the discs follows the normal row alone.
  Mat6 projection_slope(const Vec6& y, double normal) const {
    Mat6 slope = Mat6::Zero();
    if (!(normal > 0.0)) return slope;
    Vec6 row = Vec6::Zero();  // d normal / dy
    row[0] = 1.0;
    double denominator = 1.0;
    for (std::size_t i = 0; i < 3 && !coulomb_; ++i) {
      const double length = disc_length(y, i);
      if (length <= cone_.bound[i] * normal) continue;
      denominator += cone_.bound[i] * cone_.bound[i];
      for (int k = kDiscBegin[i]; k < kDiscBegin[i] + kDiscRows[i]; ++k)
        row[k] = cone_.bound[i] * y[k] / length;
    }
    row /= denominator;
    slope.row(0) = row;
    for (std::size_t i = 0; i < 3; ++i) {
      const int first = kDiscBegin[i], rows = kDiscRows[i];
      const double length = disc_length(y, i);
      if (length <= cone_.bound[i] * normal) {
        slope.block(first, first, rows, rows).setIdentity();
        continue;
      }
      const Vec6 unit = y / length;
      for (int k = first; k < first + rows; ++k) slope.row(k) = cone_.bound[i] * unit[k] * row;
      if (rows == 2)
        slope.block<2, 2>(first, first) +=
            cone_.bound[i] * normal * turn_of(unit.segment<2>(first), length);
    }
    return slope;
  }

  /// Newton steps in place, as long as they reduce the residual (by at least a tenth, or to
  /// round-off).
  void newton(Vec6& z) const {
    double now = norm_at(z);
    for (int i = 0; i < kNewtonSteps && now > 0.0; ++i) {
      const Vec6 y = z - (p_.d * z + r_);
      const Vec6 target = image(z, 1.0);
      const Mat6 step = Mat6::Identity() - p_.d;
      const Mat6 slope = Mat6::Identity() - projection_slope(y, target[0]) * step;
      const Vec6 next = z - slope.partialPivLu().solve(z - target);
      const double then = norm_at(next);
      if (!(then < now)) return;
      z = next;
      const bool slow = then > 0.9 * now;
      now = then;
      if (slow) return;
    }
  }

  const DiscProblem& p_;
  const Vec6& r_;
  const DiscCone& cone_;
  bool coulomb_;
};

using Vec2 = Eigen::Vector2d;

/// a and b with |a| <= most_a, |b| <= most_b that oppose w = D (a, b) + (p, q) most, for D = [d_a
/// c; c d_b] times the unit matrix. False where Newton's method does not settle.
bool solve_two_discs(double d_a, double d_b, double c, const Vec2& p, const Vec2& q, double most_a,
                     double most_b, Vec2& a, Vec2& b) {
  constexpr int kSteps = 30;
  // with multipliers x and y, which are positive where a disc slides: (d_a + x) a + c b = -p,
  // c a + (d_b + y) b = -q
  double x = 0.0, y = 0.0;
  const auto solve = [&] {
    const double e = d_a + x, f = d_b + y, det = e * f - c * c;
    a = (c * q - f * p) / det;
    b = (c * p - e * q) / det;
    return det;
  };
  const auto on_one = [&](const Vec2& alone, double most, double own, double other,
                          double& multiplier) {
    // the other disc yields, so that this one feels own - c^2/other
    multiplier = (own - c * c / other) * (alone.norm() / most - 1.0);
  };
  solve();
  const Vec2 free_a = a, free_b = b;
  const bool a_out = free_a.norm() > most_a, b_out = free_b.norm() > most_b;
  if (!a_out && !b_out) return true;
  if (!(most_a > 0.0) || !(most_b > 0.0)) {
    // a disc without bound, in the sense of no friction: the other one alone
    if (!(most_a > 0.0)) {
      a.setZero();
      b = -q / d_b;
      if (b.norm() > most_b) b *= most_b / b.norm();
    } else {
      b.setZero();
      a = -p / d_a;
      if (a.norm() > most_a) a *= most_a / a.norm();
    }
    return true;
  }
  if (a_out) {
    on_one(free_a, most_a, d_a, d_b, x);
    solve();
    if (b.norm() <= most_b) return true;
    x = 0.0;
  }
  if (b_out) {
    on_one(free_b, most_b, d_b, d_a, y);
    solve();
    if (a.norm() <= most_a) return true;
    y = 0.0;
  }
  // both at their bounds: Newton on 1/|a| and 1/|b|, which are nearly linear in x and y
  for (int step = 0; step < kSteps; ++step) {
    const double det = solve();
    const double e = d_a + x, f = d_b + y;
    const double len_a = a.norm(), len_b = b.norm();
    const Vec2 miss(1.0 / len_a - 1.0 / most_a, 1.0 / len_b - 1.0 / most_b);
    if (std::abs(miss[0]) * most_a <= 8.0 * kEpsilon &&
        std::abs(miss[1]) * most_b <= 8.0 * kEpsilon) {
      return true;
    }
    // da/dx = -f a/det, db/dx = c a/det, da/dy = c b/det, db/dy = -e b/det
    const double ab = a.dot(b), a3 = len_a * len_a * len_a, b3 = len_b * len_b * len_b;
    Eigen::Matrix2d slope;
    slope << f / (det * len_a), -c * ab / (det * a3), -c * ab / (det * b3), e / (det * len_b);
    const Vec2 change = slope.partialPivLu().solve(-miss);
    if (!change.allFinite()) return false;
    x = std::max(0.0, x + change[0]);
    y = std::max(0.0, y + change[1]);
  }
  return false;
}

bool solve_round(const DiscProblem& problem, const Vec6& r, const DiscCone& cone, Vec6& z) {
  z.setZero();
  z[0] = -r[0] / problem.d(0, 0);
  const std::array<double, 3> most = {cone.bound[0] * z[0], cone.bound[1] * z[0],
                                      cone.bound[2] * z[0]};
  z[5] = std::clamp(-r[5] / problem.d(5, 5), -most[2], most[2]);
  Vec2 a, b;
  if (!solve_two_discs(problem.d(1, 1), problem.d(3, 3), problem.coupling, {r[1], r[2]},
                       {r[4], -r[3]}, most[0], most[1], a, b))
    return false;
  z[1] = a[0];
  z[2] = a[1];
  z[4] = b[0];
  z[3] = -b[1];
  z = cut_discs(cone, z);
  return true;
}

}  // namespace

double disc_length(const Vec6& x, std::size_t i) {
  if (i == 2) return std::abs(x[5]);
  const int first = kDiscBegin[i];
  return std::sqrt(x[first] * x[first] + x[first + 1] * x[first + 1]);
}

double DiscCone::shift(const Vec6& w) const {
  return bound[0] * disc_length(w, 0) + bound[1] * disc_length(w, 1) + bound[2] * disc_length(w, 2);
}

Vec6 project_disc_cone(const DiscCone& cone, const Vec6& x, const std::array<double, 4>& weights) {
  std::array<double, 3> length, start;
  double pull = weights[0] * x[0];
  for (std::size_t i = 0; i < 3; ++i) {
    length[i] = disc_length(x, i);
    pull += cone.bound[i] * weights[i + 1] * length[i];
    // the disc slides below this normal impulse; without a bound it has no say in it
    start[i] = cone.bound[i] > 0.0 ? length[i] / cone.bound[i] : 0.0;
  }
  if (!(pull > 0.0)) {
    if (std::isnan(pull)) return x;
    return Vec6::Zero();  // in the polar cone
  }
  std::array<std::size_t, 3> order = {0, 1, 2};
  if (start[order[0]] < start[order[1]]) std::swap(order[0], order[1]);
  if (start[order[1]] < start[order[2]]) std::swap(order[1], order[2]);
  if (start[order[0]] < start[order[1]]) std::swap(order[0], order[1]);

  double above = weights[0] * x[0], below = weights[0];
  double normal = x[0];
  for (const std::size_t i : order) {
    if (!(length[i] > cone.bound[i] * normal) || !(cone.bound[i] > 0.0)) continue;
    above += cone.bound[i] * weights[i + 1] * length[i];
    below += cone.bound[i] * cone.bound[i] * weights[i + 1];
    normal = above / below;
  }
  Vec6 z = x;
  z[0] = normal;
  return cut_discs(cone, z);
}

Vec6 cut_discs(const DiscCone& cone, Vec6 z) {
  for (std::size_t i = 0; i < 3; ++i) {
    const double limit = cone.bound[i] * z[0];
    const double length = disc_length(z, i);
    if (length <= limit) continue;
    const double scale = limit / length;
    for (int row = kDiscBegin[i]; row < kDiscBegin[i] + kDiscRows[i]; ++row) z[row] *= scale;
  }
  return z;
}

Vec6 clamp_rows(const DiscCone& cone, Vec6 z) {
  z[0] = std::max(z[0], 0.0);
  for (std::size_t i = 0; i < 3; ++i) {
    const double bound = cone.bound[i] * z[0];
    for (int row = kDiscBegin[i]; row < kDiscBegin[i] + kDiscRows[i]; ++row)
      z[row] = std::clamp(z[row], -bound, bound);
  }
  return z;
}

void find_round(DiscProblem& problem) {
  constexpr double kAlike = 1e-13;
  problem.coupling = 0.5 * (problem.d(1, 4) - problem.d(2, 3));
  Mat6 other = problem.d;
  other.diagonal().setZero();
  for (const auto& [i, j, sign] : {std::tuple(1, 4, 1.0), std::tuple(2, 3, -1.0)}) {
    other(i, j) -= sign * problem.coupling;
    other(j, i) -= sign * problem.coupling;
  }
  problem.round = other.cwiseAbs().maxCoeff() <= kAlike &&
                  std::abs(problem.d(1, 1) - problem.d(2, 2)) <= kAlike &&
                  std::abs(problem.d(3, 3) - problem.d(4, 4)) <= kAlike;
}

Vec6 solve_disc_contact(const DiscProblem& problem, const Vec6& r, const DiscCone& cone,
                        bool coulomb, const Vec6& guess) {
  const double shift = coulomb ? 0.0 : cone.shift(r);
  if (r[0] >= shift) return Vec6::Zero();
  const Vec6 stick = -(problem.inverse * r);
  bool sticks = stick[0] > 0.0;
  for (std::size_t i = 0; i < 3; ++i)
    sticks = sticks && disc_length(stick, i) <= cone.bound[i] * stick[0];
  if (sticks) return stick;
  if (Vec6 z; problem.round && coulomb && solve_round(problem, r, cone, z)) return z;
  const Vec6 start = guess[0] > 0.0 ? guess : project_disc_cone(cone, stick);
  return Solve(problem, r, cone, coulomb).run(start);
}

}  // namespace catena
