// Blocks' references to bodies, from both sides.
#pragma once

#include <numeric>
#include <span>
#include <vector>

#include "solvers/joints/elimination/elimination.hpp"

namespace catena {

struct References {
  std::vector<Index> block;           ///< of a reference
  std::vector<Index> begin, of_body;  ///< a body's references, ascending

  explicit References(const MechanismRows& structure) {
    const GeneralBlocks& blocks = structure.blocks;
    begin.assign(structure.bodies.size() + 1, 0);
    for (Index k = 0; k < blocks.size(); ++k)
      for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j) {
        block.push_back(k);
        ++begin[blocks.body[j] + 1];
      }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    of_body.resize(block.size());
    std::vector<Index> next(begin.begin(), begin.end() - 1);
    for (std::size_t j = 0; j < block.size(); ++j) of_body[next[blocks.body[j]]++] = to_index(j);
  }
  std::span<const Index> at(Index body) const {
    return std::span(of_body).subspan(begin[body], begin[body + 1] - begin[body]);
  }
};

}  // namespace catena
