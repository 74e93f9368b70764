// What belongs to an id is kept on the rank "id mod ranks", where any rank finds it that does not
// know who has it.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "catena/base/id_index.hpp"
#include "catena/base/index.hpp"
#include "catena/comm/typed_exchange.hpp"

namespace catena {

/// The rank that keeps what belongs to an id: spread evenly whatever the ids' sign.
inline int directory_rank(const Communicator& comm, std::int64_t id) {
  return static_cast<int>(static_cast<std::uint64_t>(id) % static_cast<std::uint64_t>(comm.size()));
}

/// What this rank reports to the directory of an id.
template <PlainBytes T>
struct DirectoryEntry {
  GlobalId id = kNoBody;
  T value{};
};

/// What the directory answers.
template <PlainBytes T>
struct Registered {
  T value{};
  std::int32_t rank = -1;  ///< that registered it; -1: none did
};

/// Collective. Every rank registers `own`, each id on one rank at most, and looks up `wanted`, both
/// in one message to a rank of the directory; the answers stand in the order of `wanted`. Two
/// exchanges; memory O(own + wanted) where ids are spread evenly over the directory.
template <PlainBytes T>
std::vector<Registered<T>> look_up(const Communicator& comm, std::span<const DirectoryEntry<T>> own,
                                   std::span<const GlobalId> wanted) {
  RankLists<DirectoryEntry<T>> told(comm.size());
  for (const DirectoryEntry<T>& entry : own) told[directory_rank(comm, entry.id)].push_back(entry);
  RankLists<GlobalId> asked(comm.size());
  for (const GlobalId id : wanted) asked[directory_rank(comm, id)].push_back(id);
  std::vector<Parcel> out;
  for (int r = 0; r < comm.size(); ++r) {
    if (told[r].empty() && asked[r].empty()) continue;
    Packer parcel;
    parcel.put_list(told[r]);
    parcel.put_values(asked[r]);
    out.push_back({r, parcel.take()});
  }

  std::vector<std::pair<GlobalId, Registered<T>>> entries;
  std::vector<ValueParcel<GlobalId>> questions;
  for (const Parcel& parcel : comm.exchange(std::move(out))) {
    Unpacker in(parcel.bytes);
    for (const auto& entry : in.get_list<DirectoryEntry<T>>())
      entries.push_back({entry.id, {entry.value, parcel.rank}});
    if (!in.empty()) questions.push_back({parcel.rank, in.get_rest<GlobalId>()});
  }
  const IdIndex index(entries.size(), [&](std::size_t i) { return entries[i].first; });
  std::vector<ValueParcel<Registered<T>>> answers;
  for (const auto& [rank, ids] : questions) {
    auto& answer = answers.emplace_back(ValueParcel<Registered<T>>{rank, {}});
    for (const GlobalId id : ids) {
      const Index at = index.find(id);
      answer.values.push_back(at == kNoIndex ? Registered<T>{} : entries[at].second);
    }
  }
  RankLists<Registered<T>> heard(comm.size());
  for (auto& parcel : exchange_values(comm, std::move(answers)))
    heard[parcel.rank] = std::move(parcel.values);

  std::vector<std::size_t> taken(comm.size(), 0);
  std::vector<Registered<T>> found;
  found.reserve(wanted.size());
  for (const GlobalId id : wanted) {
    const int r = directory_rank(comm, id);
    CATENA_CHECK(taken[r] < heard[r].size(), "an answer for each id");
    found.push_back(heard[r][taken[r]++]);
  }
  return found;
}

}  // namespace catena
