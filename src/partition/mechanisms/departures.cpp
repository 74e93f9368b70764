#include "catena/partition/departures.hpp"

#include <algorithm>
#include <map>

#include "catena/comm/bytes.hpp"
#include "catena/partition/cost_model.hpp"
#include "catena/partition/mechanisms.hpp"
#include "partition/ownership/id_index.hpp"
#include "partition/ownership/joint_homes.hpp"

namespace catena {
namespace {

using partition_detail::from_bytes;
using partition_detail::IdIndex;
using partition_detail::JointWhereabouts;
using partition_detail::put;

/// What a rank, or all ranks, know of a mechanism.
struct Census {
  StayingMechanism mechanism;
  std::int64_t passed = 0;   ///< bodies that have been in an outflow
  std::int64_t entered = 0;  ///< of these, just now

  bool leaves() const { return mechanism.anchor == kNoBody && passed == mechanism.n_bodies; }
};

/// By component.
using Censuses = std::map<GlobalId, Census>;

/// The smaller of two ids, of which either may be kNoBody.
bool precedes(GlobalId a, GlobalId b) { return a != kNoBody && (b == kNoBody || a < b); }

void merge(const Census& from, Census& into) {
  StayingMechanism& all = into.mechanism;
  const StayingMechanism& part = from.mechanism;
  all.component = part.component;
  all.n_bodies = std::max(all.n_bodies, part.n_bodies);
  all.n_joints = std::max(all.n_joints, part.n_joints);
  if (precedes(part.body, all.body)) {
    all.body = part.body;
    all.region = part.region;
  }
  if (precedes(part.anchor, all.anchor)) {
    all.anchor = part.anchor;
    all.anchor_body = part.anchor_body;
  }
  into.passed += from.passed;
  into.entered += from.entered;
}

std::vector<JointEdge> edges_of(const Bodies& bodies, const JointWhereabouts& where) {
  std::vector<JointEdge> edges(bodies.joints.size());
  for (std::size_t j = 0; j < edges.size(); ++j) {
    edges[j].key = bodies.joints[j].id;
    edges[j].rows = static_cast<int>(rows_of(bodies.joints[j].type));
    for (std::size_t k = 0; k < kJointBodies; ++k) {
      if (where[j][k].dynamic == 0) continue;
      edges[j].body[edges[j].n_bodies++] = bodies.joints[j].body[k];
    }
  }
  return edges;
}

/// Which of a joint's bodies holds the others without having mass; -1: none. Of a gear the carrier
/// may be the world, which then gives the directions from which its angles are counted.
int anchor_of(const JointConstants& joint,
              const std::array<partition_detail::Whereabouts, kJointBodies>& where) {
  for (std::size_t k = 0; k < kJointBodies; ++k) {
    const bool named = k < 2 || joint.body[k] != kNoBody;
    if (named && where[k].dynamic == 0) return narrow<int>(k);
  }
  return -1;
}

/// Collective. Component of each owned body, kNoBody where no joint acts on it.
std::vector<GlobalId> components_of_bodies(const Communicator& comm, const Bodies& bodies,
                                           const JointWhereabouts& where,
                                           const std::vector<JointPlace>& places) {
  const IdIndex owned(bodies.constants);
  std::vector<GlobalId> component(bodies.constants.size(), kNoBody);
  std::map<int, std::vector<GlobalId>> to;  // body, component, body, ...
  for (std::size_t j = 0; j < places.size(); ++j) {
    for (std::size_t k = 0; k < kJointBodies; ++k) {
      if (where[j][k].dynamic == 0) continue;
      const GlobalId id = bodies.joints[j].body[k];
      if (where[j][k].owner == comm.rank()) {
        component[owned.find(id)] = places[j].component;
      } else {
        to[where[j][k].owner].insert(to[where[j][k].owner].end(), {id, places[j].component});
      }
    }
  }
  std::vector<Parcel> out;
  out.reserve(to.size());
  for (const auto& [rank, pairs] : to) out.push_back({rank, partition_detail::to_bytes(pairs)});
  for (const Parcel& parcel : comm.exchange(std::move(out))) {
    const auto pairs = from_bytes<GlobalId>(parcel.bytes);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2)
      component[owned.find(pairs[i])] = pairs[i + 1];
  }
  return component;
}

/// What this rank's bodies and joints tell of their mechanisms.
Censuses own_census(const Bodies& bodies, const JointWhereabouts& where,
                    const std::vector<JointPlace>& places, const std::vector<GlobalId>& component,
                    std::span<const char> entered) {
  Censuses censuses;
  for (std::size_t j = 0; j < places.size(); ++j) {
    Census of_joint;
    StayingMechanism& m = of_joint.mechanism;
    m.component = places[j].component;
    m.n_bodies = places[j].n_bodies;
    m.n_joints = places[j].n_joints;
    if (const int anchor = anchor_of(bodies.joints[j], where[j]); anchor >= 0) {
      m.anchor = bodies.joints[j].id;
      m.anchor_body = bodies.joints[j].body[anchor];
    }
    merge(of_joint, censuses[m.component]);
  }
  for (std::size_t i = 0; i < component.size(); ++i) {
    const BodyConstants& body = bodies.constants[i];
    if (body.passed == 0 || component[i] == kNoBody) continue;
    Census of_body;
    of_body.mechanism.component = component[i];
    of_body.mechanism.body = body.id;
    of_body.mechanism.region = body.passed - 1;
    of_body.passed = 1;
    of_body.entered = entered[i] != 0 ? 1 : 0;
    merge(of_body, censuses[component[i]]);
  }
  return censuses;
}

/// Collective. Adds up what ranks know of each mechanism on the rank component mod ranks, which
/// answers those that asked.
class Directory {
 public:
  Directory(const Communicator& comm, const Censuses& own) : comm_(comm) {
    std::map<int, std::vector<Census>> to;
    for (const auto& [component, census] : own)
      to[narrow<int>(component % comm.size())].push_back(census);
    std::vector<Parcel> out;
    out.reserve(to.size());
    for (const auto& [rank, censuses] : to)
      out.push_back({rank, partition_detail::to_bytes(censuses)});
    for (const Parcel& parcel : comm.exchange(std::move(out))) {
      const auto censuses = from_bytes<Census>(parcel.bytes);
      for (const Census& census : censuses) {
        merge(census, whole_[census.mechanism.component]);
        asked_[parcel.rank].push_back(census.mechanism.component);
      }
    }
  }

