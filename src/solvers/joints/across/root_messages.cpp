#include "solvers/joints/across/root_messages.hpp"

#include "catena/comm/directory.hpp"

namespace catena {

RootMessages::RootMessages(const Communicator& comm, std::span<const GlobalId> roots,
                           std::span<const GlobalId> bodies)
    : is_root_(bodies.size(), 0) {
  std::vector<DirectoryEntry<Index>> own;
  for (std::size_t i = 0; i < roots.size(); ++i) own.push_back({roots[i], to_index(i)});
  const auto found = look_up<Index>(comm, own, bodies);
  RankLists<Index> ask(comm.size()), from(comm.size());
  for (std::size_t b = 0; b < found.size(); ++b) {
    if (found[b].rank < 0) continue;
    is_root_[b] = 1;
    if (found[b].rank == comm.rank()) {
      here_.emplace_back(found[b].value, to_index(b));
      continue;
    }
    ask[found[b].rank].push_back(found[b].value);
    from[found[b].rank].push_back(to_index(b));
  }
  RankLists<Index> asked = all_to_all(comm, std::move(ask));
  std::vector<MessagePath> masses, velocities;
  for (int r = 0; r < comm.size(); ++r) {
    if (asked[r].empty() && from[r].empty()) continue;
    const Index send = to_index(asked[r].size()), receive = to_index(from[r].size());
    masses.push_back({r, 36 * send, 36 * receive});
    velocities.push_back({r, 6 * send, 6 * receive});
    asked_.push_back(std::move(asked[r]));
    wanted_.push_back(std::move(from[r]));
  }
  masses_.emplace(comm, masses, Tag::across_root_masses);
  velocities_.emplace(comm, velocities, Tag::across_root_velocities);
}

}  // namespace catena
