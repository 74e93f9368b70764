// The few boxes by which ranks tell each other where their bodies are.
#pragma once

#include <array>
#include <span>
#include <utility>
#include <vector>

#include "catena/base/index.hpp"
#include "catena/math/types.hpp"
#include "periodic_images.hpp"

namespace catena::partition_detail {

/// This rank's bodies in at most 8 groups with a box each: up to 4 of oversized bodies
/// (half extent above 4 times the median), so that one of them does not blow up the box
/// of the small ones, and up to 4 of the rest, split at medians along the longest axis.
class RankBoxes {
 public:
  static constexpr int kBoxes = 8;
  static constexpr int kDoubles = 6 * kBoxes;  ///< published by each rank

  /// `boxes` of owned bodies that collide, swept over the step, and half extents of their shapes;
  /// empty boxes are left out.
  void group(std::span<const double> extents, std::span<const Aabb> boxes);
  /// Lower and upper corners of the groups' boxes; the rest are empty boxes.
  const std::array<double, kDoubles>& published() const { return published_; }

  /// Which of `boxes` overlap a box of another rank: (rank, boxes) ascending in both. `all` holds
  /// what every rank published; in a periodic box all images of it count.
  void select(std::span<const double> all, int own_rank, std::span<const Aabb> boxes,
              const PeriodicImages& images,
              std::vector<std::pair<int, std::vector<Index>>>& out) const;

 private:
  void split(std::span<Index> members, std::span<const Aabb> boxes, int parts);

  struct Group {
    Aabb box;
    std::vector<Index> members;
  };
  std::vector<Group> groups_;
  std::array<double, kDoubles> published_{};
};

}  // namespace catena::partition_detail
