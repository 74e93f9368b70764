#include "catena/metrics/errors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "catena/base/release.hpp"
#include "catena/comm/kept_reduction.hpp"
#include "catena/comm/sums.hpp"
#include "catena/constraints/block_diagonal.hpp"
#include "catena/constraints/fetch_bodies.hpp"
#include "catena/constraints/row_kernels.hpp"
#include "metrics/cone_energies.hpp"
#include "metrics/cone_violation.hpp"
#include "metrics/error_sums.hpp"
#include "metrics/row_scale.hpp"

namespace catena {
namespace {

using row_errors::ErrorSums;
using row_errors::ThreeRows;

}  // namespace

struct ErrorEvaluator::Impl {
  void start(const ConstraintProblem& p, DelassusOperator& o) {
    problem = &p;
    reduction.start(p.comm);
    op = &o;
    form = law_form(p.law);
    width = form.is_cone() && has_kernels(p) ? 2 : 3;
    words = SumWords(p.ordered);
    row_diagonal = known_w = {};
    worst = kNoIndex;
    worst_energy = 0.0;
    if (p.assembled)
      set_up_assembled();
    else
      set_up_bodies();
  }

  void set_up_assembled() {
    diagonal.resize(problem->n_rows());
    for (Index k = 0; k < problem->n_blocks(); ++k)
      row_diagonals(*problem, k, std::span(diagonal).subspan(Offset{3} * k, 3));
    w_rows.resize(diagonal.size());
  }

  void set_up_bodies() {
    make_room(diagonal, width * problem->contacts.size());
    diagonal.resize(width * problem->contacts.size());
    const ProblemBodies& bodies = problem->bodies;
    for (Index k = 0; k < std::ssize(problem->contacts); ++k) {
      fetch_bodies_ahead(problem->contacts, k, [&](Index b) {
        return bodies.inverse_mass.data() + bodies.mass_begin[b];
      });
      const std::span<double> d = std::span(diagonal).subspan(width * k, width);
      if (width == 2)
        std::ranges::copy(cone_diagonal(*problem, k), d.begin());
      else
        row_diagonals(*problem, k, d);
    }
  }

  /// Of the general blocks, unless it is known.
  void find_row_diagonal() {
    const GeneralBlocks& blocks = problem->blocks;
    if (problem->assembled || std::ssize(row_diagonal) == blocks.n_rows()) return;
    make_room(own_row_diagonal, blocks.n_rows());
    own_row_diagonal.resize(blocks.n_rows());
    for (Index k = 0; k < blocks.size(); ++k)
      row_diagonals(*problem, to_index(problem->contacts.size()) + k,
                    std::span(own_row_diagonal).subspan(blocks.row_begin[k], blocks.rows(k)));
    row_diagonal = own_row_diagonal;
  }

