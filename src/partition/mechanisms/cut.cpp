#include <algorithm>
#include <map>
#include <tuple>

#include "catena/base/release.hpp"
#include "catena/base/sort_unique.hpp"
#include "catena/comm/directory.hpp"
#include "catena/partition/mechanisms.hpp"
#include "catena/partition/nested_dissection.hpp"

namespace catena {
namespace {

/// Joints of one body beyond which its mechanism is not cut: all of them couple with each other.
constexpr std::size_t kMostAtBody = 1000;

/// Joints of a cut mechanism that stand together in the order of its joints; bodies hear of them.
struct Vertex {
  std::int64_t component = 0;
  std::int64_t number = 0;

  auto operator<=>(const Vertex&) const = default;
};

struct AtBody {
  GlobalId body = kNoBody;
  Vertex vertex;

  auto operator<=>(const AtBody&) const = default;
};

/// Two vertices that share a body; both -1: the mechanism is to stay whole.
struct Link {
  std::int64_t component = 0;
  std::int64_t a = -1, b = -1;

  auto operator<=>(const Link&) const = default;
};

/// What a rank has of a vertex.
struct VertexShare {
  Vertex vertex;
  std::int64_t rows = 0;
  int levels = 0;  ///< of the mechanism
};

/// As many joints to a vertex as max_graph asks for: whatever the ranks, the graph is the same.
Vertex vertex_of(const JointPlace& place, std::int64_t max_graph) {
  return {place.component, place.index / ((place.n_joints - 1) / max_graph + 1)};
}

/// Collective. Links go to the rank that cuts their mechanism, each once from every body's rank.
std::vector<Link> gather_links(const Communicator& comm, std::vector<AtBody> ends) {
  sort_unique(ends);
  RankLists<AtBody> told(comm.size());
  for (const AtBody& end : ends) told[directory_rank(comm, end.body)].push_back(end);
  release(ends);
  std::vector<AtBody> all = joined(all_to_all(comm, std::move(told)));
  sort_unique(all);
  std::vector<Link> links;
  for (std::size_t first = 0, last = 0; first < all.size(); first = last) {
    for (last = first; last < all.size() && all[last].body == all[first].body;) ++last;
    const std::int64_t component = all[first].vertex.component;
    if (last - first > kMostAtBody) {
      links.push_back({component, -1, -1});
      continue;
    }
    for (std::size_t i = first; i < last; ++i)
      for (std::size_t j = first; j < last; ++j)
        if (i != j) links.push_back({component, all[i].vertex.number, all[j].vertex.number});
  }
  sort_unique(links);
  RankLists<Link> out(comm.size());
  for (const Link& link : links) out[directory_rank(comm, link.component)].push_back(link);
  std::vector<Link> own = joined(all_to_all(comm, std::move(out)));
  sort_unique(own);
  return own;
}

/// The nodes of a mechanism's vertices: its links, ascending, and the rows of each vertex.
std::vector<int> cut(std::span<const Link> links, std::span<const std::int64_t> rows, int levels) {
  std::vector<int> whole(rows.size(), 0);
  BlockGraph graph;
  std::size_t next = 0;
  for (std::size_t v = 0; v < rows.size(); ++v) {
    for (; next < links.size() && links[next].a <= static_cast<std::int64_t>(v); ++next) {
      if (links[next].a < 0) return whole;
      graph.neighbour.push_back(narrow<Index>(links[next].b));
    }
    graph.begin.push_back(std::ssize(graph.neighbour));
    graph.row_begin.push_back(narrow<Index>(graph.row_begin.back() + rows[v]));
  }
  std::vector<int> node = nested_parts(graph, levels);
  const PartTree tree{levels};
  double separating = 0.0;
  for (std::size_t v = 0; v < rows.size(); ++v)
    if (!tree.is_part(node[v])) separating += static_cast<double>(rows[v]);
  return separating > kMostSeparating * graph.row_begin.back() ? whole : node;
}

/// Answers to the ranks that have something of a mechanism, in the order of what they told.
RankLists<int> answers_to(const RankLists<VertexShare>& told, std::span<const Link> links) {
  struct Mechanism {
    int levels = 0;
    std::vector<std::int64_t> rows;  ///< per vertex
    std::vector<int> node;
  };
  std::map<std::int64_t, Mechanism> mechanisms;
  for (const auto& from : told)
    for (const VertexShare& share : from) {
      Mechanism& m = mechanisms[share.vertex.component];
      m.levels = share.levels;
      const std::size_t v = share.vertex.number;
      m.rows.resize(std::max(m.rows.size(), v + 1), 0);
      m.rows[v] += share.rows;
    }
  for (auto& [component, m] : mechanisms) {
    const auto first = std::ranges::lower_bound(links, component, {}, &Link::component);
    const auto end = std::ranges::upper_bound(links, component, {}, &Link::component);
    m.node = cut({first, end}, m.rows, m.levels);
  }
  return reply_each<int>(told, [&](const VertexShare& share) {
    return mechanisms.at(share.vertex.component).node[share.vertex.number];
  });
}

}  // namespace

std::vector<int> cut_mechanisms(const Communicator& comm, std::span<const JointEdge> edges,
                                std::span<const JointPlace> places, std::span<const int> levels,
                                std::int64_t max_graph) {
  std::vector<AtBody> ends;
  std::map<Vertex, VertexShare> shares;
  for (std::size_t j = 0; j < edges.size(); ++j) {
    if (levels[j] == 0) continue;
    const Vertex vertex = vertex_of(places[j], max_graph);
    for (int k = 0; k < edges[j].n_bodies; ++k) ends.push_back({edges[j].body[k], vertex});
    VertexShare& share = shares[vertex];
    share = {vertex, share.rows + edges[j].rows, levels[j]};
  }
  const std::vector<Link> links = gather_links(comm, std::move(ends));

  RankLists<VertexShare> out(comm.size());
  for (const auto& [vertex, share] : shares)
    out[directory_rank(comm, vertex.component)].push_back(share);
  const RankLists<VertexShare> told = all_to_all(comm, std::move(out));
  RankLists<int> answers(comm.size());
  all_or_none(comm, [&] { answers = answers_to(told, links); });
  const RankLists<int> in = all_to_all(comm, std::move(answers));
  std::vector<std::size_t> taken(in.size(), 0);
  std::map<Vertex, int> node_of;
  for (const auto& [vertex, share] : shares) {
    const int rank = directory_rank(comm, vertex.component);
    node_of[vertex] = in[rank][taken[rank]++];
  }

  std::vector<int> nodes(edges.size(), 0);
  for (std::size_t j = 0; j < edges.size(); ++j)
    if (levels[j] > 0) nodes[j] = node_of.at(vertex_of(places[j], max_graph));
  return nodes;
}

}  // namespace catena
