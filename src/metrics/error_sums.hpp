// What rows and contacts add to the errors of an iterate, and the errors from the totals.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "catena/constraints/contact_cone.hpp"
#include "catena/math/sum.hpp"
#include "metrics/disc_errors.hpp"
#include "metrics/row_errors.hpp"

namespace catena::row_errors {

/// One contact of three rows, with all that its errors depend on.
struct ThreeRows {
  Vec3 lambda, w, r;  ///< r in ErrorSet::all only
  double d_n, d_1, d_2;
  double friction, cohesion;
  double axis = 1.0;  ///< of the second tangent
};

/// Sums and largest values over this rank's rows. Each function adds a row or contact and returns
/// its energy.
class ErrorSums {
 public:
  /// The sums that go over all ranks, in this order.
  enum Place : std::size_t {
    kJoint,
    kNormal,
    kFriction,
    kLimit,
    kImpulse,         ///< |lambda|^2
    kSlip,            ///< |w|^2
    kNatural,         ///< squares over contacts and linear rows
    kCount,           ///< of them
    kUnscaled,        ///< |lambda - P(lambda - what)|^2
    kScaled,          ///< |lambda - P(lambda - what/a)|^2
    kScaledSlip,      ///< |w/a|^2
    kFreeSlip,        ///< |r|^2
    kScaledFreeSlip,  ///< |r/a|^2
    kFischer,
    kWork,       ///< complementarity product
    kFreeWork,   ///< r . lambda
    kQuadratic,  ///< lambda^T N lambda = lambda . (w - r)
    kSums
  };
  enum Maximum : std::size_t { kNaturalLinear, kNaturalAngular, kDistance, kLargest, kMaxima };

  explicit ErrorSums(const ConstraintProblem& problem)
      : problem_(problem), form_(law_form(problem.law)) {
    sums.fill(Sum(problem.ordered));
  }

  /// Adds what a contact or scalar row says; its energy belongs to `normal`.
  template <ErrorSet kSet>
  double add(const Part& part, Place normal, bool angular) {
    sums[normal] += part.energy_normal;
    sums[kFriction] += part.energy_friction;
    if constexpr (kSet != ErrorSet::energy) {
      double& largest = maxima[angular ? kNaturalAngular : kNaturalLinear];
      largest = std::max(largest, part.natural);
      maxima[kNaturalAngular] = std::max(maxima[kNaturalAngular], part.natural_angular);
      if (!angular) sums[kNatural] += part.natural * part.natural;
    }
    if constexpr (kSet == ErrorSet::all) {
      sums[kUnscaled] += part.unscaled;
      sums[kScaled] += part.scaled;
      sums[kScaledSlip] += part.slip;
      sums[kFischer] += part.fischer;
      sums[kWork] += part.work;
    }
    return part.energy_normal + part.energy_friction;
  }

  /// Adds the sums that do not ask for the law.
  template <ErrorSet kSet>
  void add_row(double lambda, double w, double r) {
    sums[kImpulse] += lambda * lambda;
    sums[kSlip] += w * w;
    if constexpr (kSet == ErrorSet::all) {
      sums[kFreeSlip] += r * r;
      sums[kFreeWork] += r * lambda;
      sums[kQuadratic] += lambda * (w - r);
    }
  }

  /// A scalar row with its bounds; `counts` in the norms of natural maps and slips.
  template <ErrorSet kSet>
  double add_scalar(double lambda, double w, double r, double lo, double hi, double a, Place energy,
                    bool angular, bool counts) {
    Part part = scalar_row<kSet>(lambda, w, lo, hi, a);
    if (!counts) part.slip = 0.0;
    if (a > 0.0 && counts) {
      if (!angular) sums[kCount] += 1.0;
      if constexpr (kSet == ErrorSet::all) sums[kScaledFreeSlip] += (r / a) * (r / a);
    }
    return add<kSet>(part, energy, angular);
  }

