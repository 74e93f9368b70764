// How deep a point lies in what a closed surface of triangles encloses.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "catena/model/geometry.hpp"

namespace catena::scenarios {

/// A closed mesh at its place. Which side of it a point is on follows from the angle-weighted
/// normal where the surface is nearest (J. A. Baerentzen, H. Aanaes, Signed distance computation
/// using the angle weighted pseudonormal, 2005).
class ClosedSurface {
 public:
  /// The mesh must outlive it.
  ClosedSurface(const Geometry& mesh, const Pose& pose);

  double volume() const { return volume_; }  ///< m^3
  Aabb bounds() const;

  struct Nearest {
    bool found = false;          ///< the surface comes as near as was asked for
    double depth = 0.0;          ///< distance from it, m; negative outside
    Vec3 inward = Vec3::Zero();  ///< direction in which the depth grows
    std::int32_t triangle = -1;  ///< that comes nearest
  };
  /// Of the surface within a box of half edge `reach` about p.
  Nearest nearest(const Vec3& p, double reach) const;
  /// Of all of the surface.
  Nearest nearest(const Vec3& p) const;
  /// Distance from the surface, m; negative outside.
  double depth(const Vec3& p) const { return nearest(p).depth; }
  /// From one triangle of the surface, m.
  double distance_from(std::int32_t triangle, const Vec3& p) const;
  bool holds(const Vec3& p) const;

 private:
  /// The nearest place of the triangles that were taken, in the mesh's frame.
  struct Candidate {
    double square = std::numeric_limits<double>::infinity();  ///< of the distance, m^2
    std::int32_t triangle = -1;
    Vec3 at = Vec3::Zero();
    int feature = 0;
    void take(const Geometry& mesh, std::int32_t item, const Vec3& p);
  };
  Nearest told(const Candidate& best, const Vec3& p) const;
  /// Normal at a place of triangle t: `feature` is 0 .. 2 of corners, 3 .. 5 of edges, 6 inside.
  Vec3 normal_at(std::int32_t t, int feature) const;

  const Geometry& mesh_;
  Pose pose_;
  double volume_;
  std::vector<Vec3> face_normals_, vertex_normals_;
};

}  // namespace catena::scenarios
