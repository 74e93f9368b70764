#include "solvers/joints/joint_system.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "catena/base/error.hpp"
#include "catena/base/release.hpp"
#include "catena/comm/sums.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/constraints/row_kernels.hpp"
#include "catena/model/joint.hpp"

namespace catena {
namespace {

using row_kernels::add_change;
using row_kernels::add_slip;
using row_kernels::with_rows;

/// What refinement leaves in w at most, m/s or rad/s, unless round-off is above: N_ii lambda_i is
/// added up in w, and is known to no more digits than these.
constexpr double kRefined = 1e-12;
constexpr double kRoundOff = 4.0 * std::numeric_limits<double>::epsilon();
constexpr int kMaxRefinements = 3;

/// v_b += M^-1 G^T lambda of a joint at its j-th body.
void add_change_of(const ConstraintProblem& problem, const HeldJoint& joint, Index j,
                   const double* lambda, double* v_b) {
  const ProblemBodies& bodies = problem.bodies;
  const Index b = joint.body(problem, j);
  const double* g =
      problem.blocks.jacobian.data() + problem.blocks.jacobian_begin[joint.reference(problem, j)];
  with_rows(joint.rows, [&](auto rows) {
    if (bodies.mass_kind[b] == MassKind::rigid) {
      add_change(rows, g, lambda, bodies.inverse_mass.data() + bodies.mass_begin[b], v_b);
      return;
    }
    const std::size_t dofs = bodies.dof_begin[b + 1] - bodies.dof_begin[b];
    std::vector<double> f(dofs, 0.0), y(dofs);
    for (int r = 0; r < rows; ++r)
      for (std::size_t d = 0; d < dofs; ++d) f[d] += g[Offset{r} * dofs + d] * lambda[r];
    apply_inverse_mass(bodies, b, f, y);
    for (std::size_t d = 0; d < dofs; ++d) v_b[d] += y[d];
  });
}

/// w = G V + Sigma lambda - q of general block k; `lambda` and `w` are its own.
template <class Rows>
void find_slip(Rows rows, const ConstraintProblem& problem, Index k, const double* lambda,
               std::span<const double> velocities, double* w) {
  const GeneralBlocks& blocks = problem.blocks;
  const ProblemBodies& bodies = problem.bodies;
  const double* sigma = blocks.compliance.data() + blocks.row_begin[k];
  const double* q = blocks.q.data() + blocks.row_begin[k];
  for (int r = 0; r < rows; ++r) w[r] = sigma[r] * lambda[r] - q[r];
  for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j) {
    const Index b = blocks.body[j];
    const double* g = blocks.jacobian.data() + blocks.jacobian_begin[j];
    const double* v = velocities.data() + bodies.dof_begin[b];
    const Index dofs = bodies.dofs(b);
    if (dofs == 6) {
      add_slip(rows, g, v, w);
      continue;
    }
    for (int r = 0; r < rows; ++r, g += dofs)
      for (Index d = 0; d < dofs; ++d) w[r] += g[d] * v[d];
  }
}

/// Collective. The first of all ranks' redundant rows, ascending.
std::vector<RedundantJointRow> gather_redundant(const Communicator& comm,
                                                std::span<const FactorReport* const> reports) {
  const auto keep_first = [](std::vector<RedundantJointRow>& rows) {
    std::ranges::sort(rows, {},
                      [](const RedundantJointRow& r) { return std::pair(r.name, r.row); });
    if (rows.size() > kMaxRedundantNamed) rows.resize(kMaxRedundantNamed);
  };
  std::vector<RedundantJointRow> own;
  for (const FactorReport* r : reports)
    for (const RedundantRow& row : r->redundant) own.push_back({row.name, row.row});
  keep_first(own);
  std::vector<RedundantJointRow> all = all_gather_values(comm, own);
  keep_first(all);
  return all;
}

}  // namespace

bool JointSystem::prepare(const ConstraintProblem& problem) {
  const std::int64_t number = problem.joint_matrix.value();
  if (number != 0 && factored_ == std::pair(&problem, number)) {
    report_.factorisations = 0;
    return layout_->count.joints > 0;
  }
  factored_ = {};
  HeldRows rows = find_held_joints(problem, held_);
  if (!laid_out_) rows.outdated = 1;
  const LayoutUse use = layout_use(problem.comm, rows);
  if (use != LayoutUse::serves) {
    choose_rows_at_rest(problem, use == LayoutUse::too_small, held_);
    make_structure(problem);
  }
  factor(problem);
  factored_ = {&problem, number};
  return layout_->count.joints > 0;
}

