#include "catena/partition/joint_links.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>

#include "catena/base/error.hpp"
#include "catena/base/sort_unique.hpp"
#include "catena/comm/directory.hpp"
#include "partition/ownership/joint_homes.hpp"

namespace catena {

namespace partition {

namespace {

using IdPair = std::pair<GlobalId, GlobalId>;

/// Ids of bodies of own joints that are not owned here, ascending.
std::vector<GlobalId> unknown_ids(const Bodies& bodies, const IdIndex& owned) {
  std::vector<GlobalId> unknown;
  for (const JointConstants& joint : bodies.joints) {
    for (const GlobalId id : joint.body) {
      if (id != kNoBody && owned.find(id) == kNoIndex) unknown.push_back(id);
    }
  }
  sort_unique(unknown);
  return unknown;
}

std::int32_t is_dynamic(const BodyConstants& body) {
  return body.kind == BodyKind::dynamic ? 1 : 0;
}

/// Collective. Where the bodies `ids` are.
std::vector<Whereabouts> ask_directory(const Communicator& comm, const Bodies& bodies,
                                       std::span<const GlobalId> ids) {
  std::vector<DirectoryEntry<std::int32_t>> own;
  own.reserve(bodies.constants.size());
  for (const BodyConstants& body : bodies.constants) own.push_back({body.id, is_dynamic(body)});
  std::vector<Whereabouts> where;
  where.reserve(ids.size());
  for (const auto& found : look_up<std::int32_t>(comm, own, ids))
    where.push_back({found.rank, found.value});
  return where;
}

/// Rank of the home of a joint; -1: none of its bodies is dynamic.
int home_rank(const std::array<Whereabouts, kJointBodies>& where) {
  for (const std::size_t k : kHomeOrder) {
    if (where[k].dynamic == 1) return where[k].owner;
  }
  return -1;
}

/// Number of joints, each column's values, then where their bodies are.
std::vector<std::byte> pack(const std::vector<std::size_t>& leaving, const Bodies& bodies,
                            const State& state, const JointWhereabouts& where) {
  Packer out;
  out.put(static_cast<std::uint64_t>(leaving.size()));
  for_each_joint_column(
      [&](const char*, const auto& column) {
        for (const std::size_t j : leaving) out.put(column[j]);
      },
      bodies, state);
  for (const std::size_t j : leaving) out.put(where[j]);
  return out.take();
}

void unpack(std::span<const std::byte> bytes, Bodies& bodies, State& state,
            JointWhereabouts& where) {
  Unpacker in(bytes);
  const std::size_t n = in.get<std::uint64_t>();
  for_each_joint_column([&](const char*, auto& column) { in.append_to(column, n); }, bodies, state);
  in.append_to(where, n);
}

/// Keeps the joints `from` in that order: new[j] = old[from[j]].
void reorder(const std::vector<std::size_t>& from, Bodies& bodies, State& state,
             JointWhereabouts& where) {
  const auto pick = [&](auto& column) {
    std::remove_reference_t<decltype(column)> ordered;
    ordered.reserve(from.size());
    for (const std::size_t j : from) ordered.push_back(column[j]);
    column = std::move(ordered);
  };
  for_each_joint_column([&](const char*, auto& column) { pick(column); }, bodies, state);
  pick(where);
}

/// What one rank reports to another of its joints.
struct Message {
  std::vector<GlobalId> needed;  ///< bodies of the other's on which joints here act
  std::vector<IdPair> apart;
};

/// Fills links.body and links.outside, and says what other ranks must know.
std::vector<Message> connect_here(int own_rank, const IdIndex& owned, Bodies& bodies,
                                  const JointWhereabouts& where, int n_ranks) {
  JointLinks& links = bodies.links;
  std::vector<Message> to(n_ranks);
  links.body.resize(bodies.joints.size());
  for (std::size_t j = 0; j < bodies.joints.size(); ++j) {
    const JointConstants& joint = bodies.joints[j];
    const IdPair pair = std::minmax(joint.body[0], joint.body[1]);
    const bool apart = !joint.collide && pair.first != kNoBody;
    bool outside = false;
    for (std::size_t k = 0; k < kJointBodies; ++k) {
      const int owner = where[j][k].owner;
      const Index at = owner == own_rank ? owned.find(joint.body[k]) : kNoIndex;
      links.body[j][k] = at;
      outside = outside || (joint.body[k] != kNoBody && at == kNoIndex);
      if (at != kNoIndex) bodies.constants[at].jointed = true;
      if (owner < 0) continue;
      Message& message = to[owner];
      if (owner != own_rank) {
        message.needed.push_back(joint.body[k]);
        links.needed.push_back(joint.body[k]);
      }
      if (apart && k < 2) message.apart.push_back(pair);
    }
    if (outside) links.outside.push_back(to_index(j));
  }
  sort_unique(links.needed);
  for (Message& message : to) {
    sort_unique(message.needed);
    sort_unique(message.apart);
  }
  return to;
}

}  // namespace

JointWhereabouts find_joint_bodies(const Communicator& comm, const Bodies& bodies) {
  const IdIndex owned(bodies.constants);
  const std::vector<GlobalId> unknown = unknown_ids(bodies, owned);
  std::vector<Whereabouts> known;
  // of one rank's bodies nothing is elsewhere
  if (comm.size() > 1 && comm.sum(std::ssize(unknown)) > 0)
    known = ask_directory(comm, bodies, unknown);

  JointWhereabouts where(bodies.joints.size());
  for (std::size_t j = 0; j < where.size(); ++j) {
    for (std::size_t k = 0; k < kJointBodies; ++k) {
      const GlobalId id = bodies.joints[j].body[k];
      if (id == kNoBody) continue;
      if (const Index at = owned.find(id); at != kNoIndex) {
        where[j][k] = {comm.rank(), is_dynamic(bodies.constants[at])};
      } else if (!known.empty()) {
        where[j][k] = known[std::lower_bound(unknown.begin(), unknown.end(), id) - unknown.begin()];
      }
    }
  }
  return where;
}

void bring_joints_home(const Communicator& comm, Bodies& bodies, State& state,
                       JointWhereabouts& where) {
  std::vector<std::vector<std::size_t>> leaving(comm.size());
  std::vector<std::size_t> staying;
  all_or_none(comm, [&] {
    for (std::size_t j = 0; j < where.size(); ++j) {
      const int rank = home_rank(where[j]);
      if (rank < 0) {
        throw Error("joint " + std::to_string(bodies.joints[j].id) + " acts on no dynamic body", "",
                    "join at least one dynamic body");
      }
      (rank == comm.rank() ? staying : leaving[rank]).push_back(j);
    }
  });
  std::vector<Parcel> out;
  for (std::size_t r = 0; r < leaving.size(); ++r) {
    if (leaving[r].empty()) continue;
    out.push_back({narrow<int>(r), pack(leaving[r], bodies, state, where)});
  }
  if (staying.size() != where.size()) reorder(staying, bodies, state, where);
  for (const Parcel& parcel : comm.exchange(std::move(out))) {
    unpack(parcel.bytes, bodies, state, where);
  }
  std::vector<std::size_t> from(where.size());
  std::iota(from.begin(), from.end(), std::size_t{0});
  const auto by_id = [&](std::size_t i, std::size_t j) {
    return bodies.joints[i].id < bodies.joints[j].id;
  };
  if (std::is_sorted(from.begin(), from.end(), by_id)) return;
  std::sort(from.begin(), from.end(), by_id);
  reorder(from, bodies, state, where);
}

void connect_joints(const Communicator& comm, Bodies& bodies, const JointWhereabouts& where) {
  JointLinks& links = bodies.links;
  links = {};
  const IdIndex owned(bodies.constants);
  std::vector<Message> to = connect_here(comm.rank(), owned, bodies, where, comm.size());
  const std::size_t own_rank = comm.rank();
  links.apart = std::exchange(to[own_rank].apart, {});
  std::vector<Parcel> out;
  for (std::size_t r = 0; r < to.size(); ++r) {
    if (to[r].needed.empty()) continue;
    Packer parcel;
    parcel.put_list(to[r].needed);
    parcel.put_values(to[r].apart);
    out.push_back({narrow<int>(r), parcel.take()});
  }
  for (const Parcel& parcel : comm.exchange(std::move(out))) {
    Unpacker in(parcel.bytes);
    const auto ids = in.get_list<GlobalId>();
    auto& [rank, list] = links.offered.emplace_back(parcel.rank, std::vector<Index>{});
    for (const GlobalId id : ids) {
      const Index at = owned.find(id);
      CATENA_CHECK(at != kNoIndex, "the directory knows the owner of a body");
      bodies.constants[at].jointed = true;
      list.push_back(at);
    }
    std::sort(list.begin(), list.end());
    const auto pairs = in.get_rest<IdPair>();
    links.apart.insert(links.apart.end(), pairs.begin(), pairs.end());
  }
  sort_unique(links.apart);
}

}  // namespace partition

void link_joints(const Communicator& comm, Bodies& bodies) {
  bodies.links = {};
  if (comm.sum(std::ssize(bodies.joints)) == 0) return;
  partition::connect_joints(comm, bodies, partition::find_joint_bodies(comm, bodies));
}

bool held_apart(const JointLinks& links, GlobalId low, GlobalId high) {
  return std::binary_search(links.apart.begin(), links.apart.end(), std::pair(low, high));
}

}  // namespace catena
