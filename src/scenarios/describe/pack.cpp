// The description of packs.
#include "scenarios/flow_parts.hpp"

namespace catena::scenarios {

namespace {

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
  describe_region(visit, "", "", s);
  describe_surface(visit, s);
  check_region(visit, s, s.mesh.type == ShapeType::mesh,
               "lower and upper, a cylinder, a sphere or a mesh");
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