/// Collective.
void JointSystem::factor(const ConstraintProblem& problem) {
  report_.factorisations = 0;
  if (layout_->count.joints == 0) return;
  velocities_.connect(problem, held_);
  transport_->send_numbers(problem, held_);
  if (chain_) chain_->factor(problem.comm, *transport_, rows_);
  for (CutMechanism& mechanism : cut_) mechanism.factor(*transport_, problem);
  // a factor that fails on one rank is reported on all
  if (any_groups_)
    all_or_none(problem.comm, [&] {
      for (JointGroup& group : groups_) group.factor(*transport_, problem);
    });
  make_report(problem.comm);
  // other eliminations regularise in their own ways
  regular_ = chain_ && cut_.empty() && !any_groups_ && report_.raised == 0;
  if (regular_)
    keep_diagonal(problem);
  else
    diagonal_.clear();
  report_.factorisations = 1;
}

/// Collective.
void JointSystem::make_structure(const ConstraintProblem& problem) {
  const Communicator& comm = problem.comm;
  laid_out_ = false;
  groups_.clear();
  cut_.clear();
  chain_.reset();
  transport_.reset();
  layout_.reset();
  layout_ = lay_out_joints(problem, held_, settings_);
  const JointLayout& layout = *layout_;
  report_ = {};
  laid_out_ = layout.count.joints == 0;
  if (laid_out_) return;
  rows_.assign(layout.n_rows, 0.0);
  report_.joints = layout.count.joints;
  report_.chains = layout.count.chains;
  report_.trees = layout.count.trees;
  report_.rings = layout.count.rings;
  report_.looped = layout.count.looped;
  report_.longest_chain = layout.count.longest_chain;
  report_.own_rows = narrow<std::int64_t>(layout.n_assigned_rows);
  transport_.emplace(comm, layout);
  if (comm.sum(narrow<std::int64_t>(layout.n_chain)) > 0)
    chain_.emplace(problem, layout, settings_);
  bool rigid = true;
  for (const AssignedJoint& joint : layout.assigned) {
    rigid &= joint.rows <= narrow<int>(kJointRows);
    for (int j = 0; j < joint.bodies; ++j) rigid &= joint.mass_kind[j] == MassKind::rigid;
  }
  std::size_t next = layout.n_chain;
  for (const MechanismParts& parts : layout.parts) {
    cut_.emplace_back(comm, layout, parts, next, problem.ordered);
    next += cut_.back().size();
  }
  CATENA_CHECK(next == layout.n_chain + layout.n_cut, "cut mechanisms stand as announced");
  all_or_none(comm, [&] {
    for (std::size_t first = next; first < layout.assigned.size(); first += groups_.back().size())
      groups_.emplace_back(layout, first, rigid, settings_.method);
  });
  any_groups_ = comm.max(std::ssize(groups_)) > 0;
  // transport, chains and groups have what they need of it
  release(layout_->assigned);
  laid_out_ = true;
}

/// Neighbours, and what the eliminations say. rows_ = A^-1 rows_.
void JointSystem::eliminate() {
  transport_->bring(rows_);
  if (chain_) chain_->solve(rows_);
  for (CutMechanism& mechanism : cut_) mechanism.solve(rows_);
  for (JointGroup& group : groups_) group.solve(rows_);
  transport_->take_back(rows_);
}

/// slips_ = w of the held joints; returns the largest |w|, NaN if any is.
double JointSystem::find_slips(const ConstraintProblem& problem, std::span<const double> impulses,
                               std::span<const double> velocities) {
  const double* lambda = impulses.data() + 3 * problem.contacts.size();
  slips_.resize(problem.blocks.n_rows());
  double largest = 0.0;
  bool broken = false;
  for (const HeldJoint& joint : held_) {
    const std::size_t first = problem.blocks.row_begin[joint.block];
    double* w = slips_.data() + first;
    with_rows(joint.rows, [&](auto rows) {
      find_slip(rows, problem, joint.block, lambda + first, velocities, w);
      for (int r = 0; r < rows; ++r) {
        largest = std::max(largest, std::abs(w[r]));
        broken |= std::isnan(w[r]);
      }
    });
    // those at rest
    std::fill(w + joint.rows, slips_.data() + problem.blocks.row_begin[joint.block + 1], 0.0);
  }
  return broken ? std::nan("") : largest;
}

