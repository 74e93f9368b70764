// A rank's segment of a chain, eliminated one block after the other.
#pragma once

#include <span>
#include <vector>

#include "solvers/joints/chain/block_kernels.hpp"
#include "solvers/joints/chain/chain_factor.hpp"

namespace catena {

/// The blocks of one rank, of which at most the first couples to the left (to a block of `left`
/// rows, 0: none) and at most the last to the right. With a coupling to the right the last block
/// is the separator: it stays. All others are eliminated:
///
///   left  right
///    no     any   each chain from its left end to its right
///    yes    no    the first chain from its right end to its left, inward, the others as above
///    yes    yes   (one chain) from left to right, with fill towards the left neighbour;
///                 (several) the first one inward, the others from left to right
///
/// Work per block of b rows: 2.33 b^3 flops (mul and add counted apart), 6.33 b^3 with fill.
class ChainSegment {
 public:
  ChainSegment(ChainPart structure, Index left, bool right);

  /// To be filled with numbers before factor(), which leaves L_i in the diagonal and, in the
  /// couplings, W_i towards the block after it; inward: of i + 1 towards i.
  ChainPart& part() { return part_; }
  const ChainPart& part() const { return part_; }
  bool inner() const { return fill_; }  ///< both neighbours are joined through this segment

  /// Local. `coupling`: A_left,0, left x m_0. `scale`: per row, the diagonal of A; empty: that of
  /// the part. The diagonal is multiplied by 1 + epsilon.
  void factor(std::span<const double> scale, double epsilon, const double* coupling,
              PivotGuard& guard);
  /// What is to be added to the left neighbour's block (lower triangle is valid).
  const std::vector<double>& left_update() const { return left_update_; }
  /// The separator's block after elimination (lower triangle).
  const double* separator_block() const;
  /// A_left,separator, left x m: only if inner().
  const std::vector<double>& reduced_coupling() const { return reduced_; }

  /// Local. L^-1 b in place; the separator's rows hold what is left for it. `left_update`: what is
  /// to be added to b of the left neighbour.
  void forward(std::span<double> x, double* left_update) const;
  /// Local. The separator's rows and `x_left` are known.
  void backward(std::span<double> x, const double* x_left) const;

  std::int64_t factor_flops() const { return factor_flops_; }
  std::int64_t solve_flops() const { return solve_flops_; }

 private:
  struct MixedSize;
  template <class Visit>
  void with_sizes(Visit&& visit) const;
  template <class Size>
  void factor_rightward(Size size, std::span<const double> scale, double epsilon,
                        PivotGuard& guard);
  template <class Size>
  void factor_inward(Size size, std::span<const double> scale, double epsilon,
                     const double* coupling, PivotGuard& guard);
  template <class Size>
  void fill(Size size, const double* coupling);
  void count();
  /// a = A_ii becomes A_ii (1 + epsilon); returns the row scales, which if not given are put into
  /// `own_scale`.
  template <class M>
  const double* regularise(M m, Index i, std::span<const double> scale, double epsilon, double* a,
                           double* own_scale);

  double* lower(Index i) { return part_.diagonal.data() + part_.diagonal_begin[i]; }
  const double* lower(Index i) const { return part_.diagonal.data() + part_.diagonal_begin[i]; }
  double* side(Index i) { return part_.coupling.data() + part_.coupling_begin[i]; }
  const double* side(Index i) const { return part_.coupling.data() + part_.coupling_begin[i]; }
  bool coupled(Index i) const { return part_.coupling_begin[i] != part_.coupling_begin[i + 1]; }
  ChainPart part_;
  int uniform_ = 0;  ///< rows of every block, the left one too; 0: several sizes
  Index left_ = 0;
  bool fill_ = false;
  Index inward_end_ = 0;           ///< blocks [0, inward_end_) go from right to left
  Index rightward_end_ = 0;        ///< blocks [inward_end_, rightward_end_) from left to right
  std::vector<double> first_;      ///< inward: W_0 towards the left neighbour
  std::vector<double> fill_side_;  ///< W_i towards the left neighbour
  std::vector<std::int64_t> fill_begin_ = {};  ///< n + 1
  std::vector<double> left_update_, reduced_;
  std::int64_t factor_flops_ = 0, solve_flops_ = 0;
};

}  // namespace catena
