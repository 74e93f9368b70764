// Geometry in files of others: STL, OBJ, and grids of heights.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "catena/model/triangle_mesh.hpp"

namespace catena {

/// The triangles of an STL (text or binary) or OBJ file from its content; `name` says which by its
/// ending, and is named by errors. Numbers are read in double precision, whatever their unit;
/// equal vertices are made one. Of STL the order of corners counts, not the normals; of OBJ lines v
/// and f (polygons become fans of triangles) count, an OBJ without faces gives points only.
/// Throws Error(bad_input) naming the line, or the triangle of a binary file, for what is cut off,
/// malformed, not finite or empty.
TriangleMesh parse_surface(std::string_view content, const std::string& name);

/// Rows of numbers separated by commas, semicolons or blanks, all of the same length; lines that
/// are empty or start with # do not count. `columns` receives that length.
std::vector<double> parse_number_rows(std::string_view content, const std::string& name,
                                      std::size_t& columns);

}  // namespace catena
