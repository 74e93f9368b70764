#include "catena/partition/balance.hpp"

#include <algorithm>
#include <utility>

#include "catena/base/error.hpp"
#include "partition/graph/cell_graph.hpp"
#include "partition/graph/contact_graph.hpp"
#include "partition/graph/curve.hpp"
#include "partition/graph/joint_work.hpp"

namespace catena {

using partition::CellGraphShare;
using partition::CellParts;
using partition::CurvePlace;
using partition::for_each_edge;
using partition::is_dynamic;
using partition::JointWork;
using partition::with_ghosts;

void describe(SettingsVisitor& visit, BalanceSettings& s) {
  visit.visit("rebalance_steps", s.rebalance_steps,
              {.min = 0,
               .help = "steps between looks at the balance, in which moving bodies must pay; looks "
                       "come earlier where more was lost than a move costs; 0: only at the start"});
  visit.visit("imbalance", s.imbalance,
              {.min = 1,
               .min_open = true,
               .help = "largest rank's work over the mean, above which bodies may move"});
  visit.visit("move_price", s.move_price,
              {.min = 0,
               .help = "factor on the counted price of splitting the graph and moving bodies; 0: "
                       "they move at every look that finds them uneven"});
  visit.choose(
      "weights", s.weights, kWorkWeightsNames,
      {.help = "what bodies weigh: `counted`, rows times sweeps and a share for the rest "
               "of a step; `measured`, that times the clock time of their rank's steps "
               "over its count, for scenes in which some contacts take much longer than others: "
               "runs are then not repeatable"});
  visit.visit("max_graph", s.max_graph,
              {.min = 100,
               .max = 1e8,
               .help = "vertices of the graph that one rank may hold; above, cells are split"});
  visit.visit("deterministic", s.deterministic,
              {.help = "the same bits on any number of ranks, for somewhat more sweeps "
                       "(docs/determinism.md)"});
  visit.visit(
      "tile_bodies", s.tile_bodies,
      {.min = 1,
       .max = 1e6,
       .word = "auto",
       .word_value = 0,
       .help = "bodies of a tile, of which deterministic runs consist; larger ones take "
               "fewer sweeps, smaller ones can be dealt to more ranks; `auto`: a quarter of "
               "all bodies, but 500 at least and 2,000 at most"});
  visit.visit(
      "subdomains", s.subdomains,
      {.min = 1, .max = 1e6, .word = "per_rank", .word_value = 0, .help = "over all ranks"});
}

namespace {

constexpr std::int64_t kMinBodiesPerPart = 4;   // fewer: METIS leaves parts empty
constexpr std::int64_t kMinCellsPerPart = 100;  // fewer: cells are too coarse to balance
// A row of a joint in the cut over one of a contact: one rank eliminates a mechanism, unless it is
// large, so that all rows of it that others hold travel there, and impulses back.
constexpr std::int64_t kCutJoint = 8;

// The owned dynamic bodies as the graph sees them.
struct DynamicBodies {
  std::vector<std::size_t> index;  // among the owned
  std::vector<CurvePlace> place;
  std::vector<PartWork> weight;

  DynamicBodies(const Bodies& bodies, std::span<const CurvePlace> places,
                std::span<const PartWork> weights) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (!is_dynamic(bodies.constants[i])) continue;
      index.push_back(i);
      place.push_back(places[i]);
      weight.push_back(weights[i]);
    }
  }
};

// Collective. Parts of the dynamic bodies from the graph on n_cells cells, which have bodies that
// follow each other in `order`.
CellParts split_graph(const Communicator& comm, const Bodies& bodies, const ContactSet& set,
                      const DynamicBodies& dynamic, std::span<const CurvePlace> order,
                      std::int64_t n_dynamic, std::int64_t n_cells, int n_parts,
                      std::int64_t largest_whole) {
  CellGraphShare share;
  share.n_cells = n_cells;
  share.largest_whole = largest_whole;
  std::vector<std::int64_t> cell(set.bodies.n_owned, -1);
  std::vector<CurvePlace> of_dynamic;
  of_dynamic.reserve(dynamic.index.size());
  for (const std::size_t i : dynamic.index) of_dynamic.push_back(order[i]);
  const std::vector<std::int64_t> position = partition::curve_positions(comm, of_dynamic);
  for (std::size_t k = 0; k < position.size(); ++k) {
    // floor(position n_cells / n_dynamic); the product is exact below 9e10 bodies.
    cell[dynamic.index[k]] = position[k] * n_cells / n_dynamic;
    share.weights.push_back({cell[dynamic.index[k]], dynamic.weight[k]});
  }
  cell = with_ghosts(comm, set, cell);
  const auto add = [&](Index body_a, Index body_b, std::int64_t weight) {
    const std::int64_t a = cell[body_a];
    const std::int64_t b = cell[body_b];
    CATENA_CHECK(a >= 0 && b >= 0, "the halo plan reaches every dynamic ghost in contact");
    if (a != b) share.edges.push_back({a, b, weight});
  };
  partition::for_each_contact_edge(set, add);
  partition::for_each_joint_edge(
      bodies, set, [&](Index a, Index b, std::int64_t rows) { add(a, b, kCutJoint * rows); });
  return partition::split_cells(comm, std::move(share), n_parts);
}

