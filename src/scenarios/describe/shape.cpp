// The description of shapes, and what may not be combined.
#include <cmath>

#include "catena/base/suggest.hpp"
#include "scenarios/scene_parts.hpp"

namespace catena::scenarios {

namespace {

/// In the order of ShapeType, and a hull with a form of its own. A compound is `clump` where its
/// spheres come from a file, else `shapes`.
constexpr std::string_view kShapes[] = {"none",    "sphere",      "plane",           "box",
                                        "capsule", "cylinder",    "hollow_cylinder", "hull",
                                        "mesh",    "heightfield", "clump",           "pointed_rod"};
constexpr int kPointedRod = 11;

/// Which of kShapes it is.
int key_of(const ShapeSettings& s) {
  if (s.type == ShapeType::compound && s.file.empty()) return 0;
  return s.type == ShapeType::hull && !std::isnan(s.tip_length) ? kPointedRod
                                                                : static_cast<int>(s.type);
}

ShapeType type_of(int key) {
  return key == kPointedRod ? ShapeType::hull : static_cast<ShapeType>(key);
}
constexpr std::string_view kEnds[] = {"open", "lower", "upper", "both"};

struct Unit {
  std::string_view name;
  double metres;
};
constexpr Unit kUnits[] = {{"m", 1.0},   {"cm", 1e-2},   {"mm", 1e-3},
                           {"um", 1e-6}, {"in", 0.0254}, {"ft", 0.3048}};

using scenarios::numbers;

void length(SettingsVisitor& visit, std::string_view key, double& value, std::string_view help,
            bool zero_allowed = false) {
  visit.visit(key, value,
              {.unit = "m", .min = 0, .min_open = !zero_allowed, .required = true, .help = help});
}

void describe_file(SettingsVisitor& visit, ShapeSettings& s, std::string_view help, bool required) {
  visit.visit("file", s.file, {.required = required, .help = help});
  visit.visit(
      "unit", s.unit,
      {.help = "of the numbers in the file: m, cm, mm, um, in or ft; required with a file"});
  if (s.file.empty() && !s.unit.empty()) {
    visit.reject("unit", "there is no file that it is for",
                 "numbers in the case carry their own units: [1 mm, 0, 0]");
  } else if (!s.file.empty() && s.unit.empty()) {
    visit.reject("file", "a file of coordinates has no unit",
                 "add unit: mm (or m, cm, um, in, ft)");
  } else if (!s.unit.empty() && std::isnan(unit_in_metres(s.unit))) {
    visit.reject("unit", "'" + s.unit + "' is no unit of length here",
                 "one of m, cm, mm, um, in and ft");
  }
}

void describe_scale(SettingsVisitor& visit, ShapeSettings& s) {
  visit.visit("scale", s.scale,
              {.min = 0, .min_open = true, .help = "factor on the file's coordinates, besides"});
}

/// Exactly one of a list of numbers and a file.
void need_one(SettingsVisitor& visit, const ShapeSettings& s, std::string_view list,
              bool has_list) {
  if (has_list == s.file.empty()) return;
  const std::string name(list);
  if (has_list) {
    visit.reject(list, "stands beside file", "give one or the other");
  } else {
    visit.reject("", "nothing is given", "give " + name + " or file");
  }
}

void describe_decompose(SettingsVisitor& visit, DecomposeSettings& s) {
  visit.optional_section(
      "decompose", s.present,
      {.help = "the surface may have dents: convex pieces of it collide, while mass and inertia "
               "stay those of the surface; for files"},
      [&] {
        visit.visit("pieces", s.pieces, {.min = 1, .max = 256, .help = "at most"});
        visit.visit("tolerance", s.tolerance,
                    {.unit = "m",
                     .min = 0,
                     .min_open = true,
                     .help = "how far pieces may reach beyond the surface: cutting ends there; 1 % "
                             "of the longest edge of the surface's box unless given"});
      });
}

void describe_hull(SettingsVisitor& visit, ShapeSettings& s) {
  std::size_t width = 3;
  visit.rows("vertices", s.vertices, width, {.unit = "m", .help = "corners, in any order"});
  describe_file(visit, s,
                "STL or OBJ, a closed surface, convex unless `decompose` is given; relative to the "
                "case file",
                false);
  describe_scale(visit, s);
  describe_decompose(visit, s.decompose);
  if (s.decompose.present && s.file.empty())
    visit.reject("decompose", "there is no file that it is for",
                 "the hull of a list of vertices has no dents");
  need_one(visit, s, "vertices", !s.vertices.empty());
}

void describe_mesh(SettingsVisitor& visit, ShapeSettings& s) {
  describe_mesh_file(visit, s);
  visit.visit("open", s.open,
              {.help = "the surface may have borders; bodies touch it from both sides then"});
}

void describe_heightfield(SettingsVisitor& visit, ShapeSettings& s) {
  visit.rows("heights", s.heights, s.columns,
             {.unit = "m", .help = "z at the grid's points: rows along y, x along each row"});
  describe_file(visit, s, "CSV of the same rows, without a header; relative to the case file",
                false);
  visit.visit("spacing", s.spacing,
              {.unit = "m",
               .min = 0,
               .min_open = true,
               .required = true,
               .help = "of the grid along x and y; its first point is the shape's origin"});
  need_one(visit, s, "heights", !s.heights.empty());
  if (!s.heights.empty() && (s.columns < 2 || s.heights.size() < 2 * s.columns)) {
    visit.reject("heights", "fewer than two rows or columns", "a surface needs two of each");
  }
}

void describe_hollow_cylinder(SettingsVisitor& visit, ShapeSettings& s) {
  length(visit, "inner_radius", s.inner_radius, "of the bore");
  length(visit, "thickness", s.thickness, "of the wall, and of closed ends");
  length(visit, "length", s.length, "inside, along the z axis, centred on the origin");
  int ends = s.ends;
  visit.choice("ends", ends, kEnds, {.help = "which are closed by a disc, at -z or +z"});
  s.ends = static_cast<std::uint8_t>(ends);
}

void describe_clump(SettingsVisitor& visit, ShapeSettings& s) {
  describe_file(visit, s,
                "CSV with a line x, y, z, radius for each sphere; or STL or OBJ, a closed surface "
                "that `spheres` fill; relative to the case file",
                true);
  describe_scale(visit, s);
  visit.visit("spheres", s.spheres,
              {.min = 0,
               .max = 1000,
               .help = "of a surface: how many, the largest first, each about a point that none "
                       "before it holds; not of a CSV"});
  const bool list = s.file.ends_with(".csv") || s.file.ends_with(".CSV");
  if (list && s.spheres > 0)
    visit.reject("spheres", "the file lists its spheres", "remove it");
  else if (!list && s.spheres == 0 && !s.file.empty())
    visit.reject("spheres", "missing", "say how many fill the surface, for example 20");
}

void describe_pointed_rod(SettingsVisitor& visit, ShapeSettings& s) {
  length(visit, "radius", s.radius, "of the round rod; sides have the area of the circle");
  length(visit, "length", s.length, "from tip to tip, along the z axis, centred on the origin");
  length(visit, "tip_length", s.tip_length, "of each pointed end; half the length: no shaft");
  visit.visit("sides", s.sides, {.min = 3, .max = 64, .help = "of the hull that stands for it"});
  if (2.0 * s.tip_length > s.length)
    visit.reject("tip_length", "both ends are longer than the rod", "at most half the length");
}

void describe_type(SettingsVisitor& visit, ShapeType type, ShapeSettings& s) {
  switch (type) {
    case ShapeType::none:
      break;
    case ShapeType::compound:
      describe_clump(visit, s);
      break;
    case ShapeType::plane:
      visit.visit("normal", numbers(s.normal),
                  {.help = "out of the half space, on the body's axes; any length but zero"});
      if (s.normal.isZero(0.0)) {
        visit.reject("normal", "the normal has no length", "give a direction such as [0, 0, 1]");
      }
      break;
    case ShapeType::sphere:
      length(visit, "radius", s.radius, "radius of the sphere");
      break;
    case ShapeType::box:
      visit.visit("size", numbers(s.size),
                  {.unit = "m",
                   .min = 0,
                   .min_open = true,
                   .required = true,
                   .help = "full edges along the body's axes"});
      break;
    case ShapeType::capsule:
      length(visit, "radius", s.radius, "of the caps");
      length(visit, "length", s.length, "between the centres of the caps, along the z axis");
      break;
    case ShapeType::cylinder:
      length(visit, "radius", s.radius, "radius");
      length(visit, "length", s.length, "along the z axis, centred on the origin");
      break;
    case ShapeType::hollow_cylinder:
      describe_hollow_cylinder(visit, s);
      break;
    case ShapeType::hull:
      describe_hull(visit, s);
      break;
    case ShapeType::mesh:
      describe_mesh(visit, s);
      break;
    case ShapeType::heightfield:
      describe_heightfield(visit, s);
      break;
  }
}

void describe_key(SettingsVisitor& visit, int key, ShapeSettings& s) {
  if (key == kPointedRod) return describe_pointed_rod(visit, s);
  describe_type(visit, static_cast<ShapeType>(key), s);
}

/// Shapes that can be one of several.
bool can_be_part(ShapeType type) {
  return type != ShapeType::none && type != ShapeType::plane && type != ShapeType::heightfield &&
         type != ShapeType::compound;
}

void describe_part(SettingsVisitor& visit, PartSettings& part) {
  int found = 0;
  for (std::size_t k = 0; k < std::size(kShapes); ++k) {
    const int key = narrow<int>(k);
    const ShapeType type = type_of(key);
    if (!can_be_part(type)) continue;
    bool present = key_of(part.shape) == key;
    visit.optional_section(kShapes[k], present, {.help = "as in `shape`"},
                           [&] { describe_key(visit, key, part.shape); });
    if (!present) continue;
    part.shape.type = type;
    part.shape.place = visit.where(kShapes[k]);
    ++found;
  }
  visit.visit("at", numbers(part.at), {.unit = "m", .help = "place in the frame of the shapes"});
  describe_orientation(visit, part.orientation);
  if (found != 1) {
    visit.reject("", found == 0 ? "has no shape" : "has several shapes",
                 "give one, such as sphere: {radius: 0.1}");
  }
}

}  // namespace

double unit_in_metres(std::string_view unit) {
  for (const Unit& u : kUnits) {
    if (u.name == unit) return u.metres;
  }
  return kNone;
}

void describe_mesh_file(SettingsVisitor& visit, ShapeSettings& s) {
  describe_file(visit, s, "STL or OBJ; relative to the case file", true);
  describe_scale(visit, s);
}

void describe_orientation(SettingsVisitor& visit, OrientationSettings& s) {
  visit.section("orientation", {.help = "axis and angle, or a quaternion; body to world"}, [&] {
    visit.visit("quaternion", s.quaternion,
                {.help = "(w, x, y, z), made unit; in place of axis and angle"});
    const bool by_axis = std::isnan(s.quaternion[0]);
    Vec3 axis = by_axis ? s.axis : Vec3::Constant(kNone);
    double angle = by_axis ? s.angle : kNone;
    visit.visit("axis", numbers(axis), {.help = "world frame; any length but zero"});
    visit.visit("angle", angle, {.unit = "rad", .help = "right-handed about the axis"});
    if (by_axis) {
      if (!(axis.norm() > 0.0)) {
        visit.reject("axis", "the axis has no length", "give a direction such as [0, 0, 1]");
      }
      s.axis = axis;
      s.angle = angle;
      return;
    }
    if (!axis.array().isNaN().all() || !std::isnan(angle)) {
      visit.reject("quaternion", "stands beside axis or angle", "give one or the other");
    }
    const auto& q = s.quaternion;
    if (!(std::hypot(std::hypot(q[0], q[1]), std::hypot(q[2], q[3])) > 0.0)) {
      visit.reject("quaternion", "the quaternion has no length", "no turn is [1, 0, 0, 0]");
    }
  });
}

void describe_shape(SettingsVisitor& visit, ShapeSettings& s) {
  int kind = key_of(s);
  visit.one_of("shape", kind, kShapes,
               {.help = "`none` makes no contacts; a `plane` is the half space below its normal, "
                        "the body's z axis unless given; meshes and heightfields neither move "
                        "freely nor fill a lattice"},
               [&](int k) { describe_key(visit, k, s); });
  s.type = type_of(kind);
  s.place = visit.where("shape");
  visit.list(
      "shapes", s.parts.size(),
      {.help =
           "several in place of `shape`, joined to one rigid body (a clump); each has one shape "
           "and its place. Where they overlap, mass counts once"},
      [&](std::size_t n) { s.parts.assign(n, {}); },
      [&](std::size_t i) { describe_part(visit, s.parts[i]); });
  if (s.parts.empty()) return;
  s.place = visit.where("shapes");
  if (s.type != ShapeType::none) {
    visit.reject("shape", "stands beside shapes", "make it one of them, or remove shapes");
  }
  s.type = ShapeType::compound;
}

void check_shape_moves(SettingsVisitor& visit, const ShapeSettings& s) {
  if (is_surface(s.type)) {
    visit.reject("shape", "a surface has no mass: it is for fixed and kinematic bodies",
                 "add `fixed: true`, or, for a closed mesh, give `hull` with the file in place of "
                 "`mesh`, and `decompose: {}` if it has dents");
  }
  for (const PartSettings& part : s.parts) {
    if (!is_surface(part.shape.type)) continue;
    visit.reject("shapes", "a mesh among the shapes has no mass: fixed and kinematic bodies only",
                 "add `fixed: true`, or give hulls");
    return;
  }
}

void check_mass_of_pieces(SettingsVisitor& visit, const ShapeSettings& s, bool has_mass) {
  if (has_mass) return;
  for (const PartSettings& part : s.parts) {
    if (!part.shape.decompose.present) continue;
    visit.reject("shapes", "the mass of a surface with pieces among other shapes is not known",
                 "give the body's mass, inertia and center_of_mass, or the surface alone as shape");
    return;
  }
}

void check_centre_of_mass(SettingsVisitor& visit, const BodySettings& s) {
  const bool has_centre = !s.centre_of_mass.array().isNaN().all();
  if (kind_of(s) == BodyKind::dynamic) check_mass_of_pieces(visit, s.shape, has_centre);
  if (!has_centre) return;
  if (kind_of(s) != BodyKind::dynamic) {
    visit.reject("center_of_mass", "has no effect here",
                 "a fixed or kinematic body is placed by its shape's origin");
  } else if (s.shape.type == ShapeType::none) {
    visit.reject("center_of_mass", "there is no shape in whose frame it would lie",
                 "leave it out: `position` is the centre of mass");
  } else if (std::isnan(s.mass) || s.inertia.array().isNaN().any()) {
    visit.reject("center_of_mass", "needs the body's mass and inertia",
                 "give both, or leave it out for uniform density");
  }
}

void describe_bounded_shape(SettingsVisitor& visit, ShapeSettings& s) {
  describe_shape(visit, s);
  if (s.type == ShapeType::none) visit.reject("", "the bodies have no shape", "give a shape");
  if (s.type == ShapeType::plane) {
    visit.reject("shape", "planes do not move", "give a shape that is bounded");
  }
  check_shape_moves(visit, s);
  check_mass_of_pieces(visit, s, false);
}

}  // namespace catena::scenarios
