// N as a matrix: for methods that factor it or pivot on it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"

namespace catena {

/// S N S, compressed by rows. Every rank holds its own rows; rows are numbered rank by rank. A
/// block's rows name the same columns: all rows of every block that shares a moving body with it,
/// its own among them, ascending.
struct DelassusMatrix {
  std::int64_t first = 0;  ///< this rank's first row
  std::int64_t total = 0;  ///< rows of all ranks
  std::vector<std::int64_t> row_begin = {0};
  std::vector<Index> column;  ///< over all ranks
  std::vector<double> value;

  Index n_rows() const { return to_index(row_begin.size()) - 1; }
};

/// Collective, of 12 neighbours or so per contact (a body with n contacts brings n^2 blocks).
/// Ranks that share a body send each other their Jacobians, twice: to the body's owner and back.
/// `scale`: S per row, 0 where its line and column are to be zero; empty: ones. Throws
/// Error(bad_input) where the rows of all ranks are more than an Index can count.
DelassusMatrix assemble_delassus(const ConstraintProblem& problem,
                                 std::span<const double> scale = {});

}  // namespace catena
