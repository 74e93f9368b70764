// Numbers of the joints' eliminations, and their use in the outer iteration.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "catena/base/error.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/constraints/row_kernels.hpp"
#include "solvers/joints/joint_system.hpp"

namespace catena {
namespace {

using row_kernels::add_change;
using row_kernels::add_product;
using row_kernels::add_slip;
using row_kernels::times_inverse_mass;
using row_kernels::with_rows;

/// What refinement leaves in w at most, m/s or rad/s, unless round-off is above.
constexpr double kRefined = 1e-12;
constexpr int kMaxRefinements = 3;

using Line = std::array<double, 6 * kJointRows>;

/// A_ii += G M^-1 G^T of a rigid body; `y` keeps G M^-1.
template <class Rows>
void add_diagonal(Rows rows, const double* g, const double* m, Line& y, double* a) {
  times_inverse_mass(rows, g, m, y.data());
  add_product(rows, rows, y.data(), g, a);
}

}  // namespace

/// The last rank before this one that has chain blocks; -1: none.
int JointSystem::previous_rank(const Communicator& comm) const {
  for (int r = comm.rank() - 1; r >= 0; --r)
    if (first_place_[r] < first_place_[r + 1]) return r;
  return -1;
}

/// Collective. Sizes of the blocks that couple across ranks.
void JointSystem::connect_first(const ConstraintProblem& problem) {
  next_rows_ = 0;
  std::vector<ValueParcel<std::int64_t>> out;
  if (n_chain_ > 0 && dealt_.front().place.previous_body >= 0)
    out.push_back({previous_rank(problem.comm), {dealt_.front().rows}});
  for (const auto& parcel : exchange_values(problem.comm, std::move(out)))
    next_rows_ = narrow<int>(parcel.values.front());
}

/// Collective. G M^-1 of a rank's first block at the body it shares with the one before.
void JointSystem::send_first(const ConstraintProblem& problem) {
  if (problem.comm.size() == 1) return;
  std::vector<ValueParcel<double>> out;
  if (n_chain_ > 0 && dealt_.front().place.previous_body >= 0) {
    const AssignedBlock& first = dealt_.front();
    const View view = view_of(problem, first);
    const std::size_t j = first.place.previous_body;
    Line y;
    times_inverse_mass(first.rows, view.jacobian[j], view.inverse_mass[j], y.data());
    out.push_back({previous_rank(problem.comm), {y.begin(), y.begin() + 6 * first.rows}});
  }
  for (auto& parcel : exchange_values(problem.comm, std::move(out)))
    next_first_ = std::move(parcel.values);
}

void JointSystem::make_chain(const ConstraintProblem& problem) {
  const Communicator& comm = problem.comm;
  connect_first(problem);
  if (comm.sum(narrow<std::int64_t>(n_chain_)) == 0) return;
  for (std::size_t i = 0; i < n_chain_; ++i) {
    const AssignedBlock& d = dealt_[i];
    chain_.name.push_back(d.name);
    chain_.row_begin.push_back(chain_.row_begin.back() + d.rows);
    chain_.diagonal_begin.push_back(chain_.diagonal_begin.back() + d.rows * d.rows);
    int next = 0;
    if (d.place.next_body >= 0) next = i + 1 < n_chain_ ? dealt_[i + 1].rows : next_rows_;
    chain_.coupling_begin.push_back(chain_.coupling_begin.back() + d.rows * next);
  }
  chain_.diagonal.resize(chain_.diagonal_begin.back());
  chain_.coupling.resize(chain_.coupling_begin.back());
  JointSolverSettings settings = settings_;
  // by body the chains' places decide, which depend on the ranks
  if (problem.ordered) settings.grouping = ChainGrouping::rank;
  chain_factor_.emplace(comm, chain_, settings);
}

/// A = G M^-1 G^T + Sigma in chain order. G M^-1 of the body shared with the joint before serves
/// the diagonal block and the coupling.
void JointSystem::fill_chain(const ConstraintProblem& problem) {
  send_first(problem);
  std::fill(chain_.diagonal.begin(), chain_.diagonal.end(), 0.0);
  std::fill(chain_.coupling.begin(), chain_.coupling.end(), 0.0);
  View before{};
  for (std::size_t i = 0; i < n_chain_; ++i) {
    const AssignedBlock& d = dealt_[i];
    const View view = view_of(problem, d);
    double* a = chain_.diagonal.data() + chain_.diagonal_begin[i];
    with_rows(d.rows, [&](auto rows) {
      Line y;
      for (std::size_t j = 0; j < d.body.size(); ++j) {
        add_diagonal(rows, view.jacobian[j], view.inverse_mass[j], y, a);
        if (i == 0 || narrow<int>(j) != d.place.previous_body) continue;
        const AssignedBlock& last = dealt_[i - 1];
        add_product(last.rows, static_cast<int>(rows), before.jacobian[last.place.next_body],
                    y.data(), chain_.coupling.data() + chain_.coupling_begin[i - 1]);
      }
      for (int r = 0; r < rows; ++r) a[r * rows + r] += view.compliance[r];
    });
    before = view;
  }
  if (n_chain_ > 0 && next_rows_ > 0) {
    const AssignedBlock& last = dealt_[n_chain_ - 1];
    add_product(last.rows, next_rows_, before.jacobian[last.place.next_body], next_first_.data(),
                chain_.coupling.data() + chain_.coupling_begin[n_chain_ - 1]);
  }
}

namespace {

/// Rows of a border up to which a looped mechanism is a bordered forest.
constexpr Index kMaxBorderRows = 200;

}  // namespace

void JointSystem::make_groups(const ConstraintProblem& problem) {
  // trees together; each looped mechanism on its own; with method direct all in one; in ordered
  // problems each on its own
  std::map<std::int64_t, std::size_t> group_of;
  for (std::size_t i = n_chain_; i < dealt_.size(); ++i) {
    const AssignedBlock& d = dealt_[i];
    const bool tree = d.place.kind == MechanismKind::tree || d.place.kind == MechanismKind::chain;
    // of ordered problems a mechanism's factor must not know which others lie on its rank
    const bool together = !problem.ordered && (settings_.method == JointMethod::direct || tree);
    const auto [entry, fresh] =
        group_of.try_emplace(together ? -1 : d.place.component, groups_.size());
    if (fresh) groups_.emplace_back();
    groups_[entry->second].dealt.push_back(i);
  }
  bool rigid = true;
  for (const AssignedBlock& d : dealt_) {
    rigid &= d.rows <= narrow<int>(kJointRows);
    for (const MassKind kind : d.mass_kind) rigid &= kind == MassKind::rigid;
  }
  all_or_none(problem.comm, [&] {
    for (Group& group : groups_) {
      lay_out_group(group);
      const AssignedBlock& first = dealt_[group.dealt.front()];
      const bool small_blocks = std::all_of(group.dealt.begin(), group.dealt.end(),
                                            [&](auto d) { return dealt_[d].body.size() <= 2; });
      const bool tree =
          first.place.kind == MechanismKind::tree || first.place.kind == MechanismKind::chain;
      const bool simple = rigid && small_blocks && settings_.method != JointMethod::direct;
      group.sparse = false;
      if (simple && tree) {
        group.elimination = make_tree_elimination(group.joints);
      } else if (simple && border_rows(group.joints) <= kMaxBorderRows) {
        group.elimination = make_bordered_elimination(group.joints);
      } else {
        group.elimination = make_sparse_elimination(group.joints);
        group.sparse = true;
      }
    }
  });
}

/// The group's blocks and bodies, without their numbers.
void JointSystem::lay_out_group(Group& group) const {
  MechanismRows& joints = group.joints;
  GeneralBlocks& blocks = joints.blocks;
  std::map<GlobalId, Index> number;
  for (std::size_t n = 0; n < group.dealt.size(); ++n) {
    const AssignedBlock& d = dealt_[group.dealt[n]];
    blocks.kind.push_back(BlockKind::bilateral);
    blocks.name.push_back(d.name);
    blocks.row_begin.push_back(blocks.row_begin.back() + d.rows);
    joints.drive.resize(blocks.row_begin.back(), 0);
    std::fill_n(joints.drive.end() - d.drives, d.drives, char{1});
    for (std::size_t j = 0; j < d.body.size(); ++j) {
      const auto [entry, fresh] = number.try_emplace(d.body[j], joints.bodies.size());
      if (fresh) {
        const std::size_t dofs = d.dofs[j];
        const std::vector<double> zeros(dofs * dofs, 0.0);
        if (d.mass_kind[j] == MassKind::rigid)
          joints.bodies.add_rigid(d.body[j], 0.0, 0.0, {});
        else
          joints.bodies.add_dense(d.body[j], zeros, std::span(zeros).first(dofs));
        group.mass_from.emplace_back(n, j);
      }
      blocks.body.push_back(entry->second);
      blocks.jacobian_begin.push_back(blocks.jacobian_begin.back() +
                                      std::int64_t{d.rows} * d.dofs[j]);
    }
    blocks.body_begin.push_back(to_index(blocks.body.size()));
  }
  blocks.friction.assign(blocks.size(), 0.0);
  const std::size_t rows = blocks.n_rows();
  blocks.q.assign(rows, 0.0);
  blocks.compliance.assign(rows, 0.0);
  blocks.lower.assign(rows, 0.0);
  blocks.upper.assign(rows, 0.0);
  blocks.angular.assign(rows, 0);
  blocks.jacobian.assign(blocks.jacobian_begin.back(), 0.0);
  joints.bodies.n_owned = joints.bodies.size();
}

void JointSystem::fill_group(const std::vector<View>& views, Group& group) {
  GeneralBlocks& blocks = group.joints.blocks;
  ProblemBodies& bodies = group.joints.bodies;
  for (std::size_t n = 0; n < views.size(); ++n) {
    const std::size_t row = blocks.row_begin[n];
    std::copy_n(views[n].compliance, blocks.row_begin[n + 1] - row,
                blocks.compliance.begin() + row);
    const Index first = blocks.body_begin[n];
    for (Index j = first; j < blocks.body_begin[n + 1]; ++j)
      std::copy_n(views[n].jacobian[j - first],
                  blocks.jacobian_begin[j + 1] - blocks.jacobian_begin[j],
                  blocks.jacobian.begin() + blocks.jacobian_begin[j]);
  }
  for (std::size_t b = 0; b < group.mass_from.size(); ++b) {
    const auto& [n, j] = group.mass_from[b];
    std::copy_n(views[n].inverse_mass[j], bodies.mass_begin[b + 1] - bodies.mass_begin[b],
                bodies.inverse_mass.begin() + bodies.mass_begin[b]);
  }
}

/// Calls visit(number, first row, rows) for each block received from other ranks.
template <class Visit>
void JointSystem::for_each_received(const Visit& visit) const {
  for (const AssignedBlock& d : dealt_)
    if (!d.local) visit(d.index, received_place_[d.index], d.rows);
}

/// rows_ = A^-1 rows_.
void JointSystem::eliminate(const ConstraintProblem& problem) {
  const std::size_t width = width_;
  const std::span<double> remote = std::span(rows_).subspan(n_dealt_rows_);
  const bool alone = problem.comm.size() == 1;
  if (!alone) {
    to_dealt_->begin(remote);
    to_dealt_->end(received_);
    for_each_received([&](std::size_t r, std::size_t row, std::size_t n) {
      std::copy_n(received_.data() + r * width, n, rows_.data() + row);
    });
  }
  if (chain_factor_) chain_factor_->solve(std::span(rows_).first(chain_.row_begin.back()));
  for (Group& group : groups_) {
    const std::span<double> x = std::span(rows_).subspan(group.first_row, group.n_rows);
    group.elimination->solve(x, x);
  }
  if (alone) return;
  for_each_received([&](std::size_t r, std::size_t row, std::size_t n) {
    std::copy_n(rows_.data() + row, n, received_.data() + r * width);
  });
  from_dealt_->begin(received_);
  from_dealt_->end(remote);
}

/// rows_ = -w of the local blocks; returns the largest |w|, NaN if any is.
double JointSystem::residual(const ConstraintProblem& problem, std::span<const double> impulses,
                             std::span<const double> velocities) {
  const GeneralBlocks& blocks = problem.blocks;
  const ProblemBodies& bodies = problem.bodies;
  const double* lambda = impulses.data() + 3 * problem.contacts.size();
  double largest = 0.0;
  bool broken = false;
  for (std::size_t i = 0; i < block_.size(); ++i) {
    const std::size_t k = block_[i];
    const std::size_t first = blocks.row_begin[k];
    double* w = rows_.data() + place_[i];
    with_rows(signature_[i].rows, [&](auto rows) {
      for (int r = 0; r < rows; ++r) {
        const std::size_t row = first + r;
        w[r] = blocks.compliance[row] * lambda[row] - blocks.q[row];
      }
      for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j) {
        const Index b = blocks.body[j];
        const double* g = blocks.jacobian.data() + blocks.jacobian_begin[j];
        const double* v = velocities.data() + bodies.dof_begin[b];
        const Index dofs = bodies.dof_begin[b + 1] - bodies.dof_begin[b];
        if (dofs == 6) {
          add_slip(rows, g, v, w);
          continue;
        }
        for (int r = 0; r < rows; ++r, g += dofs)
          for (Index d = 0; d < dofs; ++d) w[r] += g[d] * v[d];
      }
      for (int r = 0; r < rows; ++r) {
        w[r] = -w[r];
        largest = std::max(largest, std::abs(w[r]));
        broken |= std::isnan(w[r]);
      }
    });
  }
  return broken ? std::nan("") : largest;
}

