
#include "catena/collision/contact.hpp"
#include "collision/convex/box_box.hpp"
#include "collision/pairs.hpp"

namespace catena {

namespace {

/// Place in the order in which pairs are looked up: the first of a pair has the lower one.
int rank_of(ShapeType type) {
  switch (type) {
    case ShapeType::none:
      return 0;
    case ShapeType::plane:
      return 1;
    case ShapeType::sphere:
      return 2;
    case ShapeType::capsule:
      return 3;
    case ShapeType::box:
      return 4;
    case ShapeType::cylinder:
      return 5;
    case ShapeType::hull:
      return 6;
    case ShapeType::hollow_cylinder:
      return 7;
    case ShapeType::compound:
      return 8;
    case ShapeType::mesh:
    case ShapeType::heightfield:
      return 9;
  }
  return 0;
}

/// Two bodies of one part each (or one part and a surface), A not after B in the order.
void collide_parts(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                   const PairContext& context, ContactPoints& out) {
  using enum ShapeType;
  if (a.type == none || (a.type == plane && (b.type == plane || is_surface(b.type))) ||
      is_surface(a.type)) {
    return;
  }
  if (a.type == plane) return plane_convex(a, pose_a, b, pose_b, context, out);
  if (is_surface(b.type)) return convex_surface(a, pose_a, b, pose_b, context, out);
  if (b.type == hollow_cylinder) {
    return (a.type == sphere ? sphere_hollow : convex_hollow)(a, pose_a, b, pose_b, context, out);
  }
  if (a.type == sphere) {
    if (b.type == sphere) return sphere_sphere(a, pose_a, b, pose_b, context, out);
    if (b.type == box) return sphere_box(a, pose_a, b, pose_b, context, out);
    if (b.type == capsule) return sphere_capsule(a, pose_a, b, pose_b, context, out);
    if (b.type == cylinder) return sphere_cylinder(a, pose_a, b, pose_b, context, out);
  }
  if (a.type == capsule && b.type == capsule) {
    return capsule_capsule(a, pose_a, b, pose_b, context, out);
  }
  if (a.type == box && b.type == box) {
    return collide_boxes(a.size, pose_a, b.size, pose_b, context.margin, out);
  }
  if (a.type == cylinder && b.type == cylinder &&
      parallel_cylinders(a, pose_a, b, pose_b, context, out)) {
    return;
  }
  convex_convex(a, pose_a, b, pose_b, context, out);
}

/// Parts of A against B, which is no compound; contacts are numbered by the part of A, and the
/// triangle of a surface that is met goes into the feature.
void collide_any(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                 const PairContext& context, ContactPoints& out);

Pose at_place(const Pose& body, const Pose& part, double scale) {
  Pose pose;
  pose.p = body.p + scale * (body.q * part.p);
  pose.q = (body.q * part.q).normalized();
  return pose;
}

std::int32_t n_items(const Shape& shape, const PairContext& context) {
  if (shape.geometry < 0) return 1;
  return narrow<std::int32_t>(context.geometries[shape.geometry].n_items());
}

/// A: compound.
void collide_compound(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                      const PairContext& context, ContactPoints& out) {
  const Geometry& g = context.geometries[a.geometry];
  const double scale = a.size.x();
  const std::int32_t items_b = n_items(b, context);
  const auto with_part = [&](std::int32_t item) {
    const CompoundPart& part = g.parts[item];
    const Shape shape = scale == 1.0 ? part.shape : scaled(part.shape, scale);
    const std::size_t first = out.size();
    collide_any(shape, at_place(pose_a, part.pose, scale), b, pose_b, context, out);
    const std::int32_t items = n_items(part.shape, context);
    for (std::size_t k = first; k < out.size(); ++k) {
      if (items > 1) {
        // a mesh among the parts: its triangle and the point's own number share the feature
        out[k].feature = out[k].feature * 31 + out[k].part / items_b;
        out[k].part %= items_b;
      }
      out[k].part += item * items_b;
    }
  };
  // B's box in A's frame at scale 1
  Pose seen;
  seen.q = pose_a.q.conjugate() * pose_b.q;
  seen.p = pose_a.q.conjugate() * (pose_b.p - pose_a.p);
  Aabb box = bounds_of(b, seen, context.geometries);
  box.inflate(context.margin);
  if (scale != 1.0) {
    box.lo /= scale;
    box.hi /= scale;
  }
  for_each_overlap(g.tree, g.item_boxes, box, with_part);
}

void turn_round(std::size_t first, ContactPoints& out) {
  for (std::size_t k = first; k < out.size(); ++k) out[k].normal = -out[k].normal;
}

void collide_any(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                 const PairContext& context, ContactPoints& out) {
  const std::size_t first = out.size();
  if (a.type == ShapeType::compound) {
    return collide_compound(a, pose_a, b, pose_b, context, out);
  }
  if (b.type == ShapeType::compound) {
    const std::int32_t items_a = n_items(a, context), items_b = n_items(b, context);
    collide_compound(b, pose_b, a, pose_a, context, out);
    turn_round(first, out);
    for (std::size_t k = first; k < out.size(); ++k) {
      const std::int32_t item_b = out[k].part / items_a, item_a = out[k].part % items_a;
      out[k].part = item_a * items_b + item_b;
    }
    return;
  }
  if (rank_of(a.type) <= rank_of(b.type)) {
    return collide_parts(a, pose_a, b, pose_b, context, out);
  }
  collide_parts(b, pose_b, a, pose_a, context, out);
  turn_round(first, out);
}

}  // namespace

void collide(const Shape& shape_a, const Pose& pose_a, const Shape& shape_b, const Pose& pose_b,
             double margin, std::vector<ContactPoint>& out, std::span<const Geometry> geometries) {
  collide_any(shape_a, pose_a, shape_b, pose_b, {margin, geometries}, out);
}

}  // namespace catena