  template <ErrorSet kSet>
  double add_general(Index k, const double* lambda, const double* w, const double* r,
                     ErrorSums& t) const {
    const GeneralBlocks& blocks = problem->blocks;
    const std::size_t row = blocks.row_begin[k];
    const double* d = row_diagonal.data() + row;
    const Index block = to_index(problem->contacts.size()) + k;
    const BlockKind kind = blocks.kind[k];
    const Index rows = blocks.rows(k);
    if (kind == BlockKind::contact && rows > 3)
      return t.add_disc_contact<kSet>(block, lambda, w, r, d);
    if (kind == BlockKind::contact) {
      const ContactCone cone = contact_cone(*problem, block);
      return t.add_contact<kSet>({Vec3(lambda[0], lambda[1], lambda[2]), Vec3(w[0], w[1], w[2]),
                                  Vec3(r[0], r[1], r[2]), d[0], d[1], d[2], cone.discs.bound[0],
                                  cone.cohesion, cone.axis[2]});
    }
    double energy = 0.0;
    if (kind == BlockKind::bilateral) {
      row_kernels::with_rows(rows, [&](auto n) {
        energy = t.add_joint<kSet>(n, lambda, w, r, d, blocks.angular.data() + row);
      });
      return energy;
    }
    for (Index i = 0; i < rows; ++i) {
      double lo = 0.0;  // unilateral
      double hi = kInfinity;
      if (kind == BlockKind::boxed) {
        lo = blocks.lower[row + i];
        hi = blocks.upper[row + i];
      }
      t.add_row<kSet>(lambda[i], w[i], r[i]);
      energy += t.add_scalar<kSet>(lambda[i], w[i], r[i], lo, hi, d[i], t.kLimit,
                                   blocks.angular[row + i] != 0, true);
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
              ConeGroup& g, std::size_t i, ErrorSums& t) const {
    const RigidContact& c = problem->contacts[k];
    const Index* dof = problem->bodies.dof_begin.data();
    Vec3 w = contact_slip(c, velocities.data() + dof[c.body_a], velocities.data() + dof[c.body_b]);
    w += bias_of(c);
    Vec3 lambda = Vec3::Zero();
    if (!impulses.empty()) {
      lambda = Eigen::Map<const Vec3>(impulses.data() + 3 * k);
      w += compliance_of(c).cwiseProduct(lambda);
    }
    t.sums[t.kImpulse] += lambda.squaredNorm();
    t.sums[t.kSlip] += w.squaredNorm();
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
  void walk_cones(std::span<const double> impulses, std::span<const double> velocities,
                  ErrorSums& t) {
    ConeGroup group{};
    const Index* dof = problem->bodies.dof_begin.data();
    const std::size_t n = problem->contacts.size();
    for (std::size_t first = 0; first < n; first += ConeGroup::kSize) {
      const std::size_t size = std::min(ConeGroup::kSize, n - first);
      for (std::size_t i = 0; i < size; ++i) {
        fetch_bodies_ahead(problem->contacts, first + i,
                           [&](Index b) { return velocities.data() + dof[b]; });
        gather(first + i, impulses, velocities, group, i, t);
      }
      cone_energies(group, form.shifted);
      if constexpr (kSet == ErrorSet::natural_map) {
        cone_natural_maps(group, form.shifted);
        for (std::size_t i = 0; i < size; ++i) {
          double& largest = t.maxima[t.kNaturalLinear];
          largest = std::max(largest, group.natural[i]);
          t.sums[t.kNatural] += group.natural[i] * group.natural[i];
          if (group.d_n[i] + 2.0 * group.a_t[i] > 0.0) t.sums[t.kCount] += 1.0;
        }
      }
      for (std::size_t i = 0; i < size; ++i) {
        t.sums[t.kNormal] += group.normal[i];
        t.sums[t.kFriction] += group.friction[i];
        compare(to_index(first + i), group.normal[i] + group.friction[i]);
      }
    }
  }

  /// Rigid contacts: their slips are made where they are used. No impulses: zeros.
  template <ErrorSet kSet>
  void walk_contacts(std::span<const double> impulses, std::span<const double> velocities,
                     std::span<const double> free, ErrorSums& t) {
    if constexpr (kSet != ErrorSet::all)
      if (width == 2) return walk_cones<kSet>(impulses, velocities, t);
    const Index* dof = problem->bodies.dof_begin.data();
    const double* d = diagonal.data();
    const std::size_t n = problem->contacts.size();
    for (std::size_t k = 0; k < n; ++k, d += width) {
      const RigidContact& c = problem->contacts[k];
      ThreeRows rows{Vec3::Zero(), Vec3::Zero(), Vec3::Zero(), d[0],
                     d[1],         d[width - 1], c.friction,   c.cohesion};
      if (!has_kernels(*problem)) {
        const ContactCone cone = contact_cone(*problem, to_index(k));
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
      compare(to_index(k), t.add_contact<kSet>(rows));
    }
  }

  /// General blocks; `impulses` and slips `w` are theirs.
  template <ErrorSet kSet>
  void walk_general(std::span<const double> impulses, std::span<const double> w,
                    std::span<const double> free, ErrorSums& t) {
    const GeneralBlocks& blocks = problem->blocks;
    std::vector<double> r;
    if (impulses.empty()) none.assign(most_rows(), 0.0);
    if constexpr (kSet == ErrorSet::all) {
      r.resize(blocks.n_rows());
      op->general_residual_velocities(free, {}, r);
    }
    // r is read in ErrorSet::all only
    const double* free_slips = kSet == ErrorSet::all ? r.data() : w.data();
    const auto n_contacts = to_index(problem->contacts.size());
    for (Index k = 0; k < blocks.size(); ++k) {
      const std::size_t row = blocks.row_begin[k];
      const double* lambda = impulses.empty() ? none.data() : impulses.data() + row;
      compare(n_contacts + k, add_general<kSet>(k, lambda, w.data() + row, free_slips + row, t));
    }
  }
  /// Of a general block.
  std::size_t most_rows() const {
    Index most = 0;
    for (Index k = 0; k < problem->blocks.size(); ++k)
      most = std::max(most, problem->blocks.rows(k));
    return most;
  }

  template <ErrorSet kSet>
  void walk_assembled(std::span<const double> impulses, ErrorSums& t) {
    const AssembledOperator& n = *problem->assembled;
    for (std::size_t k = 0; k < n.friction.size(); ++k) {
      const double* w = w_rows.data() + 3 * k;
      const double* r = n.r.data() + 3 * k;
      const double* d = diagonal.data() + 3 * k;
      const double* l = impulses.data() + 3 * k;
      const Vec3 lambda = impulses.empty() ? Vec3(Vec3::Zero()) : Vec3(l[0], l[1], l[2]);
      compare(to_index(k),
              t.add_contact<kSet>({lambda, Vec3(w[0], w[1], w[2]), Vec3(r[0], r[1], r[2]), d[0],
                                   d[1], d[2], n.friction[k], 0.0}));
    }
  }

  /// Local part of all sums. Assembled operators: neighbours. No impulses: zeros.
  template <ErrorSet kSet>
  void walk(std::span<const double> impulses, std::span<const double> velocities) {
    worst = kNoIndex;
    worst_energy = -1.0;
    ErrorSums t(*problem);
    if (problem->assembled) {
      if (impulses.empty())
        std::copy(problem->assembled->r.begin(), problem->assembled->r.end(), w_rows.begin());
      else
        op->residual_velocities(velocities, impulses, w_rows);
      walk_assembled<kSet>(impulses, t);
    } else {
      std::span<const double> free;
      if constexpr (kSet == ErrorSet::all) free = op->free_velocities();
      walk_contacts<kSet>(impulses, velocities, free, t);
      if (problem->blocks.size() > 0) {
        const std::span<const double> theirs =
            impulses.empty() ? impulses : impulses.subspan(problem->first_general_row());
        std::span<const double> w = known_w;
        if (w.empty()) {
          make_room(w_rows, problem->blocks.n_rows());
          w_rows.resize(problem->blocks.n_rows());
          op->general_residual_velocities(velocities, theirs, w_rows);
          w = w_rows;
        }
        find_row_diagonal();
        walk_general<kSet>(theirs, w, free, t);
      }
    }
    words.clear();
    for (const Sum& sum : t.sums) words.add(sum);
    maxima = t.maxima;
    if constexpr (kSet == ErrorSet::all) {
      const ConeViolation cones = cone_violation_of(*problem, impulses, row_diagonal);
      maxima[ErrorSums::kDistance] = cones.distance;
      maxima[ErrorSums::kLargest] = cones.largest;
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

  /// sum s_i^2 / N_ii of energy_round_off, this rank's.
  Sum round_off_scales() const;

  const ConstraintProblem* problem = nullptr;
  DelassusOperator* op = nullptr;
  KeptReduction reduction;
  LawForm form;
  std::size_t width = 3;         ///< numbers of `diagonal` per rigid contact
  std::vector<double> diagonal;  ///< of N: N_nn and a_t, or three; assembled: per row
  std::vector<double> own_row_diagonal;
  std::span<const double> row_diagonal;  ///< of the general blocks' rows: own or known
  std::span<const double> known_w;       ///< w of the general blocks, if the caller has it
  std::vector<double> w_rows;            ///< else it; of all assembled rows
  std::vector<double> own_velocities;
  std::vector<double> none;  ///< zeros for the rows of a block
  ErrorSet set = ErrorSet::all;
  SumWords words{false};  ///< of the sums, then their totals over all ranks
  std::array<double, ErrorSums::kMaxima> maxima{};
  Index worst = kNoIndex;
  double worst_energy = 0.0;
  std::vector<double>* energies = nullptr;  ///< of each block, where they are asked for
};

Sum ErrorEvaluator::Impl::round_off_scales() const {
  Sum sum(problem->ordered);
  const auto add_square = [&](double scale, double n_ii) {
    if (n_ii > 0.0) sum += scale * scale / n_ii;
  };
  if (problem->assembled) {
    for (std::size_t i = 0; i < diagonal.size(); ++i)
      add_square(problem->assembled->r[i], diagonal[i]);
    return sum;
  }
  for (std::size_t k = 0; k < problem->contacts.size(); ++k) {
    const double size = row_scale(*problem, problem->contacts[k]);
    const double* d = diagonal.data() + width * k;
    for (const double d_i : {d[0], d[1], d[width - 1]}) add_square(size, d_i);
  }
  std::vector<double> scale;
  for (Index k = 0; k < problem->blocks.size(); ++k) {
    const std::size_t row = problem->blocks.row_begin[k];
    row_scales(*problem, k, scale);
    for (std::size_t i = 0; i < scale.size(); ++i) add_square(scale[i], row_diagonal[row + i]);
  }
  return sum;
}

ErrorEvaluator::ErrorEvaluator() : impl_(std::make_unique<Impl>()) {}
ErrorEvaluator::ErrorEvaluator(const ConstraintProblem& problem, DelassusOperator& op)
    : ErrorEvaluator() {
  start(problem, op);
}
ErrorEvaluator::~ErrorEvaluator() = default;

void ErrorEvaluator::start(const ConstraintProblem& problem, DelassusOperator& op) {
  impl_->start(problem, op);
}

void ErrorEvaluator::rest() {
  clear_large(impl_->diagonal);
  clear_large(impl_->own_row_diagonal);
  clear_large(impl_->w_rows);
  clear_large(impl_->own_velocities);
}

void ErrorEvaluator::know_general_rows(std::span<const double> diagonal,
                                       std::span<const double> w) {
  impl_->row_diagonal = diagonal;
  impl_->known_w = w;
}

void ErrorEvaluator::begin(std::span<const double> impulses, std::span<double> velocities,
                           ErrorSet set) {
  Impl& s = *impl_;
  if (velocities.empty() && !s.problem->assembled) {
    s.own_velocities.resize(s.problem->bodies.n_dofs());
    velocities = s.own_velocities;
  }
  s.op->velocities(impulses, velocities);
  begin_at(impulses, velocities, set);
}

void ErrorEvaluator::begin_at(std::span<const double> impulses, std::span<const double> velocities,
                              ErrorSet set) {
  impl_->accumulate(impulses, velocities, set);
  impl_->reduction->begin(impl_->words.words(), impl_->maxima);
}

bool ErrorEvaluator::pending() const { return impl_->reduction->pending(); }

Errors ErrorEvaluator::end() {
  impl_->reduction->end(impl_->words.words(), impl_->maxima);
  std::array<double, ErrorSums::kSums> total;
  for (std::size_t i = 0; i < total.size(); ++i) total[i] = impl_->words[i];
  return ErrorSums::errors(total, impl_->maxima, impl_->set);
}

Errors ErrorEvaluator::evaluate(std::span<const double> impulses, std::span<double> velocities,
                                ErrorSet set) {
  begin(impulses, velocities, set);
  return end();
}

Errors ErrorEvaluator::evaluate_at(std::span<const double> impulses,
                                   std::span<const double> velocities, ErrorSet set) {
  impl_->accumulate(impulses, velocities, set);
  impl_->reduction->begin(impl_->words.words(), impl_->maxima);
  return end();
}

Errors ErrorEvaluator::evaluate_zero(ErrorSet set) {
  return evaluate_at({}, impl_->op->free_velocities(), set);
}

ConeViolation ErrorEvaluator::cone_violation(std::span<const double> impulses) const {
  impl_->find_row_diagonal();
  const ConeViolation own = cone_violation_of(*impl_->problem, impulses, impl_->row_diagonal);
  std::array<double, 2> all = {own.distance, own.largest};
  impl_->problem->comm.max(all);
  return {all[0], all[1]};
}

double energy_round_off(double scales) {
  constexpr double kRoundOff = 8.0 * std::numeric_limits<double>::epsilon();
  return 0.5 * kRoundOff * kRoundOff * scales;
}

double ErrorEvaluator::energy_round_off() {
  const ConstraintProblem& problem = *impl_->problem;
  impl_->find_row_diagonal();
  return catena::energy_round_off(total(problem.comm, impl_->round_off_scales(), problem.ordered));
}

std::vector<double> ErrorEvaluator::block_energies(std::span<const double> impulses,
                                                   std::span<double> velocities) {
  std::vector<double> energies(impl_->problem->n_blocks(), 0.0);
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
