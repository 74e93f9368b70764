#include "catena/metrics/errors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "catena/comm/sums.hpp"
#include "catena/constraints/block_diagonal.hpp"
#include "catena/constraints/contact_cone.hpp"
#include "catena/math/types.hpp"
#include "metrics/cone_energies.hpp"
#include "metrics/cone_violation.hpp"
#include "metrics/disc_errors.hpp"
#include "metrics/row_errors.hpp"
#include "metrics/row_scale.hpp"

namespace catena {
namespace {

using row_errors::Part;
using row_errors::scalar_row;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

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

struct Totals {
  explicit Totals(bool exact) { sums.fill(Sum(exact)); }
  std::array<Sum, kSums> sums;
  std::array<double, kMaxima> maxima{};
};

}  // namespace

/// One contact of three rows, with all that its errors depend on.
struct ThreeRows {
  Vec3 lambda, w, r;  ///< r in ErrorSet::all only
  double d_n, d_1, d_2;
  double friction, cohesion;
  double axis = 1.0;  ///< of the second tangent
};

struct ErrorEvaluator::Impl {
  Impl(const ConstraintProblem& p, DelassusOperator& o)
      : problem(p),
        op(o),
        reduction(p.comm),
        form(law_form(p.law)),
        width(form.is_cone() && has_kernels(p) ? 2 : 3),
        contact_scales(p.ordered),
        words(p.ordered) {
    if (p.assembled)
      set_up_assembled();
    else
      set_up_bodies();
  }

  void set_up_assembled() {
    diagonal.resize(problem.n_rows());
    for (Index k = 0; k < problem.n_blocks(); ++k)
      row_diagonals(problem, k, std::span(diagonal).subspan(Offset{3} * k, 3));
    w_rows.resize(diagonal.size());
  }

  void set_up_bodies() {
    diagonal.reserve(width * problem.contacts.size());
    for (Index k = 0; k < std::ssize(problem.contacts); ++k) {
      double d_n, d_1, d_2;
      if (width == 2) {
        const std::array<double, 2> d = cone_diagonal(problem, k);
        diagonal.insert(diagonal.end(), d.begin(), d.end());
        d_n = d[0];
        d_1 = d_2 = d[1];
      } else {
        std::array<double, 3> d;
        row_diagonals(problem, k, d);
        diagonal.insert(diagonal.end(), d.begin(), d.end());
        d_n = d[0];
        d_1 = d[1];
        d_2 = d[2];
      }
      const double scale = row_scale(problem, problem.contacts[k]);
      for (const double d : {d_n, d_1, d_2})
        if (d > 0.0) contact_scales += scale * scale / d;
    }
    w_rows.resize(problem.blocks.n_rows());
    row_diagonal.resize(w_rows.size());
    const GeneralBlocks& blocks = problem.blocks;
    for (Index k = 0; k < blocks.size(); ++k)
      row_diagonals(problem, to_index(problem.contacts.size()) + k,
                    std::span(row_diagonal).subspan(blocks.row_begin[k], blocks.rows(k)));
  }

  /// Adds what a contact or scalar row says; its energy belongs to `normal`.
  template <ErrorSet kSet>
  double add(const Part& part, Place normal, bool angular, Totals& t) const {
    t.sums[normal] += part.energy_normal;
    t.sums[kFriction] += part.energy_friction;
    if constexpr (kSet != ErrorSet::energy) {
      double& largest = t.maxima[angular ? kNaturalAngular : kNaturalLinear];
      largest = std::max(largest, part.natural);
      t.maxima[kNaturalAngular] = std::max(t.maxima[kNaturalAngular], part.natural_angular);
      if (!angular) t.sums[kNatural] += part.natural * part.natural;
    }
    if constexpr (kSet == ErrorSet::all) {
      t.sums[kUnscaled] += part.unscaled;
      t.sums[kScaled] += part.scaled;
      t.sums[kScaledSlip] += part.slip;
      t.sums[kFischer] += part.fischer;
      t.sums[kWork] += part.work;
    }
    return part.energy_normal + part.energy_friction;
  }