/// Neighbours. Velocities of bodies that joints hold go from their owners to ghosts.
void JointSystem::share(std::span<double> velocities) {
  if (!forward_) return;
  forward_->begin(velocities);
  forward_->end(velocities);
}

/// lambda of the general blocks += rows_.
void JointSystem::add_impulses(const ConstraintProblem& problem, double* lambda) const {
  for (std::size_t i = 0; i < block_.size(); ++i) {
    const double* change = rows_.data() + place_[i];
    double* own = lambda + problem.blocks.row_begin[block_[i]];
    with_rows(signature_[i].rows, [&](auto rows) {
      for (int r = 0; r < rows; ++r) own[r] += change[r];
    });
  }
}

/// v_b += M^-1 G^T rows_ of local block i at the j-th of its dynamic bodies.
void JointSystem::add_change_of(const ConstraintProblem& problem, std::size_t i, std::size_t j,
                                double* v_b) const {
  const ProblemBodies& bodies = problem.bodies;
  const double* change = rows_.data() + place_[i];
  const std::size_t reference = reference_[i][j];
  const Index b = problem.blocks.body[reference];
  const double* g = problem.blocks.jacobian.data() + problem.blocks.jacobian_begin[reference];
  with_rows(signature_[i].rows, [&](auto rows) {
    if (bodies.mass_kind[b] == MassKind::rigid) {
      add_change(rows, g, change, bodies.inverse_mass.data() + bodies.mass_begin[b], v_b);
      return;
    }
    const std::size_t dofs = bodies.dof_begin[b + 1] - bodies.dof_begin[b];
    std::vector<double> f(dofs, 0.0), y(dofs);
    for (int r = 0; r < rows; ++r)
      for (std::size_t d = 0; d < dofs; ++d) f[d] += g[Offset{r} * dofs + d] * change[r];
    apply_inverse_mass(bodies, b, f, y);
    for (std::size_t d = 0; d < dofs; ++d) v_b[d] += y[d];
  });
}