  /// The rows of a bilateral block, each of which counts; `r` is read in ErrorSet::all only.
  template <ErrorSet kSet, class Rows>
  double add_joint(Rows rows, const double* lambda, const double* w, const double* r,
                   const double* a, const std::uint8_t* angular) {
    double impulse = 0.0, slip = 0.0, energy = 0.0, natural = 0.0, count = 0.0;
    for (int i = 0; i < rows; ++i) {
      impulse += lambda[i] * lambda[i];
      slip += w[i] * w[i];
      if constexpr (kSet == ErrorSet::all) add_apart(lambda[i], w[i], r[i], a[i]);
      if (a[i] <= 0.0) continue;
      const double e = lambda[i] - (lambda[i] - w[i] / a[i]);
      energy += 0.5 * a[i] * e * e;
      if constexpr (kSet != ErrorSet::energy) {
        const double map = std::abs(a[i] * e);
        double& largest = maxima[angular[i] != 0 ? kNaturalAngular : kNaturalLinear];
        largest = std::max(largest, map);
        if (angular[i] == 0) natural += map * map;
      }
      if (angular[i] == 0) count += 1.0;
    }
    sums[kImpulse] += impulse;
    sums[kSlip] += slip;
    sums[kJoint] += energy;
    sums[kCount] += count;
    if constexpr (kSet != ErrorSet::energy) sums[kNatural] += natural;
    return energy;
  }

  template <ErrorSet kSet>
  double add_contact(const ThreeRows& c) {
    for (int i = 0; i < 3; ++i) add_row<kSet>(c.lambda[i], c.w[i], c.r[i]);
    const Vec3 lambda(c.lambda[0] + c.cohesion, c.lambda[1], c.lambda[2] * c.axis);
    if (form_.is_cone()) {
      Vec3 w_hat(c.w[0], c.w[1], c.w[2] / c.axis);
      if (form_.shifted) w_hat[0] += c.friction * length_of(w_hat[1], w_hat[2]);
      const double a_t = 0.5 * (c.d_1 + c.d_2 / (c.axis * c.axis));
      Part part = cone_contact<kSet>(lambda, w_hat, c.d_n, a_t, c.friction);
      if constexpr (kSet != ErrorSet::energy) {
        // the gap and the norm of slips speak of w itself
        const double a = (c.d_n + c.d_1 + c.d_2) / 3.0;
        part.slip = a > 0.0 ? c.w.squaredNorm() / (a * a) : 0.0;
        part.work = lambda.dot(Vec3(c.w[0], c.w[1], c.w[2] / c.axis));
        if (a > 0.0) sums[kCount] += 1.0;
        if constexpr (kSet == ErrorSet::all)
          if (a > 0.0) sums[kScaledFreeSlip] += c.r.squaredNorm() / (a * a);
      }
      return add<kSet>(part, kNormal, false);
    }
    const bool box = form_.box;
    const double bound = box ? c.friction * std::max(lambda[0], 0.0) : 0.0;
    double energy =
        add_scalar<kSet>(lambda[0], c.w[0], c.r[0], 0.0, kInfinity, c.d_n, kNormal, false, true);
    energy +=
        add_scalar<kSet>(lambda[1], c.w[1], c.r[1], -bound, bound, c.d_1, kFriction, false, box);
    energy +=
        add_scalar<kSet>(lambda[2], c.w[2], c.r[2], -bound, bound, c.d_2, kFriction, false, box);
    return energy;
  }

