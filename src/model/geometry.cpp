#include "catena/model/geometry.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "catena/base/error.hpp"
#include "catena/base/index.hpp"
#include "catena/math/rotation.hpp"
#include "model/union_mass.hpp"

namespace catena {

namespace {

constexpr std::int32_t kLeafItems = 4;

Vec3 middle(const Aabb& box) { return 0.5 * (box.lo + box.hi); }

/// Splits node `at` and its children until the leaves are small.
void split(BoxTree& tree, std::span<const Aabb> boxes, std::size_t at) {
  const std::int32_t first = tree.nodes[at].first, count = tree.nodes[at].count;
  Aabb centres;
  for (std::int32_t k = first; k < first + count; ++k) {
    const std::size_t item = tree.order[k];
    tree.nodes[at].box.merge(boxes[item]);
    const Vec3 c = middle(boxes[item]);
    centres.merge({c, c});
  }
  if (count <= kLeafItems) return;
  Eigen::Index axis = 0;
  (centres.hi - centres.lo).maxCoeff(&axis);
  const auto begin = tree.order.begin() + first;
  const std::int32_t half = count / 2;
  std::nth_element(begin, begin + half, begin + count, [&](std::int32_t a, std::int32_t b) {
    const double x = middle(boxes[a])[axis];
    const double y = middle(boxes[b])[axis];
    return x != y ? x < y : a < b;
  });
  std::sort(begin, begin + half);
  std::sort(begin + half, begin + count);
  const auto child = narrow<std::int32_t>(tree.nodes.size());
  tree.nodes[at].child = child;
  tree.nodes.push_back({{}, -1, first, half});
  tree.nodes.push_back({{}, -1, first + half, count - half});
  split(tree, boxes, child);
  split(tree, boxes, child + 1);
}

/// Inertia about the centre of mass from the integral of x x^T about it.
Mat3 inertia_of_moments(const Mat3& moments) {
  return moments.trace() * Mat3::Identity() - moments;
}

/// Fan of triangles over each face of a hull.
std::vector<std::array<std::int32_t, 3>> triangles_of_hull(const Geometry& hull) {
  std::vector<std::array<std::int32_t, 3>> triangles;
  for (std::size_t f = 0; f + 1 < hull.face_begin.size(); ++f) {
    const std::size_t begin = hull.face_begin[f];
    const std::size_t end = hull.face_begin[f + 1];
    for (std::size_t k = begin + 1; k + 1 < end; ++k)
      triangles.push_back(
          {hull.face_corners[begin], hull.face_corners[k], hull.face_corners[k + 1]});
  }
  return triangles;
}

MassProperties properties_of(const Geometry& geometry, std::span<const Geometry> geometries) {
  // a compound with a surface is that body; its parts only stand for it in contacts
  if (geometry.type == ShapeType::compound && !geometry.triangles.empty())
    return mass_properties(geometry.vertices, geometry.triangles);
  if (geometry.type == ShapeType::compound) return mass_properties(geometry.parts, geometries);
  if (geometry.type == ShapeType::hull)
    return mass_properties(geometry.vertices, triangles_of_hull(geometry));
  return {};
}

void bound_heightfield(Geometry& g) {
  const auto [low, high] = std::minmax_element(g.heights.begin(), g.heights.end());
  g.bounds.lo = g.origin + Vec3(0.0, 0.0, *low);
  g.bounds.hi = g.origin + Vec3((g.n_x - 1) * g.dx, (g.n_y - 1) * g.dy, *high);
  const Vec3 farthest = g.bounds.lo.cwiseAbs().cwiseMax(g.bounds.hi.cwiseAbs());
  g.radius = farthest.norm();
}

void bound_compound(Geometry& g, std::span<const Geometry> geometries) {
  for (const CompoundPart& part : g.parts) {
    g.item_boxes.push_back(bounds_of(part.shape, part.pose, geometries));
    g.bounds.merge(g.item_boxes.back());
    g.radius = std::max(g.radius, part.pose.p.norm() + bounding_radius(part.shape));
  }
}

void bound_vertices(Geometry& g) {
  for (const Vec3& v : g.vertices) {
    g.bounds.merge({v, v});
    g.radius = std::max(g.radius, v.norm());
  }
  for (const auto& triangle : g.triangles) {
    Aabb box;
    for (const std::int32_t k : triangle) {
      const Vec3& v = g.vertices[k];
      box.merge({v, v});
    }
    g.item_boxes.push_back(box);
  }
}

/// Edges of a hull from its faces, in the order of the faces.
void find_edges(Geometry& hull) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> seen;
  hull.edges.clear();
  for (std::int32_t f = 0; f + 1 < std::ssize(hull.face_begin); ++f) {
    const std::int32_t begin = hull.face_begin[f], end = hull.face_begin[f + 1];
    for (std::int32_t k = begin; k < end; ++k) {
      const std::int32_t a = hull.face_corners[k];
      const std::int32_t b = hull.face_corners[k + 1 < end ? k + 1 : begin];
      const auto [edge, is_new] =
          seen.try_emplace({std::min(a, b), std::max(a, b)}, hull.edges.size());
      if (is_new) hull.edges.push_back({std::min(a, b), std::max(a, b), f, f});
      hull.edges[edge->second][a < b ? 2 : 3] = f;
    }
  }
}

}  // namespace