  /// Collective. Components that leave, of those that this rank knows, ascending.
  std::vector<GlobalId> leaving() const {
    std::vector<Parcel> out;
    for (const auto& [rank, components] : asked_) {
      Parcel parcel{rank, {}};
      for (const GlobalId component : components)
        if (whole_.at(component).leaves()) put(parcel.bytes, component);
      if (!parcel.bytes.empty()) out.push_back(std::move(parcel));
    }
    std::vector<GlobalId> leaving;
    for (const Parcel& parcel : comm_.exchange(std::move(out))) {
      const auto some = from_bytes<GlobalId>(parcel.bytes);
      leaving.insert(leaving.end(), some.begin(), some.end());
    }
    std::sort(leaving.begin(), leaving.end());
    return leaving;
  }

  /// Collective. Mechanisms that stay and of which no body had been in an outflow before.
  std::vector<StayingMechanism> newly_staying() const {
    std::vector<StayingMechanism> own;
    for (const auto& [component, census] : whole_) {
      if (census.entered > 0 && census.entered == census.passed && !census.leaves())
        own.push_back(census.mechanism);
    }
    auto all =
        from_bytes<StayingMechanism>(comm_.all_gather_bytes(partition_detail::to_bytes(own)));
    std::sort(all.begin(), all.end(), [](const StayingMechanism& a, const StayingMechanism& b) {
      return a.component < b.component;
    });
    return all;
  }

 private:
  const Communicator& comm_;
  Censuses whole_;
  std::map<int, std::vector<GlobalId>> asked_;  ///< by rank
};

}  // namespace

Departures find_departures(const Communicator& comm, const Bodies& bodies,
                           std::span<const char> entered) {
  const std::size_t n = bodies.constants.size();
  Departures departures;
  departures.body.assign(n, 0);
  departures.joint.assign(bodies.joints.size(), 0);
  std::int64_t jointed = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const BodyConstants& body = bodies.constants[i];
    if (body.passed == 0) continue;
    if (!body.jointed) departures.body[i] = 1;
    if (body.jointed && entered[i] != 0) ++jointed;
  }
  // what is decided of a mechanism changes only where another body of it enters
  if (comm.sum(jointed) == 0) return departures;

  const JointWhereabouts where = partition_detail::find_joint_bodies(comm, bodies);
  const std::vector<JointPlace> places = find_mechanisms(comm, edges_of(bodies, where));
  const std::vector<GlobalId> component = components_of_bodies(comm, bodies, where, places);
  const Directory directory(comm, own_census(bodies, where, places, component, entered));
  const std::vector<GlobalId> leaving = directory.leaving();
  const auto leaves = [&](GlobalId c) {
    return std::binary_search(leaving.begin(), leaving.end(), c) ? char{1} : char{0};
  };
  for (std::size_t i = 0; i < n; ++i) {
    const bool free = component[i] == kNoBody;
    departures.body[i] = free ? char{bodies.constants[i].passed != 0} : leaves(component[i]);
  }
  for (std::size_t j = 0; j < places.size(); ++j) departures.joint[j] = leaves(places[j].component);
  departures.staying = directory.newly_staying();
  return departures;
}

}  // namespace catena
