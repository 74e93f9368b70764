// Bodies near the sides of a periodic box, as boxes at the other side.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "catena/base/index.hpp"
#include "catena/model/state.hpp"
#include "search/body_fault.hpp"

namespace catena::search {

/// A box of the broad phase: of a local body, displaced by whole periods.
struct ImageOf {
  Index body = kNoIndex;
  int code = kNoImage;  ///< PeriodicBox::shift
};

/// Code of the opposite displacement.
inline int opposite_image(int code) { return kImages - 1 - code; }

/// ContactKey::part of item pair `part` with b in image `code`.
inline std::int32_t part_in_image(std::int32_t part, int code) {
  return part * kImages + (code - kNoImage + kImages) % kImages;
}

/// The images of a periodic box; none where nothing is periodic.
class PeriodicImages {
 public:
  explicit PeriodicImages(const PeriodicBox& box);

  bool any() const { return !all_.empty(); }
  /// Takes the box for a step of `step` s as it is now: images may move.
  void move_to(const PeriodicBox& box, double step);
  const Vec3& shift(int code) const { return shift_[code]; }
  /// Velocity of an image against the body, m/s.
  const Vec3& velocity(int code) const { return velocity_[code]; }
  /// `box`, swept over a body's way in the step, over that of its image.
  Aabb image_of(const Aabb& box, int code) const {
    const Vec3 way = step_ * velocity_[code];
    return {box.lo + shift_[code] + way.cwiseMin(0.0), box.hi + shift_[code] + way.cwiseMax(0.0)};
  }
  /// Codes of all images but the body itself.
  std::span<const int> all() const { return all_; }

  /// Fills `grid` and `of`: the first n_owned boxes, their images, the other boxes, their images;
  /// only images that reach one of the boxes. Of two opposite displacements one is made, so that a
  /// pair (box, image) stands for each relation once. Returns how many belong to owned bodies.
  Index place(std::span<const Aabb> boxes, Index n_owned, std::vector<Aabb>& grid,
              std::vector<ImageOf>& of) const;

 private:
  double step_ = 0.0;
  std::array<Vec3, kImages> shift_{}, velocity_{};
  std::vector<int> all_, half_;
};

/// Why this rank's bodies do not fit into the periodic box: the first that does not; none if they
/// do. A dynamic body is at most half as long as the box, another one as long, and lies in it.
BodyFault periodic_fault(const Model& model, const Bodies& bodies, const State& state);

}  // namespace catena::search
