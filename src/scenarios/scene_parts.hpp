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

/// Reads rows [first, last) of a CSV table, counted from 0 without header, comments and
/// empty lines, line by line; returns the number of rows met, at most `last`. Throws Error
/// with file:line for anything it does not understand up to there.
std::int64_t read_table(const std::string& file, std::int64_t first, std::int64_t last,
                        const std::function<void(std::int64_t row, const TableRow&)>& take);

}  // namespace catena::scene_parts
