// Shapes in result files: the numbers of a body's shape, and the geometries.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "catena/model/model.hpp"
#include "io/hdf5/file.hpp"

namespace catena {

/// Longest name of a shape in files.
inline constexpr std::size_t kShapeNameLength = 16;

const char* shape_name(ShapeType type);
/// none for a name that is no shape's.
ShapeType shape_type_of(const std::string& name);

/// The three numbers by which docs/output.md gives the size of a shape, and back: lengths whole,
/// not halved.
std::array<double, 3> size_in_file(const Shape& shape);
Vec3 size_from_file(ShapeType type, const Vec3& size);

/// Collective. Writes /geometries/<number>, in the frame in which the user wrote them, moved to
/// the body's position.
void write_geometries(hdf5::File& file, const Communicator& comm,
                      const std::vector<Geometry>& geometries);
/// Bytes that write_geometries takes, at most.
std::uint64_t bytes_of_geometries(const std::vector<Geometry>& geometries);

/// Reads what moving bodies have: hulls and compounds without surfaces, ready for use, with
/// principal axes; others are left without type. Numbers are those of the file's geometries.
std::vector<Geometry> read_moving_geometries(const hdf5::File& file);

}  // namespace catena
