#include "catena/model/state.hpp"

#include <algorithm>

#include "catena/base/error.hpp"

namespace catena {

namespace {

/// The places of a box's numbers in State::cell.
enum CellNumber : std::size_t { kLower = 0, kUpper = 3, kOffset = 6, kStretchRate = 7 };

}  // namespace

const MotionStart& motion_of(const State& state, const BodyConstants& body,
                             std::span<const BodyMotion> others) {
  static const MotionStart none;
  if (body.kind != BodyKind::kinematic || body.motion < 0) return none;
  for (const std::span<const BodyMotion> list :
       {std::span<const BodyMotion>(state.motions),
        std::span<const BodyMotion>(state.plane_motions), others}) {
    const auto at = std::ranges::lower_bound(list, body.id, {}, &BodyMotion::body);
    if (at != list.end() && at->body == body.id) return at->start;
  }
  CATENA_CHECK(false, "a kinematic body has a motion");
  return none;
}

std::vector<BodyMotion> plane_motions(const Model& model) {
  std::vector<BodyMotion> motions;
  for (const BodyRecord& plane : model.unbounded)
    if (plane.constants.kind == BodyKind::kinematic)
      motions.push_back({plane.constants.id,
                         motion_start(model.motions[plane.constants.motion], plane.state.pose)});
  return motions;
}

const BodyLoad* load_of(const State& state, GlobalId body) {
  const auto at = std::ranges::lower_bound(state.loads, body, {}, &BodyLoad::body);
  return at != state.loads.end() && at->body == body ? &*at : nullptr;
}

PeriodicBox box_of(const Model& model, const State& state) {
  PeriodicBox box = model.periodic;
  if (state.cell.empty()) return box;
  CATENA_CHECK(state.cell.size() == kCellNumbers, "all numbers of a cell");
  const double* number = state.cell.data();
  for (std::size_t k = 0; k < 3; ++k) {
    box.lo[k] = number[kLower + k];
    box.hi[k] = number[kUpper + k];
    box.stretch_rate[k] = number[kStretchRate + k];
  }
  box.offset = number[kOffset];
  return box;
}

void keep_box(const PeriodicBox& box, State& state) {
  state.cell.resize(kCellNumbers);
  double* number = state.cell.data();
  for (std::size_t k = 0; k < 3; ++k) {
    number[kLower + k] = box.lo[k];
    number[kUpper + k] = box.hi[k];
    number[kStretchRate + k] = box.stretch_rate[k];
  }
  number[kOffset] = box.offset;
}

GlobalId home_of(const BodyConstants& a, const BodyConstants& b) {
  const bool a_moves = a.kind == BodyKind::dynamic, b_moves = b.kind == BodyKind::dynamic;
  if (a_moves != b_moves) return a_moves ? a.id : b.id;
  if (a_moves) {
    const double size_a = half_extent(a.shape), size_b = half_extent(b.shape);
    if (size_a < 0.25 * size_b) return a.id;
    if (size_b < 0.25 * size_a) return b.id;
  }
  // parity deals the contacts of equals out evenly
  return (a.id + b.id) % 2 == 0 ? std::min(a.id, b.id) : std::max(a.id, b.id);
}

}  // namespace catena
