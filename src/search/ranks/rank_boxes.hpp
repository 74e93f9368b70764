// The few boxes by which ranks know where each other's bodies are.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "catena/base/index.hpp"
#include "catena/math/types.hpp"
#include "search/periodic_images.hpp"

namespace catena::search {

/// A box as it travels: its lower and its upper corner.
using Corners = std::array<double, 6>;

inline Corners corners_of(const Aabb& box) {
  return {box.lo.x(), box.lo.y(), box.lo.z(), box.hi.x(), box.hi.y(), box.hi.z()};
}

/// The box of six numbers from `v` on.
inline Aabb box_at(const double* v) { return {Vec3(v[0], v[1], v[2]), Vec3(v[3], v[4], v[5])}; }

struct RankRow;

/// This rank's bodies in at most 8 groups with a box each: up to 4 of oversized bodies
/// (half extent above 4 times the median), so that one of them does not blow up the box
/// of the small ones, and up to 4 of the rest, split at medians along the longest axis.
class RankBoxes {
 public:
  static constexpr int kBoxes = 8;
  static constexpr int kDoubles = 6 * kBoxes;  ///< published by each rank

  /// An owned body that collides.
  struct Member {
    double extent;  ///< half, of its shape
    bool dynamic;
  };

  /// `boxes` of the members, swept over the step; empty boxes are left out.
  void group(std::span<const Member> members, std::span<const Aabb> boxes);
  /// Lower and upper corners of boxes around the groups' dynamic bodies; the rest are empty boxes.
  /// Contacts with other bodies are the dynamic ones' (home_of), whose ranks ask for them: what
  /// lies on a terrain does not go to the terrain's rank.
  const std::array<double, kDoubles>& published() const { return published_; }
  /// Around all members' boxes; empty without members.
  Aabb whole() const;

  /// Which of `boxes` overlap a box of another rank: (rank, boxes) ascending in both. `rows`, in
  /// ascending order, hold what ranks published; in a periodic box all images of it count.
  void select(std::span<const RankRow> rows, int own_rank, std::span<const Aabb> boxes,
              const PeriodicImages& images,
              std::vector<std::pair<int, std::vector<Index>>>& out) const;

 private:
  void split(std::span<Index> places, std::span<const Member> members, std::span<const Aabb> boxes,
             int parts);

  struct Group {
    Aabb box;      ///< of all
    Aabb dynamic;  ///< of the dynamic ones
    std::vector<Index> members;
  };
  std::vector<Group> groups_;
  std::array<double, kDoubles> published_{};
};

/// What a rank has published.
struct RankRow {
  std::int64_t rank = 0;
  std::array<double, RankBoxes::kDoubles> boxes{};

  Aabb box(std::size_t k) const { return box_at(boxes.data() + 6 * k); }
};

}  // namespace catena::search
