// Shapes with geometries for collision tests, and support functions written down anew.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "catena/collision/contact.hpp"
#include "catena/collision/hull_builder.hpp"
#include "catena/model/geometry.hpp"
#include "random_poses.hpp"
#include "support/shapes.hpp"

namespace catena::test {

/// Geometries and the shapes that refer to them.
class Geometries {
 public:
  std::vector<Geometry> list;

  Shape hull(const std::vector<Vec3>& points) {
    const HullFaces faces = build_hull(points);
    Geometry g;
    g.type = ShapeType::hull;
    g.vertices = faces.vertices;
    g.face_begin = faces.face_begin;
    g.face_corners = faces.face_corners;
    g.face_normals = faces.face_normals;
    g.face_offsets = faces.face_offsets;
    return add(std::move(g));
  }
  Shape box_hull(const Vec3& half) {
    std::vector<Vec3> points;
    for (int k = 0; k < 8; ++k) {
      points.emplace_back(k & 1 ? half.x() : -half.x(), k & 2 ? half.y() : -half.y(),
                          k & 4 ? half.z() : -half.z());
    }
    return hull(points);
  }
  /// `n` points of an ellipsoid.
  Shape rock(Random& random, int n, const Vec3& half) {
    std::vector<Vec3> points;
    for (int k = 0; k < n; ++k) points.push_back(random.direction().cwiseProduct(half));
    return hull(points);
  }
  Shape mesh(const std::vector<Vec3>& vertices,
             const std::vector<std::array<std::int32_t, 3>>& triangles, bool two_sided = false) {
    Geometry g;
    g.type = ShapeType::mesh;
    g.vertices = vertices;
    g.triangles = triangles;
    g.two_sided = two_sided;
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> owner;
    for (std::size_t t = 0; t < triangles.size(); ++t) {
      for (std::size_t k = 0; k < 3; ++k) {
        owner[{triangles[t][k], triangles[t][(k + 1) % 3]}] = static_cast<std::int32_t>(t);
      }
    }
    for (const auto& t : triangles) {
      std::array<std::int32_t, 3> next;
      for (std::size_t k = 0; k < 3; ++k) {
        const auto across = owner.find({t[(k + 1) % 3], t[k]});
        next[k] = across == owner.end() ? -1 : across->second;
      }
      g.neighbours.push_back(next);
    }
    return add(std::move(g));
  }
  Shape heightfield(int n_x, int n_y, double spacing, const std::vector<double>& heights) {
    Geometry g;
    g.type = ShapeType::heightfield;
    g.n_x = n_x;
    g.n_y = n_y;
    g.dx = g.dy = spacing;
    g.heights = heights;
    return add(std::move(g));
  }
  Shape compound(const std::vector<CompoundPart>& parts) {
    Geometry g;
    g.type = ShapeType::compound;
    g.parts = parts;
    return add(std::move(g));
  }

  std::vector<ContactPoint> collide(const Shape& a, const Pose& pose_a, const Shape& b,
                                    const Pose& pose_b, double margin) const {
    std::vector<ContactPoint> points;
    catena::collide(a, pose_a, b, pose_b, margin, points, list);
    return points;
  }

  /// Farthest point of a convex shape along `direction`.
  Vec3 support(const Shape& shape, const Pose& pose, const Vec3& direction) const {
    const Vec3 d = pose.q.conjugate() * direction.normalized();
    Vec3 x = Vec3::Zero();
    switch (shape.type) {
      case ShapeType::sphere:
        x = shape.size.x() * d;
        break;
      case ShapeType::capsule:
        x = shape.size.x() * d + Vec3(0, 0, std::copysign(shape.size.y(), d.z()));
        break;
      case ShapeType::box:
        for (int k = 0; k < 3; ++k) x[k] = std::copysign(shape.size[k], d[k]);
        break;
      case ShapeType::cylinder: {
        const double across = std::sqrt(d.x() * d.x() + d.y() * d.y());
        if (across > 0) x = Vec3(d.x(), d.y(), 0) * (shape.size.x() / across);
        x.z() = std::copysign(shape.size.y(), d.z());
        break;
      }
      case ShapeType::hull:
        for (const Vec3& v : list[static_cast<std::size_t>(shape.geometry)].vertices) {
          if (x.isZero() || (shape.size.x() * v).dot(d) > x.dot(d)) x = shape.size.x() * v;
        }
        break;
      default:
        break;
    }
    return pose.p + pose.q * x;
  }

  /// How far the shapes are apart along n.
  double separation(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                    const Vec3& n) const {
    return n.dot(support(b, pose_b, -n) - support(a, pose_a, n));
  }

  /// The largest separation over all directions: the distance, or minus the depth. A search
  /// over the sphere from many starts.
  double gap(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
             Vec3* normal = nullptr) const {
    constexpr int kDirections = 500, kStarts = 5;
    std::vector<std::pair<double, Vec3>> starts;
    for (int k = 0; k < kDirections; ++k) {
      const double z = 1.0 - 2.0 * (k + 0.5) / kDirections, turn = 2.399963229728653 * k;
      const double r = std::sqrt(1.0 - z * z);
      const Vec3 n(r * std::cos(turn), r * std::sin(turn), z);
      starts.emplace_back(separation(a, pose_a, b, pose_b, n), n);
    }
    std::partial_sort(starts.begin(), starts.begin() + kStarts, starts.end(),
                      [](const auto& x, const auto& y) { return x.first > y.first; });
    double best = -1e300;
    for (int s = 0; s < kStarts; ++s) {
      auto [value, n] = starts[static_cast<std::size_t>(s)];
      int left = 150;
      for (double step = 0.1; step > 1e-9 && left > 0; --left) {
        const Vec3 u = n.unitOrthogonal(), v = n.cross(u);
        bool better = false;
        for (int k = 0; k < 12; ++k) {
          const double angle = 2.0 * 3.141592653589793 * (k + 37.0 * step) / 12;
          const Vec3 m = (n + step * (std::cos(angle) * u + std::sin(angle) * v)).normalized();
          const double there = separation(a, pose_a, b, pose_b, m);
          if (there > value) value = there, n = m, better = true;
        }
        if (!better) step *= 0.6;
      }
      if (value > best) {
        best = value;
        if (normal != nullptr) *normal = n;
      }
    }
    return best;
  }

 private:
  Shape add(Geometry g) {
    bound_geometry(g, list);
    const auto index = static_cast<std::int32_t>(list.size());
    const Shape shape = shape_of_geometry(g, index);
    list.push_back(std::move(g));
    return shape;
  }
};

inline double lowest_gap(const std::vector<ContactPoint>& points) {
  double lowest = 1e300;
  for (const ContactPoint& p : points) lowest = std::min(lowest, p.gap);
  return lowest;
}

}  // namespace catena::test
