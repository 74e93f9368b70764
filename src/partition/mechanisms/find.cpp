#include <numeric>

#include "catena/base/error.hpp"
#include "catena/base/sort_unique.hpp"
#include "catena/comm/directory.hpp"
#include "catena/partition/mechanisms.hpp"
#include "partition/mechanisms/components.hpp"
#include "partition/mechanisms/lines.hpp"

namespace catena {
namespace {

using namespace partition;

/// An end of an own joint at a body.
struct BodyEnd {
  GlobalId body = kNoBody;
  std::int32_t end = -1;
};

/// A body at which own joints end: ends [first, first + count) of the sorted list.
struct OwnBody {
  GlobalId id = kNoBody;
  std::size_t first = 0;
  std::int32_t count = 0;     ///< own ends
  std::int32_t all = 0;       ///< ends of all ranks
  std::int32_t fragment = 0;  ///< of the own joints at it
  bool counted = true;        ///< exactly one of the ranks that know it counts it
};

/// This rank's joints, those connected through own joints put together in fragments.
struct OwnGraph {
  std::vector<BodyEnd> ends;  ///< ascending in body, then end
  std::vector<OwnBody> bodies;
  std::vector<std::int32_t> fragment;  ///< per joint
  std::size_t n_fragments = 0;
  Mates mates;
};

/// A body as its directory hears of it from one rank.
struct BodyShare {
  GlobalId id = kNoBody;
  std::int64_t key = 0;  ///< of the joint, if there is one end only
  std::int32_t end = -1;
  std::int32_t count = 0;
  std::int32_t fragment = 0;
};

/// And what the directory answers.
struct BodyAnswer {
  std::int32_t all = 0;
  std::int32_t counted = 0;
  RemoteMate mate;  ///< where the body has two ends on two ranks
};

/// Sums over a mechanism, or a part of it.
struct Tally {
  std::int64_t smallest_key = std::numeric_limits<std::int64_t>::max();
  std::int64_t joints = 0, rows = 0, bodies = 0;
  std::int64_t spans = 0;    ///< sum of (bodies of a joint - 1)
  std::int64_t crowded = 0;  ///< bodies with more than two joints
  std::int64_t wide = 0;     ///< joints of more than two bodies

