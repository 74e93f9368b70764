#include "catena/partition/plan.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <span>
#include <vector>

#include "catena/base/sort_unique.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/constraints/constraint_problem.hpp"
#include "partition/graph/contact_graph.hpp"
#include "partition/graph/joint_work.hpp"

namespace catena {

namespace {

constexpr double kSlack = 1.1;  // lists are made a little larger than they must be

// A planned rank needs a ghost of a body that another planned rank owns.
struct GhostNeed {
  std::int64_t part = 0;
  std::int64_t owner = 0;
  GlobalId id = kNoBody;
  auto operator<=>(const GhostNeed&) const = default;
};

// Collective. Sends each value to the rank that counts for its planned rank `part_of(value)`.
template <class T, class PartOf>
std::vector<T> to_counters(const Communicator& comm, const std::vector<T>& values, int n_parts,
                           PartOf part_of) {
  RankLists<T> sent(comm.size());
  for (const T& value : values) {
    const int rank = rank_of_part(static_cast<int>(part_of(value)), n_parts, comm.size());
    sent[rank].push_back(value);
  }
  std::vector<T> all = joined(all_to_all(comm, std::move(sent)));
  sort_unique(all);
  return all;
}

PlanRange range_of(std::span<const double> values) {
  PlanRange range{values.front(), 0.0, values.front()};
  for (const double v : values) {
    range.min = std::min(range.min, v);
    range.max = std::max(range.max, v);
    range.mean += v / static_cast<double>(values.size());
  }
  return range;
}

// Numbers per planned rank.
struct Counts {
  std::vector<double> bodies, contacts, joints, halo, neighbours;
  explicit Counts(std::size_t n) : bodies(n), contacts(n), joints(n), halo(n), neighbours(n) {}
};

Counts count(const Communicator& comm, const Bodies& bodies, const ContactSet& set,
             std::span<const int> part, int n_ranks) {
  Counts counts(n_ranks);
  for (const int p : part) counts.bodies[p] += 1.0;
  const auto part_of = partition::with_ghosts(comm, set, {part.begin(), part.end()});
  std::vector<GhostNeed> needs;
  const auto need = [&](Index home, Index other) {
    const std::int64_t home_part = part_of[home];
    if (part_of[other] != home_part) {
      needs.push_back({home_part, part_of[other], set.bodies.constants[other].id});
    }
  };
  for (const Contact& contact : set.contacts) {
    const Index home = partition::home_index(set, contact);
    counts.contacts[part_of[home]] += 1.0;
    if (!partition::joins_dynamic(set, contact)) continue;
    need(home, home == contact.body_a ? contact.body_b : contact.body_a);
  }
  for (std::size_t j = 0; j < bodies.joints.size(); ++j) {
    const auto body = partition::dynamic_bodies(set, j);
    counts.joints[part_of[body[0]]] += 1.0;
    for (std::size_t k = 1; k < body.size() && body[k] != kNoIndex; ++k) need(body[0], body[k]);
  }
  sort_unique(needs);
  struct Link {
    std::int64_t part = 0;
    std::int64_t other = 0;
    auto operator<=>(const Link&) const = default;
  };
  std::vector<Link> links;
  for (const GhostNeed& g : to_counters(comm, needs, n_ranks, [](auto& n) { return n.part; })) {
    counts.halo[g.part] += 1.0;
    links.push_back({g.part, g.owner});
    links.push_back({g.owner, g.part});
  }
  sort_unique(links);
  for (const Link& link : to_counters(comm, links, n_ranks, [](auto& l) { return l.part; })) {
    counts.neighbours[link.part] += 1.0;
  }
  for (auto* column :
       {&counts.bodies, &counts.contacts, &counts.joints, &counts.halo, &counts.neighbours}) {
    comm.sum(*column);
  }
  return counts;
}

}  // namespace

double rank_memory(std::int64_t bodies, std::int64_t ghosts, std::int64_t contacts,
                   std::int64_t joints) {
  constexpr double kReal = sizeof(double);
  // Constants, state and subdomain; ghosts are copies of it.
  constexpr double kState = sizeof(BodyConstants) + sizeof(BodyMotionState) + sizeof(int);
  // M^-1, V_free and tables of the problem, V, the line that sweeps read and write, and two more
  // velocity vectors and tables of solver and search; what Anderson's acceleration keeps.
  constexpr double kLocal = kReal * (7 + 6 + 3) + 6 * kReal + 64 + 2 * 6 * kReal + 6 * kReal;
  // Rows, impulse, kept impulse, place for output, a lane of a batch (the larger kind), errors and
  // best iterate, lists. The search's points and scratch have gone by then.
  constexpr double kContact = sizeof(RigidContact) + kReal * 3 + sizeof(KeyedImpulse) + 144 + 224 +
                              kReal * 5 + 16 + 3 * 2 * kReal;
  // Constants, state, links, and the rest of the general block with its factors in a chain.
  constexpr double kJoint = 1500;
  return kSlack * (static_cast<double>(bodies + ghosts) * (kState + kLocal) +
                   static_cast<double>(contacts) * kContact + static_cast<double>(joints) * kJoint);
}

std::vector<double> elimination_memory(const Communicator& comm, const Bodies& bodies,
                                       const ContactSet& contacts, std::span<const int> part,
                                       int n_ranks, const BalanceSettings& settings) {
  if (settings.whole_below == 0) return std::vector<double>(n_ranks, 0.0);
  // copies of a joint's rows, their products and lists
  constexpr double kRows = 400;
  const std::vector<JointPlace> places =
      find_mechanisms(comm, partition::eliminated_edges(bodies, contacts));
  std::vector<std::int64_t> amounts(places.size());
  for (std::size_t j = 0; j < places.size(); ++j)
    if (!(settings.chains_in_order && places[j].is_simple_chain()))
      amounts[j] = std::llround(kRows + partition::factor_memory(places[j]));
  std::vector<std::int64_t> dealt(n_ranks);
  partition::JointWork(comm, bodies, contacts, settings).deal(comm, part, amounts, dealt);
  std::vector<double> bytes;
  for (const std::int64_t amount : dealt) bytes.push_back(kSlack * static_cast<double>(amount));
  comm.sum(bytes);
  return bytes;
}

PartitionPlan plan_partition(const Communicator& comm, const Bodies& bodies, const State& state,
                             const ContactSet& contacts, int n_ranks,
                             const BalanceSettings& settings) {
  PartitionPlan plan;
  plan.n_ranks = n_ranks;
  plan.part = partition_bodies(comm, bodies, state, contacts, n_ranks, settings, plan.quality);
  const Counts counts = count(comm, bodies, contacts, plan.part, n_ranks);
  const std::vector<double> elimination =
      elimination_memory(comm, bodies, contacts, plan.part, n_ranks, settings);
  plan.bodies = comm.sum(std::ssize(bodies));
  plan.contacts = comm.sum(std::ssize(contacts.contacts));
  plan.joints = comm.sum(std::ssize(bodies.joints));
  plan.bodies_per_rank = range_of(counts.bodies);
  plan.contacts_per_rank = range_of(counts.contacts);
  plan.joints_per_rank = range_of(counts.joints);
  plan.halo = range_of(counts.halo);
  plan.neighbours = range_of(counts.neighbours);
  std::vector<double> memory;
  for (std::size_t p = 0; p < counts.bodies.size(); ++p) {
    memory.push_back(rank_memory(static_cast<std::int64_t>(counts.bodies[p]),
                                 static_cast<std::int64_t>(counts.halo[p]),
                                 static_cast<std::int64_t>(counts.contacts[p]),
                                 static_cast<std::int64_t>(counts.joints[p])) +
                     elimination[p]);
  }
  plan.memory = range_of(memory);
  if (plan.quality.vertices > 0) {
    plan.split_memory = partition_memory(plan.quality.vertices, plan.quality.edges, n_ranks);
  }
  return plan;
}

}  // namespace catena
