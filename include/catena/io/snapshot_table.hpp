// Bodies of a result's snapshot as rows of a table, from which a new scene starts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "catena/model/model.hpp"

namespace catena {

/// Rows of DIR/snapshots/<8 digits>.h5 (docs/output.md): its bounded dynamic bodies with a shape,
/// in ascending id. Fixed, kinematic and unbounded bodies are no rows. Poses and twists are the
/// snapshot's, bit by bit; shapes come from DIR/bodies.h5. The orientation of a body with a
/// geometry is that of the frame in which the geometry is written there; a shape's `geometry` is
/// its place in read_snapshot_geometries, and its geometry_radius is not set.
///
/// All functions belong to the one rank that calls them and hold a few thousand rows at a time.
/// They throw Error naming the file and the dataset: input_output for what is missing, damaged
/// or from different results, bad_input for a file that is no snapshot and for dynamic bodies
/// of other shapes.

/// The geometries of DIR/bodies.h5 by their numbers, with principal axes; those that no dynamic
/// body can have are empty.
std::vector<Geometry> read_snapshot_geometries(const std::string& file);
/// Their number.
std::int32_t count_snapshot_geometries(const std::string& file);

/// Number of rows; reads kinds and shapes only.
std::int64_t count_snapshot_rows(const std::string& file);

/// Calls take(k, shape, state) for the rows k in [first, last), ascending. Of rows before `first`
/// only kinds and shapes are read, of those from `last` on at most the same.
void read_snapshot_rows(
    const std::string& file, std::int64_t first, std::int64_t last,
    const std::function<void(std::int64_t row, const Shape&, const BodyMotionState&)>& take);

}  // namespace catena