BoxTree build_box_tree(std::span<const Aabb> boxes) {
  BoxTree tree;
  if (boxes.empty()) return tree;
  const auto n = narrow<std::int32_t>(boxes.size());
  for (std::int32_t i = 0; i < n; ++i) tree.order.push_back(i);
  tree.nodes.push_back({{}, -1, 0, n});
  split(tree, boxes, 0);
  return tree;
}

std::int64_t Geometry::n_items() const {
  if (type == ShapeType::mesh) return std::ssize(triangles);
  if (type == ShapeType::heightfield) return std::int64_t{2} * (n_x - 1) * (n_y - 1);
  if (type == ShapeType::compound) return std::ssize(parts);
  return 1;
}

// For the tetrahedron (o, a, b, c), d = a . (b x c) from o:
//   volume d/6,  first moment d/24 (a + b + c),
//   second d/120 (a a^T + b b^T + c c^T + s s^T),  s = a + b + c.
MassProperties mass_properties(std::span<const Vec3> vertices,
                               std::span<const std::array<std::int32_t, 3>> triangles) {
  if (vertices.empty()) return {};
  // near the middle, so that little cancels
  Vec3 o = Vec3::Zero();
  for (const Vec3& v : vertices) o += v;
  o /= static_cast<double>(vertices.size());
  double volume = 0.0;
  Vec3 first = Vec3::Zero();
  Mat3 second = Mat3::Zero();
  for (const auto& t : triangles) {
    const Vec3 a = vertices[t[0]] - o;
    const Vec3 b = vertices[t[1]] - o;
    const Vec3 c = vertices[t[2]] - o;
    const double d = a.dot(b.cross(c));
    const Vec3 s = a + b + c;
    volume += d / 6.0;
    first += d / 24.0 * s;
    second +=
        d / 120.0 * (a * a.transpose() + b * b.transpose() + c * c.transpose() + s * s.transpose());
  }
  MassProperties result;
  result.volume = volume;
  if (volume == 0.0) return result;
  const Vec3 centre = first / volume;
  result.centre = o + centre;
  result.inertia_per_mass = inertia_of_moments(second / volume - centre * centre.transpose());
  return result;
}

namespace {

/// What is left of `all` without the region of `excess`.
MassProperties without(const MassProperties& all, const Moments& excess) {
  if (!(excess.volume > 0.0)) return all;
  const Mat3& inertia = all.inertia_per_mass;
  const Mat3 spread = 0.5 * inertia.trace() * Mat3::Identity() - inertia;
  Moments left;
  left.volume = all.volume;
  left.first = all.volume * all.centre;
  left.second = all.volume * (spread + all.centre * all.centre.transpose());
  left.add(excess, -1.0);
  MassProperties rest;
  rest.volume = left.volume;
  rest.centre = left.first / left.volume;
  rest.inertia_per_mass =
      inertia_of_moments(left.second / left.volume - rest.centre * rest.centre.transpose());
  return rest;
}

}  // namespace

MassProperties mass_properties(std::span<const CompoundPart> parts,
                               std::span<const Geometry> geometries) {
  MassProperties sum;
  const auto centre_of = [](const CompoundPart& part) -> Vec3 {
    return part.pose.p + part.pose.q * centre_of_mass(part.shape);
  };
  for (const CompoundPart& part : parts) {
    const double volume = volume_of(part.shape, geometries);
    sum.volume += volume;
    sum.centre += volume * centre_of(part);
  }
  if (sum.volume == 0.0) return sum;
  sum.centre /= sum.volume;
  for (const CompoundPart& part : parts) {
    const Vec3 arm = centre_of(part) - sum.centre;
    const double share = volume_of(part.shape, geometries) / sum.volume;
    sum.inertia_per_mass +=
        share * (rotate_diagonal(part.pose.q, inertia_per_mass(part.shape, geometries)) +
                 inertia_of_moments(arm * arm.transpose()));
  }
  return without(sum, excess_of_parts(parts, geometries));
}

