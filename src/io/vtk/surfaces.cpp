#include "io/vtk/surfaces.hpp"

#include <cmath>
#include <numbers>
#include <utility>

namespace catena::vtk {
namespace {

constexpr std::int64_t kRoundSides = 16;
constexpr std::int64_t kHollowSides = 72;

/// Radius and height.
using Profile = std::vector<std::pair<double, double>>;

/// Each point of a profile, turned about z in `sides` steps: point k at step s is s n + k.
std::vector<Vec3> turned_points(const Profile& profile, std::int64_t sides) {
  std::vector<Vec3> points;
  for (std::int64_t s = 0; s < sides; ++s) {
    const double angle =
        2.0 * std::numbers::pi * static_cast<double>(s) / static_cast<double>(sides);
    for (const auto& [radius, height] : profile)
      points.emplace_back(radius * std::cos(angle), radius * std::sin(angle), height);
  }
  return points;
}

/// What the line from point `a` of a profile of n points to point `b` sweeps; the outside is on
/// the left of who goes along it and looks against the turn.
void add_swept(std::int64_t a, std::int64_t b, std::int64_t n, std::int64_t sides,
               Surface& surface) {
  for (std::int64_t s = 0; s < sides; ++s) {
    const std::int64_t here = s * n, next = (s + 1) % sides * n;
    surface.triangles.push_back({here + a, here + b, next + b});
    surface.triangles.push_back({here + a, next + b, next + a});
  }
}

void add_fan(const std::vector<std::int64_t>& corners, Surface& surface) {
  for (std::size_t k = 1; k + 1 < corners.size(); ++k)
    surface.triangles.push_back({corners[0], corners[k], corners[k + 1]});
}

/// Radius and length 1; open without `ends`.
Surface make_cylinder(bool ends) {
  Surface surface;
  surface.points = turned_points({{1.0, 0.5}, {1.0, -0.5}}, kRoundSides);
  add_swept(0, 1, 2, kRoundSides, surface);
  if (!ends) return surface;
  std::vector<std::int64_t> upper, lower;
  for (std::int64_t s = 0; s < kRoundSides; ++s) {
    upper.push_back(2 * s);
    lower.push_back(2 * (kRoundSides - 1 - s) + 1);
  }
  add_fan(upper, surface);
  add_fan(lower, surface);
  return surface;
}

Surface make_hollow_cylinder(const Vec3& size, std::uint8_t closed_ends) {
  const double inner = size.x(), half = size.y(), thickness = size.z();
  const bool lower = closed_ends & kLowerEnd, upper = closed_ends & kUpperEnd;
  const double outer = inner + thickness;
  const double low = -half - (lower ? thickness : 0.0), high = half + (upper ? thickness : 0.0);
  Profile profile = {{inner, -half}, {inner, half}};
  if (upper) profile.insert(profile.end(), {{0.0, half}, {0.0, high}});
  profile.insert(profile.end(), {{outer, high}, {outer, low}});
  if (lower) profile.insert(profile.end(), {{0.0, low}, {0.0, -half}});
  Surface surface;
  surface.points = turned_points(profile, kHollowSides);
  const auto n = std::ssize(profile);
  for (std::int64_t k = 0; k < n; ++k) add_swept(k, (k + 1) % n, n, kHollowSides, surface);
  return surface;
}

/// Edges of length 1.
Surface make_box() {
  Surface surface;
  for (int k = 0; k < 8; ++k)
    surface.points.emplace_back(k & 4 ? 0.5 : -0.5, k & 2 ? 0.5 : -0.5, k & 1 ? 0.5 : -0.5);
  for (const auto& face : {std::vector<std::int64_t>{0, 1, 3, 2},
                           {4, 6, 7, 5},
                           {0, 4, 5, 1},
                           {2, 3, 7, 6},
                           {0, 2, 6, 4},
                           {1, 5, 7, 3}})
    add_fan(face, surface);
  return surface;
}

Surface make_heightfield(const Geometry& g) {
  Surface surface;
  for (std::int64_t j = 0; j < g.n_y; ++j)
    for (std::int64_t i = 0; i < g.n_x; ++i)
      surface.points.push_back(g.origin + Vec3(g.dx * static_cast<double>(i),
                                               g.dy * static_cast<double>(j),
                                               g.heights[j * g.n_x + i]));
  for (std::int64_t j = 0; j + 1 < g.n_y; ++j)
    for (std::int64_t i = 0; i + 1 < g.n_x; ++i) {
      const std::int64_t low = j * g.n_x + i;
      add_fan({low, low + 1, low + g.n_x + 1, low + g.n_x}, surface);
    }
  return surface;
}

/// Of a hull, mesh or heightfield, in its body's frame.
Surface make_geometry(const Geometry& g) {
  if (g.type == ShapeType::heightfield) return make_heightfield(g);
  Surface surface;
  surface.points = g.vertices;
  for (const auto& t : g.triangles) surface.triangles.push_back({t[0], t[1], t[2]});
  for (std::size_t f = 0; f + 1 < g.face_begin.size(); ++f)
    add_fan(
        {g.face_corners.begin() + g.face_begin[f], g.face_corners.begin() + g.face_begin[f + 1]},
        surface);
  return surface;
}

}  // namespace

template <class Make>
const Surface& SurfaceMaker::made(const Key& key, Make make) {
  const auto found = made_.find(key);
  return found != made_.end() ? found->second : made_.emplace(key, make()).first->second;
}

void SurfaceMaker::add(const Model& model, const Shape& shape, const Pose& pose, std::size_t row,
                       Appearance& all) {
  const Vec3& s = shape.size;
  const auto add_surface = [&](const Surface& surface, const Vec3& scale) {
    all.surfaces.push_back({row, &surface, pose, scale});
  };
  switch (shape.type) {
    case ShapeType::none:
    case ShapeType::plane:
      return;
    case ShapeType::sphere:
      all.spheres.push_back({row, pose.p, s.x()});
      return;
    case ShapeType::box:
      add_surface(made({shape.type, -1, 0, {}}, make_box), 2.0 * s);
      return;
    case ShapeType::capsule:
      for (const double end : {-1.0, 1.0})
        all.spheres.push_back({row, pose.p + pose.q * Vec3(0.0, 0.0, end * s.y()), s.x()});
      [[fallthrough]];
    case ShapeType::cylinder: {
      const bool ends = shape.type == ShapeType::cylinder;
      add_surface(made({shape.type, -1, 0, {}}, [&] { return make_cylinder(ends); }),
                  Vec3(s.x(), s.x(), 2.0 * s.y()));
      return;
    }
    case ShapeType::hollow_cylinder:
      add_surface(made({shape.type, -1, shape.closed_ends, {s.x(), s.y(), s.z()}},
                       [&] { return make_hollow_cylinder(s, shape.closed_ends); }),
                  Vec3::Ones());
      return;
    case ShapeType::hull:
    case ShapeType::mesh:
    case ShapeType::heightfield:
      add_surface(made({shape.type, shape.geometry, 0, {}},
                       [&] { return make_geometry(model.geometries[shape.geometry]); }),
                  Vec3::Constant(s.x()));
      return;
    case ShapeType::compound:
      for (const CompoundPart& part : model.geometries[shape.geometry].parts)
        add(model, s.x() == 1.0 ? part.shape : scaled(part.shape, s.x()),
            {pose.p + pose.q * (s.x() * part.pose.p), pose.q * part.pose.q}, row, all);
      return;
  }
}

}  // namespace catena::vtk
