// Pieces of a scene's making that its description needs as well.
#pragma once

#include <functional>

#include "catena/scenarios/scene.hpp"

namespace catena::scene_parts {

BodyKind kind_of(const BodySettings& s);
Shape shape_of(const ShapeSettings& s);
MaterialTable material_table(const SceneSettings& scene);

/// A body of a shape and material at rest; mass and inertia of uniform density.
BodyRecord make_body(GlobalId id, const Shape& shape, int material, double density,
                     const Vec3& position);

/// A row of a table: shape, pose and twist.
struct TableRow {
  Shape shape;
  Pose pose;
  Twist twist;
};

/// Number of rows of a table: of a snapshot (.h5, include/catena/io/snapshot_table.hpp), or of a
/// CSV file, without header, comments and empty lines. Throws Error for what it does not
/// understand, naming file and line or dataset; all of a CSV file's values are looked at.
std::int64_t count_rows(const std::string& file);

/// Reads rows [first, last) of a table, counted from 0; throws Error as count_rows does.
void read_table(const std::string& file, std::int64_t first, std::int64_t last,
                const std::function<void(std::int64_t row, const TableRow&)>& take);

}  // namespace catena::scene_parts
