// Pieces of a scene's making that its description needs as well.
#pragma once

#include <functional>
#include <span>

#include "catena/base/error.hpp"
#include "catena/scenarios/scene.hpp"

namespace catena::scenarios {

/// Bodies that one generator may make; ids and memory end before.
inline constexpr double kMaxBodies = 1e12;

inline std::span<double> numbers(Vec3& v) { return {v.data(), 3}; }
inline bool is_set(const Vec3& v) { return !v.array().isNaN().any(); }

BodyKind kind_of(const BodySettings& s);
/// A shape that its numbers describe whole.
Shape shape_of(const ShapeSettings& s);
/// Orientation of the body's shape as written, at the start; that of a plane turns z to its normal
/// first.
Quat orientation_of(const BodySettings& s);
MaterialTable material_table(const SceneSettings& scene);

/// Rejects a material that is not listed, or a missing one where it is needed.
void check_material(SettingsVisitor& visit, const SceneSettings& scene, const std::string& material,
                    std::string_view key, bool needed);
/// The keys `combine` and `pairs` of contact.
void describe_pairs(SettingsVisitor& visit, SceneSettings& s);
/// `shapes` and `shape`, one of which may be given.
void describe_shape(SettingsVisitor& visit, ShapeSettings& s);
/// The same for bodies that generators make: one is needed, and has a mass.
void describe_bounded_shape(SettingsVisitor& visit, ShapeSettings& s);
void describe_orientation(SettingsVisitor& visit, OrientationSettings& s);
/// The keys `file`, `unit` and `scale` of a surface of triangles.
void describe_mesh_file(SettingsVisitor& visit, ShapeSettings& s);
/// Rejects what has no mass.
void check_shape_moves(SettingsVisitor& visit, const ShapeSettings& s);
/// Rejects surfaces with pieces among several shapes, unless the body's mass, inertia and centre of
/// mass are given.
void check_mass_of_pieces(SettingsVisitor& visit, const ShapeSettings& s, bool has_mass);
/// Rejects a centre of mass without mass and inertia: uniform density has its own.
void check_centre_of_mass(SettingsVisitor& visit, const BodySettings& s);
/// kNone for what is none of m, cm, mm, um, in, ft.
double unit_in_metres(std::string_view unit);

/// Runs `work`; what is wrong with a file that the case names at `place` is reported with that
/// place.
template <class Work>
void with_place(const std::string& place, const Work& work) {
  try {
    work();
  } catch (const Error& e) {
    if (place.empty() || e.where().starts_with(place)) throw;
    throw Error(e.found(), place + (e.where().empty() ? "" : ": " + e.where()), e.fix(), e.code());
  }
}

/// The keys `collide` and `group`.
void describe_collision(SettingsVisitor& visit, bool& collide, std::string& group);
/// Rejects pairs in contact.no_collisions of groups that no body has.
void check_groups(SettingsVisitor& visit, const SceneSettings& s);

/// Names of the groups of bodies, by number: "" first, then as the scene names them.
std::vector<std::string> group_names(const SceneSettings& scene);

/// Uniform over all rotations; a function of its arguments alone (three streams from `stream`).
Quat random_rotation(std::uint64_t seed, std::uint64_t number, std::uint64_t stream);

/// Rotation of the body's frame if the shape as written has the rotation `written`.
Quat body_rotation(const Shape& shape, const Quat& written, std::span<const Geometry> geometries);

/// A body of a shape and material at rest; mass and inertia of uniform density.
BodyRecord make_body(GlobalId id, const Shape& shape, int material, double density,
                     const Vec3& position, std::span<const Geometry> geometries = {});

/// A row of a table: shape, pose and twist. The orientation of a shape with a geometry is that of
/// the frame in which it is written; `geometry` counts those of the table.
struct TableRow {
  Shape shape;
  Pose pose;
  Twist twist;
};

/// Number of rows of a table: of a snapshot (.h5, include/catena/io/snapshot_table.hpp), or of a
/// CSV file, without header, comments and empty lines. Throws Error for what it does not
/// understand, naming file and line or dataset; all of a CSV file's values are checked.
std::int64_t count_rows(const std::string& file);

/// Reads rows [first, last) of a table, counted from 0; throws Error as count_rows does.
void read_table(const std::string& file, std::int64_t first, std::int64_t last,
                const std::function<void(std::int64_t row, const TableRow&)>& take);

/// Number of geometries that a table brings (snapshots do), and these, to stand in
/// Model::geometries from `first` on.
std::int32_t count_table_geometries(const std::string& file);
std::vector<Geometry> table_geometries(const std::string& file, std::int32_t first);

}  // namespace catena::scenarios
