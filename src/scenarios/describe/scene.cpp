// The description of a scene's keys, and what may not be combined.
#include "catena/scenarios/scene.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "catena/base/suggest.hpp"
#include "catena/base/text.hpp"
#include "scenarios/flow_parts.hpp"
#include "scenarios/joint_parts.hpp"
#include "scenarios/scene_parts.hpp"

namespace catena {

namespace {

using scenarios::check_material;
using scenarios::kMaxBodies;
using scenarios::numbers;

constexpr std::string_view kPositionOf[] = {"centre_of_mass", "shape_origin"};
/// In the order of GeneratorKind.
constexpr std::string_view kGenerators[] = {"container", "lattice", "wall", "table", "insertion",
                                            "chain",     "net",     "tree", "pack",  "bonds"};

bool any_set(const Vec3& v) { return !(std::isnan(v[0]) && std::isnan(v[1]) && std::isnan(v[2])); }

void check_mass(SettingsVisitor& visit, const SceneSettings& scene, const BodySettings& s) {
  const bool has_mass = !std::isnan(s.mass);
  const bool has_inertia = any_set(s.inertia);
  if (scenarios::kind_of(s) != BodyKind::dynamic) {
    if (has_mass || has_inertia) {
      visit.reject(has_mass ? "mass" : "inertia", "a fixed or kinematic body has no use for it",
                   "remove the key, or `fixed`, `motion` or the plane");
    }
    return;
  }
  if (s.shape.type == ShapeType::none && !(has_mass && has_inertia)) {
    visit.reject(has_mass ? "inertia" : "mass", "missing",
                 "a body without shape needs its mass and inertia");
    return;
  }
  if (has_inertia) {
    const double sum = s.inertia.sum();
    if (2.0 * s.inertia.maxCoeff() > sum * (1.0 + 1e-9)) {
      visit.reject("inertia", "no body has these moments",
                   "the largest may not exceed the sum of the two others");
    }
    return;
  }
  // what needs a geometry is checked where that is made
  if (s.shape.type == ShapeType::none || s.shape.type == ShapeType::hull ||
      s.shape.type == ShapeType::compound)
    return;
  const MaterialTable table = scenarios::material_table(scene);
  const int material = table.find(s.material);
  if (material < 0) return;
  const Shape shape = scenarios::shape_of(s.shape);
  const double density = table.materials()[material].density;
  const double mass = has_mass ? s.mass : density * volume_of(shape);
  const Vec3 inertia = mass * inertia_per_mass(shape);
  if (!(std::isnormal(mass) && inertia.array().isFinite().all() &&
        std::isnormal(inertia.minCoeff()))) {
    visit.reject("shape", "mass or inertia leave the range of numbers", "check sizes and density");
  }
}

/// Refuses a motion that leaves the plane of two dimensions.
void check_in_plane(SettingsVisitor& visit, const SceneSettings& scene, const Vec3& velocity,
                    const Vec3& angular_velocity) {
  if (scene.dimension != 2) return;
  const char* fix = "move along x and z, turn about y";
  if (velocity[1] != 0.0) {
    visit.reject("velocity", "leaves the plane of two dimensions", fix);
  } else if (angular_velocity[0] != 0.0 || angular_velocity[2] != 0.0) {
    visit.reject("angular_velocity", "leaves the plane of two dimensions", fix);
  }
}

/// Refuses a surface that moves where there is none, and a plane across a periodic z: gravity is
/// likely to press bodies on it that have come in from the other side.
void check_surface(SettingsVisitor& visit, const SceneSettings& scene, const BodySettings& s) {
  if (!s.surface_velocity.isZero(0.0)) {
    if (s.shape.type == ShapeType::none || !s.collide)
      visit.reject("surface_velocity", "a body without contacts has no use for it",
                   s.shape.type == ShapeType::none ? "give it a shape" : "remove collide: false");
    if (scene.dimension == 2 && s.surface_velocity[1] != 0.0)
      visit.reject("surface_velocity", "leaves the plane of two dimensions", "it has x and z only");
  }
  constexpr double kParallel = 1e-9;
  if (s.shape.type != ShapeType::plane || !scene.periodic.along(2)) return;
  const Vec3 normal = scenarios::orientation_of(s) * Vec3::UnitZ();
  if (std::abs(normal.z()) > kParallel)
    visit.reject("shape", "the plane cuts the box, which is periodic along z",
                 "make it parallel to z, or leave out periodic.z");
}

void check_body(SettingsVisitor& visit, const SceneSettings& scene, const BodySettings& s) {
  check_material(visit, scene, s.material, "material", s.shape.type != ShapeType::none);
  if (!is_surface(s.shape.type)) check_mass(visit, scene, s);
  scenarios::check_centre_of_mass(visit, s);
  if (s.fixed && s.motion.present) {
    visit.reject("fixed", "a body is either fixed or has a motion", "remove one of the two");
  }
  check_surface(visit, scene, s);
  if (scenarios::kind_of(s) == BodyKind::dynamic) {
    scenarios::check_shape_moves(visit, s.shape);
    check_in_plane(visit, scene, s.velocity, s.angular_velocity);
    return;
  }
  const char* why =
      s.motion.present ? "give it in the body's motion" : "a fixed body does not move";
  if (!s.velocity.isZero(0.0)) visit.reject("velocity", "has no effect here", why);
  if (!s.angular_velocity.isZero(0.0)) visit.reject("angular_velocity", "has no effect here", why);
}

void describe_body(SettingsVisitor& visit, const SceneSettings& scene, BodySettings& s) {
  visit.visit("name", s.name, {.required = true, .help = "unique among bodies and generators"});
  visit.visit("material", s.material,
              {.help = "one of the materials; needed where there is a shape"});
  if (s.name == scenarios::kWorld) {
    visit.reject("name", "'world' stands for what never moves", "choose another");
  }
  scenarios::describe_shape(visit, s.shape);
  visit.visit("mass", s.mass,
              {.unit = "kg", .min = 0, .min_open = true, .help = "else volume times density"});
  visit.visit("inertia", numbers(s.inertia),
              {.unit = "kg m^2",
               .min = 0,
               .help = "principal moments on the body's axes; else of the uniform shape; rods "
                       "and points, with moments of 0, need time.stepper: natural"});
  visit.visit("center_of_mass", numbers(s.centre_of_mass),
              {.unit = "m",
               .help = "in the frame of the shape, of a body with `mass` and `inertia`, which is "
                       "about it; else of the uniform shape"});
  s.place = visit.where("");
  s.inertia_place = visit.where("inertia");
  visit.visit(
      "position", numbers(s.position),
      {.unit = "m",
       .help = "of a dynamic body that of its centre of mass, of others that of the shape's "
               "origin, such as a point of a plane"});
  visit.choose("position_of", s.position_of, kPositionOf,
               {.help = "what `position` of a dynamic body is; `shape_origin` suits vertices "
                        "in world coordinates"});
  scenarios::describe_orientation(visit, s.orientation);
  visit.visit("velocity", numbers(s.velocity), {.unit = "m/s", .help = "at the start"});
  visit.visit("angular_velocity", numbers(s.angular_velocity),
              {.unit = "rad/s", .help = "at the start, world frame"});
  visit.visit("surface_velocity", numbers(s.surface_velocity),
              {.unit = "m/s",
               .help = "of the surface against the body, as of a conveyor's belt: contacts see its "
                       "part along them; on the axes of `orientation`, turning with the body"});
  scenarios::describe_collision(visit, s.collide, s.group);
  visit.visit("fixed", s.fixed, {.help = "never moves; planes without a motion are fixed anyway"});
  scenarios::describe_motion(visit, s.motion, &s);
  check_body(visit, scene, s);
}

/// The name of a generator's bodies, and their material.
void describe_name(SettingsVisitor& visit, std::string& name) {
  visit.visit("name", name, {.help = "unique; its bodies are called NAME-0, NAME-1, ..."});
}

void describe_material(SettingsVisitor& visit, const SceneSettings& scene, std::string& material) {
  visit.visit("material", material, {.required = true, .help = "one of the materials"});
  check_material(visit, scene, material, "material", false);
}

void describe_kind(SettingsVisitor& visit, const SceneSettings& scene, ContainerSettings& s) {
  describe_name(visit, s.name);
  describe_material(visit, scene, s.material);
  visit.visit("size", numbers(s.size),
              {.unit = "m",
               .min = 0,
               .min_open = true,
               .required = true,
               .finite = false,
               .help = "inside; .inf leaves out the upper wall of that direction (z: the lid)"});
  visit.visit("origin", numbers(s.origin), {.unit = "m", .help = "lower corner"});
  if (scene.periodic.along(2))
    visit.reject("", "its floor cuts the box, which is periodic along z",
                 "give single planes in its place, or leave out periodic.z");
}

void describe_kind(SettingsVisitor& visit, const SceneSettings& scene, LatticeSettings& s) {
  describe_name(visit, s.name);
  describe_material(visit, scene, s.material);
  scenarios::describe_bounded_shape(visit, s.shape);
  visit.visit("radius_jitter", s.radius_jitter,
              {.min = 0, .max = 0.99, .help = "fraction of the size, uniform +-"});
  scenarios::describe_sizes(visit, s.sizes);
  if (s.radius_jitter > 0.0 && s.sizes.kind != SizeSettings::Kind::none)
    visit.reject("sizes", "stands beside radius_jitter", "give one of the two");
  scenarios::describe_orientation(visit, s.orientation);
  visit.visit("random_orientation", s.random_orientation,
              {.help = "each body turned at random, uniformly over all rotations"});
  visit.visit("count", s.count, {.min = 1, .help = "bodies along x, y and z"});
  visit.visit("spacing", numbers(s.spacing),
              {.unit = "m",
               .min = 0,
               .min_open = true,
               .required = true,
               .scalar_fills = true,
               .help = "between centres along x, y and z"});
  visit.visit("origin", numbers(s.origin), {.unit = "m", .help = "centre of the first body"});
  visit.visit("position_jitter", s.position_jitter,
              {.unit = "m", .min = 0, .help = "uniform +- in each direction"});
  visit.visit("velocity", numbers(s.velocity),
              {.unit = "m/s", .help = "of every body at the start"});
  visit.visit("seed", s.seed,
              {.min = 0,
               .word = "case",
               .word_value = -1,
               .help = "of jitters and orientations; `case`: follows from the case's seed"});
  check_in_plane(visit, scene, s.velocity, Vec3::Zero());
  const double n = 1.0 * s.count[0] * s.count[1] * s.count[2];
  if (n > kMaxBodies) visit.reject("count", "more than 1e12 bodies", "");
}

void describe_kind(SettingsVisitor& visit, const SceneSettings& scene, WallSettings& s) {
  describe_name(visit, s.name);
  describe_material(visit, scene, s.material);
  visit.visit("brick", numbers(s.brick),
              {.unit = "m",
               .min = 0,
               .min_open = true,
               .required = true,
               .help = "length along the wall, thickness, height of a brick"});
  visit.visit("along", s.along, {.min = 1, .help = "whole bricks in the lowest course"});
  visit.visit("height", s.height, {.min = 1, .help = "courses"});
  visit.visit("gap", s.gap, {.unit = "m", .min = 0, .help = "between the bricks of a course"});
  visit.visit("origin", numbers(s.origin),
              {.unit = "m", .help = "lower corner where the wall starts"});
  visit.visit("direction", numbers(s.direction), {.help = "along the wall, horizontal"});
  if (s.direction[2] != 0.0 || !(s.direction.norm() > 0.0)) {
    visit.reject("direction", "not a horizontal direction", "for example [1, 0, 0]");
  }
  if (s.gap >= s.brick[0]) visit.reject("gap", "the half bricks have no length left", "");
  if (1.0 * s.along * s.height > kMaxBodies) visit.reject("height", "more than 1e12 bricks", "");
}

void describe_kind(SettingsVisitor& visit, const SceneSettings& scene, TableSettings& s) {
  describe_name(visit, s.name);
  describe_material(visit, scene, s.material);
  visit.visit("file", s.file,
              {.required = true,
               .help = "CSV, or a snapshot of a result (.h5); relative to the case file"});
}

void describe_kind(SettingsVisitor& visit, const SceneSettings& scene, InsertionSettings& s) {
  describe_name(visit, s.name);
  describe_material(visit, scene, s.material);
  scenarios::describe_bounded_shape(visit, s.shape);
  scenarios::describe_inflow(visit, scene, s);
  // what needs a geometry is checked where that is made
  if (s.shape.type == ShapeType::hull || s.shape.type == ShapeType::compound ||
      is_surface(s.shape.type))
    return;
  Model space;
  space.periodic = scenarios::periodic_box(scene.periodic);
  space.planar = scene.dimension == 2;
  const std::string shortfall =
      scenarios::region_shortfall(s, scenarios::shape_of(s.shape), Quat::Identity(), space);
  if (!shortfall.empty()) visit.reject("region", shortfall, scenarios::kRegionRemedy);
}

/// As the body that a link is, which need not have a shape.
void describe_kind(SettingsVisitor& visit, const SceneSettings& scene, ChainSettings& s) {
  describe_name(visit, s.name);
  visit.visit("material", s.material,
              {.help = "one of the materials; needed where there is a shape"});
  scenarios::describe_shape(visit, s.shape);
  scenarios::describe_chain(visit, scene, s);
  check_material(visit, scene, s.material, "material", s.shape.type != ShapeType::none);
  scenarios::check_shape_moves(visit, s.shape);
  if (s.shape.type == ShapeType::plane) {
    visit.reject("shape", "planes do not move", "give a shape that is bounded");
    return;
  }
  if (is_surface(s.shape.type)) return;
  BodySettings link;
  link.material = s.material;
  link.shape = s.shape;
  link.mass = s.mass;
  link.inertia = s.inertia;
  link.centre_of_mass = s.centre_of_mass;
  check_mass(visit, scene, link);
  scenarios::check_centre_of_mass(visit, link);
  check_in_plane(visit, scene, s.velocity, s.angular_velocity);
}

void describe_kind(SettingsVisitor& visit, const SceneSettings& scene, NetSettings& s) {
  describe_name(visit, s.name);
  describe_material(visit, scene, s.material);
  scenarios::describe_bounded_shape(visit, s.shape);
  scenarios::describe_net(visit, s);
}

void describe_kind(SettingsVisitor& visit, const SceneSettings& scene, TreeSettings& s) {
  describe_name(visit, s.name);
  describe_material(visit, scene, s.material);
  scenarios::describe_bounded_shape(visit, s.shape);
  scenarios::describe_tree(visit, s);
}

void describe_kind(SettingsVisitor& visit, const SceneSettings& scene, PackSettings& s) {
  describe_name(visit, s.name);
  describe_material(visit, scene, s.material);
  scenarios::describe_bounded_shape(visit, s.shape);
  scenarios::describe_pack(visit, scene, s);
  check_in_plane(visit, scene, s.velocity, Vec3::Zero());
}

void describe_kind(SettingsVisitor& visit, const SceneSettings& scene, BondSettings& s) {
  describe_name(visit, s.name);
  scenarios::describe_bonds(visit, s);
  if (scene.dimension == 2 && s.joint == JointType::fixed)
    visit.reject("joint", "fixed bonds hold bodies in three dimensions", "set dimension to 3");
}

/// Makes `kind` the alternative `k`, with its defaults unless it is that already.
template <std::size_t... kI>
void set_kind(GeneratorKind& kind, int k, std::index_sequence<kI...>) {
  if (!std::cmp_equal(kind.index(), k))
    ((std::cmp_equal(kI, k) ? void(kind.emplace<kI>()) : void()), ...);
}

/// Names of generator `i` and of its bodies, against those before it and those of `bodies`.
void check_names(SettingsVisitor& visit, const SceneSettings& scene, std::size_t i) {
  const GeneratorSettings& g = scene.generators[i];
  const std::string stem = scenarios::stem_of(g, i);
  bool taken = false;
  for (std::size_t k = 0; k < i; ++k)
    taken = taken || scenarios::stem_of(scene.generators[k], k) == stem;
  for (const BodySettings& body : scene.bodies) {
    taken = taken || body.name == stem;
    const GlobalId number = scenarios::number_in(body.name, stem);
    const GlobalId count = scenarios::count_of(g);  // unknown of tables, packs: any may be there
    if (number < 0 || (count >= 0 && number >= count)) continue;
    visit.reject("name",
                 "the body '" + body.name + "' has the name of " + (count < 0 ? "a row" : "one") +
                     " of these bodies, " + stem + "-0, " + stem + "-1, ...",
                 "give the body or the generator another name");
    return;
  }
  if (taken) visit.reject("name", "the name '" + stem + "' is taken", "choose another");
}

}  // namespace

namespace {

/// The kinds of stiffness stand in one key beside a number: by these numbers while it is read.
constexpr double kAutomatic = kNone, kRigid = -1.0, kMaterial = -2.0;
constexpr std::array<NumberWord, 3> kStiffnessWords = {
    {{"auto", kAutomatic}, {"rigid", kRigid}, {"material", kMaterial}}};

double stiffness_number(const ContactParameters& contact) {
  switch (contact.stiffness) {
    case Stiffness::automatic:
      return kAutomatic;
    case Stiffness::rigid:
      return kRigid;
    case Stiffness::material:
      return kMaterial;
    case Stiffness::linear:
      break;
  }
  return contact.pair_stiffness;
}

void set_stiffness(double number, ContactParameters& contact) {
  contact.stiffness = std::isnan(number)    ? Stiffness::automatic
                      : number == kRigid    ? Stiffness::rigid
                      : number == kMaterial ? Stiffness::material
                                            : Stiffness::linear;
  if (contact.stiffness == Stiffness::linear) contact.pair_stiffness = number;
}

/// Hertz's law needs the moduli of every material.
void check_moduli(SettingsVisitor& visit, const SceneSettings& s) {
  if (s.contact.stiffness != Stiffness::material) return;
  for (const MaterialSettings& m : s.materials) {
    if (!std::isnan(m.youngs_modulus) && !std::isnan(m.poisson_ratio)) continue;
    visit.reject("stiffness",
                 "the material '" + m.name + "' has no " +
                     (std::isnan(m.youngs_modulus) ? "youngs_modulus" : "poisson_ratio"),
                 "give it, or stiffness: auto or a number in N/m");
  }
}

/// Reports keys that have no effect.
void hint_at_unused(SettingsVisitor& visit, const ContactParameters& c) {
  const bool rigid = c.stiffness == Stiffness::rigid;
  const std::string unused =
      rigid ? "has no effect on rigid contacts" : "is of contact.stiffness: auto; it has no effect";
  const ContactParameters none;
  if (c.stiffness != Stiffness::automatic && c.stiffness_ratio != none.stiffness_ratio)
    visit.hint("stiffness_ratio", unused);
  if (c.stiffness != Stiffness::automatic && c.hardening != none.hardening)
    visit.hint("hardening", unused);
  if (rigid && !std::isnan(c.damping_time)) visit.hint("damping_time", unused);
  if (rigid && !std::isnan(c.tangential_ratio)) visit.hint("tangential_ratio", unused);
}

/// A pair that gives opens by its tension over its stiffness: beyond the range nothing holds it.
void hint_at_range(SettingsVisitor& visit, const SceneSettings& s) {
  const ContactParameters& c = s.contact;
  if (c.stiffness != Stiffness::linear) return;
  double most = 0.0;  // NaN, of pairs that say nothing, changes nothing
  for (const MaterialSettings& m : s.materials) most = std::max(most, m.cohesion);
  for (const PairSettings& pair : s.pairs) most = std::max(most, pair.cohesion);
  const double held = c.pair_stiffness * c.cohesion_range;
  if (held < most)
    visit.hint("cohesion_range", "pairs part at " + short_text(held) +
                                     " N, before their cohesion of " + short_text(most) +
                                     " N is reached: they are " +
                                     short_text(most / c.pair_stiffness) + " m apart there");
}

void describe_stiffness(SettingsVisitor& visit, SceneSettings& s) {
  ContactParameters& c = s.contact;
  double number = stiffness_number(c);
  visit.visit("stiffness", number,
              {.unit = "N/m",
               .min = 0,
               .min_open = true,
               .words = kStiffnessWords,
               .help = "stiffness of contacts: `auto` by stiffness_ratio, `rigid` infinite, "
                       "`material` by Hertz's and Mindlin's laws, or a number for all points of a "
                       "pair together (docs/theory.md, Compliant contacts)"});
  set_stiffness(number, c);
  visit.visit("stiffness_ratio", c.stiffness_ratio,
              {.min = 1e-3,
               .max = 1e9,
               .help = "of stiffness `auto`: stiffer contacts overlap less and take as many times "
                       "more sweeps"});
  visit.visit("hardening", c.hardening,
              {.min = 0,
               .min_open = true,
               .finite = false,
               .help = "of stiffness `auto`: above this overlap, a share of the smaller radius, "
                       "the force grows as overlap^(3/2); .inf: never"});
  visit.visit("damping_time", c.damping_time,
              {.unit = "s",
               .min = 0,
               .min_open = true,
               .word = "auto",
               .word_value = kNone,
               .help = "of compliant contacts; `auto`: 3/4 of the step, or what restitution asks "
                       "for"});
  visit.visit(
      "tangential_ratio", c.tangential_ratio,
      {.min = 0,
       .min_open = true,
       .word = "auto",
       .word_value = kNone,
       .help = "tangential over normal stiffness; `auto`: under stiffness auto that of mobilities "
               "(2/7 of spheres), with moduli Mindlin's, else 1"});
  check_moduli(visit, s);
  hint_at_unused(visit, c);
}

}  // namespace

void describe_contact(SettingsVisitor& visit, SceneSettings& s) {
  visit.section("contact", {.help = "how bodies touch"}, [&] {
    visit.choose("law", s.contact.law, kContactLawNames,
                 {.help = "`lagged`: convex, friction from the last step's sliding; `ccp`: convex "
                          "complementarity; `box`: friction bounds per direction"});
    visit.visit("lagged_passes", s.contact.lagged_passes,
                {.min = 1,
                 .max = 1000,
                 .help = "law `lagged`: solves per step at most, each with the sliding of the one "
                         "before, until Coulomb's law itself is met to the tolerance"});
    if (s.contact.lagged_passes > 1 && s.contact.law != ContactLaw::lagged)
      visit.reject("lagged_passes", "is of law lagged", "leave it out, or set law to lagged");
    s.contact_place = visit.where("");
    describe_stiffness(visit, s);
    scenarios::describe_pairs(visit, s);
    visit.visit("margin", s.contact.margin,
                {.unit = "m",
                 .min = 0,
                 .min_open = true,
                 .word = "auto",
                 .help = "contacts are made below this gap; `auto`: per pair, from its sizes, "
                         "speeds and the step"});
    visit.visit("recovery_speed", s.contact.recovery_speed,
                {.unit = "m/s",
                 .min = 0,
                 .finite = false,
                 .help = "overlaps of rigid contacts, and of the start, are undone no faster"});
    visit.visit(
        "rest_speed", s.contact.rest_speed,
        {.unit = "m/s", .min = 0, .finite = false, .help = "slower impacts have no restitution"});
    visit.visit(
        "cohesion_range", s.contact.cohesion_range,
        {.unit = "m",
         .min = 0,
         .help = "cohesion acts where the gap is at most this; compliant pairs separate there, "
                 "so it should be above the cohesion over their stiffness"});
    hint_at_range(visit, s);
    if (s.contact.cohesion_range > s.contact.margin) {
      visit.reject("cohesion_range", "larger than margin: there are no contacts that far",
                   "raise margin");
    }
    visit.list(
        "no_collisions", s.no_collisions.size(), {.help = "groups of bodies that make no contacts"},
        [&](std::size_t n) { s.no_collisions.assign(n, {}); },
        [&](std::size_t i) {
          std::vector<std::string>& between = s.no_collisions[i].between;
          visit.visit("between", between,
                      {.required = true, .help = "two groups; the same twice: within it"});
          if (between.size() != 2) {
            visit.reject("between", "needs two groups, found " + std::to_string(between.size()),
                         "");
          }
        });
  });
}

void describe_bodies(SettingsVisitor& visit, SceneSettings& s) {
  std::vector<std::string> names;  // sorted, so that thousands of bodies are checked quickly
  visit.list(
      "bodies", s.bodies.size(), {.help = "one by one"},
      [&](std::size_t n) { s.bodies.assign(n, {}); },
      [&](std::size_t i) {
        describe_body(visit, s, s.bodies[i]);
        const std::string& name = s.bodies[i].name;
        const auto at = std::lower_bound(names.begin(), names.end(), name);
        if (!name.empty() && at != names.end() && *at == name) {
          visit.reject("name", "the name '" + name + "' is taken", "choose another");
        }
        names.insert(at, name);
      });
}

void describe_one(SettingsVisitor& visit, const SceneSettings& scene, BodySettings& s) {
  describe_body(visit, scene, s);
}

void describe_generators(SettingsVisitor& visit, SceneSettings& s) {
  visit.list(
      "generators", s.generators.size(), {.help = "many bodies at once; each rank makes its share"},
      [&](std::size_t n) { s.generators.assign(n, {}); },
      [&](std::size_t i) {
        GeneratorSettings& g = s.generators[i];
        int kind = narrow<int>(g.kind.index());
        visit.one_of("", kind, kGenerators, {}, [&](int k) {
          set_kind(g.kind, k, std::make_index_sequence<std::variant_size_v<GeneratorKind>>());
          std::visit([&](auto& of_kind) { describe_kind(visit, s, of_kind); }, g.kind);
          if (!g.is<BondSettings>()) scenarios::describe_collision(visit, g.collide, g.group);
          scenarios::describe_fixture(visit, g);
          g.place = visit.where("");
          check_names(visit, s, i);
        });
      });
  scenarios::check_groups(visit, s);
}

}  // namespace catena
