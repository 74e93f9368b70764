// The description of packs.
#include <cmath>

#include "scenarios/flow_parts.hpp"

namespace catena::scenarios {

namespace {

bool is_set(const Vec3& v) { return !v.array().isNaN().any(); }

void describe_cylinder(SettingsVisitor& visit, PackRegionSettings& s) {
  visit.optional_section("cylinder", s.cylinder, {.help = "in place of a box"}, [&] {
    const SettingInfo end{.unit = "m", .required = true, .help = "an end of its axis"};
    visit.visit("from", numbers(s.from), end);
    visit.visit("to", numbers(s.to), end);
    visit.visit("radius", s.radius,
                {.unit = "m", .min = 0, .min_open = true, .required = true, .help = "of it"});
    if (is_set(s.from) && is_set(s.to) && !((s.to - s.from).norm() > 0.0))
      visit.reject("to", "is the same point as `from`", "give both ends of the axis");
  });
}

void describe_surface(SettingsVisitor& visit, PackRegionSettings& s) {
  bool present = s.mesh.type == ShapeType::mesh;
  visit.optional_section(
      "mesh", present, {.help = "in place of a box: what a surface encloses"}, [&] {
        describe_mesh_file(visit, s.mesh);
        visit.visit("at", numbers(s.at), {.unit = "m", .help = "place of the file's origin"});
        describe_orientation(visit, s.orientation);
      });
  if (!present) return;
  s.mesh.type = ShapeType::mesh;
  s.mesh.place = visit.where("mesh");
}

void describe_pack_region(SettingsVisitor& visit, PackRegionSettings& s) {
  const SettingInfo corner{.unit = "m", .help = "corner of a box"};
  visit.visit("lower", numbers(s.lower), corner);
  visit.visit("upper", numbers(s.upper), corner);
  describe_cylinder(visit, s);
  visit.optional_section("sphere", s.sphere, {.help = "in place of a box"}, [&] {
    visit.visit("centre", numbers(s.centre), {.unit = "m", .required = true, .help = "of it"});
    visit.visit("radius", s.radius,
                {.unit = "m", .min = 0, .min_open = true, .required = true, .help = "of it"});
  });
  describe_surface(visit, s);
  const bool lower = is_set(s.lower), upper = is_set(s.upper);
  const int shapes = (lower || upper ? 1 : 0) + (s.cylinder ? 1 : 0) + (s.sphere ? 1 : 0) +
                     (s.mesh.type == ShapeType::mesh ? 1 : 0);
  if (shapes != 1)
    visit.reject("", shapes == 0 ? "is empty" : "has more than one form",
                 "give lower and upper, a cylinder, a sphere or a mesh");
  else if (lower != upper)
    visit.reject(lower ? "upper" : "lower", "missing", "a box has two corners");
  else if (lower && !(s.lower.array() < s.upper.array()).all())
    visit.reject("upper", "does not lie above `lower` in all directions",
                 "give the lower corner first");
}

}  // namespace

void describe_pack(SettingsVisitor& visit, const SceneSettings& scene, PackSettings& s) {
  describe_sizes(visit, s.sizes);
  visit.section("region", {.required = true, .help = "what holds the bodies whole"},
                [&] { describe_pack_region(visit, s.region); });
  visit.visit("solid_fraction", s.solid_fraction,
              {.min = 0,
               .max = 0.9,
               .min_open = true,
               .required = true,
               .help = "volume of the bodies over that of the region; their number follows"});
  visit.visit("random_orientation", s.random_orientation,
              {.help = "each body turned at random, uniformly over all rotations"});
  visit.visit("velocity", numbers(s.velocity),
              {.unit = "m/s", .help = "of every body at the start"});
  visit.visit("seed", s.seed,
              {.min = 0,
               .word = "case",
               .word_value = -1,
               .help = "of places, sizes and orientations; `case`: follows from the case's seed"});
  if (scene.dimension == 2)
    visit.reject("", "packs are for three dimensions", "give a lattice with position_jitter");
}

}  // namespace catena::scenarios
