// Clumps of spheres from files.
#pragma once

#include <string>
#include <vector>

#include "catena/model/geometry.hpp"
#include "catena/scenarios/shape_settings.hpp"

namespace catena::scenarios {

/// The spheres of a list: lines x, y, z, radius, after a header of these words or none. Lengths in
/// m. Throws Error naming the file for what is no list of spheres.
std::vector<CompoundPart> listed_spheres(const ShapeSettings& s, const std::string& content);

/// `most` spheres inside a closed mesh: the largest one that fits about a point of a grid outside
/// of all before it, or from there on its way to a larger one, again and again; fewer where no
/// point of the grid is left. `volume`: of what the mesh encloses. Throws Error naming the `file`
/// where a depth that is found reaches beyond the mesh's box, as that of a mesh that cuts through
/// itself may; one that does so well inside its box is taken, and spheres may then lie outside of
/// the mesh.
std::vector<CompoundPart> filling_spheres(const Geometry& mesh, const std::string& file, int most,
                                          double& volume);

}  // namespace catena::scenarios