  void add(const Tally& t) {
    smallest_key = std::min(smallest_key, t.smallest_key);
    joints += t.joints;
    rows += t.rows;
    bodies += t.bodies;
    spans += t.spans;
    crowded += t.crowded;
    wide += t.wide;
  }
  MechanismKind kind() const {
    // a connected graph has as many closed loops as it has links more than a tree needs
    const std::int64_t loops = bodies == 0 ? 0 : spans - (bodies - 1);
    if (wide > 0) return MechanismKind::looped;
    if (loops == 0) return crowded > 0 || bodies == 0 ? MechanismKind::tree : MechanismKind::chain;
    return crowded == 0 && joints > 1 ? MechanismKind::ring : MechanismKind::looped;
  }
};

std::size_t find(std::vector<std::int32_t>& parent, std::size_t i) {
  while (static_cast<std::size_t>(parent[i]) != i) {
    parent[i] = parent[parent[i]];
    i = parent[i];
  }
  return i;
}

void sort_ends(std::span<const JointEdge> edges, OwnGraph& graph) {
  graph.ends.reserve(2 * edges.size());
  for (std::size_t j = 0; j < edges.size(); ++j) {
    for (int k = 0; k < edges[j].n_bodies; ++k) {
      graph.ends.push_back({edges[j].body[k], narrow<std::int32_t>(j) * kEnds + k});
    }
  }
  std::sort(graph.ends.begin(), graph.ends.end(), [](const BodyEnd& a, const BodyEnd& b) {
    return a.body != b.body ? a.body < b.body : a.end < b.end;
  });
  for (std::size_t i = 0; i < graph.ends.size(); ++i) {
    if (graph.bodies.empty() || graph.bodies.back().id != graph.ends[i].body)
      graph.bodies.push_back({graph.ends[i].body, i, 0, 0, 0, true});
    ++graph.bodies.back().count;
  }
}

OwnGraph own_graph(std::span<const JointEdge> edges) {
  constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max() / kEnds;
  CATENA_CHECK(edges.size() < kMost, "more joints on one rank than their ends can be numbered");
  OwnGraph graph;
  sort_ends(edges, graph);
  std::vector<std::int32_t> parent(edges.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto joint_at = [&](std::size_t i) { return graph.ends[i].end / kEnds; };
  graph.mates.of_end.assign(edges.size() * kEnds, kNoMate);
  for (OwnBody& body : graph.bodies) {
    body.all = body.count;
    for (std::size_t i = body.first + 1; i < body.first + body.count; ++i) {
      const std::size_t a = find(parent, joint_at(i - 1)), b = find(parent, joint_at(i));
      parent[std::max(a, b)] = narrow<std::int32_t>(std::min(a, b));
    }
    if (body.count != 2) continue;
    const std::int32_t a = graph.ends[body.first].end, b = graph.ends[body.first + 1].end;
    graph.mates.of_end[a] = b;
    graph.mates.of_end[b] = a;
  }
  // roots come before what depends on them
  graph.fragment.resize(edges.size());
  for (std::size_t j = 0; j < edges.size(); ++j) {
    const std::size_t root = find(parent, j);
    graph.fragment[j] =
        root == j ? narrow<std::int32_t>(graph.n_fragments++) : graph.fragment[root];
  }
  for (OwnBody& body : graph.bodies) body.fragment = graph.fragment[joint_at(body.first)];
  return graph;
}

/// What a directory rank makes of the bodies that are reported to it: the answers, and links
/// between the fragments that meet at a body.
RankLists<BodyAnswer> look_up(const RankLists<BodyShare>& told, std::vector<NodeLink>& links) {
  struct Entry {
    GlobalId id;
    std::int32_t rank;
    std::size_t place;
  };
  std::vector<Entry> entries;
  RankLists<BodyAnswer> answers(told.size());
  for (std::size_t r = 0; r < told.size(); ++r) {
    answers[r].resize(told[r].size());
    for (std::size_t i = 0; i < told[r].size(); ++i)
      entries.push_back({told[r][i].id, narrow<std::int32_t>(r), i});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.id != b.id ? a.id < b.id : a.rank < b.rank;
  });
  const auto share = [&](const Entry& e) -> const BodyShare& { return told[e.rank][e.place]; };
  const auto node = [&](const Entry& e) { return address_of(e.rank, share(e).fragment); };
  for (std::size_t first = 0, last = 0; first < entries.size(); first = last) {
    std::int32_t all = 0;
    for (last = first; last < entries.size() && entries[last].id == entries[first].id; ++last)
      all += share(entries[last]).count;
    for (std::size_t i = first; i < last; ++i) {
      BodyAnswer& answer = answers[entries[i].rank][entries[i].place];
      answer.all = all;
      answer.counted = i == first;
      if (i > first) links.push_back({node(entries[first]), node(entries[i])});
      if (last - first != 2 || all != 2) continue;
      const Entry& other = entries[i == first ? first + 1 : first];
      answer.mate = {share(other).key, other.rank, share(other).end};
    }
  }
  return answers;
}

/// Collective. Completes the bodies and mates by what other ranks hold; returns the links between
/// fragments that this rank's part of the directory found.
std::vector<NodeLink> meet_other_ranks(const Communicator& comm, std::span<const JointEdge> edges,
                                       OwnGraph& graph) {
  std::vector<NodeLink> links;
  if (comm.size() == 1) return links;
  std::vector<int> rank;
  std::vector<BodyShare> shares;
  for (const OwnBody& body : graph.bodies) {
    const std::int32_t end = graph.ends[body.first].end;
    rank.push_back(directory_rank(comm, body.id));
    shares.push_back({body.id, edges[end / kEnds].key, end, body.count, body.fragment});
  }
  const auto reply = [&](const RankLists<BodyShare>& told) { return look_up(told, links); };
  const auto answers = request_reply<BodyAnswer>(comm, rank, shares, reply);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    OwnBody& body = graph.bodies[i];
    body.all = answers[i].all;
    body.counted = answers[i].counted != 0;
    if (answers[i].mate.rank < 0) continue;
    graph.mates.of_end[shares[i].end] = -2 - narrow<std::int32_t>(graph.mates.remote.size());
    graph.mates.remote.push_back(answers[i].mate);
  }
  return links;
}

std::vector<Tally> own_tallies(std::span<const JointEdge> edges, const OwnGraph& graph) {
  std::vector<Tally> tallies(graph.n_fragments);
  for (std::size_t j = 0; j < edges.size(); ++j) {
    Tally& t = tallies[graph.fragment[j]];
    t.smallest_key = std::min(t.smallest_key, edges[j].key);
    ++t.joints;
    t.rows += edges[j].rows;
    t.spans += std::max(edges[j].n_bodies - 1, 0);
    t.wide += edges[j].n_bodies > 2;
  }
  for (const OwnBody& body : graph.bodies) {
    if (!body.counted) continue;
    Tally& t = tallies[body.fragment];
    ++t.bodies;
    t.crowded += body.all > 2;
  }
  return tallies;
}

/// Collective. The whole mechanism's sums for each own fragment; node `root[i]` stands for that of
/// fragment i.
std::vector<Tally> whole_tallies(const Communicator& comm, const std::vector<Address>& root,
                                 std::vector<Tally> own) {
  if (comm.size() == 1) return own;
  std::vector<Address> roots = root;
  sort_unique(roots);
  struct Part {
    Address root = kNowhere;
    Tally tally;
  };
  std::vector<Part> parts(roots.size());
  std::vector<int> rank(roots.size());
  std::vector<std::size_t> part(root.size());
  for (std::size_t i = 0; i < root.size(); ++i) {
    part[i] = std::lower_bound(roots.begin(), roots.end(), root[i]) - roots.begin();
    parts[part[i]].root = root[i];
    parts[part[i]].tally.add(own[i]);
    rank[part[i]] = rank_of(root[i]);
  }
  const auto reply = [&](const RankLists<Part>& told) {
    std::vector<Tally> sum(root.size());
    for (const auto& from : told)
      for (const Part& p : from) sum[place_of(p.root)].add(p.tally);
    return reply_each<Tally>(told, [&](const Part& p) { return sum[place_of(p.root)]; });
  };
  const auto sums = request_reply<Tally>(comm, rank, parts, reply);
  for (std::size_t i = 0; i < root.size(); ++i) own[i] = sums[part[i]];
  return own;
}

}  // namespace