/// diagonal_ = that of N, which rows_ has of the assigned joints.
void JointSystem::keep_diagonal(const ConstraintProblem& problem) {
  transport_->take_back(rows_);
  diagonal_.resize(problem.blocks.n_rows());
  const GeneralBlocks& blocks = problem.blocks;
  for (std::size_t i = 0; i < held_.size(); ++i) {
    const Index first = blocks.row_begin[held_[i].block], end = first + held_[i].rows;
    std::copy_n(rows_.begin() + layout_->held_row[i], held_[i].rows, diagonal_.begin() + first);
    for (Index r = end; r < blocks.row_begin[held_[i].block + 1]; ++r)
      diagonal_[r] = blocks.compliance[r];
  }
}

/// rows_ = -`rows` of the held joints, which are rows of the general blocks.
void JointSystem::ask_for(const ConstraintProblem& problem, std::span<const double> rows) {
  for (std::size_t i = 0; i < held_.size(); ++i) {
    const double* from = rows.data() + problem.blocks.row_begin[held_[i].block];
    double* to = rows_.data() + layout_->held_row[i];
    with_rows(held_[i].rows, [&](auto n) {
      for (int r = 0; r < n; ++r) to[r] = -from[r];
    });
  }
}

/// lambda of the general blocks += rows_.
void JointSystem::add_impulses(const ConstraintProblem& problem, double* lambda) const {
  for (std::size_t i = 0; i < held_.size(); ++i) {
    const double* change = rows_.data() + layout_->held_row[i];
    double* own = lambda + problem.blocks.row_begin[held_[i].block];
    with_rows(held_[i].rows, [&](auto rows) {
      for (int r = 0; r < rows; ++r) own[r] += change[r];
    });
  }
}

/// Neighbours. V += M^-1 G^T rows_, at owners and ghosts.
void JointSystem::add_changes(const ConstraintProblem& problem, std::span<double> velocities) {
  velocities_.add(problem, held_, velocities, [&](std::size_t i, Index j, double* v_b) {
    add_change_of(problem, held_[i], j, rows_.data() + layout_->held_row[i], v_b);
  });
}

void JointSystem::solve(const ConstraintProblem& problem, std::span<double> impulses,
                        std::span<double> velocities) {
  velocities_.share(velocities);
  find_slips(problem, impulses, velocities);
  ask_for(problem, slips_);
  eliminate();
  add_impulses(problem, impulses.data() + 3 * problem.contacts.size());
  add_changes(problem, velocities);
}

void JointSystem::solve_anew(const ConstraintProblem& problem, std::span<double> impulses,
                             std::span<double> velocities) {
  const std::span<double> general = impulses.subspan(problem.first_general_row());
  ask_for(problem, general);
  add_impulses(problem, general.data());
  add_changes(problem, velocities);
  solve(problem, impulses, velocities);
  // chains' factors leave w = epsilon D lambda; all others refine by themselves, as far as
  // round-off
  if (report_.chain_joints > 0 || report_.regularisation > kJointRegularisation)
    solve(problem, impulses, velocities);
}

void JointSystem::measure(const ConstraintProblem& problem, DelassusOperator& op,
                          std::span<const double> impulses, std::span<double> velocities) {
  const bool zero =
      std::all_of(impulses.begin(), impulses.end(), [](double x) { return x == 0.0; });
  if (problem.comm.max(std::int64_t{zero ? 0 : 1}) == 0) {
    const std::span<const double> free = op.free_velocities();
    std::copy(free.begin(), free.end(), velocities.begin());
  } else {
    op.velocities(impulses, velocities);
  }
  std::array<double, 2> largest = {find_slips(problem, impulses, velocities), 0.0};
  const double* lambda = impulses.data() + problem.first_general_row();
  for (std::size_t r = 0; r < diagonal_.size(); ++r)
    largest[1] = std::max(largest[1], diagonal_[r] * std::abs(lambda[r]));
  problem.comm.max(largest);
  largest_slip_ = largest[0];
  refined_ = std::max(kRefined, kRoundOff * largest[1]);
}

/// Solved was (A + epsilon D) x = b, D the diagonal of A: b - A x = epsilon D x needs no
/// velocities to be known, and is nearly all that there is to refine.
void JointSystem::take_regularisation_out(const ConstraintProblem& problem,
                                          std::span<double> impulses) {
  for (std::size_t i = 0; i < held_.size(); ++i) {
    double* x = rows_.data() + layout_->held_row[i];
    const double* d = diagonal_.data() + problem.blocks.row_begin[held_[i].block];
    with_rows(held_[i].rows, [&](auto rows) {
      for (int r = 0; r < rows; ++r) x[r] *= kJointRegularisation * d[r];
    });
  }
  eliminate();
  add_impulses(problem, impulses.data() + 3 * problem.contacts.size());
}

