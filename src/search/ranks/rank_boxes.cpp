#include "search/ranks/rank_boxes.hpp"

#include <algorithm>
#include <iterator>

namespace catena::search {

namespace {

/// Half extent relative to the median above which a body is oversized.
constexpr double kOversized = 4.0;

}  // namespace

void RankBoxes::split(std::span<Index> places, std::span<const Member> members,
                      std::span<const Aabb> boxes, int parts) {
  if (places.empty()) return;
  const auto box_of = [&](Index i) -> const Aabb& { return boxes[i]; };
  Aabb whole, dynamic, centres;
  for (const Index i : places) {
    whole.merge(box_of(i));
    if (members[i].dynamic) dynamic.merge(box_of(i));
    const Vec3 centre = 0.5 * (box_of(i).lo + box_of(i).hi);
    centres.merge({centre, centre});
  }
  if (parts == 1 || places.size() == 1) {
    groups_.push_back({whole, dynamic, {places.begin(), places.end()}});
    return;
  }
  Eigen::Index axis = 0;
  (centres.hi - centres.lo).maxCoeff(&axis);
  const std::size_t half = places.size() / 2;
  std::nth_element(places.begin(), places.begin() + half, places.end(), [&](Index i, Index j) {
    const double a = box_of(i).lo[axis] + box_of(i).hi[axis],
                 b = box_of(j).lo[axis] + box_of(j).hi[axis];
    return a != b ? a < b : i < j;
  });
  split(places.first(half), members, boxes, parts / 2);
  split(places.subspan(half), members, boxes, parts - parts / 2);
}

void RankBoxes::group(std::span<const Member> members, std::span<const Aabb> boxes) {
  groups_.clear();
  std::vector<Index> usual, oversized;
  std::vector<double> sizes;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    // not where it is empty or not a number
    if (!(boxes[i].lo.array() <= boxes[i].hi.array()).all()) continue;
    usual.push_back(to_index(i));
    sizes.push_back(members[i].extent);
  }
  if (!usual.empty()) {
    const auto middle = sizes.begin() + (sizes.size() / 2);
    std::nth_element(sizes.begin(), middle, sizes.end());
    const double limit = kOversized * *middle;
    const auto is_usual = [&](Index i) { return members[i].extent <= limit; };
    const auto first_oversized = std::stable_partition(usual.begin(), usual.end(), is_usual);
    oversized.assign(first_oversized, usual.end());
    usual.erase(first_oversized, usual.end());
  }
  split(oversized, members, boxes, kBoxes / 2);
  split(usual, members, boxes, kBoxes / 2);
  for (std::size_t k = 0; k < kBoxes; ++k) {
    const Corners corners = corners_of(k < groups_.size() ? groups_[k].dynamic : Aabb{});
    std::ranges::copy(corners, published_.begin() + 6 * k);
  }
}

Aabb RankBoxes::whole() const {
  Aabb all;
  for (const Group& group : groups_) all.merge(group.box);
  return all;
}

void RankBoxes::select(std::span<const RankRow> rows, int own_rank, std::span<const Aabb> boxes,
                       const PeriodicImages& images,
                       std::vector<std::pair<int, std::vector<Index>>>& out) const {
  out.clear();
  const Aabb all = whole();
  std::vector<Index> chosen;
  std::vector<Aabb> reaching, near;
  for (const RankRow& row : rows) {
    if (row.rank == own_rank) continue;
    reaching.clear();
    for (std::size_t k = 0; k < kBoxes; ++k) {
      const Aabb box = row.box(k);
      if (all.overlaps(box)) reaching.push_back(box);
      for (const int code : images.all()) {
        const Aabb image = images.image_of(box, code);
        if (all.overlaps(image)) reaching.push_back(image);
      }
    }
    if (reaching.empty()) continue;
    chosen.clear();
    for (const Group& own : groups_) {
      near.clear();
      std::ranges::copy_if(reaching, std::back_inserter(near),
                           [&own](const Aabb& other) { return own.box.overlaps(other); });
      if (near.empty()) continue;
      for (const Index i : own.members) {
        const Aabb& box = boxes[i];
        if (std::ranges::any_of(near, [&box](const Aabb& other) { return box.overlaps(other); })) {
          chosen.push_back(i);
        }
      }
    }
    if (chosen.empty()) continue;
    std::sort(chosen.begin(), chosen.end());
    out.emplace_back(narrow<int>(row.rank), chosen);
  }
}

}  // namespace catena::search
