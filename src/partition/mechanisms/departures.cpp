#include "catena/partition/departures.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "catena/comm/directory.hpp"
#include "catena/partition/cost_model.hpp"
#include "catena/partition/joint_links.hpp"
#include "catena/partition/mechanisms.hpp"
#include "partition/ownership/joint_homes.hpp"

namespace catena {
namespace {

using partition::JointWhereabouts;

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

/// Which of a joint's bodies holds the others without having mass, kNoBody: the world; nothing:
/// none does. Of a gear the carrier may be the world, which then gives the directions from which
/// its angles are counted; of a tendon the world has no place among its bodies.
std::optional<GlobalId> anchor_of(const Model& model, const JointConstants& joint,
                                  const std::array<partition::Whereabouts, kJointBodies>& where) {
  for (std::size_t k = 0; k < kJointBodies; ++k) {
    const bool named = k < 2 || joint.body[k] != kNoBody;
    if (named && where[k].dynamic == 0) return joint.body[k];
  }
  const auto of_world = [](const Tendon::Point& point) { return point.body < 0; };
  if (joint.type == JointType::tendon &&
      std::ranges::any_of(model.tendons[joint.law].points, of_world))
    return kNoBody;
  return std::nullopt;
}

/// Collective. Component of each owned body, kNoBody where no joint acts on it.
std::vector<GlobalId> components_of_bodies(const Communicator& comm, const Bodies& bodies,
                                           const JointWhereabouts& where,
                                           const std::vector<JointPlace>& places) {
  const IdIndex owned(bodies.constants);
  std::vector<GlobalId> component(bodies.constants.size(), kNoBody);
  RankLists<std::array<GlobalId, 2>> to(comm.size());  // body, component
  for (std::size_t j = 0; j < places.size(); ++j) {
    for (std::size_t k = 0; k < kJointBodies; ++k) {
      if (where[j][k].dynamic == 0) continue;
      const GlobalId id = bodies.joints[j].body[k];
      if (where[j][k].owner == comm.rank()) {
        component[owned.find(id)] = places[j].component;
      } else {
        to[where[j][k].owner].push_back({id, places[j].component});
      }
    }
  }
  for (const auto& [id, of_body] : joined(all_to_all(comm, std::move(to))))
    component[owned.find(id)] = of_body;
  return component;
}

/// What this rank's bodies and joints show of their mechanisms.
Censuses own_census(const Model& model, const Bodies& bodies, const JointWhereabouts& where,
                    const std::vector<JointPlace>& places, const std::vector<GlobalId>& component,
                    std::span<const char> entered) {
  Censuses censuses;
  for (std::size_t j = 0; j < places.size(); ++j) {
    Census of_joint;
    StayingMechanism& m = of_joint.mechanism;
    m.component = places[j].component;
    m.n_bodies = places[j].n_bodies;
    m.n_joints = places[j].n_joints;
    if (const auto anchor = anchor_of(model, bodies.joints[j], where[j])) {
      m.anchor = bodies.joints[j].id;
      m.anchor_body = *anchor;
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

/// Collective. Adds up what ranks know of each mechanism in the directory of components, which
/// answers those that asked.
class CensusDirectory {
 public:
  CensusDirectory(const Communicator& comm, const Censuses& own) : comm_(comm) {
    RankLists<Census> out(comm.size());
    for (const auto& [component, census] : own)
      out[directory_rank(comm, component)].push_back(census);
    told_ = all_to_all(comm, std::move(out));
    for (const auto& from : told_)
      for (const Census& census : from) merge(census, whole_[census.mechanism.component]);
  }

  /// Collective. Components that leave, of those that this rank knows, ascending.
  std::vector<GlobalId> leaving() const {
    RankLists<GlobalId> out(told_.size());
    for (std::size_t r = 0; r < told_.size(); ++r)
      for (const Census& census : told_[r])
        if (whole_.at(census.mechanism.component).leaves())
          out[r].push_back(census.mechanism.component);
    std::vector<GlobalId> leaving = joined(all_to_all(comm_, std::move(out)));
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
    std::vector<StayingMechanism> all = all_gather_values(comm_, own);
    std::sort(all.begin(), all.end(), [](const StayingMechanism& a, const StayingMechanism& b) {
      return a.component < b.component;
    });
    return all;
  }

 private:
  const Communicator& comm_;
  Censuses whole_;
  RankLists<Census> told_;
};

template <class Column>
void drop(const std::vector<char>& leaves, Column& column) {
  std::size_t to = 0;
  for (std::size_t i = 0; i < column.size(); ++i) {
    if (leaves[i] == 0) column[to++] = column[i];
  }
  column.resize(to);
}

}  // namespace

Departures find_departures(const Communicator& comm, const Model& model, const Bodies& bodies,
                           std::span<const char> entered, bool joints_gone) {
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
  // what is decided of a mechanism changes only where another body of it enters or joints go
  if (comm.sum(jointed) == 0 && !joints_gone) return departures;

  const JointWhereabouts where = partition::find_joint_bodies(comm, bodies);
  const std::vector<JointPlace> places = find_mechanisms(comm, edges_of(bodies, where));
  const std::vector<GlobalId> component = components_of_bodies(comm, bodies, where, places);
  const CensusDirectory directory(comm,
                                  own_census(model, bodies, where, places, component, entered));
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

void take_out(const Communicator& comm, const Departures& departures,
              std::span<const GlobalId> gone, Bodies& bodies, State& state) {
  for_each_body_column([&](const char*, auto& column) { drop(departures.body, column); }, bodies,
                       state);
  for_each_joint_column([&](const char*, auto& column) { drop(departures.joint, column); }, bodies,
                        state);
  const auto is_gone = [&](GlobalId id) { return std::ranges::binary_search(gone, id); };
  const auto touches = [&](const auto& item) { return is_gone(item.key.a) || is_gone(item.key.b); };
  std::erase_if(state.impulses, touches);
  std::erase_if(state.couples, touches);
  for_each_body_list(
      [&](const char*, auto& items) {
        std::erase_if(items, [&](const auto& item) { return is_gone(item.body); });
      },
      state);
  link_joints(comm, bodies);  // places of bodies and joints have changed
}

}  // namespace catena