void move_geometry(Geometry& geometry, const Pose& pose) {
  const Mat3 rotation = pose.q.toRotationMatrix();
  for (Vec3& v : geometry.vertices) v = pose.p + rotation * v;
  for (std::size_t f = 0; f < geometry.face_normals.size(); ++f) {
    geometry.face_normals[f] = rotation * geometry.face_normals[f];
    geometry.face_offsets[f] += geometry.face_normals[f].dot(pose.p);
  }
  for (CompoundPart& part : geometry.parts) {
    part.pose.p = pose.p + rotation * part.pose.p;
    part.pose.q = (pose.q * part.pose.q).normalized();
  }
}

void bound_geometry(Geometry& geometry, std::span<const Geometry> geometries) {
  geometry.bounds = {};
  geometry.radius = 0.0;
  geometry.item_boxes.clear();
  if (geometry.type == ShapeType::heightfield) return bound_heightfield(geometry);
  if (geometry.type == ShapeType::hull) find_edges(geometry);
  if (geometry.type == ShapeType::compound) {
    bound_compound(geometry, geometries);
  } else {
    bound_vertices(geometry);
  }
  geometry.tree = build_box_tree(geometry.item_boxes);
}

void complete_geometry(Geometry& geometry, GeometryFrame frame,
                       std::span<const Geometry> geometries) {
  const MassProperties properties = properties_of(geometry, geometries);
  geometry.volume = properties.volume;
  geometry.inertia_per_mass = properties.inertia_per_mass.diagonal();
  geometry.written = {};
  if (frame != GeometryFrame::as_written) {
    if (frame == GeometryFrame::principal) {
      geometry.written.q =
          principal_axes(properties.inertia_per_mass, geometry.inertia_per_mass).conjugate();
    }
    geometry.written.p = -(geometry.written.q * properties.centre);
    move_geometry(geometry, geometry.written);
  }
  bound_geometry(geometry, geometries);
}

Shape shape_of_geometry(const Geometry& geometry, std::int32_t index) {
  Shape shape;
  shape.type = geometry.type;
  shape.size = Vec3(1.0, 0.0, 0.0);
  shape.geometry = index;
  shape.geometry_radius = geometry.radius;
  return shape;
}

namespace {

/// Columns near the given axes, in their order and to the same side, right-handed.
Mat3 nearest_order(const Mat3& axes) {
  constexpr int kOrders[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
  double best = -1.0;
  Mat3 result;
  for (const auto& order : kOrders) {
    double sum = 0.0;
    for (int k = 0; k < 3; ++k) sum += std::abs(axes(k, order[k]));
    if (sum <= best) continue;
    best = sum;
    for (int k = 0; k < 3; ++k) {
      const double sign = axes(k, order[k]) < 0.0 ? -1.0 : 1.0;
      result.col(k) = sign * axes.col(order[k]);
    }
  }
  CATENA_ASSERT(result.determinant() > 0.0);  // the largest diagonal is that of a rotation
  return result;
}

/// Axes of a body of revolution about the unit vector u: the given axis next to u becomes u,
/// the others are the least turned ones across.
Mat3 axes_about(const Vec3& u) {
  Eigen::Index k = 0;
  u.cwiseAbs().maxCoeff(&k);
  const Vec3 axis = u[k] < 0.0 ? Vec3(-u) : u;
  return Quat::FromTwoVectors(Vec3::Unit(k), axis).toRotationMatrix();
}

}  // namespace

Quat principal_axes(const Mat3& inertia, Vec3& moments) {
  constexpr double kEqual = 1e-12;  // relative to the trace; the integrals are that exact
  const double size = inertia.trace();
  moments = inertia.diagonal();
  const double coupling =
      std::max({std::abs(inertia(0, 1)), std::abs(inertia(1, 2)), std::abs(inertia(2, 0))});
  if (!(coupling > kEqual * size)) return Quat::Identity();

  const Eigen::SelfAdjointEigenSolver<Mat3> solver(inertia);
  const Vec3& values = solver.eigenvalues();  // ascending
  Mat3 axes;
  if (values[1] - values[0] <= kEqual * size) {
    axes = axes_about(solver.eigenvectors().col(2));
  } else if (values[2] - values[1] <= kEqual * size) {
    axes = axes_about(solver.eigenvectors().col(0));
  } else {
    axes = nearest_order(solver.eigenvectors());
  }
  const Quat rotation = Quat(axes).normalized();
  const Mat3 turned =
      rotation.toRotationMatrix().transpose() * inertia * rotation.toRotationMatrix();
  moments = turned.diagonal();
  return rotation;
}

}  // namespace catena
