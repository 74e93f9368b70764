#include "catena/partition/tiles.hpp"

#include <algorithm>
#include <limits>

#include "partition/graph/contact_graph.hpp"
#include "partition/graph/joint_work.hpp"

namespace catena {

std::int64_t size_of_tiles(std::int64_t bodies, int tile_bodies) {
  constexpr std::int64_t kLeast = 500, kMost = 2000, kRanks = 4;
  return tile_bodies > 0 ? tile_bodies : std::clamp((bodies - 1) / kRanks + 1, kLeast, kMost);
}

int count_tiles(const Communicator& comm, const Bodies& bodies, int tile_bodies) {
  const std::int64_t n = comm.sum(std::ssize(bodies));
  return narrow<int>(std::max<std::int64_t>((n - 1) / size_of_tiles(n, tile_bodies) + 1, 1));
}

std::vector<int> cut_tiles(std::span<const std::int64_t> weight, int n_ranks) {
  std::int64_t total = 0;
  for (const std::int64_t w : weight) total += w;
  const auto n_tiles = narrow<int>(weight.size());
  std::vector<int> first(n_ranks + 1, n_tiles);
  first.front() = 0;
  std::int64_t before = 0;
  int tile = 0;
  for (int r = 1; r < n_ranks; ++r) {
    const std::int64_t target = total / n_ranks * r + total % n_ranks * r / n_ranks;
    // a tile belongs to the rank in whose share its middle lies
    while (tile < n_tiles && 2 * (target - before) > weight[tile]) before += weight[tile++];
    first[r] = tile;
  }
  return first;
}

std::vector<std::int32_t> nearest_own_tiles(const Communicator& comm, const Bodies& bodies,
                                            const State& state, std::span<const Vec3> points) {
  std::vector<Aabb> own;
  for (std::size_t i = 0; i < bodies.constants.size(); ++i) {
    if (bodies.constants[i].kind != BodyKind::dynamic) continue;
    const std::size_t tile = state.subdomain[i];
    if (tile >= own.size()) own.resize(tile + 1);
    own[tile].merge({state.body[i].pose.p, state.body[i].pose.p});
  }
  const std::size_t n_tiles = comm.max(std::ssize(own));
  own.resize(n_tiles);
  std::vector<double> bounds;  // -lo, hi
  for (const Aabb& box : own) {
    for (const double x : box.lo) bounds.push_back(-x);
    bounds.insert(bounds.end(), box.hi.begin(), box.hi.end());
  }
  comm.max(bounds);

  std::vector<std::int32_t> mine(points.size(), -1);
  for (std::size_t k = 0; k < points.size(); ++k) {
    double nearest = std::numeric_limits<double>::infinity();
    std::size_t tile = 0;
    for (std::size_t t = 0; t < n_tiles; ++t) {
      double square = 0.0;
      for (std::size_t d = 0; d < 3; ++d) {
        const double x = points[k][narrow<int>(d)];
        const double way = std::max({-bounds[6 * t + d] - x, x - bounds[6 * t + 3 + d], 0.0});
        square += way * way;
      }
      if (!(square < nearest)) continue;
      nearest = square;
      tile = t;
    }
    const bool first = n_tiles == 0 && comm.rank() == 0;
    const bool owned = tile < n_tiles && (own[tile].lo.array() <= own[tile].hi.array()).all();
    if (first || owned) mine[k] = narrow<std::int32_t>(tile);
  }
  return mine;
}

std::vector<int> assign_tiles(const Communicator& comm, const Bodies& bodies,
                              const ContactSet& contacts, std::span<const int> tile, int n_tiles,
                              const BalanceSettings& settings, PartitionQuality& quality) {
  const std::vector<PartWork> own = partition::body_weights(bodies, contacts);
  std::vector<std::int64_t> weight(n_tiles, 0);
  for (std::size_t i = 0; i < own.size(); ++i) weight[tile[i]] += own[i].all();
  comm.sum(weight);
  const std::vector<int> first = cut_tiles(weight, comm.size());

  std::vector<int> rank(tile.size());
  for (std::size_t i = 0; i < rank.size(); ++i) {
    const auto after = std::upper_bound(first.begin(), first.end(), tile[i]);
    rank[i] = std::min(narrow<int>(after - first.begin()), comm.size()) - 1;
  }
  quality = {};
  quality.vertices = n_tiles;
  std::vector<PartWork> of_rank(comm.size());
  for (std::size_t i = 0; i < own.size(); ++i) of_rank[rank[i]].contacts += own[i].contacts;
  partition::JointWork(comm, bodies, contacts, settings).add_to(comm, rank, of_rank);
  quality.balance = partition::balance_of_parts(comm, of_rank);
  const std::vector<std::int64_t> all =
      partition::with_ghosts(comm, contacts, {rank.begin(), rank.end()});
  std::int64_t cut = 0;
  partition::for_each_edge(bodies, contacts, [&](Index a, Index b, std::int64_t rows) {
    if (all[a] != all[b]) cut += rows;
  });
  quality.edge_cut = comm.sum(cut);
  return rank;
}

}  // namespace catena