// Collective. Prescribed bodies follow the dynamic one nearest along the curve here.
void place_prescribed(const Communicator& comm, const Bodies& bodies,
                      std::span<const CurvePlace> places, const DynamicBodies& dynamic,
                      std::vector<int>& part, int n_parts) {
  const std::vector<std::int64_t> ones(places.size(), 1);
  const std::vector<int> cut = partition::split_curve(comm, places, ones, n_parts);
  std::vector<std::pair<CurvePlace, int>> known;
  for (std::size_t k = 0; k < dynamic.index.size(); ++k) {
    known.emplace_back(dynamic.place[k], part[dynamic.index[k]]);
  }
  std::sort(known.begin(), known.end());
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (is_dynamic(bodies.constants[i])) continue;
    const auto after = std::lower_bound(known.begin(), known.end(), std::pair(places[i], 0));
    if (known.empty()) {
      part[i] = cut[i];
    } else if (after == known.begin()) {
      part[i] = after->second;
    } else {
      const auto before = std::prev(after);
      const bool nearer = after != known.end() &&
                          after->first.key - places[i].key < places[i].key - before->first.key;
      part[i] = nearer ? after->second : before->second;
    }
  }
}

// Collective. Cut and balance of `part`.
void measure(const Communicator& comm, const Bodies& bodies, const ContactSet& set,
             std::span<const int> part, std::span<const PartWork> weight, const JointWork& joints,
             int n_parts, PartitionQuality& quality) {
  const std::vector<std::int64_t> all = with_ghosts(comm, set, {part.begin(), part.end()});
  std::int64_t cut = 0;
  for_each_edge(bodies, set, [&](Index a, Index b, std::int64_t rows) {
    if (all[a] != all[b]) cut += rows;
  });
  std::vector<PartWork> own(n_parts);
  for (std::size_t i = 0; i < part.size(); ++i) own[part[i]].contacts += weight[i].contacts;
  joints.add_to(comm, part, own);
  quality.edge_cut = comm.sum(cut);
  quality.balance = partition::balance_of_parts(comm, own);
}

}  // namespace

std::vector<int> partition_bodies(const Communicator& comm, const Bodies& bodies,
                                  const State& state, const ContactSet& contacts, int n_parts,
                                  const BalanceSettings& settings, PartitionQuality& quality,
                                  const WorkRate& rate) {
  quality = {};
  CATENA_CHECK(contacts.bodies.n_owned == bodies.size() &&
                   contacts.joint_bodies.size() == bodies.joints.size(),
               "contacts of the same bodies");
  const Aabb box = partition::curve_box(comm, state);
  const std::vector<CurvePlace> places = partition::curve_places(bodies, state, box);
  const std::vector<PartWork> weight = partition::body_weights(bodies, contacts, rate);
  const DynamicBodies dynamic(bodies, places, weight);
  const JointWork joints(comm, bodies, contacts, settings, rate);

  const std::int64_t n_dynamic = comm.sum(std::ssize(dynamic.index));
  const std::int64_t n_cells = std::min(n_dynamic, settings.max_graph);
  const bool aggregated = n_cells < n_dynamic;
  std::int64_t joined = 0;
  for_each_edge(bodies, contacts, [&joined](Index, Index, std::int64_t) { ++joined; });
  const bool any_edges = comm.sum(joined) > 0;
  const std::int64_t least = aggregated ? kMinCellsPerPart : kMinBodiesPerPart;

  std::vector<int> part(places.size(), 0);
  CellParts split;
  if (n_parts > 1 && any_edges && n_cells >= least * n_parts) {
    std::vector<CurvePlace> order = places;
    if (aggregated) joints.follow_chains(comm, contacts, order);
    split = split_graph(comm, bodies, contacts, dynamic, order, n_dynamic, n_cells, n_parts,
                        joints.largest_whole());
  }
  if (split.valid) {
    quality.vertices = n_cells;
    quality.edges = split.n_edges;
    quality.aggregated = aggregated;
  } else {
    std::vector<std::int64_t> all;
    for (const PartWork& work : dynamic.weight) all.push_back(work.all());
    split.part = partition::split_curve(comm, dynamic.place, all, n_parts);
  }
  for (std::size_t k = 0; k < dynamic.index.size(); ++k) part[dynamic.index[k]] = split.part[k];
  place_prescribed(comm, bodies, places, dynamic, part, n_parts);
  measure(comm, bodies, contacts, part, weight, joints, n_parts, quality);
  return part;
}

}  // namespace catena
