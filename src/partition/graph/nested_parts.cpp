#include <metis.h>

#include <limits>
#include <numeric>
#include <utility>

#include "catena/base/error.hpp"
#include "catena/partition/nested_dissection.hpp"

namespace catena {
namespace {

/// By how much, in thousandths, the larger half may exceed half of what is parted.
constexpr idx_t kUnevenness = 20;

/// Some blocks of a graph, as METIS reads it.
struct Part {
  std::vector<Index> block;
  std::vector<idx_t> begin = {0}, neighbour, weight;
};

class Halving {
 public:
  Halving(const BlockGraph& graph, int levels)
      : node(graph.size(), 1), graph_(graph), first_part_(1 << levels), number_(graph.size()) {}

  void halve(int parent, std::vector<Index> blocks) {
    if (parent >= first_part_) return;
    Part part = part_of(parent, std::move(blocks));
    const std::vector<idx_t> side = sides(part);
    std::vector<Index> half[2];
    for (std::size_t i = 0; i < side.size(); ++i)
      if (side[i] < 2) half[side[i]].push_back(part.block[i]);
    for (const int s : {0, 1})
      for (const Index k : half[s]) node[k] = 2 * parent + s;
    for (const int s : {0, 1}) halve(2 * parent + s, std::move(half[s]));
  }

  std::vector<int> node;  ///< per block

 private:
  Part part_of(int parent, std::vector<Index> blocks) {
    Part part;
    part.block = std::move(blocks);
    for (std::size_t i = 0; i < part.block.size(); ++i) number_[part.block[i]] = to_index(i);
    for (const Index k : part.block) {
      for (Offset i = graph_.begin[k]; i < graph_.begin[k + 1]; ++i)
        if (node[graph_.neighbour[i]] == parent)
          part.neighbour.push_back(number_[graph_.neighbour[i]]);
      part.begin.push_back(narrow<idx_t>(std::ssize(part.neighbour)));
      part.weight.push_back(graph_.row_begin[k + 1] - graph_.row_begin[k]);
    }
    return part;
  }

  /// Per block 0 or 1, or 2 if it separates.
  static std::vector<idx_t> sides(Part& part) {
    std::vector<idx_t> side(part.block.size(), 0);
    if (part.neighbour.empty()) {  // METIS is not to see graphs without edges
      const std::int64_t all =
          std::accumulate(part.weight.begin(), part.weight.end(), std::int64_t{0});
      std::int64_t before = 0;
      for (std::size_t i = 0; i < side.size(); before += part.weight[i++])
        side[i] = 2 * before < all ? 0 : 1;
      return side;
    }
    idx_t options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 1;
    options[METIS_OPTION_NUMBERING] = 0;
    options[METIS_OPTION_UFACTOR] = kUnevenness;
    idx_t n = narrow<idx_t>(std::ssize(side)), separator = 0;
    if (METIS_ComputeVertexSeparator(&n, part.begin.data(), part.neighbour.data(),
                                     part.weight.data(), options, &separator,
                                     side.data()) != METIS_OK)
      throw Error("METIS found no parts of the mechanism of " + std::to_string(n) + " joints",
                  "parts of mechanisms",
                  "use solver.joints.method: iterative, or break the mechanism into smaller ones",
                  ExitCode::runtime_error);
    return side;
  }

  const BlockGraph& graph_;
  int first_part_;
  std::vector<Index> number_;  ///< of a block in its part
};

}  // namespace

std::vector<int> nested_parts(const BlockGraph& graph, int levels) {
  if (std::ssize(graph.neighbour) > std::numeric_limits<idx_t>::max())
    throw Error("the graph of the joints has more edges than METIS' numbers can count",
                "parts of mechanisms",
                "use solver.joints.method: iterative, or break the mechanism into smaller ones",
                ExitCode::runtime_error);
  Halving halving(graph, levels);
  std::vector<Index> all(graph.size());
  std::iota(all.begin(), all.end(), 0);
  halving.halve(1, std::move(all));
  return std::move(halving.node);
}

}  // namespace catena
