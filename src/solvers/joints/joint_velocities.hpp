// Velocities of the bodies that joints hold, between owners and ghosts.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "catena/comm/ghost_sum.hpp"
#include "catena/comm/halo_exchange.hpp"
#include "catena/constraints/ordered_sums.hpp"
#include "solvers/joints/joint_layout.hpp"

namespace catena {

/// Reads and adds up velocities of exactly those bodies that joints of any rank act on.
class JointVelocities {
 public:
  /// Collective. Takes the bodies and ghosts of a step.
  void connect(const ConstraintProblem& problem, std::span<const HeldJoint> held);

  /// Per local body: whether a joint of any rank acts on it.
  std::span<const char> touched() const { return touched_; }

  /// Neighbours. From owners to ghosts.
  void share(std::span<double> velocities);

  /// Neighbours. V += the changes that joints of all ranks make, at owners and ghosts.
  /// `add_change(i, j, v_b)` adds to the velocities of held joint i's j-th body what i changes.
  template <class AddChange>
  void add(const ConstraintProblem& problem, std::span<const HeldJoint> held,
           std::span<double> velocities, const AddChange& add_change) {
    // one rank of an ordered problem adds as several do
    const bool alone = problem.comm.size() == 1 && !problem.ordered;
    if (!alone) change_.assign(velocities.size(), 0.0);
    double* const v = alone ? velocities.data() : change_.data();
    for (std::size_t i = 0; i < held.size(); ++i)
      for (Index j = 0; j < held[i].bodies; ++j)
        add_change(i, j, v + problem.bodies.dof_begin[held[i].body(problem, j)]);
    if (alone) return;
    if (ordered_) {
      const auto n_contacts = to_index(problem.contacts.size());
      ordered_->complete(change_, [&](const OrderedSums::Term& term, OrderedSums::Numbers& change) {
        change.fill(0.0);
        const auto joint =
            std::lower_bound(held.begin(), held.end(), term.block - n_contacts,
                             [](const HeldJoint& one, Index block) { return one.block < block; });
        for (Index j = 0; j < joint->bodies; ++j)  // without the prescribed ones
          if (joint->reference(problem, j) == term.member)
            add_change(joint - held.begin(), j, change.data());
      });
    } else {
      backward_->complete(change_);
    }
    const Index owned = problem.bodies.dof_begin[problem.bodies.n_owned];
    for (Index d = 0; d < owned; ++d) velocities[d] += change_[d];
    share(velocities);
  }

 private:
  void find_touched(const ConstraintProblem& problem, std::span<const HeldJoint> held);

  std::vector<char> touched_;
  std::optional<HaloExchange> forward_;
  std::optional<GhostSum> backward_;
  std::optional<OrderedSums> ordered_;  ///< in place of backward_ where the problem is ordered
  std::vector<double> change_;
  int width_ = 6;  ///< velocities in an item
};

}  // namespace catena
