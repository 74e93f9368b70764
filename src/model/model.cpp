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

void NameTable::add_late(GlobalId id, std::string name) {
  CATENA_CHECK(id >= size() && (late_.empty() || late_.back().first < id), "ids ascend");
  late_.emplace_back(id, std::move(name));
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
  if (range == nullptr) {
    const std::string late = text_of(id);
    return late.empty() ? "body-" + std::to_string(id) : late;
  }
  return range->numbered ? range->name + "-" + std::to_string(id - range->first) : range->name;
}

std::string NameTable::text_of(GlobalId id) const {
  if (const Range* range = range_of(id); range != nullptr) return range->name;
  const auto at = std::ranges::lower_bound(late_, id, {}, &std::pair<GlobalId, std::string>::first);
  return at == late_.end() || at->first != id ? std::string() : at->second;
}

GlobalId NameTable::size() const {
  return ranges_.empty() ? 0 : ranges_.back().first + ranges_.back().count;
}

std::pair<GlobalId, GlobalId> NameTable::ids_of(std::string_view name) const {
  for (const Range& range : ranges_)
    if (range.name == name) return {range.first, range.count};
  for (const auto& [id, late] : late_)
    if (late == name) return {id, 1};
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
  for (const auto& [id, name] : late_) all.push_back(name);
  return all;
}

bool Model::cell_deforms() const {
  return std::ranges::any_of(
      cell, [](const CellDrive& drive) { return drive.kind != CellDrive::Kind::still; });
}

bool Model::cell_moves() const { return periodic.sheared() || cell_deforms(); }

Vec3 Model::gravity_at(double t) const {
  if (gravity_table.empty()) return gravity;
  return {gravity_table[0].at(t), gravity_table[1].at(t), gravity_table[2].at(t)};
}

Vec3 Model::mean_gravity(double t, double h) const {
  if (gravity_table.empty()) return gravity;
  return {gravity_table[0].mean(t, h), gravity_table[1].mean(t, h), gravity_table[2].mean(t, h)};
}

Vec3 Model::surface_velocity(GlobalId body) const {
  const auto at = std::ranges::lower_bound(surface_velocities, body, {}, &SurfaceVelocity::body);
  return at != surface_velocities.end() && at->body == body ? at->velocity : Vec3(Vec3::Zero());
}

std::string joint_name(const Model& model, GlobalId joint) {
  return model.joint_names.text_of(joint).empty() ? "joint-" + std::to_string(joint)
                                                  : model.joint_names.name_of(joint);
}

bool may_collide(const Model& model, const BodyConstants& a, const BodyConstants& b) {
  if (!a.collides || !b.collides) return false;
  const int pair = a.group * model.n_groups + b.group;
  return model.group_pairs.empty() || model.group_pairs[pair] != 0;
}

}  // namespace catena