  /// Adds the sums that do not ask for the law.
  template <ErrorSet kSet>
  void add_row(double lambda, double w, double r, Totals& t) const {
    t.sums[kImpulse] += lambda * lambda;
    t.sums[kSlip] += w * w;
    if constexpr (kSet == ErrorSet::all) {
      t.sums[kFreeSlip] += r * r;
      t.sums[kFreeWork] += r * lambda;
      t.sums[kQuadratic] += lambda * (w - r);
    }
  }

  /// A scalar row with its bounds; `counts` in the norms of natural maps and slips.
  template <ErrorSet kSet>
  double add_scalar(double lambda, double w, double r, double lo, double hi, double a, Place energy,
                    bool angular, bool counts, Totals& t) const {
    Part part = scalar_row<kSet>(lambda, w, lo, hi, a);
    if (!counts) part.slip = 0.0;
    if (a > 0.0 && counts) {
      if (!angular) t.sums[kCount] += 1.0;
      if constexpr (kSet == ErrorSet::all) t.sums[kScaledFreeSlip] += (r / a) * (r / a);
    }
    return add<kSet>(part, energy, angular, t);
  }

  template <ErrorSet kSet>
  double add_contact(const ThreeRows& c, Totals& t) const {
    for (int i = 0; i < 3; ++i) add_row<kSet>(c.lambda[i], c.w[i], c.r[i], t);
    const Vec3 lambda(c.lambda[0] + c.cohesion, c.lambda[1], c.lambda[2] * c.axis);
    if (form.is_cone()) {
      Vec3 w_hat(c.w[0], c.w[1], c.w[2] / c.axis);
      if (form.shifted) w_hat[0] += c.friction * row_errors::length_of(w_hat[1], w_hat[2]);
      const double a_t = 0.5 * (c.d_1 + c.d_2 / (c.axis * c.axis));
      Part part = row_errors::cone_contact<kSet>(lambda, w_hat, c.d_n, a_t, c.friction);
      if constexpr (kSet != ErrorSet::energy) {
        // the gap and the norm of slips speak of w itself
        const double a = (c.d_n + c.d_1 + c.d_2) / 3.0;
        part.slip = a > 0.0 ? c.w.squaredNorm() / (a * a) : 0.0;
        part.work = lambda.dot(Vec3(c.w[0], c.w[1], c.w[2] / c.axis));
        if (a > 0.0) t.sums[kCount] += 1.0;
        if constexpr (kSet == ErrorSet::all)
          if (a > 0.0) t.sums[kScaledFreeSlip] += c.r.squaredNorm() / (a * a);
      }
      return add<kSet>(part, kNormal, false, t);
    }
    const bool box = form.box;
    const double bound = box ? c.friction * std::max(lambda[0], 0.0) : 0.0;
    double energy =
        add_scalar<kSet>(lambda[0], c.w[0], c.r[0], 0.0, kInfinity, c.d_n, kNormal, false, true, t);
    energy +=
        add_scalar<kSet>(lambda[1], c.w[1], c.r[1], -bound, bound, c.d_1, kFriction, false, box, t);
    energy +=
        add_scalar<kSet>(lambda[2], c.w[2], c.r[2], -bound, bound, c.d_2, kFriction, false, box, t);
    return energy;
  }

