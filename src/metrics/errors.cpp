#include "catena/metrics/errors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "row_errors.hpp"

namespace catena {
namespace {

using row_errors::cone_contact;
using row_errors::Part;
using row_errors::scalar_row;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The sums that go over all ranks, in this order.
enum Sum : std::size_t {
  kJoint,
  kNormal,
  kFriction,
  kLimit,
  kNatural,     ///< squares over contacts and linear rows
  kUnscaled,    ///< |lambda - P(lambda - what)|^2
  kScaled,      ///< |lambda - P(lambda - what/a)|^2
  kImpulse,     ///< |lambda|^2
  kSlip,        ///< |w|^2
  kScaledSlip,  ///< |w/a|^2
  kFischer,
  kWork,       ///< complementarity product
  kFreeWork,   ///< r . lambda
  kQuadratic,  ///< lambda^T N lambda = lambda . (w - r)
  kSums
};
enum Maximum : std::size_t { kNaturalLinear, kNaturalAngular, kMaxima };

/// Constant sums of a problem.
enum Constant : std::size_t { kFreeSlip, kScaledFreeSlip, kCount, kConstants };

}  // namespace

std::string_view metric_unit(Metric metric) {
  switch (metric) {
    case Metric::energy:
      return "J";
    case Metric::natural_map:
    case Metric::natural_map_rms:
      return "m/s";
    case Metric::fischer_burmeister:
      return "J^0.5";
    case Metric::siconos:
    case Metric::fclib_merit:
    case Metric::scaled:
    case Metric::gap:
      break;
  }
  return "1";
}

double value_of(const Errors& errors, Metric metric) {
  switch (metric) {
    case Metric::energy:
      return errors.energy;
    case Metric::natural_map:
      return errors.natural_map;
    case Metric::natural_map_rms:
      return errors.natural_map_rms;
    case Metric::siconos:
      return errors.siconos;
    case Metric::fclib_merit:
      return errors.fclib_merit;
    case Metric::scaled:
      return errors.scaled;
    case Metric::gap:
      return errors.gap;
    case Metric::fischer_burmeister:
      return errors.fischer_burmeister;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

struct ErrorEvaluator::Impl {
  Impl(const ConstraintProblem& p, DelassusOperator& o) : problem(p), op(o), reduction(p.comm) {
    const auto rows = static_cast<std::size_t>(p.n_rows());
    diagonal.resize(rows);
    r.resize(rows);
    w.resize(rows);
    velocities.resize(p.assembled ? 0 : static_cast<std::size_t>(p.bodies.n_dofs()));
    op.free_slips(r);
    std::vector<double> block;
    for (Index k = 0; k < p.n_blocks(); ++k) {
      const BlockView view = block_view(p, k);
      const auto n = static_cast<std::size_t>(view.rows);
      block.resize(n * n);
      op.diagonal_block(k, block);
      for (std::size_t i = 0; i < n; ++i)
        diagonal[static_cast<std::size_t>(view.row) + i] = block[i * n + i];
      count_constants(view);
    }
    p.comm.sum(constants);
  }

  /// Diagonal that scales a contact's natural map; 0 where no impulse acts.
  double mean_diagonal(std::size_t row) const {
    return (diagonal[row] + diagonal[row + 1] + diagonal[row + 2]) / 3.0;
  }

  bool on_cone(BlockKind kind) const {
    return kind == BlockKind::contact &&
           (problem.law == ContactLaw::coulomb || problem.law == ContactLaw::ccp);
  }

  void count_constants(const BlockView& view) {
    const auto row = static_cast<std::size_t>(view.row);
    const bool cone = on_cone(view.kind);
    for (std::size_t i = row; i < row + static_cast<std::size_t>(view.rows); ++i) {
      const double a = cone ? mean_diagonal(row) : diagonal[i];
      constants[kFreeSlip] += r[i] * r[i];
      const bool void_row =
          view.kind == BlockKind::contact && problem.law == ContactLaw::frictionless && i > row;
      if (a <= 0.0 || void_row) continue;
      constants[kScaledFreeSlip] += (r[i] / a) * (r[i] / a);
      if (!is_angular(i) && !(cone && i > row)) constants[kCount] += 1.0;
    }
  }

  bool is_angular(std::size_t row) const {
    const std::size_t first = 3 * problem.contacts.size();
    return !problem.assembled && row >= first && problem.blocks.angular[row - first] != 0;
  }

  /// Adds what a contact or scalar row says; its energy belongs to `normal`.
  double add(const Part& part, Sum normal, bool angular) {
    sums[normal] += part.energy_normal;
    sums[kFriction] += part.energy_friction;
    sums[kUnscaled] += part.unscaled;
    sums[kScaled] += part.scaled;
    sums[kScaledSlip] += part.slip;
    sums[kFischer] += part.fischer;
    sums[kWork] += part.work;
    double& largest = maxima[angular ? kNaturalAngular : kNaturalLinear];
    largest = std::max(largest, part.natural);
    if (!angular) sums[kNatural] += part.natural * part.natural;
    return part.energy_normal + part.energy_friction;
  }

  double add_contact(const double* lambda, std::size_t row, double mu) {
    const double* d = diagonal.data() + row;
    const double* slip = w.data() + row;
    if (problem.law == ContactLaw::coulomb || problem.law == ContactLaw::ccp) {
      const Vec3 l(lambda[0], lambda[1], lambda[2]);
      Vec3 w_hat(slip[0], slip[1], slip[2]);
      if (problem.law == ContactLaw::coulomb)
        w_hat[0] += mu * row_errors::length_of(slip[1], slip[2]);
      Part part = cone_contact(l, w_hat, Vec3(d[0], d[1], d[2]), mu);
      // the gap and the norm of slips speak of w itself
      const double a = mean_diagonal(row);
      const double square = slip[0] * slip[0] + slip[1] * slip[1] + slip[2] * slip[2];
      part.slip = a > 0.0 ? square / (a * a) : 0.0;
      part.work = lambda[0] * slip[0] + lambda[1] * slip[1] + lambda[2] * slip[2];
      return add(part, kNormal, false);
    }
    const double bound = problem.law == ContactLaw::box ? mu * std::max(lambda[0], 0.0) : 0.0;
    double energy = add(scalar_row(lambda[0], slip[0], 0.0, kInfinity, d[0]), kNormal, false);
    for (std::size_t i = 1; i < 3; ++i) {
      Part part = scalar_row(lambda[i], slip[i], -bound, bound, d[i]);
      if (problem.law == ContactLaw::frictionless) part.slip = 0.0;
      energy += add(part, kFriction, false);
    }
    return energy;
  }

  double add_block(const double* lambda, const BlockView& view) {
    const auto row = static_cast<std::size_t>(view.row);
    if (view.kind == BlockKind::contact) return add_contact(lambda, row, view.friction);
    double energy = 0.0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(view.rows); ++i) {
      double lo = -kInfinity;
      double hi = kInfinity;
      if (view.kind == BlockKind::unilateral) lo = 0.0;
      if (view.kind == BlockKind::boxed) {
        const std::size_t at = row + i - 3 * problem.contacts.size();
        lo = problem.blocks.lower[at];
        hi = problem.blocks.upper[at];
      }
      energy += add(scalar_row(lambda[i], w[row + i], lo, hi, diagonal[row + i]),
                    view.kind == BlockKind::bilateral ? kJoint : kLimit, is_angular(row + i));
    }
    return energy;
  }

  /// Local part of all sums for `impulses`, whose slips are in w.
  void accumulate(std::span<const double> impulses) {
    std::fill(sums.begin(), sums.end(), 0.0);
    std::fill(maxima.begin(), maxima.end(), 0.0);
    worst = kNoIndex;
    worst_energy = -1.0;
    const Index n_blocks = problem.n_blocks();
    for (Index k = 0; k < n_blocks; ++k) {
      const BlockView view = block_view(problem, k);
      const double energy = add_block(impulses.data() + view.row, view);
      if (!(energy <= worst_energy) && !std::isnan(worst_energy)) {
        worst = k;
        worst_energy = energy;
      }
    }
    for (std::size_t i = 0; i < w.size(); ++i) {
      sums[kImpulse] += impulses[i] * impulses[i];
      sums[kSlip] += w[i] * w[i];
      sums[kFreeWork] += r[i] * impulses[i];
      sums[kQuadratic] += impulses[i] * (w[i] - r[i]);
    }
  }

  Errors finish() const {
    Errors e;
    // A comparison drops NaN, but the norms do not: one bad number spoils every error.
    const double poison = 0.0 * (sums[kImpulse] + sums[kSlip]);
    e.energy_joint = sums[kJoint] + poison;
    e.energy_normal = sums[kNormal] + poison;
    e.energy_friction = sums[kFriction] + poison;
    e.energy_limit = sums[kLimit] + poison;
    e.energy = e.energy_joint + e.energy_normal + e.energy_friction + e.energy_limit;
    e.natural_map = maxima[kNaturalLinear] + poison;
    e.natural_map_angular = maxima[kNaturalAngular] + poison;
    e.natural_map_rms = std::sqrt(sums[kNatural] / std::max(constants[kCount], 1.0)) + poison;

    const double impulse = std::sqrt(sums[kImpulse]);
    const double free_slip = std::sqrt(constants[kFreeSlip]);
    const double unscaled = std::sqrt(sums[kUnscaled]) + poison;
    const double size = std::max({impulse, free_slip, std::sqrt(sums[kSlip])});
    e.siconos = size > std::numeric_limits<double>::epsilon() ? unscaled / size : unscaled;
    e.fclib_merit = unscaled / (1.0 + std::sqrt(free_slip));
    const double scaled = std::sqrt(sums[kScaled]) + poison;
    const double scaled_size =
        std::max({impulse, std::sqrt(constants[kScaledFreeSlip]), std::sqrt(sums[kScaledSlip])});
    e.scaled = scaled_size > 0.0 ? scaled / scaled_size : scaled;

    e.objective = 0.5 * sums[kQuadratic] + sums[kFreeWork] + poison;
    const double works = std::max(std::abs(sums[kQuadratic]), std::abs(sums[kFreeWork]));
    // zero impulses have no gap to speak of: they are either the solution or not
    e.gap = (works > 0.0 ? std::abs(sums[kWork]) / works : (e.energy > 0.0 ? 1.0 : 0.0)) + poison;
    e.fischer_burmeister = std::sqrt(sums[kFischer]) + poison;
    return e;
  }

  const ConstraintProblem& problem;
  DelassusOperator& op;
  PendingReduction reduction;
  std::vector<double> diagonal;  ///< of N, per row
  std::vector<double> r;         ///< w at zero impulses
  std::vector<double> w;
  std::vector<double> velocities;
  std::array<double, kSums> sums{};
  std::array<double, kMaxima> maxima{};
  std::array<double, kConstants> constants{};
  Index worst = kNoIndex;
  double worst_energy = 0.0;
};

ErrorEvaluator::ErrorEvaluator(const ConstraintProblem& problem, DelassusOperator& op)
    : impl_(std::make_unique<Impl>(problem, op)) {}
ErrorEvaluator::~ErrorEvaluator() = default;

void ErrorEvaluator::begin(std::span<const double> impulses, std::span<double> velocities) {
  Impl& s = *impl_;
  const std::span<double> v = velocities.empty() ? std::span<double>(s.velocities) : velocities;
  s.op.velocities(impulses, v);
  s.op.slips(v, impulses, s.w);
  s.accumulate(impulses);
  s.reduction.begin(s.sums, s.maxima);
}

bool ErrorEvaluator::pending() const { return impl_->reduction.pending(); }

Errors ErrorEvaluator::end() {
  impl_->reduction.end(impl_->sums, impl_->maxima);
  return impl_->finish();
}

Errors ErrorEvaluator::evaluate(std::span<const double> impulses, std::span<double> velocities) {
  begin(impulses, velocities);
  return end();
}

Index ErrorEvaluator::worst_block(double* energy) const {
  if (energy != nullptr) *energy = impl_->worst == kNoIndex ? 0.0 : impl_->worst_energy;
  return impl_->worst;
}

}  // namespace catena
