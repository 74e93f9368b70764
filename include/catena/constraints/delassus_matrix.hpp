// N itself: what [F14]'s direct forms factor.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"

namespace catena::fang {

/// s N s with the lines and columns of fixed rows zero, as a list of entries; what stands at the
/// same place adds up. Every rank holds its own rows; rows are numbered rank by rank.
struct DelassusEntries {
  std::int64_t first = 0;  ///< this rank's first row
  std::int64_t total = 0;  ///< rows of all ranks
  std::vector<Index> row, column;
  std::vector<double> value;
};

/// Collective, of 12 neighbours or so per contact (a body with n contacts brings n^2 blocks).
/// Ranks that share a body tell each other their Jacobians, twice: to the body's owner and back.
/// `scale`: s > 0 per row; `fixed`: 1 where a row is to be zero.
DelassusEntries assemble_delassus(const ConstraintProblem& problem, std::span<const double> scale,
                                  std::span<const std::uint8_t> fixed);

}  // namespace catena::fang
