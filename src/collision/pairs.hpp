// Contact points of pairs of shapes with forms of their own. All functions append the points
// whose gap is below `margin`; normals point from A, the first shape, to B.
#pragma once

#include <span>
#include <vector>

#include "catena/collision/contact.hpp"
#include "collision/convex/convex.hpp"

namespace catena {

using ContactPoints = std::vector<ContactPoint>;

/// What a pair's functions need besides the two shapes.
struct PairContext {
  double margin;
  std::span<const Geometry> geometries;
};

// round_pairs.cpp: closed forms of spheres, capsules and parallel cylinders.
void sphere_sphere(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                   const PairContext& context, ContactPoints& out);
void sphere_box(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                const PairContext& context, ContactPoints& out);
void sphere_capsule(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                    const PairContext& context, ContactPoints& out);
void sphere_cylinder(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                     const PairContext& context, ContactPoints& out);
void capsule_capsule(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                     const PairContext& context, ContactPoints& out);
/// False if the axes are not parallel to 1e-9: the general way decides.
bool parallel_cylinders(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                        const PairContext& context, ContactPoints& out);

// plane_pairs.cpp
/// A: plane, B: any convex shape or hollow cylinder.
void plane_convex(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                  const PairContext& context, ContactPoints& out);

// hollow_pairs.cpp
/// A: sphere, B: hollow cylinder.
void sphere_hollow(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                   const PairContext& context, ContactPoints& out);
/// A: any other convex shape or hollow cylinder, B: hollow cylinder.
void convex_hollow(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                   const PairContext& context, ContactPoints& out);
/// The solid cylinder with the outer surfaces of a hollow one, and its middle in the body's frame.
Shape outer_cylinder(const Shape& hollow, const Pose& pose, Pose& middle);

// convex_pair.cpp
/// Any two convex shapes, the general way.
void convex_convex(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                   const PairContext& context, ContactPoints& out);

// surface_pairs.cpp
/// A: any bounded shape, B: mesh or heightfield. `part` is the triangle.
void convex_surface(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                    const PairContext& context, ContactPoints& out);

}  // namespace catena
