// Graphs of joints for tests, and a plain serial analysis of them.
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "catena/partition/mechanisms.hpp"

namespace catena::test {

/// Joints of one scene; bodies and keys are numbered as they are made.
class JointGraph {
 public:
  std::vector<JointEdge> edges;

  GlobalId new_bodies(GlobalId count) { return std::exchange(next_body_, next_body_ + count); }
  void join(std::vector<GlobalId> bodies) {
    JointEdge edge;
    edge.key = static_cast<std::int64_t>(edges.size());
    edge.rows = 1 + static_cast<int>(edges.size() % 5);
    edge.n_bodies = static_cast<int>(bodies.size());
    std::copy(bodies.begin(), bodies.end(), edge.body.begin());
    edges.push_back(edge);
  }
  /// `n` bodies in a row; the first and the last held to the world or not.
  void chain(GlobalId n, bool first_held, bool last_held) {
    const GlobalId b = new_bodies(n);
    if (first_held) join({b});
    for (GlobalId i = 1; i < n; ++i) join({b + i - i % 2, b + i - 1 + i % 2});  // not all one way
    if (last_held) join({b + n - 1});
  }
  void ring(GlobalId n) {
    const GlobalId b = new_bodies(n);
    for (GlobalId i = 0; i < n; ++i) join({b + i, b + (i + 1) % n});
  }
  void star(GlobalId n) {
    const GlobalId b = new_bodies(n + 1);
    for (GlobalId i = 1; i <= n; ++i) join({b, b + i});
  }
  void binary_tree(GlobalId n) {
    const GlobalId b = new_bodies(n);
    for (GlobalId i = 1; i < n; ++i) join({b + i, b + (i - 1) / 2});
  }
  void grid(GlobalId nx, GlobalId ny) {
    const GlobalId b = new_bodies(nx * ny);
    for (GlobalId i = 0; i < nx * ny; ++i) {
      if (i % nx > 0) join({b + i - 1, b + i});
      if (i >= nx) join({b + i - nx, b + i});
    }
  }
  /// Other numbers for keys and bodies, and another order.
  void shuffle(unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::int64_t> key(edges.size()), id(static_cast<std::size_t>(next_body_));
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = 3 * static_cast<std::int64_t>(i) - 50;
    for (std::size_t i = 0; i < id.size(); ++i) id[i] = 5 * static_cast<std::int64_t>(i) + 2;
    std::shuffle(key.begin(), key.end(), random);
    std::shuffle(id.begin(), id.end(), random);
    for (std::size_t i = 0; i < edges.size(); ++i) {
      edges[i].key = key[i];
      for (GlobalId& body : edges[i].body)
        if (body != kNoBody) body = id[static_cast<std::size_t>(body)];
    }
    std::shuffle(edges.begin(), edges.end(), random);
  }

 private:
  GlobalId next_body_ = 0;
};

/// All kinds of mechanisms at once.
inline JointGraph zoo() {
  JointGraph g;
  for (const GlobalId n : {1, 2, 3, 17, 40}) {
    if (n > 1) g.chain(n, false, false);
    g.chain(n, true, false);
    g.chain(n, false, true);
    g.chain(n, true, true);
  }
  for (const GlobalId n : {2, 3, 4, 31}) g.ring(n);
  g.star(3);
  g.star(20);
  g.star(2);  // a chain
  g.binary_tree(63);
  g.grid(5, 4);
  g.grid(2, 2);  // a ring
  for (int i = 0; i < 30; ++i) g.chain(2 + i % 4, i % 3 == 0, false);
  g.join({});
  g.join({});
  const GlobalId gear = g.new_bodies(3);  // two wheels and their carrier
  g.join({gear, gear + 1, gear + 2});
  g.join({gear, gear + 2});
  g.join({gear + 1, gear + 2});
  const GlobalId four = g.new_bodies(4);
  g.join({four, four + 1, four + 2, four + 3});
  const GlobalId twice = g.new_bodies(3);  // a chain, one joint of it doubled
  g.join({twice, twice + 1});
  g.join({twice + 1, twice + 2});
  g.join({twice + 2, twice + 1});
  const GlobalId held = g.new_bodies(4);  // a ring of which one body is held to the world
  for (GlobalId i = 0; i < 4; ++i) g.join({held + i, held + (i + 1) % 4});
  g.join({held + 2});
  const GlobalId self = g.new_bodies(1);  // a body joined to itself
  g.join({self, self});
  const GlobalId thrice = g.new_bodies(1);  // a body held three times
  for (int i = 0; i < 3; ++i) g.join({thrice});
  return g;
}

/// By search through maps: the places of all joints, by key.
class PlainAnalysis {
 public:
  explicit PlainAnalysis(const std::vector<JointEdge>& edges) {
    for (const JointEdge& e : edges) {
      edge_[e.key] = e;
      for (int k = 0; k < e.n_bodies; ++k) at_[body(e, k)].push_back(e.key);
    }
    for (const auto& [key, e] : edge_)
      if (!place.contains(key)) classify(reach(key));
  }
  std::map<std::int64_t, JointPlace> place;

