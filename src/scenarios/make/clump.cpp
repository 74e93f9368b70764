#include "scenarios/make/clump.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "catena/base/error.hpp"
#include "catena/base/text.hpp"
#include "catena/io/surface_file.hpp"
#include "scenarios/pack/closed_surface.hpp"
#include "scenarios/scene_parts.hpp"

namespace catena::scenarios {

namespace {

constexpr std::size_t kColumns = 4;

CompoundPart sphere_at(const Vec3& p, double radius) {
  return {{ShapeType::sphere, Vec3::Constant(radius)}, {p, Quat::Identity()}};
}

/// The content without its header, if it has one.
std::string without_header(const std::string& content, const std::string& file) {
  std::size_t at = 0;
  while (at < content.size() && (content[at] == '#' || content[at] == '\r' || content[at] == '\n'))
    at = std::min(content.find('\n', at), content.size() - 1) + 1;
  if (at == content.size() || std::isalpha(static_cast<unsigned char>(content[at])) == 0)
    return content;
  const std::size_t end = std::min(content.find('\n', at), content.size());
  std::string header;
  for (const char c : content.substr(at, end - at))
    if (std::isspace(static_cast<unsigned char>(c)) == 0) header += c;
  if (header != "x,y,z,radius")
    throw Error("the header '" + header + "' is not that of spheres", file,
                "name the columns x,y,z,radius in this order, or leave the header out");
  return content.substr(0, at) + content.substr(end);
}

/// Points of a grid inside a surface, with their depths.
struct Point {
  Vec3 p;
  double depth;
};

/// How deep points lie in a surface. What is inside lies in the box around the surface with all
/// its depth; where it does not, nearest faces disagree about what is inside. That they may
/// disagree within the box, too, is not seen.
class Depths {
 public:
  Depths(const ClosedSurface& surface, const std::string& file)
      : surface_(surface), box_(surface.bounds()), file_(file) {}
  const Aabb& box() const { return box_; }
  double at(const Vec3& p) const {
    const double depth = surface_.depth(p);
    const double room = (p - box_.lo).cwiseMin(box_.hi - p).minCoeff();
    if (depth > std::max(room, 0.0) + 1e-9 * (box_.hi - box_.lo).maxCoeff()) {
      throw Error("the surface cuts through itself: near (" + short_text(p.x()) + ", " +
                      short_text(p.y()) + ", " + short_text(p.z()) +
                      ") m its faces do not agree about what is inside",
                  file_, "repair it, or give the spheres as a CSV file");
    }
    return depth;
  }

 private:
  const ClosedSurface& surface_;
  Aabb box_;
  const std::string& file_;
};

std::vector<Point> points_inside(const Depths& depths, double& cell) {
  constexpr int kCells = 32;  // along the longest edge of the box
  const Aabb& box = depths.box();
  const Vec3 edge = box.hi - box.lo;
  cell = edge.maxCoeff() / kCells;
  const Eigen::Array3i n = (edge / cell).array().ceil().cast<int>().max(1);
  std::vector<Point> points;
  for (int k = 0; k < n[2]; ++k)
    for (int j = 0; j < n[1]; ++j)
      for (int i = 0; i < n[0]; ++i) {
        const Vec3 part((i + 0.5) / n[0], (j + 0.5) / n[1], (k + 0.5) / n[2]);
        const Vec3 p = box.lo + edge.cwiseProduct(part);
        const double depth = depths.at(p);
        if (depth > 0.0) points.push_back({p, depth});
      }
  return points;
}

/// Goes from a point to deeper ones, in smaller and smaller steps to all sides: the depth has
/// ridges, on which only steps askew lead on.
Point deepest_near(const Depths& depths, Point at, double step) {
  constexpr int kHalvings = 12;
  for (int k = 0; k < kHalvings;) {
    Point best = at;
    for (int side = 0; side < 27; ++side) {
      const int x = side / 9 - 1, y = side / 3 % 3 - 1, z = side % 3 - 1;
      const Vec3 p = at.p + step * Vec3(x, y, z);
      if (const double depth = depths.at(p); depth > best.depth) best = {p, depth};
    }
    if (best.depth > at.depth) {
      at = best;
    } else {
      step *= 0.5;
      ++k;
    }
  }
  return at;
}

}  // namespace

std::vector<CompoundPart> listed_spheres(const ShapeSettings& s, const std::string& content) {
  std::size_t columns = 0;
  const std::vector<double> rows =
      parse_number_rows(without_header(content, s.file), s.file, columns);
  if (rows.empty() || columns != kColumns)
    throw Error(rows.empty() ? "no spheres"
                             : "rows of " + std::to_string(columns) + " numbers are no spheres",
                s.file, "give a line x, y, z, radius for each");
  const double factor = unit_in_metres(s.unit) * s.scale;
  std::vector<CompoundPart> parts;
  for (std::size_t i = 0; i < rows.size(); i += kColumns) {
    if (!(rows[i + 3] > 0.0))
      throw Error("sphere " + std::to_string(i / kColumns + 1) + " has no positive radius", s.file,
                  "the fourth number of a line is the radius");
    parts.push_back(
        sphere_at(factor * Vec3(rows[i], rows[i + 1], rows[i + 2]), factor * rows[i + 3]));
  }
  return parts;
}

std::vector<CompoundPart> filling_spheres(const Geometry& mesh, const std::string& file, int most,
                                          double& volume) {
  const ClosedSurface surface(mesh, {});
  const Depths depths(surface, file);
  volume = surface.volume();
  double cell = 0.0;
  std::vector<Point> free = points_inside(depths, cell);
  std::vector<CompoundPart> parts;
  while (std::ssize(parts) < most && !free.empty()) {
    const Point first = *std::ranges::max_element(free, {}, &Point::depth);
    Point centre = deepest_near(depths, first, 0.5 * cell);
    const auto inside = [&](const CompoundPart& part, const Vec3& p) {
      return (p - part.pose.p).norm() < part.shape.size.x();
    };
    // a larger one that an earlier sphere would hold the centre of says nothing new
    if (std::ranges::any_of(parts,
                            [&](const CompoundPart& part) { return inside(part, centre.p); }))
      centre = first;
    parts.push_back(sphere_at(centre.p, centre.depth));
    std::erase_if(free, [&](const Point& point) {
      return inside(parts.back(), point.p) || point.p == first.p;
    });
  }
  return parts;
}

}  // namespace catena::scenarios