  /// A contact of the general blocks with rolling or spinning rows; pointers to its rows.
  template <ErrorSet kSet>
  double add_disc_contact(Index block, const double* lambda, const double* w, const double* r,
                          const double* d, Totals& t) const {
    const ContactCone cone = contact_cone(problem, block);
    // rows of a frictionless contact are counted as those of a rough one
    const DiscCone discs =
        form.frictionless ? friction_coefficients(block_view(problem, block)) : cone.discs;
    row_errors::DiscContact c{Vec6::Zero(), Vec6::Zero(), Vec6::Zero(), discs, form.shifted};
    row_errors::DiscContact free = c;
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
    const row_errors::LinearRows rows = linear_rows(c);
    const row_errors::LinearRows free_rows = linear_rows(free);
    for (int i = 0; i < 6; ++i) {
      t.sums[kImpulse] += rows.lambda[i] * rows.lambda[i];
      t.sums[kSlip] += rows.w[i] * rows.w[i];
      t.sums[kFreeSlip] += free_rows.w[i] * free_rows.w[i];
      t.sums[kFreeWork] += c.lambda[i] * free.w[i];
      t.sums[kQuadratic] += c.lambda[i] * (c.w[i] - free.w[i]);
    }
    c.lambda[0] += cone.cohesion;
    if (form.is_cone()) {
      if (rows.a > 0.0) {
        t.sums[kCount] += 1.0;
        t.sums[kScaledFreeSlip] += free_rows.w.squaredNorm() / (rows.a * rows.a);
      }
      return add<kSet>(row_errors::disc_contact(c), kNormal, false, t);
    }
    const bool box = form.box;
    double energy = add_scalar<kSet>(c.lambda[0], c.w[0], free.w[0], 0.0, kInfinity, c.diagonal[0],
                                     kNormal, false, true, t);
    for (std::size_t i = 0; i < 3; ++i)
      for (int row = kDiscBegin[i]; row < kDiscBegin[i] + kDiscRows[i]; ++row) {
        if (place[row] < 0 || rows.length[row] <= 0.0) continue;
        const double bound = box ? rows.cone.bound[i] * std::max(c.lambda[0], 0.0) : 0.0;
        const double a = c.diagonal[row] * rows.length[row] * rows.length[row];
        Part part = scalar_row<kSet>(rows.lambda[row], rows.w[row], -bound, bound, a);
        part.natural /= rows.length[row];
        if (a > 0.0 && box && (i == 0 || c.cone.bound[i] > 0.0)) {
          if (i == 0) t.sums[kCount] += 1.0;
          t.sums[kScaledFreeSlip] += (free_rows.w[row] / a) * (free_rows.w[row] / a);
        } else {
          part.slip = 0.0;
        }
        energy += add<kSet>(part, kFriction, i > 0, t);
      }
    return energy;
  }

  template <ErrorSet kSet>
  double add_general(Index k, const BlockView& view, const double* lambda, const double* r,
                     Totals& t) const {
    const GeneralBlocks& blocks = problem.blocks;
    const std::size_t row = blocks.row_begin[k];
    const double* w = w_rows.data() + row;
    const double* d = row_diagonal.data() + row;
    const Index block = to_index(problem.contacts.size()) + k;
    if (view.kind == BlockKind::contact && view.rows > 3)
      return add_disc_contact<kSet>(block, lambda, w, r, d, t);
    if (view.kind == BlockKind::contact) {
      const ContactCone cone = contact_cone(problem, block);
      return add_contact<kSet>(
          {Vec3(lambda[0], lambda[1], lambda[2]), Vec3(w[0], w[1], w[2]), Vec3(r[0], r[1], r[2]),
           d[0], d[1], d[2], cone.discs.bound[0], cone.cohesion, cone.axis[2]},
          t);
    }
    double energy = 0.0;
    for (Index i = 0; i < view.rows; ++i) {
      double lo = -kInfinity;
      double hi = kInfinity;
      if (view.kind == BlockKind::unilateral) lo = 0.0;
      if (view.kind == BlockKind::boxed) {
        lo = blocks.lower[row + i];
        hi = blocks.upper[row + i];
      }
      add_row<kSet>(lambda[i], w[i], r[i], t);
      energy += add_scalar<kSet>(lambda[i], w[i], r[i], lo, hi, d[i],
                                 view.kind == BlockKind::bilateral ? kJoint : kLimit,
                                 blocks.angular[row + i] != 0, true, t);
    }
    return energy;
  }

