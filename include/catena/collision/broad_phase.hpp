// Pairs of bodies that are close enough to touch.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "catena/base/index.hpp"
#include "catena/math/types.hpp"

namespace catena {

/// All pairs (i, j), i < j, of overlapping boxes, ascending. O(n) for boxes of similar
/// size (hashed grid), correct for any mixture (a hierarchy of grids, one level per
/// power of two in size; a large box visits the cells it covers on the finer levels
/// only where they are occupied). Empty boxes pair with nothing.
///
/// Scratch memory is kept between calls.
class BroadPhase {
 public:
  BroadPhase();
  ~BroadPhase();
  BroadPhase(BroadPhase&&) noexcept;
  BroadPhase& operator=(BroadPhase&&) noexcept;

  /// Pairs with both indices >= n_first are left out (ghost against ghost); the result is valid
  /// until the next call.
  std::span<const std::pair<Index, Index>> find(std::span<const Aabb> boxes, Index n_first);
  /// The same pairs (i < j), in an order of their own.
  std::span<const std::pair<Index, Index>> find_unsorted(std::span<const Aabb> boxes,
                                                         Index n_first);
  /// Gives scratch memory and the pairs found back.
  void release();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace catena