std::vector<JointPlace> find_mechanisms(const Communicator& comm,
                                        std::span<const JointEdge> edges) {
  OwnGraph graph = own_graph(edges);
  std::vector<NodeLink> links = meet_other_ranks(comm, edges, graph);
  const std::vector<Address> root = join_nodes(comm, graph.n_fragments, std::move(links));
  const std::vector<Tally> tally = whole_tallies(comm, root, own_tallies(edges, graph));
  std::vector<JointPlace> places(edges.size());
  for (std::size_t j = 0; j < edges.size(); ++j) {
    const Tally& t = tally[graph.fragment[j]];
    places[j] = {t.smallest_key, t.kind(), t.joints, t.rows, t.bodies, 0, -1, -1};
  }
  order_lines(comm, edges, graph.mates, places);
  order_by_key(comm, edges, places);
  return places;
}

MechanismCount count_mechanisms(const Communicator& comm, std::span<const JointPlace> places) {
  std::array<std::int64_t, 5> sums = {std::ssize(places), 0, 0, 0, 0};
  MechanismCount count;
  for (const JointPlace& place : places) {
    count.largest = std::max(count.largest, place.n_joints);
    if (place.kind == MechanismKind::chain)
      count.longest_chain = std::max(count.longest_chain, place.n_joints);
    if (place.index == 0) ++sums[1 + ordinal(place.kind)];
  }
  comm.sum(sums);
  return {sums[0],
          sums[1],
          sums[2],
          sums[3],
          sums[4],
          comm.max(count.longest_chain),
          comm.max(count.largest)};
}

}  // namespace catena
