#include "search/periodic_images.hpp"

#include "catena/base/text.hpp"

namespace catena::search {

PeriodicImages::PeriodicImages(const PeriodicBox& box) {
  for (int code = 0; code < kImages; ++code) {
    if (code == kNoImage || !box.has_image(code)) continue;
    all_.push_back(code);
    if (code > kNoImage) half_.push_back(code);  // one of each two opposite ones
  }
}

void PeriodicImages::move_to(const PeriodicBox& box, double step) {
  step_ = step;
  for (const int code : all_) {
    shift_[code] = box.shift(code);
    velocity_[code] = box.velocity(code);
  }
}

Index PeriodicImages::place(std::span<const Aabb> boxes, Index n_owned, std::vector<Aabb>& grid,
                            std::vector<ImageOf>& of) const {
  Aabb whole;
  for (const Aabb& box : boxes) {
    if ((box.lo.array() <= box.hi.array()).all()) whole.merge(box);
  }
  grid.clear();
  of.clear();
  const auto place_range = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      grid.push_back(boxes[i]);
      of.push_back({to_index(i), kNoImage});
    }
    for (std::size_t i = begin; i < end; ++i) {
      for (const int code : half_) {
        const Aabb image = image_of(boxes[i], code);
        if (!image.overlaps(whole)) continue;
        grid.push_back(image);
        of.push_back({to_index(i), code});
      }
    }
  };
  place_range(0, n_owned);
  const auto n_first = to_index(grid.size());
  place_range(n_owned, boxes.size());
  return n_first;
}

BodyFault periodic_fault(const Model& model, const Bodies& bodies, const State& state) {
  const PeriodicBox periodic = box_of(model, state);
  for (std::size_t i = 0; i < bodies.constants.size(); ++i) {
    const BodyConstants& body = bodies.constants[i];
    const Pose& pose = state.body[i].pose;
    const Aabb box = bounds_of(body.shape, pose, model.geometries);
    for (int axis = 0; axis < 3; ++axis) {
      if (!periodic.active[axis]) continue;
      const double period = periodic.hi[axis] - periodic.lo[axis];
      const bool dynamic = body.kind == BodyKind::dynamic;
      const auto name = [&] { return "body " + model.names.name_of(body.id); };
      const std::string along = std::string(" along ") + "xyz"[axis];
      if (box.hi[axis] - box.lo[axis] > (dynamic ? 0.5 : 1.0) * period) {
        return {body.id,
                name() + " is longer than " + (dynamic ? "half " : "") + "the periodic box" +
                    along +
                    (state.cell.empty() ? ""
                                        : ", where it is " + short_text(period) +
                                              " m at t = " + short_text(state.time) + " s")};
      }
      if (pose.p[axis] < periodic.lo[axis] || pose.p[axis] > periodic.hi[axis]) {
        return {body.id, name() + " lies outside of the periodic box" + along};
      }
    }
  }
  return {};
}

}  // namespace catena::search