/// V += M^-1 G^T rows_, at owners and ghosts; lambda (of the general blocks, may be null) += rows_.
void JointSystem::add_changes(const ConstraintProblem& problem, double* lambda,
                              std::span<double> velocities) {
  if (lambda != nullptr) add_impulses(problem, lambda);
  const ProblemBodies& bodies = problem.bodies;
  // one rank of an ordered problem adds as several do
  const bool alone = problem.comm.size() == 1 && !problem.ordered;
  if (!alone) change_.assign(velocities.size(), 0.0);
  double* v = alone ? velocities.data() : change_.data();
  for (std::size_t i = 0; i < block_.size(); ++i)
    for (Index j = 0; j < signature_[i].bodies; ++j) {
      const Index b = problem.blocks.body[reference_[i][j]];
      add_change_of(problem, i, j, v + bodies.dof_begin[b]);
    }
  if (alone) return;
  if (ordered_) {
    complete_in_order(problem);
  } else {
    backward_->complete(change_);
  }
  const std::size_t owned = bodies.dof_begin[bodies.n_owned];
  for (std::size_t d = 0; d < owned; ++d) velocities[d] += change_[d];
  share(velocities);
}

/// Neighbours. change_ of bodies that joints of other ranks hold.
void JointSystem::complete_in_order(const ConstraintProblem& problem) {
  const auto n_contacts = to_index(problem.contacts.size());
  ordered_->complete(change_, [&](const OrderedSums::Term& term, OrderedSums::Numbers& change) {
    change.fill(0.0);
    const std::size_t i =
        std::lower_bound(block_.begin(), block_.end(), term.block - n_contacts) - block_.begin();
    const std::array<Index, 4>& reference = reference_[i];
    const auto j = std::find(reference.begin(), reference.end(), term.member);
    if (j != reference.end())  // else the body is prescribed
      add_change_of(problem, i, j - reference.begin(), change.data());
  });
}

