// Bodies in the order of the space-filling curve, over all ranks.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/model/state.hpp"

namespace catena::partition {

/// Place of a body in the order: along the curve, ties by id; no two are equal.
struct CurvePlace {
  std::uint64_t key = 0;
  std::uint64_t id = 0;
  auto operator<=>(const CurvePlace&) const = default;
};

/// Collective. Bounding box of all finite positions of bodies; a unit box if there are none.
Aabb curve_box(const Communicator& comm, const State& state);

/// Place of each owned body on the curve over `box`.
std::vector<CurvePlace> curve_places(const Bodies& bodies, const State& state, const Aabb& box);

/// Collective. Cuts the order into n_parts of equal weight: part p starts at the last place
/// with at most floor(p W / n_parts) weight before it, so unit weights give counts that
/// differ by at most one. A pure function of the set of (place, weight): not of the ranks.
/// Memory O(own bodies + n_parts).
std::vector<int> split_curve(const Communicator& comm, std::span<const CurvePlace> places,
                             std::span<const std::int64_t> weights, int n_parts);

/// Collective. Number of places over all ranks that come before each of `places`. Memory
/// O(places/ranks), if the ranks hold about the same.
std::vector<std::int64_t> curve_positions(const Communicator& comm,
                                          std::span<const CurvePlace> places);

}  // namespace catena::partition
