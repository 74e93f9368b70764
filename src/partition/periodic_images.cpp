#include "periodic_images.hpp"

namespace catena::partition_detail {

PeriodicImages::PeriodicImages(const PeriodicBox& box) {
  for (int code = 0; code < kImages; ++code) {
    shift_[static_cast<std::size_t>(code)] = box.shift(code);
    const bool along_x = code / 3 != 1, along_y = code % 3 != 1;
    if (code == kNoImage || (along_x && !box.active[0]) || (along_y && !box.active[1])) continue;
    all_.push_back(code);
    if (code > kNoImage) half_.push_back(code);  // +y, +x-y, +x, +x+y
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
      of.push_back({static_cast<Index>(i), kNoImage});
    }
    for (std::size_t i = begin; i < end; ++i) {
      for (const int code : half_) {
        const Aabb image{boxes[i].lo + shift(code), boxes[i].hi + shift(code)};
        if (!image.overlaps(whole)) continue;
        grid.push_back(image);
        of.push_back({static_cast<Index>(i), code});
      }
    }
  };
  place_range(0, static_cast<std::size_t>(n_owned));
  const auto n_first = static_cast<Index>(grid.size());
  place_range(static_cast<std::size_t>(n_owned), boxes.size());
  return n_first;
}

}  // namespace catena::partition_detail