void JointSystem::solve(const ConstraintProblem& problem, std::span<double> impulses,
                        std::span<double> velocities) {
  share(velocities);
  residual(problem, impulses, velocities);
  eliminate(problem);
  add_changes(problem, impulses.data() + 3 * problem.contacts.size(), velocities);
}

void JointSystem::solve_refined(const ConstraintProblem& problem, DelassusOperator& op,
                                std::span<double> impulses, std::span<double> velocities) {
  double last = std::numeric_limits<double>::infinity();
  for (int turn = 0;; ++turn) {
    const bool zero =
        std::all_of(impulses.begin(), impulses.end(), [](double x) { return x == 0.0; });
    if (problem.comm.max(std::int64_t{zero ? 0 : 1}) == 0) {
      const std::span<const double> free = op.free_velocities();
      std::copy(free.begin(), free.end(), velocities.begin());
    } else {
      op.velocities(impulses, velocities);
    }
    const double largest = problem.comm.max(residual(problem, impulses, velocities));
    // no better than half: what is left is round-off; NaN ends here, too
    if (largest <= kRefined || !(largest < 0.5 * last) || turn > kMaxRefinements) return;
    last = largest;
    eliminate(problem);
    add_impulses(problem, impulses.data() + 3 * problem.contacts.size());
  }
}

