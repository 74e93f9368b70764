// Numbers of the bodies at which branches hang, on their way to and from other ranks.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "catena/comm/path_messages.hpp"

namespace catena {

/// A body at which branches hang is the root of their forest, on one rank; joints that are no
/// branches may act on it from any rank. Carries W, 6 x 6, and velocities of the roots to these.
class RootMessages {
 public:
  /// Collective. `roots`: the ids of those here; `bodies`: of all that joints here act on which are
  /// no branches.
  RootMessages(const Communicator& comm, std::span<const GlobalId> roots,
               std::span<const GlobalId> bodies);

  /// Per body: whether it is a root of any rank.
  std::span<const char> is_root() const { return is_root_; }

  /// Neighbours. Calls put(body, numbers) for all of `bodies` that are roots, where get(root) are
  /// the numbers of a root: 36, or 6.
  template <class Get, class Put>
  void bring_masses(const Get& get, const Put& put) {
    bring(36, *masses_, get, put);
  }
  template <class Get, class Put>
  void bring_velocities(const Get& get, const Put& put) {
    bring(6, *velocities_, get, put);
  }

 private:
  template <class Get, class Put>
  void bring(Index width, PathMessages& messages, const Get& get, const Put& put) {
    for (std::size_t p = 0; p < asked_.size(); ++p) {
      double* out = messages.out(p);
      for (const Index root : asked_[p]) out = std::copy_n(get(root), width, out);
    }
    messages.begin();
    for (const auto& [root, body] : here_) put(body, get(root));
    messages.end();
    for (std::size_t p = 0; p < wanted_.size(); ++p) {
      const double* in = messages.in(p);
      for (const Index body : wanted_[p]) put(body, std::exchange(in, in + width));
    }
  }

  std::vector<char> is_root_;
  std::vector<std::pair<Index, Index>> here_;       ///< roots and bodies of this rank
  std::vector<std::vector<Index>> asked_, wanted_;  ///< per path: roots that go, bodies that come
  std::optional<PathMessages> masses_, velocities_;
};

}  // namespace catena
