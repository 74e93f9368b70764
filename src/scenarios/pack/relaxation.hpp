// Balls that overlap are moved apart.
#pragma once

#include <cstdint>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "scenarios/pack/region.hpp"

namespace catena::scenarios {

struct Ball {
  std::int64_t id = 0;
  Vec3 p = Vec3::Zero();
  double radius = 0.0;
};

/// Collective. Deals balls to ranks by their place, to each about as many: the box is cut at planes
/// of a grid, again and again.
std::vector<Ball> dealt_by_place(const Communicator& comm, const Aabb& box,
                                 const std::vector<Ball>& balls);

/// What came of a relaxation; equal on all ranks.
struct RelaxationReport {
  bool apart = false;    ///< no balls overlap, and all are inside
  double overlap = 0.0;  ///< largest, over the smaller radius
  int iterations = 0;
};

/// Collective. Moves balls, each held by one rank, until none overlap and all lie in the region
/// whole, by descent in the energy sum of overlap^2 / 2 with inertia (E. Bitzek et al., Structural
/// relaxation made simple, 2006). Radii are larger by kSwelling meanwhile, so that it ends. `unit`:
/// a typical radius. The places do not depend on how balls are dealt to ranks, nor on these.
/// Balls of a rank, ghosts within a few radii of them, and O(ranks).
RelaxationReport move_apart(const Communicator& comm, const PackRegion& region, double unit,
                            std::vector<Ball>& balls);

inline constexpr double kSwelling = 5e-4;

}  // namespace catena::scenarios
