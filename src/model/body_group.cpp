#include "catena/model/body_group.hpp"

#include <algorithm>

#include "catena/base/error.hpp"
#include "catena/base/suggest.hpp"

namespace catena {

BodyGroup::BodyGroup(const std::vector<std::string>& names, const Model& model,
                     const std::string& where, bool world_too) {
  for (const std::string& name : names) {
    const auto [first, count] = model.names.ids_of(name);
    if (count > 0) {
      ranges_.emplace_back(first, first + count);
      continue;
    }
    if (world_too && name == "world") {
      world_ = true;
      continue;
    }
    const std::string near = nearest_word(name, model.names.texts());
    throw Error("there is no body or generator '" + name + "'", where,
                near.empty() ? "name a body, a generator, or NAME-12 of one"
                             : "did you mean " + near + "?");
  }
}

bool BodyGroup::overlaps(const BodyGroup& other) const {
  if (world_ && other.world_) return true;
  return std::ranges::any_of(ranges_, [&](const auto& a) {
    return std::ranges::any_of(
        other.ranges_, [&](const auto& b) { return a.first < b.second && b.first < a.second; });
  });
}

}  // namespace catena
