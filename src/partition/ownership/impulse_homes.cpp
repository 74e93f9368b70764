#include "catena/partition/impulse_homes.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "catena/base/error.hpp"
#include "catena/comm/bytes.hpp"
#include "partition/ownership/id_index.hpp"

namespace catena {

namespace {

using partition_detail::from_bytes;
using partition_detail::IdIndex;
using partition_detail::put;
using partition_detail::take;

/// A body and the rank that owns it; -1: none does.
struct Owned {
  BodyConstants body;
  std::int32_t owner = -1;
};

/// Ids of the bodies of impulses and couples held here, for each rank of the directory, ascending.
std::vector<std::vector<GlobalId>> ids_to_ask(const State& state, int n_ranks) {
  std::vector<std::vector<GlobalId>> ids(n_ranks);
  const auto add = [&](const auto& list) {
    for (const auto& item : list)
      for (const GlobalId id : {item.key.a, item.key.b}) ids[id % n_ranks].push_back(id);
  };
  add(state.impulses);
  add(state.couples);
  for (auto& some : ids) {
    std::sort(some.begin(), some.end());
    some.erase(std::unique(some.begin(), some.end()), some.end());
  }
  return ids;
}

/// Collective. The bodies of impulses held here that any rank owns.
std::vector<Owned> ask_directory(const Communicator& comm, const Bodies& bodies,
                                 const State& state) {
  const auto n_ranks = comm.size();
  std::vector<std::vector<BodyConstants>> own(n_ranks);
  for (const BodyConstants& body : bodies.constants) own[body.id % comm.size()].push_back(body);
  const std::vector<std::vector<GlobalId>> asked = ids_to_ask(state, comm.size());
  std::vector<Parcel> out;
  for (Index r = 0; r < n_ranks; ++r) {
    if (own[r].empty() && asked[r].empty()) continue;
    Parcel parcel{narrow<int>(r), {}};
    put(parcel.bytes, static_cast<std::uint64_t>(own[r].size()));
    put(parcel.bytes, own[r].data(), own[r].size());
    put(parcel.bytes, asked[r].data(), asked[r].size());
    out.push_back(std::move(parcel));
  }
  std::vector<Owned> entries;
  std::vector<std::pair<int, std::vector<GlobalId>>> questions;
  for (const Parcel& parcel : comm.exchange(std::move(out))) {
    std::span<const std::byte> bytes(parcel.bytes);
    std::vector<BodyConstants> some(take<std::uint64_t>(bytes));
    take(bytes, some.data(), some.size());
    for (const BodyConstants& body : some) entries.push_back({body, parcel.rank});
    questions.emplace_back(parcel.rank, from_bytes<GlobalId>(bytes));
  }
  const IdIndex directory(entries.size(), [&](std::size_t i) { return entries[i].body.id; });
  std::vector<Parcel> answers;
  for (const auto& [rank, ids] : questions) {
    Parcel parcel{rank, {}};
    for (const GlobalId id : ids) {
      const Index at = directory.find(id);
      if (at != kNoIndex) put(parcel.bytes, entries[at]);
    }
    if (!parcel.bytes.empty()) answers.push_back(std::move(parcel));
  }
  std::vector<Owned> known;
  for (const Parcel& parcel : comm.exchange(std::move(answers))) {
    const std::vector<Owned> some = from_bytes<Owned>(parcel.bytes);
    known.insert(known.end(), some.begin(), some.end());
  }
  return known;
}

/// Collective. Sends each of the list to its home's owner.
template <class Keyed>
void send_home(const Communicator& comm, const std::vector<Owned>& known,
               std::vector<Keyed>& list) {
  const IdIndex index(known.size(), [&](std::size_t i) { return known[i].body.id; });
  std::vector<std::vector<Keyed>> to(comm.size());
  all_or_none(comm, [&] {
    for (const Keyed& item : list) {
      const Index at_a = index.find(item.key.a), at_b = index.find(item.key.b);
      if (at_a == kNoIndex && at_b == kNoIndex)
        throw Error("an impulse acts on bodies " + std::to_string(item.key.a) + " and " +
                        std::to_string(item.key.b) + ", which are not there",
                    "checkpoint", {}, ExitCode::input_output);
      const std::size_t a = at_a, b = at_b;
      const bool is_a = at_b == kNoIndex ||
                        (at_a != kNoIndex && home_of(known[a].body, known[b].body) == item.key.a);
      to[known[is_a ? a : b].owner].push_back(item);
    }
  });
  std::vector<Parcel> out;
  for (std::size_t r = 0; r < to.size(); ++r) {
    if (to[r].empty()) continue;
    out.push_back({narrow<int>(r), partition_detail::to_bytes(to[r])});
  }
  list.clear();
  for (const Parcel& parcel : comm.exchange(std::move(out))) {
    const std::vector<Keyed> some = from_bytes<Keyed>(parcel.bytes);
    list.insert(list.end(), some.begin(), some.end());
  }
  std::sort(list.begin(), list.end(), [](const Keyed& x, const Keyed& y) { return x.key < y.key; });
}

}  // namespace

void bring_impulses_home(const Communicator& comm, const Bodies& bodies, State& state) {
  const std::vector<Owned> known = ask_directory(comm, bodies, state);
  send_home(comm, known, state.impulses);
  send_home(comm, known, state.couples);
}

}  // namespace catena