  void compare(Index block, double energy) {
    if (energies != nullptr) (*energies)[block] = energy;
    if (energy <= worst_energy || std::isnan(worst_energy)) return;
    worst = block;
    worst_energy = energy;
  }

  /// Puts contact k and its slips into place i of the group.
  void gather(std::size_t k, std::span<const double> impulses, std::span<const double> velocities,
              ConeGroup& g, std::size_t i, Totals& t) const {
    const RigidContact& c = problem.contacts[k];
    const Index* dof = problem.bodies.dof_begin.data();
    Vec3 w = contact_slip(c, velocities.data() + dof[c.body_a], velocities.data() + dof[c.body_b]);
    w += bias_of(c);
    Vec3 lambda = Vec3::Zero();
    if (!impulses.empty()) {
      lambda = Eigen::Map<const Vec3>(impulses.data() + 3 * k);
      w += compliance_of(c).cwiseProduct(lambda);
    }
    t.sums[kImpulse] += lambda.squaredNorm();
    t.sums[kSlip] += w.squaredNorm();
    g.lambda_n[i] = lambda[0] + c.cohesion;
    g.lambda_1[i] = lambda[1];
    g.lambda_2[i] = lambda[2];
    g.w_n[i] = w[0];
    g.w_1[i] = w[1];
    g.w_2[i] = w[2];
    g.d_n[i] = diagonal[2 * k];
    g.a_t[i] = diagonal[2 * k + 1];
    g.mu[i] = c.friction;
  }

  /// walk_contacts without ErrorSet::all under a cone law, group by group.
  template <ErrorSet kSet>
  void walk_cones(std::span<const double> impulses, std::span<const double> velocities, Totals& t) {
    ConeGroup group{};
    const std::size_t n = problem.contacts.size();
    for (std::size_t first = 0; first < n; first += ConeGroup::kSize) {
      const std::size_t size = std::min(ConeGroup::kSize, n - first);
      for (std::size_t i = 0; i < size; ++i) gather(first + i, impulses, velocities, group, i, t);
      cone_energies(group, form.shifted);
      if constexpr (kSet == ErrorSet::natural_map) {
        cone_natural_maps(group, form.shifted);
        for (std::size_t i = 0; i < size; ++i) {
          double& largest = t.maxima[kNaturalLinear];
          largest = std::max(largest, group.natural[i]);
          t.sums[kNatural] += group.natural[i] * group.natural[i];
          if (group.d_n[i] + 2.0 * group.a_t[i] > 0.0) t.sums[kCount] += 1.0;
        }
      }
      for (std::size_t i = 0; i < size; ++i) {
        t.sums[kNormal] += group.normal[i];
        t.sums[kFriction] += group.friction[i];
        compare(to_index(first + i), group.normal[i] + group.friction[i]);
      }
    }
  }

  /// Rigid contacts: their slips are made where they are used. No impulses: zeros.
  template <ErrorSet kSet>
  void walk_contacts(std::span<const double> impulses, std::span<const double> velocities,
                     std::span<const double> free, Totals& t) {
    if constexpr (kSet != ErrorSet::all)
      if (width == 2) return walk_cones<kSet>(impulses, velocities, t);
    const Index* dof = problem.bodies.dof_begin.data();
    const double* d = diagonal.data();
    const std::size_t n = problem.contacts.size();
    for (std::size_t k = 0; k < n; ++k, d += width) {
      const RigidContact& c = problem.contacts[k];
      ThreeRows rows{Vec3::Zero(), Vec3::Zero(), Vec3::Zero(), d[0],
                     d[1],         d[width - 1], c.friction,   c.cohesion};
      if (!has_kernels(problem)) {
        const ContactCone cone = contact_cone(problem, to_index(k));
        rows.friction = cone.discs.bound[0];
        rows.axis = cone.axis[2];
      }
      if (!impulses.empty()) {
        const double* l = impulses.data() + 3 * k;
        rows.lambda = Vec3(l[0], l[1], l[2]);
      }
      const Index a = dof[c.body_a], b = dof[c.body_b];
      rows.w = contact_slip(c, velocities.data() + a, velocities.data() + b);
      rows.w += compliance_of(c).cwiseProduct(rows.lambda) + bias_of(c);
      if constexpr (kSet == ErrorSet::all) {
        rows.r = contact_slip(c, free.data() + a, free.data() + b);
        rows.r += bias_of(c);
      }
      compare(to_index(k), add_contact<kSet>(rows, t));
    }
  }

