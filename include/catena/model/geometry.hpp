// What a shape's few numbers cannot hold: vertices, faces, height grids, parts of compounds.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "catena/math/types.hpp"
#include "catena/model/shape.hpp"

namespace catena {

/// A tree of boxes over items (triangles, cells, parts): node 0 is the root, and an inner
/// node's children are at `child` and `child + 1`; a leaf (child < 0) holds the items
/// order[first .. first + count).
struct BoxTree {
  /// A box around its items or its two children.
  struct Node {
    Aabb box;
    std::int32_t child = -1;
    std::int32_t first = 0, count = 0;
  };
  std::vector<Node> nodes;
  std::vector<std::int32_t> order;
};

/// Halves the items along the longest axis of their centres, down to a few per leaf; ties
/// by number, so that the same boxes give the same tree.
BoxTree build_box_tree(std::span<const Aabb> boxes);

/// Calls visit(item) for all items whose box overlaps `box`, in the tree's order.
template <class Visit>
void for_each_overlap(const BoxTree& tree, std::span<const Aabb> boxes, const Aabb& box,
                      Visit&& visit) {
  if (tree.nodes.empty()) return;
  std::array<std::int32_t, 64> stack;
  std::size_t depth = 0;
  stack[depth++] = 0;
  while (depth > 0) {
    const BoxTree::Node& node = tree.nodes[stack[--depth]];
    if (!node.box.overlaps(box)) continue;
    if (node.child >= 0) {
      stack[depth++] = node.child + 1;
      stack[depth++] = node.child;
      continue;
    }
    for (std::int32_t k = node.first; k < node.first + node.count; ++k) {
      const std::int32_t item = tree.order[k];
      if (boxes[item].overlaps(box)) visit(item);
    }
  }
}

/// A bounded shape at its place in a compound's body frame.
struct CompoundPart {
  Shape shape;
  Pose pose;
};

/// Constant in a run, replicated on every rank. Lengths in m, in the body's frame B.
///
/// The frame B of a dynamic body has its origin in the centre of mass and principal axes; the frame
/// W in which the user wrote the vertices is `written` in it: x_B = written.p + written.q x_W.
/// Positions in files are those of B's origin, orientations those of W: R_W = R_B written.q.
/// That of fixed and kinematic bodies is W.
struct Geometry {
  ShapeType type = ShapeType::none;  ///< hull, mesh, heightfield or compound
  std::string name;                  ///< for messages: the file, or the body's name
  Pose written;

  /// Hull: corners. Mesh, or compound that stands for a closed one: vertices.
  std::vector<Vec3> vertices;
  /// Mesh: triangles, counter-clockwise seen from outside (the touched side). Compound: of the
  /// closed surface that its parts stand for in contacts, whose mass it has; else nothing.
  std::vector<std::array<std::int32_t, 3>> triangles;
  /// Mesh: neighbour across edge k (from vertex k to k + 1) of each triangle; -1: none.
  std::vector<std::array<std::int32_t, 3>> neighbours;
  /// Mesh: touched from both sides (an open surface); else bodies are pushed to the front.
  bool two_sided = false;
  /// Hull: faces as corners in counter-clockwise order seen from outside; face k holds
  /// face_corners[face_begin[k] .. face_begin[k+1]), and its plane is
  /// face_normals[k] . x = face_offsets[k].
  std::vector<std::int32_t> face_begin = {0}, face_corners;
  std::vector<Vec3> face_normals;
  std::vector<double> face_offsets;
  /// Hull: corners a < b and the two faces that meet there, the one that runs from a to b first.
  /// Made by bound_geometry.
  std::vector<std::array<std::int32_t, 4>> edges;

  /// Heightfield: z at (origin.x + i dx, origin.y + j dy) is heights[j n_x + i].
  std::int32_t n_x = 0, n_y = 0;
  double dx = 0.0, dy = 0.0;
  Vec3 origin = Vec3::Zero();
  std::vector<double> heights;

  std::vector<CompoundPart> parts;  ///< compound; no compounds among them

  /// Boxes of triangles or parts at scale 1, and the tree over them (mesh, compound).
  std::vector<Aabb> item_boxes;
  BoxTree tree;

  Aabb bounds;                           ///< in B
  double radius = 0.0;                   ///< of a sphere about B's origin
  double volume = 0.0;                   ///< m^3; 0 for a surface
  Vec3 inertia_per_mass = Vec3::Zero();  ///< principal, about B's origin, m^2

  /// Parts that contacts are numbered by: triangles, two per cell of a heightfield, parts; else 1.
  std::int64_t n_items() const;
};

/// Mass properties of a body of uniform density.
struct MassProperties {
  double volume = 0.0;                   ///< m^3
  Vec3 centre = Vec3::Zero();            ///< of mass, m
  Mat3 inertia_per_mass = Mat3::Zero();  ///< about the centre, m^2
};

/// Mass properties of a closed surface of triangles, counter-clockwise seen from outside: the
/// integrals over tetrahedra to a common point.
MassProperties mass_properties(std::span<const Vec3> vertices,
                               std::span<const std::array<std::int32_t, 3>> triangles);

/// Mass properties of the union of parts: exact where none overlap, and of spheres of which no
/// three do, else by sums over lines, to some 1e-6 of the volume (docs/theory.md).
MassProperties mass_properties(std::span<const CompoundPart> parts,
                               std::span<const Geometry> geometries);

/// Where the frame B of a geometry lies in the frame W of its numbers.
enum class GeometryFrame : std::uint8_t {
  as_written,  ///< B = W: fixed and kinematic bodies
  centred,     ///< origin in the centre of mass, axes of W (the case gives the inertia on them)
  principal,   ///< origin in the centre of mass, principal axes
};

/// Makes a geometry ready for use from its numbers in W (vertices, faces with planes, triangles,
/// heights, parts): moves it to B and sets `written`, volume, inertia, bounds, radius and tree.
/// Meshes and heightfields stay as written. `geometries` are those that parts refer to.
void complete_geometry(Geometry& geometry, GeometryFrame frame,
                       std::span<const Geometry> geometries = {});

/// Finds bounds, radius, boxes and tree only: the numbers are in B.
void bound_geometry(Geometry& geometry, std::span<const Geometry> geometries = {});

/// Moves the numbers of a geometry: x -> pose.p + pose.q x. Bounds and tree are to be made anew.
void move_geometry(Geometry& geometry, const Pose& pose);

/// The shape of a geometry at scale 1; `index` is its place in Model::geometries.
Shape shape_of_geometry(const Geometry& geometry, std::int32_t index);

/// Principal axes: rotation R with R^T I R diagonal, right-handed; where two or three moments are
/// equal to round-off, as close to the given axes as that allows (none is turned in vain).
Quat principal_axes(const Mat3& inertia, Vec3& moments);

}  // namespace catena
