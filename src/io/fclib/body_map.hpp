// Which velocities of an FCLIB file are a body's.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "io/fclib/file.hpp"

namespace catena {

/// Which velocities of the file belong to which body. Those that stand for the compliance of a row
/// of a dumped step (mass 1/Sigma) belong to none.
struct BodyMap {
  std::vector<Index> body_of;  ///< per velocity; kNoIndex: none
  std::vector<Index> slot_of;  ///< per velocity: its place in the body
  std::vector<Index> dof_begin = {0};
  std::vector<Index> dofs;  ///< per body, ascending
  Index size() const { return to_index(dof_begin.size()) - 1; }
  std::span<const Index> dofs_of(Index b) const {
    return std::span(dofs).subspan(dof_begin[b], dof_begin[b + 1] - dof_begin[b]);
  }
};

/// Bodies are those of a dumped step, of a foreign file six velocities each or, where M couples
/// others, its connected parts. Throws Error where they are too large or M contradicts the file.
BodyMap map_bodies(const std::string& path, const FclibFile& file);

}  // namespace catena