void JointSystem::move(const ConstraintProblem& problem, std::span<const double> rhs,
                       std::span<double> changes, std::span<double> impulses) {
  const GeneralBlocks& blocks = problem.blocks;
  const std::size_t general = 3 * problem.contacts.size();
  for (std::size_t i = 0; i < block_.size(); ++i)
    std::copy_n(rhs.data() + general + blocks.row_begin[block_[i]], signature_[i].rows,
                rows_.data() + place_[i]);
  eliminate(problem);
  for (std::size_t i = 0; !impulses.empty() && i < block_.size(); ++i)
    std::copy_n(rows_.data() + place_[i], signature_[i].rows,
                impulses.data() + general + blocks.row_begin[block_[i]]);
  std::fill(changes.begin(), changes.end(), 0.0);
  add_changes(problem, nullptr, changes);
}

/// Collective.
void JointSystem::make_report(const ConstraintProblem& problem) {
  FactorReport worst;
  std::vector<const FactorReport*> all;
  std::int64_t sparse = 0;
  if (chain_factor_) all.push_back(&chain_factor_->report());
  for (const Group& group : groups_) {
    all.push_back(&group.elimination->report());
    if (group.sparse) sparse += std::ssize(group.dealt);
  }
  double raised = 0.0, redundant = 0.0;
  for (const FactorReport* r : all) {
    worst.regularisation = std::max(worst.regularisation, r->regularisation);
    worst.smallest_pivot = std::min(worst.smallest_pivot, r->smallest_pivot);
    raised += static_cast<double>(r->raised);
    redundant += static_cast<double>(r->redundant.size());
  }
  std::array<double, 2> largest = {worst.regularisation, -worst.smallest_pivot};
  std::array<double, 4> sums = {raised, redundant, static_cast<double>(n_chain_),
                                static_cast<double>(sparse)};
  if (problem.comm.size() > 1) {
    problem.comm.max(largest);
    problem.comm.sum(sums);
  }
  report_.regularisation = largest[0];
  report_.smallest_pivot = -largest[1];
  report_.raised = std::llround(sums[0]);
  report_.chain_joints = std::llround(sums[2]);
  report_.sparse_joints = std::llround(sums[3]);
  report_.grouping = "";
  if (chain_factor_)
    report_.grouping = chain_factor_->grouping() == ChainGrouping::body ? "body" : "rank";
  report_.redundant.clear();
  if (sums[1] == 0.0) return;
  std::vector<std::int64_t> own;
  for (const FactorReport* r : all)
    for (const RedundantRow& row : r->redundant) {
      own.push_back(row.name);
      own.push_back(row.row);
    }
  const std::vector<std::int64_t> words = all_gather_values(problem.comm, own);
  for (std::size_t i = 0; i < words.size(); i += 2)
    report_.redundant.push_back({words[i], narrow<int>(words[i + 1])});
  std::sort(report_.redundant.begin(), report_.redundant.end(), [](const auto& x, const auto& y) {
    return std::pair(x.name, x.row) < std::pair(y.name, y.row);
  });
  if (report_.redundant.size() > kMaxRedundantNamed) report_.redundant.resize(kMaxRedundantNamed);
}

}  // namespace catena