  /// General blocks, whose slips are in w_rows; `impulses` are theirs.
  template <ErrorSet kSet>
  void walk_general(std::span<const double> impulses, std::span<const double> free, Totals& t) {
    const GeneralBlocks& blocks = problem.blocks;
    std::vector<double> none, r;
    if (impulses.empty()) none.assign(blocks.n_rows(), 0.0);
    const double* lambda = impulses.empty() ? none.data() : impulses.data();
    r.assign(blocks.n_rows(), 0.0);
    if constexpr (kSet == ErrorSet::all) op.general_residual_velocities(free, {}, r);
    const auto n_contacts = to_index(problem.contacts.size());
    for (Index k = 0; k < blocks.size(); ++k) {
      const std::size_t row = blocks.row_begin[k];
      compare(n_contacts + k, add_general<kSet>(k, block_view(problem, n_contacts + k),
                                                lambda + row, r.data() + row, t));
    }
  }

  template <ErrorSet kSet>
  void walk_assembled(std::span<const double> impulses, Totals& t) {
    const AssembledOperator& n = *problem.assembled;
    for (std::size_t k = 0; k < n.friction.size(); ++k) {
      const double* w = w_rows.data() + 3 * k;
      const double* r = n.r.data() + 3 * k;
      const double* d = diagonal.data() + 3 * k;
      const double* l = impulses.data() + 3 * k;
      const Vec3 lambda = impulses.empty() ? Vec3(Vec3::Zero()) : Vec3(l[0], l[1], l[2]);
      compare(to_index(k),
              add_contact<kSet>({lambda, Vec3(w[0], w[1], w[2]), Vec3(r[0], r[1], r[2]), d[0], d[1],
                                 d[2], n.friction[k], 0.0},
                                t));
    }
  }

  /// Local part of all sums. Assembled operators: neighbours. No impulses: zeros.
  template <ErrorSet kSet>
  void walk(std::span<const double> impulses, std::span<const double> velocities) {
    worst = kNoIndex;
    worst_energy = -1.0;
    Totals t(problem.ordered);
    if (problem.assembled) {
      if (impulses.empty())
        std::copy(problem.assembled->r.begin(), problem.assembled->r.end(), w_rows.begin());
      else
        op.residual_velocities(velocities, impulses, w_rows);
      walk_assembled<kSet>(impulses, t);
    } else {
      std::span<const double> free;
      if constexpr (kSet == ErrorSet::all) free = op.free_velocities();
      walk_contacts<kSet>(impulses, velocities, free, t);
      if (problem.blocks.size() > 0) {
        const std::span<const double> theirs =
            impulses.empty() ? impulses : impulses.subspan(problem.first_general_row());
        op.general_residual_velocities(velocities, theirs, w_rows);
        walk_general<kSet>(theirs, free, t);
      }
    }
    words.clear();
    for (const Sum& sum : t.sums) words.add(sum);
    maxima = t.maxima;
    if constexpr (kSet == ErrorSet::all) {
      const ConeViolation cones = cone_violation_of(problem, impulses, row_diagonal);
      maxima[kDistance] = cones.distance;
      maxima[kLargest] = cones.largest;
    }
  }

