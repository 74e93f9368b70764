// Which contacts sweeps do not bring to rest.
#pragma once

#include <span>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"

namespace catena {

/// Watches a problem's rigid contacts over sweeps and groups those that change most, with those
/// that did in earlier watches, by the moving bodies that they share. Contacts at bodies that other
/// ranks know, too, are left out: groups of several ranks then share no body, and all of them may
/// be solved at once.
class RestlessContacts {
 public:
  explicit RestlessContacts(const ConstraintProblem& problem);

  /// Local. A watch begins at these impulses.
  void begin(std::span<const double> impulses);
  /// Local. After a sweep: what it changed.
  void note(std::span<const double> impulses);
  /// Collective. The groups (contacts ascending, first contact by first contact) of those that a
  /// sweep of the watch changed by at least kRestless of the largest such energy
  /// |D^(1/2) dlambda|^2, or that were in an earlier group. The kMost most restless of each.
  std::vector<std::vector<Index>> groups();

  static constexpr double kRestless = 0.01;
  static constexpr std::size_t kMost = 60;

 private:
  std::vector<Index> collect(Index first, std::vector<char>& open) const;
  void cut(std::vector<Index>& group);

  const ConstraintProblem& problem_;
  std::vector<double> diagonal_;        ///< per contact: N_nn and the tangents' mean; 0: left out
  std::vector<Index> begin_, contact_;  ///< per body: where its contacts stand in contact_
  std::vector<double> last_;            ///< impulses after the last sweep
  std::vector<double> change_;          ///< per contact: the watch's largest
  std::vector<char> restless_;          ///< in this watch or an earlier one
};

}  // namespace catena
