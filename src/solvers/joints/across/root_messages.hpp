// Numbers of the bodies at which branches hang, on their way to and from other ranks.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "catena/comm/path_messages.hpp"

namespace catena {

/// The ids of a tree's roots (TreeRoots); kNoBody: it has no first one.
struct RootIds {
  GlobalId last = kNoBody, first = kNoBody;
};

/// A body at which branches hang is a root of their tree, on one rank; joints that are no branches
/// may act on it from any rank. To these a tree is one body with the velocities of its roots, 6 or
/// 12. Carries W and velocities of the trees to them.
class RootMessages {
 public:
  /// A tree some of whose roots are among the bodies here.
  struct Tree {
    GlobalId id = kNoBody;  ///< of its last root
    Index dofs = 0;
  };
  /// Where the velocity of a body here stands among those of its tree.
  struct Place {
    Index tree = kNoIndex;  ///< of trees(); kNoIndex: the body is no root
    Index first_dof = 0;
  };

  /// Collective. `own`: the trees here; `bodies`: of all that joints here act on which are no
  /// branches.
  RootMessages(const Communicator& comm, std::span<const RootIds> own,
               std::span<const GlobalId> bodies);

  std::span<const Tree> trees() const { return trees_; }
  std::span<const Place> places() const { return places_; }  ///< per body

  /// Neighbours. Calls put(tree, numbers) for all of trees(), where get(i) are the numbers of own
  /// tree i: dofs x dofs, or dofs.
  template <class Get, class Put>
  void bring_masses(const Get& get, const Put& put) {
    bring([](Index dofs) { return dofs * dofs; }, *masses_, get, put);
  }
  template <class Get, class Put>
  void bring_velocities(const Get& get, const Put& put) {
    bring([](Index dofs) { return dofs; }, *velocities_, get, put);
  }

 private:
  /// Number of a tree on its rank.
  struct OwnTree {
    Index own = kNoIndex, dofs = 0;
  };
  template <class Count, class Get, class Put>
  void bring(const Count& count, PathMessages& messages, const Get& get, const Put& put) {
    for (std::size_t p = 0; p < asked_.size(); ++p) {
      double* out = messages.out(p);
      for (const auto& [own, dofs] : asked_[p]) out = std::copy_n(get(own), count(dofs), out);
    }
    messages.begin();
    for (const auto& [own, tree] : here_) put(tree, get(own));
    messages.end();
    for (std::size_t p = 0; p < wanted_.size(); ++p) {
      const double* in = messages.in(p);
      for (const Index tree : wanted_[p])
        put(tree, std::exchange(in, in + count(trees_[tree].dofs)));
    }
  }

  std::vector<Tree> trees_;
  std::vector<Place> places_;
  std::vector<std::pair<Index, Index>> here_;  ///< own trees that are among trees_
  std::vector<std::vector<OwnTree>> asked_;    ///< per path: trees that go there
  std::vector<std::vector<Index>> wanted_;     ///< per path: of trees_, those that come
  std::optional<PathMessages> masses_, velocities_;
};

}  // namespace catena