  void accumulate(std::span<const double> impulses, std::span<const double> velocities,
                  ErrorSet which) {
    set = which;
    switch (which) {
      case ErrorSet::energy:
        return walk<ErrorSet::energy>(impulses, velocities);
      case ErrorSet::natural_map:
        return walk<ErrorSet::natural_map>(impulses, velocities);
      case ErrorSet::all:
        return walk<ErrorSet::all>(impulses, velocities);
    }
  }

  Errors finish() const {
    std::array<double, kSums> sums;
    for (std::size_t i = 0; i < kSums; ++i) sums[i] = words[i];
    Errors e;
    // A comparison drops NaN, but the norms do not: one bad number spoils every error.
    const double poison = 0.0 * (sums[kImpulse] + sums[kSlip]);
    e.energy_joint = sums[kJoint] + poison;
    e.energy_normal = sums[kNormal] + poison;
    e.energy_friction = sums[kFriction] + poison;
    e.energy_limit = sums[kLimit] + poison;
    e.energy = e.energy_joint + e.energy_normal + e.energy_friction + e.energy_limit;
    const double left_out = set == ErrorSet::energy ? kNaN : poison;
    e.natural_map = maxima[kNaturalLinear] + left_out;
    e.natural_map_angular = maxima[kNaturalAngular] + left_out;
    e.natural_map_rms = std::sqrt(sums[kNatural] / std::max(sums[kCount], 1.0)) + left_out;
    finish_relative(sums, set == ErrorSet::all ? poison : kNaN, e);
    e.cone_violation = maxima[kDistance] + (set == ErrorSet::all ? poison : kNaN);
    e.largest_impulse = maxima[kLargest] + (set == ErrorSet::all ? poison : kNaN);
    return e;
  }

  static void finish_relative(const std::array<double, kSums>& sums, double poison, Errors& e) {
    const double impulse = std::sqrt(sums[kImpulse]);
    const double free_slip = std::sqrt(sums[kFreeSlip]);
    const double unscaled = std::sqrt(sums[kUnscaled]) + poison;
    const double size = std::max({impulse, free_slip, std::sqrt(sums[kSlip])});
    e.siconos = size > std::numeric_limits<double>::epsilon() ? unscaled / size : unscaled;
    e.fclib_merit = unscaled / (1.0 + std::sqrt(free_slip));
    const double scaled = std::sqrt(sums[kScaled]) + poison;
    const double scaled_size =
        std::max({impulse, std::sqrt(sums[kScaledFreeSlip]), std::sqrt(sums[kScaledSlip])});
    e.scaled = scaled_size > 0.0 ? scaled / scaled_size : scaled;

    e.objective = 0.5 * sums[kQuadratic] + sums[kFreeWork] + poison;
    const double works = std::max(std::abs(sums[kQuadratic]), std::abs(sums[kFreeWork]));
    // zero impulses have no gap to speak of: they are either the solution or not
    e.gap = (works > 0.0 ? std::abs(sums[kWork]) / works : (e.energy > 0.0 ? 1.0 : 0.0)) + poison;
    e.fischer_burmeister = std::sqrt(sums[kFischer]) + poison;
  }

  /// sum s_i^2 / N_ii of energy_round_off, this rank's.
  Sum round_off_scales() const;

