// The binary tree of a mechanism's parts and of the separators between them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "catena/base/index.hpp"

namespace catena {

/// A mechanism cut in 2^levels parts: node 1 is the separator of all of it, nodes 2n and 2n + 1 are
/// what separator n lies between, and the last 2^levels nodes are the parts themselves. Joints of
/// two nodes share no body unless one of the nodes is above the other. Eliminated are children
/// before parents, parts from left to right.
struct PartTree {
  int levels = 0;

  /// For a mechanism of so many joints: a part a rank, or several where ranks are no power of two.
  /// With `deterministic` whatever the ranks: 2,000 joints or more a part, 128 parts at most.
  static PartTree of(std::int64_t n_joints, int n_ranks, bool deterministic) {
    constexpr int kMostLevels = 7;
    const auto levels = [](std::int64_t n) {
      return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n))) - 1;
    };
    if (deterministic) return {std::clamp(levels(n_joints / 2000), 1, kMostLevels)};
    const bool power = std::has_single_bit(static_cast<unsigned>(n_ranks));
    return {levels(n_ranks) + (power ? 0 : 3)};
  }

  int n_parts() const { return 1 << levels; }
  bool is_part(int node) const { return node >= n_parts(); }
  static int parent(int node) { return node / 2; }
  static int depth(int node) { return std::bit_width(static_cast<unsigned>(node)) - 1; }
  /// Whether `above` is `node` or a separator above it.
  static bool is_above(int above, int node) {
    return depth(above) <= depth(node) && node >> (depth(node) - depth(above)) == above;
  }
  /// Of a subtree, the part farthest to the left.
  int first_part(int node) const { return (node << (levels - depth(node))) - n_parts(); }
  /// When a node is eliminated: 0 .. 2 n_parts() - 2.
  int place(int node) const {
    // all that lies to the left of its subtree, then what its subtree has below it
    const int below = (2 << (levels - depth(node))) - 2;
    int before = 0;
    for (int n = node; n > 1; n /= 2)
      if (n % 2 == 1) before += (2 << (levels - depth(n))) - 1;
    return before + below;
  }
};

/// A PartTree whose parts are dealt to ranks; a separator goes to the rank of the part farthest to
/// the left below it.
struct DealtTree {
  PartTree tree;
  std::vector<int> rank = {0};  ///< of every part, from left to right

  /// Every rank has a row of parts, as even as they allow.
  static DealtTree in_order(PartTree tree, int n_ranks) {
    DealtTree dealt{tree, {}};
    for (std::int64_t part = 0; part < tree.n_parts(); ++part)
      dealt.rank.push_back(narrow<int>(part * n_ranks / tree.n_parts()));
    return dealt;
  }
  int rank_of(int node) const { return rank[tree.first_part(node)]; }
};

}  // namespace catena
