// Cholesky factor of a sparse symmetric matrix, front by front.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "catena/base/huge_pages.hpp"
#include "solvers/joints/dissection/front_tree.hpp"
#include "solvers/joints/dissection/simd/front_kernels.hpp"

namespace catena {

/// A = L L^T by the multifrontal method (Duff and Reid 1983): a front gathers the entries of A in
/// its pivots' columns and what its children leave, eliminates its pivots, and leaves the rest of
/// it to its parent. Keeps its memory. One rank.
///
/// Rows that are pivots of no front stay; a tree of several ranks is made of such factors.
/// All fronts in their order: open(), add the lower triangle's entries at place(), eliminate().
class FrontFactor {
 public:
  explicit FrontFactor(FrontTree tree);

  const FrontTree& tree() const { return tree_; }
  /// Place of an entry of A among values(); rows in the order of elimination, `column` a pivot of
  /// front f, `row` one of its rows, not before it.
  Offset place(Index f, Index column, Index row) const;
  /// Of all panels: entries of A are added here.
  std::span<double> values() { return panels_; }
  /// Of an entry of a front: from a column to the next.
  Offset stride(Index f) const { return shape_[f].stride; }

  void open(Index f);
  /// `pivots`: of all rows, in the order of elimination. Returns how many were raised.
  std::int64_t eliminate(Index f, FrontPivots pivots);

  /// Between open(f) and eliminate(f): adds column `column`, as if it began at row 0, of a lower
  /// triangle whose rows are rows `into` (ascending) of front f.
  void add_below(Index f, Index column, std::span<const Index> into, const double* numbers);
  /// What the last front has left of its rows below: a column, as if it began at the first of them;
  /// right from the diagonal on, until the next factorisation.
  const double* left(Index column);

  /// x = L^-1 x, in the order of elimination; what that takes from rows that are pivots of no front
  /// is added to them. Then x = L^-T (x - what these rows' own x ask for).
  void forward(std::span<double> x);
  void backward(std::span<double> x);

  /// Multiply-adds of a factorisation.
  std::int64_t flops() const;

 private:
  void add_to_parent(Index f);
  void clear(Index f);
  double* panel(Index f) { return panels_.data() + panel_begin_[f]; }
  double* update(Index f) { return updates_.data() + update_begin_[f]; }

  FrontKernels kernels_ = front_kernels();
  FrontTree tree_;
  std::vector<FrontShape> shape_;
  std::vector<char> leaf_;          ///< has no children
  std::vector<char> opens_parent_;  ///< is its parent's first child
  std::vector<Offset> panel_begin_, update_begin_;
  std::vector<double, HugePageAllocator<double>> panels_, updates_, spare_;
};

}  // namespace catena