void JointSystem::refine(const ConstraintProblem& problem, DelassusOperator& op,
                         std::span<double> impulses, std::span<double> velocities, int at_least) {
  for (int iteration = 0; iteration <= kMaxRefinements; ++iteration) {
    if (iteration >= at_least && !(largest_slip_ > refined_)) return;
    const double last = largest_slip_;
    ask_for(problem, slips_);
    eliminate();
    add_impulses(problem, impulses.data() + 3 * problem.contacts.size());
    if (regular_ && iteration == 0) take_regularisation_out(problem, impulses);
    measure(problem, op, impulses, velocities);
    // no better than half: what is left is round-off; NaN ends here, too
    if (!(largest_slip_ < 0.5 * last)) return;
  }
}

void JointSystem::move(const ConstraintProblem& problem, std::span<const double> rhs,
                       std::span<double> changes, std::span<double> impulses) {
  const std::size_t general = 3 * problem.contacts.size();
  const auto first_row = [&](std::size_t i) {
    return general + problem.blocks.row_begin[held_[i].block];
  };
  for (std::size_t i = 0; i < held_.size(); ++i)
    std::copy_n(rhs.begin() + first_row(i), held_[i].rows, rows_.begin() + layout_->held_row[i]);
  eliminate();
  for (std::size_t i = 0; !impulses.empty() && i < held_.size(); ++i)
    std::copy_n(rows_.begin() + layout_->held_row[i], held_[i].rows,
                impulses.begin() + first_row(i));
  std::fill(changes.begin(), changes.end(), 0.0);
  add_changes(problem, changes);
}

double JointSystem::contradiction(const ConstraintProblem& problem) const {
  if (report_.redundant.empty()) return 0.0;
  Sum sum(problem.ordered);
  for (const CutMechanism& mechanism : cut_) sum += mechanism.contradiction();
  for (const JointGroup& group : groups_) sum += group.contradiction();
  SumWords words(problem.ordered);
  words.add(sum);
  problem.comm.sum(words.words());
  return words[0];
}

/// Collective.
void JointSystem::make_report(const Communicator& comm) {
  FactorReport worst;
  double raised = 0.0, redundant = 0.0;
  const auto add = [&](const FactorReport& r) {
    worst.regularisation = std::max(worst.regularisation, r.regularisation);
    worst.smallest_pivot = std::min(worst.smallest_pivot, r.smallest_pivot);
    raised += static_cast<double>(r.raised);
    redundant += static_cast<double>(r.redundant.size());
  };
  std::int64_t sparse = 0;
  if (chain_) add(chain_->report());
  for (const CutMechanism& mechanism : cut_) {
    add(mechanism.report());
    sparse += narrow<std::int64_t>(mechanism.size());
  }
  for (const JointGroup& group : groups_) {
    add(group.report());
    sparse += group.sparse_joints();
  }
  std::array<double, 2> largest = {worst.regularisation, -worst.smallest_pivot};
  std::array<double, 5> sums = {raised, redundant, static_cast<double>(layout_->n_chain),
                                static_cast<double>(sparse), static_cast<double>(layout_->n_cut)};
  if (comm.size() > 1) {
    comm.max(largest);
    comm.sum(sums);
  }
  report_.regularisation = largest[0];
  report_.smallest_pivot = -largest[1];
  report_.raised = std::llround(sums[0]);
  report_.chain_joints = std::llround(sums[2]);
  report_.sparse_joints = std::llround(sums[3]);
  report_.cut_joints = std::llround(sums[4]);
  report_.grouping = "";
  constexpr std::array kGroupings = {"auto", "body", "rank", "piece"};
  if (chain_) report_.grouping = kGroupings[static_cast<std::size_t>(chain_->grouping())];
  report_.redundant.clear();
  if (!(sums[1] > 0.0)) return;
  std::vector<const FactorReport*> all;
  if (chain_) all.push_back(&chain_->report());
  for (const CutMechanism& mechanism : cut_) all.push_back(&mechanism.report());
  for (const JointGroup& group : groups_) all.push_back(&group.report());
  report_.redundant = gather_redundant(comm, all);
}

}  // namespace catena