  /// A contact of the general blocks with rolling or spinning rows; pointers to its rows.
  template <ErrorSet kSet>
  double add_disc_contact(Index block, const double* lambda, const double* w, const double* r,
                          const double* d) {
    const ContactCone cone = contact_cone(problem_, block);
    // rows of a frictionless contact are counted as those of a rough one
    const DiscCone discs =
        form_.frictionless ? friction_coefficients(block_view(problem_, block)) : cone.discs;
    DiscContact c{Vec6::Zero(), Vec6::Zero(), Vec6::Zero(), discs, form_.shifted};
    DiscContact free = c;
    const std::array<int, 6>& place = cone.row;
    for (int row = 0; row < 6; ++row) {
      const int from = place[row];
      if (from < 0) continue;
      const double axis = cone.axis[row];
      c.lambda[row] = lambda[from] * axis;
      c.w[row] = w[from] / axis;
      free.w[row] = r[from] / axis;
      c.diagonal[row] = free.diagonal[row] = d[from] / (axis * axis);
    }
    const LinearRows rows = linear_rows(c);
    const LinearRows free_rows = linear_rows(free);
    for (int i = 0; i < 6; ++i) {
      sums[kImpulse] += rows.lambda[i] * rows.lambda[i];
      sums[kSlip] += rows.w[i] * rows.w[i];
      sums[kFreeSlip] += free_rows.w[i] * free_rows.w[i];
      sums[kFreeWork] += c.lambda[i] * free.w[i];
      sums[kQuadratic] += c.lambda[i] * (c.w[i] - free.w[i]);
    }
    c.lambda[0] += cone.cohesion;
    if (form_.is_cone()) {
      if (rows.a > 0.0) {
        sums[kCount] += 1.0;
        sums[kScaledFreeSlip] += free_rows.w.squaredNorm() / (rows.a * rows.a);
      }
      return add<kSet>(disc_contact(c), kNormal, false);
    }
    const bool box = form_.box;
    double energy = add_scalar<kSet>(c.lambda[0], c.w[0], free.w[0], 0.0, kInfinity, c.diagonal[0],
                                     kNormal, false, true);
    for (std::size_t i = 0; i < 3; ++i)
      for (int row = kDiscBegin[i]; row < kDiscBegin[i] + kDiscRows[i]; ++row) {
        if (place[row] < 0 || rows.length[row] <= 0.0) continue;
        const double bound = box ? rows.cone.bound[i] * std::max(c.lambda[0], 0.0) : 0.0;
        const double a = c.diagonal[row] * rows.length[row] * rows.length[row];
        Part part = scalar_row<kSet>(rows.lambda[row], rows.w[row], -bound, bound, a);
        part.natural /= rows.length[row];
        if (a > 0.0 && box && (i == 0 || c.cone.bound[i] > 0.0)) {
          if (i == 0) sums[kCount] += 1.0;
          sums[kScaledFreeSlip] += (free_rows.w[row] / a) * (free_rows.w[row] / a);
        } else {
          part.slip = 0.0;
        }
        energy += add<kSet>(part, kFriction, i > 0);
      }
    return energy;
  }

  /// Errors of the totals over all ranks; those that `set` leaves out are NaN.
  static Errors errors(const std::array<double, kSums>& total,
                       const std::array<double, kMaxima>& largest, ErrorSet set);

  std::array<Sum, kSums> sums;
  std::array<double, kMaxima> maxima{};

 private:
  /// What only ErrorSet::all has of a row without bounds.
  void add_apart(double lambda, double w, double r, double a) {
    const Part part = scalar_row<ErrorSet::all>(lambda, w, -kInfinity, kInfinity, a);
    sums[kFreeSlip] += r * r;
    sums[kFreeWork] += r * lambda;
    sums[kQuadratic] += lambda * (w - r);
    sums[kUnscaled] += part.unscaled;
    sums[kScaled] += part.scaled;
    sums[kScaledSlip] += part.slip;
    sums[kFischer] += part.fischer;
    sums[kWork] += part.work;
    if (a > 0.0) sums[kScaledFreeSlip] += (r / a) * (r / a);
  }

  static void add_relative(const std::array<double, kSums>& total, double poison, Errors& e);

  const ConstraintProblem& problem_;
  LawForm form_;
};

}  // namespace catena::row_errors
