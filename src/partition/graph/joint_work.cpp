#include "partition/graph/joint_work.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "catena/comm/directory.hpp"
#include "partition/graph/contact_graph.hpp"

namespace catena::partition {
namespace {

/// Joints of a whole mechanism whose homes are in one part.
struct Held {
  std::int64_t mechanism = 0;
  std::int64_t part = 0;
  std::int64_t joints = 0;
  std::int64_t amount = 0;
};

/// Those of the same mechanism and part in one; ascending.
void merge(std::vector<Held>& list) {
  const auto key = [](const Held& h) { return std::tuple(h.mechanism, h.part); };
  std::ranges::sort(list, {}, key);
  std::size_t n = 0;
  for (const Held& held : list) {
    if (n > 0 && key(list[n - 1]) == key(held)) {
      list[n - 1].joints += held.joints;
      list[n - 1].amount += held.amount;
    } else {
      list[n++] = held;
    }
  }
  list.resize(n);
}

}  // namespace

std::vector<JointEdge> joint_edges(const Bodies& bodies, const ContactSet& set) {
  std::vector<JointEdge> edges(bodies.joints.size());
  for (std::size_t j = 0; j < edges.size(); ++j) {
    edges[j].key = bodies.joints[j].id;
    edges[j].rows = narrow<int>(rows_of(bodies.joints[j].type));
    for (const Index body : dynamic_bodies(set, j))
      if (body != kNoIndex) edges[j].body[edges[j].n_bodies++] = set.bodies.constants[body].id;
  }
  return edges;
}

std::vector<JointEdge> eliminated_edges(const Bodies& bodies, const ContactSet& set) {
  std::vector<JointEdge> edges = joint_edges(bodies, set);
  for (std::size_t j = 0; j < edges.size(); ++j)
    if (const JointType type = bodies.joints[j].type;
        type == JointType::rope || type == JointType::tendon)
      edges[j].rows = 1;
  return edges;
}

std::int64_t n_loops(const JointPlace& place) {
  const bool tree = place.kind == MechanismKind::chain || place.kind == MechanismKind::tree;
  return tree ? 0 : std::max<std::int64_t>(0, place.n_joints - place.n_bodies);
}

double share_of_fronts(double joints, double loops) { return std::min(1.0, 3.0 * loops / joints); }

double factor_memory(const JointPlace& place) {
  constexpr double kReal = sizeof(double);
  const auto joints = static_cast<double>(place.n_joints);
  const double rows = static_cast<double>(place.n_rows) / joints;
  const bool tree = place.kind == MechanismKind::chain || place.kind == MechanismKind::tree;
  // G at both bodies, X and L, on a path Z besides; W and velocities of a body
  const double along = rows * ((tree ? 18.0 : 24.0) + rows) + 36.0 + 6.0;
  const double fronts = share_of_fronts(joints, static_cast<double>(n_loops(place)));
  const double in_front = 4.0 * rows * rows * std::log2(fronts * joints + 1.0);
  return kReal * ((1.0 - fronts) * along + fronts * in_front);
}

JointWork::JointWork(const Communicator& comm, const Bodies& bodies, const ContactSet& set,
                     const BalanceSettings& settings, const WorkRate& rate) {
  if (comm.sum(std::ssize(bodies.joints)) == 0) return;
  const std::vector<JointEdge> edges = joint_edges(bodies, set);
  const std::vector<JointPlace> places = find_mechanisms(comm, edges);
  joints_.resize(edges.size());
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    const JointPlace& place = places[j];
    joints_[j].mechanism = place.component;
    joints_[j].work = std::llround(rate.factor * joint_work(edges[j].rows, rate.sweeps));
    joints_[j].home = dynamic_bodies(set, j)[0];
    const bool in_line = place.kind == MechanismKind::chain || place.kind == MechanismKind::ring;
    if (in_line && place.n_joints >= JointPlace::kShortChain) {
      joints_[j].in_line = place.index;
      joints_[j].next_body = place.next_body;
      joints_[j].previous_body = place.previous_body;
    }
    joints_[j].whole = !(settings.chains_in_order && place.is_simple_chain()) &&
                       place.n_joints < settings.whole_below;
    if (joints_[j].whole)
      largest_whole_ = std::max<std::int64_t>(largest_whole_,
                                              std::llround(joint_work(place.n_rows, rate.sweeps)));
  }
  largest_whole_ = comm.max(largest_whole_);
}

void JointWork::follow_chains(const Communicator& comm, const ContactSet& set,
                              std::span<CurvePlace> places) const {
  constexpr std::uint64_t kBehindCurve = std::uint64_t{1} << 63U;
  // a ring's last joint and its first have the body between them in two places: the later counts
  const auto stand = [](CurvePlace& at, const CurvePlace& place) { at = std::max(at, place); };
  std::vector<CurvePlace> in_line(set.bodies.size());
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    const Joint& joint = joints_[j];
    if (joint.in_line < 0) continue;
    const auto body = dynamic_bodies(set, j);
    for (int k = 0; k < 2; ++k) {
      if (body[k] == kNoIndex) continue;
      // body i + 1 stands between joints i and i + 1
      const bool behind = joint.previous_body < 0 ? joint.next_body == k : joint.previous_body != k;
      stand(in_line[body[k]], {kBehindCurve | static_cast<std::uint64_t>(joint.mechanism),
                               static_cast<std::uint64_t>(joint.in_line + (behind ? 1 : 0))});
    }
  }
  // other ranks may hold all joints of a body
  RankLists<CurvePlace> told(comm.size());
  for (const HaloPlan::Neighbour& neighbour : set.ghosts.neighbours)
    for (const Index ghost : neighbour.receive) told[neighbour.rank].push_back(in_line[ghost]);
  told = all_to_all(comm, std::move(told));
  for (const HaloPlan::Neighbour& neighbour : set.ghosts.neighbours)
    for (std::size_t i = 0; i < neighbour.send.size(); ++i)
      stand(in_line[neighbour.send[i]], told[neighbour.rank][i]);
  for (std::size_t i = 0; i < places.size(); ++i)
    if (in_line[i] != CurvePlace{}) places[i] = in_line[i];
}

void JointWork::add_to(const Communicator& comm, std::span<const int> part,
                       std::span<PartWork> parts) const {
  std::vector<std::int64_t> work, sums(parts.size());
  for (const Joint& joint : joints_) work.push_back(joint.work);
  deal(comm, part, work, sums);
  for (std::size_t p = 0; p < parts.size(); ++p) parts[p].joints += sums[p];
}

void JointWork::deal(const Communicator& comm, std::span<const int> part,
                     std::span<const std::int64_t> amounts, std::span<std::int64_t> sums) const {
  std::vector<Held> own;
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    const int p = part[joints_[j].home];
    if (joints_[j].whole)
      own.push_back({joints_[j].mechanism, p, 1, amounts[j]});
    else
      sums[p] += amounts[j];
  }
  merge(own);
  RankLists<Held> out(comm.size());
  for (const Held& held : own) out[directory_rank(comm, held.mechanism)].push_back(held);
  std::vector<Held> all = joined(all_to_all(comm, std::move(out)));
  merge(all);
  for (std::size_t first = 0, last = 0; first < all.size(); first = last) {
    std::size_t most = first;
    std::int64_t amount = 0;
    for (last = first; last < all.size() && all[last].mechanism == all[first].mechanism; ++last) {
      if (all[last].joints > all[most].joints) most = last;
      amount += all[last].amount;
    }
    sums[all[most].part] += amount;
  }
}

}  // namespace catena::partition