  const ConstraintProblem& problem;
  DelassusOperator& op;
  PendingReduction reduction;
  LawForm form;
  std::size_t width;                 ///< numbers of `diagonal` per rigid contact
  std::vector<double> diagonal;      ///< of N: N_nn and a_t, or three; assembled: per row
  Sum contact_scales;                ///< rigid contacts' part of round_off_scales
  std::vector<double> row_diagonal;  ///< of the general blocks' rows
  std::vector<double> w_rows;        ///< w of the general blocks, or of all assembled rows
  std::vector<double> own_velocities;
  ErrorSet set = ErrorSet::all;
  SumWords words;  ///< of the sums, then their totals over all ranks
  std::array<double, kMaxima> maxima{};
  Index worst = kNoIndex;
  double worst_energy = 0.0;
  std::vector<double>* energies = nullptr;  ///< of each block, where they are asked for
};

Sum ErrorEvaluator::Impl::round_off_scales() const {
  Sum sum = contact_scales;
  const auto add_square = [&](double scale, double n_ii) {
    if (n_ii > 0.0) sum += scale * scale / n_ii;
  };
  if (problem.assembled) {
    for (std::size_t i = 0; i < diagonal.size(); ++i)
      add_square(problem.assembled->r[i], diagonal[i]);
    return sum;
  }
  std::vector<double> scale;
  for (Index k = 0; k < problem.blocks.size(); ++k) {
    const std::size_t row = problem.blocks.row_begin[k];
    row_scales(problem, k, scale);
    for (std::size_t i = 0; i < scale.size(); ++i) add_square(scale[i], row_diagonal[row + i]);
  }
  return sum;
}

ErrorEvaluator::ErrorEvaluator(const ConstraintProblem& problem, DelassusOperator& op)
    : impl_(std::make_unique<Impl>(problem, op)) {}
ErrorEvaluator::~ErrorEvaluator() = default;

void ErrorEvaluator::begin(std::span<const double> impulses, std::span<double> velocities,
                           ErrorSet set) {
  Impl& s = *impl_;
  if (velocities.empty() && !s.problem.assembled) {
    s.own_velocities.resize(s.problem.bodies.n_dofs());
    velocities = s.own_velocities;
  }
  s.op.velocities(impulses, velocities);
  begin_at(impulses, velocities, set);
}

void ErrorEvaluator::begin_at(std::span<const double> impulses, std::span<const double> velocities,
                              ErrorSet set) {
  impl_->accumulate(impulses, velocities, set);
  impl_->reduction.begin(impl_->words.words(), impl_->maxima);
}

bool ErrorEvaluator::pending() const { return impl_->reduction.pending(); }

Errors ErrorEvaluator::end() {
  impl_->reduction.end(impl_->words.words(), impl_->maxima);
  return impl_->finish();
}

Errors ErrorEvaluator::evaluate(std::span<const double> impulses, std::span<double> velocities,
                                ErrorSet set) {
  begin(impulses, velocities, set);
  return end();
}

Errors ErrorEvaluator::evaluate_at(std::span<const double> impulses,
                                   std::span<const double> velocities, ErrorSet set) {
  impl_->accumulate(impulses, velocities, set);
  impl_->reduction.begin(impl_->words.words(), impl_->maxima);
  return end();
}

Errors ErrorEvaluator::evaluate_zero(ErrorSet set) {
  return evaluate_at({}, impl_->op.free_velocities(), set);
}

ConeViolation ErrorEvaluator::cone_violation(std::span<const double> impulses) const {
  const ConeViolation own = cone_violation_of(impl_->problem, impulses, impl_->row_diagonal);
  std::array<double, 2> all = {own.distance, own.largest};
  impl_->problem.comm.max(all);
  return {all[0], all[1]};
}

double ErrorEvaluator::energy_round_off() {
  constexpr double kRoundOff = 8.0 * std::numeric_limits<double>::epsilon();
  const ConstraintProblem& problem = impl_->problem;
  return 0.5 * kRoundOff * kRoundOff *
         total(problem.comm, impl_->round_off_scales(), problem.ordered);
}

std::vector<double> ErrorEvaluator::block_energies(std::span<const double> impulses,
                                                   std::span<double> velocities) {
  std::vector<double> energies(impl_->problem.n_blocks(), 0.0);
  impl_->energies = &energies;
  evaluate(impulses, velocities, ErrorSet::energy);
  impl_->energies = nullptr;
  return energies;
}

Index ErrorEvaluator::worst_block(double* energy) const {
  if (energy != nullptr) *energy = impl_->worst == kNoIndex ? 0.0 : impl_->worst_energy;
  return impl_->worst;
}

}  // namespace catena
