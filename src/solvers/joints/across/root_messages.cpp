#include "solvers/joints/across/root_messages.hpp"

#include <map>

#include "catena/comm/directory.hpp"

namespace catena {
namespace {

/// What the directory knows of a root.
struct Root {
  GlobalId tree = kNoBody;
  Index own = kNoIndex;  ///< number of the tree on its rank
  Index dofs = 0;        ///< of the tree
  Index first_dof = 0;
};

}  // namespace

RootMessages::RootMessages(const Communicator& comm, std::span<const RootIds> own,
                           std::span<const GlobalId> bodies)
    : places_(bodies.size()) {
  std::vector<DirectoryEntry<Root>> told;
  for (Index i = 0; i < std::ssize(own); ++i) {
    const Index dofs = own[i].first == kNoBody ? 6 : 12;
    told.push_back({own[i].last, {own[i].last, i, dofs, 0}});
    if (dofs == 12) told.push_back({own[i].first, {own[i].last, i, dofs, 6}});
  }
  const auto found = look_up<Root>(comm, told, bodies);
  RankLists<OwnTree> ask(comm.size());
  RankLists<Index> from(comm.size());
  std::map<GlobalId, Index> number;
  for (std::size_t b = 0; b < found.size(); ++b) {
    const Root& root = found[b].value;
    if (found[b].rank < 0) continue;
    const auto [entry, fresh] = number.try_emplace(root.tree, to_index(trees_.size()));
    places_[b] = {entry->second, root.first_dof};
    if (!fresh) continue;
    trees_.push_back({root.tree, root.dofs});
    if (found[b].rank == comm.rank()) {
      here_.emplace_back(root.own, entry->second);
      continue;
    }
    ask[found[b].rank].push_back({root.own, root.dofs});
    from[found[b].rank].push_back(entry->second);
  }
  const RankLists<OwnTree> asked = all_to_all(comm, ask);
  std::vector<MessagePath> masses, velocities;
  for (int r = 0; r < comm.size(); ++r) {
    if (asked[r].empty() && from[r].empty()) continue;
    MessagePath& mass = masses.emplace_back(MessagePath{r, 0, 0});
    MessagePath& velocity = velocities.emplace_back(MessagePath{r, 0, 0});
    for (const auto& [own_tree, dofs] : asked[r]) {
      mass.send += dofs * dofs;
      velocity.send += dofs;
    }
    for (const auto& [own_tree, dofs] : ask[r]) {
      mass.receive += dofs * dofs;
      velocity.receive += dofs;
    }
    asked_.push_back(asked[r]);
    wanted_.push_back(from[r]);
  }
  masses_.emplace(comm, masses, Tag::across_root_masses);
  velocities_.emplace(comm, velocities, Tag::across_root_velocities);
}

}  // namespace catena
