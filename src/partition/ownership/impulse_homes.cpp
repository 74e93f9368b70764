#include "catena/partition/impulse_homes.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "catena/base/error.hpp"
#include "catena/base/sort_unique.hpp"
#include "catena/comm/directory.hpp"

namespace catena {

namespace {

using OwnedBody = Registered<BodyConstants>;

/// Collective. The bodies of impulses, couples and lists of few bodies held here that any rank
/// owns.
std::vector<OwnedBody> ask_directory(const Communicator& comm, const Bodies& bodies,
                                     const State& state) {
  std::vector<GlobalId> ids;
  const auto add = [&](const auto& list) {
    for (const auto& item : list) ids.insert(ids.end(), {item.key.a, item.key.b});
  };
  add(state.impulses);
  add(state.couples);
  for_each_body_list(
      [&](const char*, const auto& items) {
        for (const auto& item : items) ids.push_back(item.body);
      },
      state);
  sort_unique(ids);
  std::vector<DirectoryEntry<BodyConstants>> own;
  own.reserve(bodies.constants.size());
  for (const BodyConstants& body : bodies.constants) own.push_back({body.id, body});
  std::vector<OwnedBody> known = look_up<BodyConstants>(comm, own, ids);
  std::erase_if(known, [](const OwnedBody& body) { return body.rank < 0; });
  return known;
}

/// Collective. Sends each of the list to its home's owner.
template <class Keyed>
void send_home(const Communicator& comm, const std::vector<OwnedBody>& known,
               std::vector<Keyed>& list) {
  const IdIndex index(known.size(), [&](std::size_t i) { return known[i].value.id; });
  RankLists<Keyed> to(comm.size());
  all_or_none(comm, [&] {
    for (const Keyed& item : list) {
      const Index at_a = index.find(item.key.a), at_b = index.find(item.key.b);
      if (at_a == kNoIndex && at_b == kNoIndex)
        throw Error("an impulse acts on bodies " + std::to_string(item.key.a) + " and " +
                        std::to_string(item.key.b) + ", which are not there",
                    "checkpoint", {}, ExitCode::input_output);
      const std::size_t a = at_a, b = at_b;
      const bool is_a = at_b == kNoIndex ||
                        (at_a != kNoIndex && home_of(known[a].value, known[b].value) == item.key.a);
      to[known[is_a ? a : b].rank].push_back(item);
    }
  });
  list = joined(all_to_all(comm, std::move(to)));
  std::sort(list.begin(), list.end(), [](const Keyed& x, const Keyed& y) { return x.key < y.key; });
}

/// Collective. Sends each of the list to its body's owner.
template <class Item>
void send_to_owners(const Communicator& comm, const std::vector<OwnedBody>& known,
                    std::vector<Item>& list) {
  const IdIndex index(known.size(), [&](std::size_t i) { return known[i].value.id; });
  RankLists<Item> to(comm.size());
  all_or_none(comm, [&] {
    for (const Item& item : list) {
      const Index at = index.find(item.body);
      if (at == kNoIndex)
        throw Error("body " + std::to_string(item.body) + " moves or is loaded, and is not there",
                    "checkpoint", {}, ExitCode::input_output);
      to[known[at].rank].push_back(item);
    }
  });
  list = joined(all_to_all(comm, std::move(to)));
  std::ranges::sort(list, {}, &Item::body);
}

}  // namespace

void bring_impulses_home(const Communicator& comm, const Bodies& bodies, State& state) {
  const std::vector<OwnedBody> known = ask_directory(comm, bodies, state);
  send_home(comm, known, state.impulses);
  send_home(comm, known, state.couples);
  for_each_body_list([&](const char*, auto& items) { send_to_owners(comm, known, items); }, state);
}

}  // namespace catena
