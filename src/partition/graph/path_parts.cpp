// Graphs of long paths, such as chains that touch nothing: cut along them, which no other split
// beats.
#include <algorithm>
#include <array>

#include "partition/graph/cell_graph.hpp"

namespace catena::partition {

namespace {

constexpr std::int64_t kNone = -1;
/// A link of the curve alone weighs 1 (CellGraphShare).
constexpr std::int64_t kLightEdge = 1;
/// Vertices of a component at least, on average: short ones touch others soon.
constexpr std::size_t kLongPath = 50;

/// The neighbours of each vertex, kNone where there are fewer than two; empty if one has more.
std::vector<std::array<std::int64_t, 2>> path_neighbours(std::size_t n,
                                                         std::span<const CellEdge> edges) {
  std::vector<std::array<std::int64_t, 2>> next(n, {kNone, kNone});
  const auto join = [&](std::int64_t from, std::int64_t to) {
    auto& ends = next[from];
    if (ends[1] != kNone) return false;
    ends[ends[0] == kNone ? 0 : 1] = to;
    return true;
  };
  for (const CellEdge& e : edges)
    if (e.weight > kLightEdge && !(join(e.a, e.b) && join(e.b, e.a))) return {};
  return next;
}

}  // namespace

std::vector<std::int32_t> path_parts(std::span<const PartWork> weights,
                                     std::span<const CellEdge> edges, int n_parts) {
  const std::size_t n = weights.size();
  const std::size_t heavy = std::count_if(edges.begin(), edges.end(),
                                          [](const CellEdge& e) { return e.weight > kLightEdge; });
  if (heavy > n || kLongPath * heavy < (kLongPath - 1) * n) return {};
  const auto next = path_neighbours(n, edges);
  if (next.empty()) return {};

  std::int64_t total = 0;
  for (const PartWork& weight : weights) total += weight.all();
  std::vector<std::int32_t> part(n, -1);
  std::int64_t before = 0;
  // from an end to the other; by its middle, so that a vertex belongs to the part that has most of
  // it
  const auto walk = [&](std::size_t at) {
    for (std::int64_t v = at; v != kNone;) {
      const std::size_t i = v;
      part[i] = static_cast<std::int32_t>((before + weights[i].all() / 2) * n_parts / total);
      before += weights[i].all();
      v = kNone;
      for (const std::int64_t to : next[i])
        if (to != kNone && part[to] < 0) v = to;
    }
  };
  for (std::size_t i = 0; i < n; ++i)
    if (part[i] < 0 && next[i][1] == kNone) walk(i);
  for (std::size_t i = 0; i < n; ++i)  // what is left are rings
    if (part[i] < 0) walk(i);
  return part;
}

}  // namespace catena::partition
