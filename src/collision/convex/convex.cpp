#include "collision/convex/convex.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "collision/convex/box_box.hpp"

namespace catena {

namespace {

/// Edges of a box, corners as box_corner, faces +x -x +y -y +z -z: along x, y, z.
constexpr std::array<Polytope::Edge, 12> kBoxEdges = {{{0, 1, 3, 5},
                                                       {2, 3, 5, 2},
                                                       {4, 5, 4, 3},
                                                       {6, 7, 2, 4},
                                                       {0, 2, 5, 1},
                                                       {1, 3, 0, 5},
                                                       {4, 6, 1, 4},
                                                       {5, 7, 4, 0},
                                                       {0, 4, 1, 3},
                                                       {1, 5, 3, 0},
                                                       {2, 6, 2, 1},
                                                       {3, 7, 0, 2}}};
constexpr std::array<Polytope::Edge, 3> kTriangleEdges = {
    {{0, 1, 0, 1}, {1, 2, 0, 1}, {0, 2, 1, 0}}};
constexpr std::array<Polytope::Edge, 1> kSegmentEdges = {{{0, 1, -1, -1}}};

Vec3 hull_support(const Convex& body, const Vec3& direction) {
  const Vec3 d = body.r.transpose() * direction;
  const std::vector<Vec3>& vertices = body.geometry->vertices;
  std::size_t best = 0;
  double most = -std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < vertices.size(); ++k) {
    const double along = vertices[k].dot(d);
    if (along > most) most = along, best = k;
  }
  return body.p + body.scale * (body.r * vertices[best]);
}

Vec3 cylinder_support(const Convex& body, const Vec3& direction) {
  const Vec3 d = body.r.transpose() * direction;
  const double across = std::sqrt(d.x() * d.x() + d.y() * d.y());
  const double k = across > 0.0 ? body.half.x() / across : 0.0;
  return body.p + body.r * Vec3(k * d.x(), k * d.y(), d.z() < 0.0 ? -body.half.z() : body.half.z());
}

}  // namespace

Convex convex_of(const Shape& shape, const Pose& pose, const Vec3& origin,
                 std::span<const Geometry> geometries) {
  Convex body;
  body.p = pose.p - origin;
  body.r = pose.q.toRotationMatrix();
  switch (shape.type) {
    default:
      break;
    case ShapeType::sphere:
      body.radius = body.size = shape.size.x();
      break;
    case ShapeType::capsule:
      body.core = Convex::Core::segment;
      body.radius = body.size = shape.size.x();
      body.half.z() = shape.size.y();
      break;
    case ShapeType::box:
      body.core = Convex::Core::box;
      body.half = shape.size;
      body.size = shape.size.minCoeff();
      break;
    case ShapeType::cylinder:
      body.core = Convex::Core::cylinder;
      body.half = Vec3(shape.size.x(), shape.size.x(), shape.size.y());
      body.size = std::min(shape.size.x(), shape.size.y());
      break;
    case ShapeType::hull:
      body.core = Convex::Core::hull;
      body.geometry = &geometries[shape.geometry];
      body.scale = shape.size.x();
      body.size =
          0.5 * body.scale * (body.geometry->bounds.hi - body.geometry->bounds.lo).minCoeff();
      break;
  }
  return body;
}

Convex convex_of(const std::array<Vec3, 3>& corners) {
  Convex body;
  body.core = Convex::Core::triangle;
  body.corner = corners;
  body.p = (corners[0] + corners[1] + corners[2]) / 3.0;
  body.size = std::sqrt((corners[1] - corners[0]).cross(corners[2] - corners[0]).norm());
  return body;
}

Vec3 support(const Convex& body, const Vec3& direction) {
  switch (body.core) {
    case Convex::Core::point:
      return body.p;
    case Convex::Core::segment:
      return body.p +
             (body.r.col(2).dot(direction) < 0.0 ? -body.half.z() : body.half.z()) * body.r.col(2);
    case Convex::Core::box: {
      const Vec3 d = body.r.transpose() * direction;
      return body.p + body.r * Vec3(d.x() < 0.0 ? -body.half.x() : body.half.x(),
                                    d.y() < 0.0 ? -body.half.y() : body.half.y(),
                                    d.z() < 0.0 ? -body.half.z() : body.half.z());
    }
    case Convex::Core::cylinder:
      return cylinder_support(body, direction);
    case Convex::Core::hull:
      return hull_support(body, direction);
    case Convex::Core::triangle: {
      std::size_t best = 0;
      for (std::size_t k = 1; k < 3; ++k) {
        if (direction.dot(body.corner[k] - body.corner[best]) > 0.0) best = k;
      }
      return body.corner[best];
    }
  }
  return body.p;
}

void make_polytope(const Convex& body, Polytope& out) {
  out.centre = body.p;
  switch (body.core) {
    case Convex::Core::cylinder:
    case Convex::Core::point:
      out.vertices.resize(1);
      out.vertices[0] = body.p;
      break;
    case Convex::Core::segment:
      out.vertices.resize(2);
      out.vertices[0] = body.p - body.half.z() * body.axis();
      out.vertices[1] = body.p + body.half.z() * body.axis();
      out.edges = kSegmentEdges;
      out.thin = true;
      break;
    case Convex::Core::box:
      out.vertices.resize(8);
      for (int k = 0; k < 8; ++k) out.vertices[k] = body.p + body.r * box_corner(body.half, k);
      out.normals.resize(6);
      out.offsets.resize(6);
      for (int k = 0; k < 6; ++k) {
        out.normals[k] = (k % 2 == 0 ? 1.0 : -1.0) * body.r.col(k / 2);
        out.offsets[k] = out.normals[k].dot(body.p) + body.half[k / 2];
      }
      out.edges = kBoxEdges;
      out.inner_radius = body.half.minCoeff();
      break;
    case Convex::Core::triangle: {
      out.vertices.resize(3);
      for (std::size_t k = 0; k < 3; ++k) out.vertices[k] = body.corner[k];
      out.normals.resize(2);
      out.offsets.resize(2);
      out.normals[0] = (body.corner[1] - body.corner[0])
                           .cross(body.corner[2] - body.corner[0])
                           .stableNormalized();
      out.normals[1] = -out.normals[0];
      out.offsets[0] = out.normals[0].dot(body.p);
      out.offsets[1] = -out.offsets[0];
      out.edges = kTriangleEdges;
      out.thin = true;
      break;
    }
    case Convex::Core::hull: {
      const Geometry& g = *body.geometry;
      out.vertices.resize(g.vertices.size());
      out.centre.setZero();
      for (std::size_t k = 0; k < g.vertices.size(); ++k) {
        out.vertices[k] = body.p + body.scale * (body.r * g.vertices[k]);
        out.centre += out.vertices[k];
      }
      out.centre /= static_cast<double>(g.vertices.size());
      out.normals.resize(g.face_normals.size());
      out.offsets.resize(g.face_normals.size());
      out.inner_radius = std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < g.face_normals.size(); ++k) {
        out.normals[k] = body.r * g.face_normals[k];
        out.offsets[k] = body.scale * g.face_offsets[k] + out.normals[k].dot(body.p);
        out.inner_radius =
            std::min(out.inner_radius, out.offsets[k] - out.normals[k].dot(out.centre));
      }
      out.inner_radius = std::max(out.inner_radius, 0.0);
      out.edges = g.edges;
      break;
    }
  }
}

}  // namespace catena