 private:
  static GlobalId body(const JointEdge& e, int k) { return e.body[static_cast<std::size_t>(k)]; }

  std::set<std::int64_t> reach(std::int64_t key) const {
    std::set<std::int64_t> found{key};
    std::vector<std::int64_t> todo{key};
    while (!todo.empty()) {
      const JointEdge& e = edge_.at(todo.back());
      todo.pop_back();
      for (int k = 0; k < e.n_bodies; ++k)
        for (const std::int64_t other : at_.at(body(e, k)))
          if (found.insert(other).second) todo.push_back(other);
    }
    return found;
  }

  void classify(const std::set<std::int64_t>& keys) {
    JointPlace p;
    p.component = *keys.begin();
    p.n_joints = static_cast<std::int64_t>(keys.size());
    std::set<GlobalId> bodies;
    bool wide = false, crowded = false;
    std::int64_t links = 0;
    for (const std::int64_t key : keys) {
      const JointEdge& e = edge_.at(key);
      p.n_rows += e.rows;
      wide = wide || e.n_bodies > 2;
      links += e.n_bodies == 2;
      for (int k = 0; k < e.n_bodies; ++k) bodies.insert(body(e, k));
    }
    for (const GlobalId b : bodies) crowded = crowded || at_.at(b).size() > 2;
    p.n_bodies = static_cast<std::int64_t>(bodies.size());
    const bool closed = !bodies.empty() && links >= p.n_bodies;
    if (wide || (closed && (crowded || keys.size() == 1))) {
      p.kind = MechanismKind::looped;
    } else if (closed) {
      p.kind = MechanismKind::ring;
    } else {
      p.kind = crowded || bodies.empty() ? MechanismKind::tree : MechanismKind::chain;
    }
    for (const std::int64_t key : keys) {
      place[key] = p;
      ++p.index;
    }
    if (p.kind == MechanismKind::chain || p.kind == MechanismKind::ring) walk(keys);
  }

  /// The other joint at body k of an edge, or itself.
  std::int64_t other(std::int64_t key, int k) const {
    const JointEdge& e = edge_.at(key);
    if (k >= e.n_bodies) return key;
    const auto& at = at_.at(body(e, k));
    return at.size() < 2 ? key : at[0] == key ? at[1] : at[0];
  }

  void walk(const std::set<std::int64_t>& keys) {
    std::int64_t key = *keys.begin();
    int ahead = other(key, 0) <= other(key, 1) ? 0 : 1;  // of a ring
    if (place[key].kind == MechanismKind::chain) {
      for (const std::int64_t k : keys) {  // the first that has a neighbour on one side at most
        if (other(k, 0) != k && other(k, 1) != k) continue;
        key = k;
        break;
      }
      ahead = other(key, 0) != key ? 0 : 1;
    }
    for (std::int64_t index = 0; index < static_cast<std::int64_t>(keys.size()); ++index) {
      JointPlace& p = place[key];
      p.index = index;
      const std::int64_t next = other(key, ahead);
      p.next_body = next != key ? ahead : -1;
      p.previous_body = other(key, 1 - ahead) != key ? 1 - ahead : -1;
      if (next == key) break;
      const GlobalId shared = body(edge_.at(key), ahead);
      ahead = body(edge_.at(next), 0) == shared ? 1 : 0;
      key = next;
    }
  }

  std::map<std::int64_t, JointEdge> edge_;
  std::map<GlobalId, std::vector<std::int64_t>> at_;
};

}  // namespace catena::test
