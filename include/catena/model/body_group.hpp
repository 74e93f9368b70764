// Bodies by the names of a case.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "catena/model/model.hpp"

namespace catena {

/// A set of bodies as ranges of ids: what names of bodies and generators (all of their bodies, or
/// NAME-12) mean.
class BodyGroup {
 public:
  BodyGroup() = default;
  /// `world_too`: the name `world` is known, which stands for kNoBody. Throws Error at `where` for
  /// a name that no body has.
  BodyGroup(const std::vector<std::string>& names, const Model& model, const std::string& where,
            bool world_too = false);

  bool contains(GlobalId id) const {
    if (id == kNoBody) return world_;
    for (const auto& [first, end] : ranges_)
      if (id >= first && id < end) return true;
    return false;
  }
  bool empty() const { return ranges_.empty() && !world_; }
  bool overlaps(const BodyGroup& other) const;

 private:
  std::vector<std::pair<GlobalId, GlobalId>> ranges_;  ///< first id and one past the last
  bool world_ = false;
};

}  // namespace catena
