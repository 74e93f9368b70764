#include "catena/partition/cut_plan.hpp"

#include <algorithm>
#include <array>

#include "catena/base/sort_unique.hpp"
#include "catena/comm/directory.hpp"
#include "partition/graph/joint_work.hpp"

namespace catena {
namespace {

/// A joint of a cut mechanism at one of its bodies.
struct End {
  GlobalId body = kNoBody;
  std::int64_t component = 0, key = 0;
  int node = 0, rows = 0;

  auto operator<=>(const End&) const = default;
};

/// That elimination of a node changes the rows of a joint above it.
struct Above {
  std::int64_t component = 0, key = 0;
  int node = 0, rows = 0;

  auto operator<=>(const Above&) const = default;
};

/// Collective. Joints above nodes, each once, on the rank of the joint's directory. A joint above
/// another one's node is above all nodes from there up to its own.
std::vector<Above> find_above(const Communicator& comm, std::span<const JointEdge> edges,
                              std::span<const JointPlace> places, std::span<const int> nodes) {
  RankLists<End> told(comm.size());
  for (std::size_t j = 0; j < edges.size(); ++j)
    for (int k = 0; k < edges[j].n_bodies && nodes[j] > 0; ++k)
      told[directory_rank(comm, edges[j].body[k])].push_back(
          {edges[j].body[k], places[j].component, edges[j].key, nodes[j], edges[j].rows});
  std::vector<End> all = joined(all_to_all(comm, std::move(told)));
  sort_unique(all);
  std::vector<Above> above;
  for (std::size_t first = 0, last = 0; first < all.size(); first = last) {
    for (last = first; last < all.size() && all[last].body == all[first].body;) ++last;
    for (std::size_t i = first; i < last; ++i)
      for (std::size_t k = first; k < last; ++k)
        if (PartTree::is_above(all[i].node, all[k].node))
          for (int n = all[k].node; n != all[i].node; n = PartTree::parent(n))
            above.push_back({all[i].component, all[i].key, n, all[i].rows});
  }
  sort_unique(above);
  RankLists<Above> out(comm.size());
  for (const Above& a : above) out[directory_rank(comm, a.key)].push_back(a);
  std::vector<Above> own = joined(all_to_all(comm, std::move(out)));
  sort_unique(own);
  return own;
}

/// Collective. The planned ranks of the edges' bodies.
std::vector<std::array<int, 4>> owners(const Communicator& comm, const Bodies& bodies,
                                       std::span<const int> part,
                                       std::span<const JointEdge> edges) {
  std::vector<DirectoryEntry<int>> own;
  for (std::size_t i = 0; i < part.size(); ++i) own.push_back({bodies.constants[i].id, part[i]});
  std::vector<GlobalId> wanted;
  for (const JointEdge& edge : edges)
    wanted.insert(wanted.end(), edge.body.begin(), edge.body.begin() + edge.n_bodies);
  const auto found = look_up<int>(comm, own, wanted);
  std::vector<std::array<int, 4>> owner(edges.size());
  std::size_t next = 0;
  for (std::size_t j = 0; j < edges.size(); ++j)
    for (int k = 0; k < edges[j].n_bodies; ++k) owner[j][k] = found[next++].value;
  return owner;
}

}  // namespace

std::vector<CutPlan> plan_cuts(const Communicator& comm, const Bodies& bodies,
                               const ContactSet& contacts, std::span<const int> part, int n_ranks,
                               const BalanceSettings& settings) {
  const std::vector<JointEdge> edges = partition::eliminated_edges(bodies, contacts);
  const std::vector<JointPlace> places = find_mechanisms(comm, edges);
  std::vector<char> large;
  large.reserve(places.size());
  for (const JointPlace& place : places)
    large.push_back(!(settings.chains_in_order && place.is_simple_chain()) &&
                    place.n_joints >= settings.whole_below);
  const PlacedCut placed = cut_over_ranks(comm, edges, places, owners(comm, bodies, part, edges),
                                          large, n_ranks, settings.deterministic);
  const std::vector<int>& nodes = placed.node;

  struct Cut {
    std::int64_t component = 0, joints = 0, rows = 0, loops = 0;
    double factor = 0.0;

    auto operator<=>(const Cut&) const = default;
  };
  std::vector<Cut> cuts;
  for (std::size_t j = 0; j < edges.size(); ++j)
    if (nodes[j] > 0)
      cuts.push_back({places[j].component, places[j].n_joints, places[j].n_rows,
                      partition::n_loops(places[j]), partition::factor_memory(places[j])});
  sort_unique(cuts);
  cuts = all_gather_values(comm, cuts);
  sort_unique(cuts);
  std::vector<CutPlan> plans;
  for (const Cut& cut : cuts) {
    CutPlan& plan = plans.emplace_back();
    plan.component = cut.component;
    plan.joints = cut.joints;
    plan.loops = cut.loops;
    plan.dealt =
        std::ranges::lower_bound(placed.parts, cut.component, {}, &MechanismParts::component)->tree;
    plan.factor_per_row =
        cut.factor * static_cast<double>(cut.joints) / static_cast<double>(cut.rows);
    for (auto* list : {&plan.rows, &plan.rows_above}) list->assign(2 * plan.tree().n_parts(), 0);
  }
  const auto of = [&](std::int64_t component) -> CutPlan& {
    return *std::ranges::lower_bound(plans, component, {}, &CutPlan::component);
  };
  for (std::size_t j = 0; j < edges.size(); ++j)
    if (nodes[j] > 0) of(places[j].component).rows[nodes[j]] += edges[j].rows;
  for (const Above& a : find_above(comm, edges, places, nodes))
    of(a.component).rows_above[a.node] += a.rows;
  for (CutPlan& plan : plans)
    for (auto* list : {&plan.rows, &plan.rows_above}) comm.sum(*list);
  return plans;
}

double CutPlan::front_work(int node) const {
  const auto n = static_cast<double>(rows[node]), m = static_cast<double>(rows_above[node]);
  return n * n * n / 6.0 + 0.5 * n * n * m + 0.5 * n * m * m;
}

double CutPlan::front_memory(int node) const {
  const auto n = static_cast<double>(rows[node]), m = static_cast<double>(rows_above[node]);
  return sizeof(double) * (n * (n + m) + m * m);
}

double CutPlan::part_memory(int node) const {
  const auto m = static_cast<double>(rows_above[node]);
  return factor_per_row * static_cast<double>(rows[node]) + sizeof(double) * m * m;
}

}  // namespace catena
