#include "catena/model/model.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "catena/base/error.hpp"

namespace catena {

void NameTable::add(GlobalId first, GlobalId count, std::string name, bool numbered) {
  CATENA_CHECK(first >= 0 && count >= 0, "a range of ids is not negative");
  if (count == 0) return;
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), first,
                       [](GlobalId id, const Range& range) { return id < range.first; });
  const bool free = (after == ranges_.end() || first + count <= after->first) &&
                    (after == ranges_.begin() || (after - 1)->first + (after - 1)->count <= first);
  CATENA_CHECK(free, "ids have one name");
  ranges_.insert(after, Range{first, count, std::move(name), numbered});
}

const NameTable::Range* NameTable::range_of(GlobalId id) const {
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), id,
                       [](GlobalId i, const Range& range) { return i < range.first; });
  if (after == ranges_.begin()) return nullptr;
  const Range& range = *(after - 1);
  return id < range.first + range.count ? &range : nullptr;
}

std::string NameTable::name_of(GlobalId id) const {
  const Range* range = range_of(id);
  if (range == nullptr) return "body-" + std::to_string(id);
  return range->numbered ? range->name + "-" + std::to_string(id - range->first) : range->name;
}

std::string NameTable::text_of(GlobalId id) const {
  const Range* range = range_of(id);
  return range == nullptr ? std::string() : range->name;
}

GlobalId NameTable::size() const {
  return ranges_.empty() ? 0 : ranges_.back().first + ranges_.back().count;
}

std::pair<GlobalId, GlobalId> NameTable::ids_of(std::string_view name) const {
  for (const Range& range : ranges_)
    if (range.name == name) return {range.first, range.count};
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos) return {0, 0};
  for (const Range& range : ranges_) {
    if (!range.numbered || range.name != name.substr(0, dash)) continue;
    GlobalId number = -1;
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + dash + 1, end, number);
    const bool whole = error == std::errc() && stop == end && number >= 0 && number < range.count;
    // 01 is no number here
    if (whole && std::to_string(number) == name.substr(dash + 1)) return {range.first + number, 1};
  }
  return {0, 0};
}

std::vector<std::string> NameTable::texts() const {
  std::vector<std::string> all;
  for (const Range& range : ranges_) all.push_back(range.name);
  return all;
}

Vec3 PeriodicBox::shift(int code) const {
  const int along_x = code / 3 - 1, along_y = code % 3 - 1;
  return {along_x * (hi[0] - lo[0]), along_y * (hi[1] - lo[1]), 0.0};
}

Vec3 PeriodicBox::wrapped(const Vec3& p) const {
  Vec3 inside = p;
  for (int axis = 0; axis < 2; ++axis) {
    if (!active[axis] || (p[axis] >= lo[axis] && p[axis] <= hi[axis])) continue;
    const double period = hi[axis] - lo[axis];
    const double whole = std::floor((p[axis] - lo[axis]) / period);
    // rounding may leave it a bit outside
    inside[axis] = std::clamp(p[axis] - whole * period, lo[axis], hi[axis]);
  }
  return inside;
}

bool may_collide(const Model& model, const BodyConstants& a, const BodyConstants& b) {
  if (!a.collides || !b.collides) return false;
  const int pair = a.group * model.n_groups + b.group;
  return model.group_pairs.empty() || model.group_pairs[pair] != 0;
}

}  // namespace catena
