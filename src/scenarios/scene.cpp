#include "catena/scenarios/scene.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "catena/base/error.hpp"
#include "catena/base/random.hpp"
#include "catena/base/text.hpp"
#include "scenarios/flow_parts.hpp"
#include "scenarios/make/body_maker.hpp"
#include "scenarios/make/geometry_plan.hpp"
#include "scenarios/make/joint_maker.hpp"
#include "scenarios/scene_parts.hpp"

namespace catena {

Quat OrientationSettings::value() const {
  if (!std::isnan(quaternion[0])) {
    return Quat(quaternion[0], quaternion[1], quaternion[2], quaternion[3]).normalized();
  }
  return Quat(Eigen::AngleAxisd(angle, axis.normalized()));
}

const std::string& GeneratorSettings::name() const {
  return std::visit([](const auto& s) -> const std::string& { return s.name; }, kind);
}

const std::string& GeneratorSettings::material() const {
  static const std::string none;
  return std::visit(
      [](const auto& s) -> const std::string& {
        if constexpr (requires { s.material; })
          return s.material;
        else
          return none;
      },
      kind);
}

const ShapeSettings* GeneratorSettings::shape() const {
  return std::visit(
      [](const auto& s) -> const ShapeSettings* {
        if constexpr (requires { s.shape; }) return &s.shape;
        return nullptr;
      },
      kind);
}

namespace scenarios {

BodyKind kind_of(const BodySettings& s) {
  if (s.motion.present) return BodyKind::kinematic;
  return s.fixed || s.shape.type == ShapeType::plane ? BodyKind::fixed : BodyKind::dynamic;
}

Shape shape_of(const ShapeSettings& s) {
  switch (s.type) {
    case ShapeType::sphere:
      return {s.type, Vec3::Constant(s.radius)};
    case ShapeType::box:
      return {s.type, 0.5 * s.size};
    case ShapeType::capsule:
    case ShapeType::cylinder:
      return {s.type, Vec3(s.radius, 0.5 * s.length, 0.0)};
    case ShapeType::hollow_cylinder: {
      Shape shape{s.type, Vec3(s.inner_radius, 0.5 * s.length, s.thickness)};
      shape.closed_ends = s.ends;
      return shape;
    }
    default:
      return {s.type, Vec3::Zero()};
  }
}

Quat orientation_of(const BodySettings& s) {
  const Quat written = s.orientation.value();
  if (s.shape.type != ShapeType::plane || s.shape.normal == Vec3::UnitZ()) return written;
  const Vec3 normal = s.shape.normal.stableNormalized();
  return (written * Quat::FromTwoVectors(Vec3::UnitZ(), normal)).normalized();
}

MaterialTable material_table(const SceneSettings& scene) {
  std::vector<Material> materials;
  for (const MaterialSettings& m : scene.materials) {
    materials.push_back({m.name, m.density, m.friction, m.restitution, m.rolling_friction,
                         m.spinning_friction, m.rolling_coefficient, m.spinning_coefficient,
                         m.cohesion, m.youngs_modulus, m.poisson_ratio});
  }
  return MaterialTable(std::move(materials), scene.combine);
}

std::vector<std::string> group_names(const SceneSettings& scene) {
  std::vector<std::string> names = {""};
  const auto add = [&](const std::string& group) {
    if (std::find(names.begin(), names.end(), group) == names.end()) names.push_back(group);
  };
  for (const BodySettings& s : scene.bodies) add(s.group);
  for (const GeneratorSettings& g : scene.generators) add(g.group);
  return names;
}

// Shoemake's method: a point of the unit sphere in four dimensions from three uniform numbers.
Quat random_rotation(std::uint64_t seed, std::uint64_t number, std::uint64_t stream) {
  const double u = uniform01(seed, number, stream);
  const double a = 2.0 * std::numbers::pi * uniform01(seed, number, stream + 1);
  const double b = 2.0 * std::numbers::pi * uniform01(seed, number, stream + 2);
  const double r = std::sqrt(1.0 - u), s = std::sqrt(u);
  return Quat(s * std::cos(b), r * std::sin(a), r * std::cos(a), s * std::sin(b)).normalized();
}

Quat body_rotation(const Shape& shape, const Quat& written, std::span<const Geometry> geometries) {
  if (shape.geometry < 0) return written;
  const Geometry& geometry = geometries[shape.geometry];
  return (written * geometry.written.q.conjugate()).normalized();
}

BodyRecord make_body(GlobalId id, const Shape& shape, int material, double density,
                     const Vec3& position, std::span<const Geometry> geometries) {
  BodyRecord body;
  body.constants.id = id;
  body.constants.shape = shape;
  body.constants.material = material;
  body.constants.mass = density * volume_of(shape, geometries);
  body.constants.inertia = body.constants.mass * inertia_per_mass(shape, geometries);
  body.state.pose = {position, body_rotation(shape, Quat::Identity(), geometries)};
  return body;
}

}  // namespace scenarios

namespace {

using scenarios::Block;
using scenarios::blocks_of;
using scenarios::BodyMaker;
using scenarios::group_of;
using scenarios::JointMaker;
using scenarios::walls_of;

/// Turns z into `normal`, a coordinate direction.
Quat turn_z_to(const Vec3& normal) {
  const Vec3 axis = Vec3::UnitZ().cross(normal);
  if (axis.isZero()) return normal[2] > 0.0 ? Quat::Identity() : Quat(0.0, 1.0, 0.0, 0.0);
  return Quat(Eigen::AngleAxisd(std::numbers::pi / 2.0, axis));
}

void add_walls(const ContainerSettings& s, GlobalId first, Model& model) {
  for (const auto& [point, normal] : walls_of(s)) {
    BodyRecord wall;
    wall.constants.id = first++;
    wall.constants.kind = BodyKind::fixed;
    wall.constants.shape.type = ShapeType::plane;
    wall.constants.material = model.materials.find(s.material);
    wall.state.pose = {point, turn_z_to(normal)};
    model.unbounded.push_back(wall);
  }
}

/// The walls turn about one point: where none is given, the container's lower corner.
void turn_as_one(const ContainerSettings& s, Motion& motion) {
  const bool turns = !motion.angular_velocity.isZero(0.0) || !motion.table.rotation.empty() ||
                     std::ranges::any_of(motion.harmonics, [](const Harmonic& part) {
                       return !part.angle_amplitude.isZero(0.0);
                     });
  if (!motion.about_origin || !turns) return;
  motion.about_origin = false;
  motion.about = s.origin;
}

/// A pair's length or coefficient of rolling or spinning, whichever is given, takes the place of
/// what the materials say.
void set_one_of(double given_length, double& length, double given_coefficient,
                double& coefficient) {
  if (std::isnan(given_length) && std::isnan(given_coefficient)) return;
  length = std::isnan(given_length) ? 0.0 : given_length;
  coefficient = std::isnan(given_coefficient) ? 0.0 : given_coefficient;
}

void set_materials(const SceneSettings& scene, Model& model) {
  model.materials = scenarios::material_table(scene);
  for (const PairSettings& p : scene.pairs) {
    const int a = model.materials.find(p.between[0]);
    const int b = model.materials.find(p.between[1]);
    PairMaterial pair = model.materials.pair(a, b);
    if (!std::isnan(p.friction)) pair.friction = p.friction;
    if (!std::isnan(p.restitution)) pair.restitution = p.restitution;
    set_one_of(p.rolling_friction, pair.rolling_friction, p.rolling_coefficient,
               pair.rolling_coefficient);
    set_one_of(p.spinning_friction, pair.spinning_friction, p.spinning_coefficient,
               pair.spinning_coefficient);
    if (!std::isnan(p.cohesion)) pair.cohesion = p.cohesion;
    model.materials.set_pair(a, b, pair);
  }
}

/// Refuses a tensile stress of a cell where no contact can pull.
void check_tension(const Model& model) {
  const int n = narrow<int>(model.materials.materials().size());
  for (int a = 0; a < n; ++a)
    for (int b = 0; b <= a; ++b)
      if (model.materials.pair(a, b).cohesion > 0.0) return;
  for (const CellDrive& drive : model.cell) {
    if (drive.kind != CellDrive::Kind::stress) continue;
    const std::vector<double>& factors = drive.table.value;
    double least = factors.empty() ? drive.target : factors[0] * drive.target;
    for (const double factor : factors) least = std::min(least, factor * drive.target);
    if (!(least < 0.0)) continue;
    throw Error("a tensile stress of " + short_text(least) +
                    " Pa, which nothing carries: no material has cohesion",
                drive.place + ".stress",
                "give compression, which is positive, or a cohesion to a material or pair");
  }
}

void add_table_geometries(const SceneSettings& scene, const Communicator& comm, Model& model) {
  all_or_none(comm, [&] {
    for (const GeneratorSettings& g : scene.generators) {
      const auto* table = std::get_if<TableSettings>(&g.kind);
      if (table == nullptr) continue;
      const auto first = narrow<std::int32_t>(model.geometries.size());
      for (Geometry& geometry : scenarios::table_geometries(table->file, first))
        model.geometries.push_back(std::move(geometry));
    }
  });
}

/// Marks the pairs of groups that make no contacts; without any the table stays empty.
void set_groups(const SceneSettings& scene, const std::vector<std::string>& groups, Model& model) {
  model.n_groups = narrow<int>(groups.size());
  if (scene.no_collisions.empty()) return;
  model.group_pairs.assign(groups.size() * groups.size(), 1);
  for (const NoCollisionSettings& pair : scene.no_collisions) {
    const std::size_t a = group_of(groups, pair.between[0]);
    const std::size_t b = group_of(groups, pair.between[1]);
    model.group_pairs[a * groups.size() + b] = 0;
    model.group_pairs[b * groups.size() + a] = 0;
  }
}

/// Ids of bodies that listed joints and springs act on, ascending.
std::vector<GlobalId> jointed_bodies(const JointMaker& joints) {
  std::vector<GlobalId> ids;
  for (GlobalId joint = 0; joint < joints.n_listed(); ++joint) {
    for (const GlobalId id : joints.bodies_of(joint)) {
      if (id != kNoBody) ids.push_back(id);
    }
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

void set_surface_velocities(const SceneSettings& scene, const BodyMaker& maker, Model& model) {
  for (std::size_t i = 0; i < scene.bodies.size(); ++i) {
    const BodySettings& s = scene.bodies[i];
    if (s.surface_velocity.isZero(0.0)) continue;
    const Quat turn = maker.listed(i).state.pose.q.conjugate() * s.orientation.value();
    model.surface_velocities.push_back({static_cast<GlobalId>(i), turn * s.surface_velocity});
  }
}

void name_joints(const SceneSettings& scene, const JointMaker& joints, Model& model) {
  GlobalId id = 0;
  const auto add = [&](const std::string& name, const std::string& place, GlobalId n = 1) {
    model.joint_names.add(id, n, name, n > 1);
    model.joint_places.add(id, n, place, false);
    id += n;
  };
  for (const JointSettings& s : scene.joints) add(s.name, s.place, scenarios::n_joints(s));
  for (const ForceSettings& s : scene.forces) {
    const bool is_joint = s.type != ForceType::force && s.type != ForceType::torque;
    if (is_joint) add(s.name, s.place);
  }
  const std::vector<GlobalId> first = joints.first_of_generators();
  for (std::size_t i = 0; i < scene.generators.size(); ++i) {
    const GeneratorSettings& g = scene.generators[i];
    const GlobalId count = first[i + 1] - first[i];
    model.joint_names.add(first[i], count, scenarios::stem_of(g, i), true);
    model.joint_places.add(first[i], count, g.place, false);
  }
}

/// Collective. Planes among the bodies, joints' names, tables and forces; checks listed joints.
void add_joints(const SceneSettings& scene, const Communicator& comm,
                const std::vector<Block>& blocks, Model& model) {
  model.tables = scenarios::factor_tables(scene, comm);
  model.bushings = scenarios::bushings_of(scene);
  model.break_limits = scenarios::break_limits_of(scene);
  model.curves = scenarios::curves_of(scene, model.periodic, comm);
  all_or_none(comm, [&] {
    const BodyMaker maker(scene, blocks, model);
    std::vector<BodyRecord> planes;
    for (std::size_t i = 0; i < scene.bodies.size(); ++i) {
      if (scene.bodies[i].shape.type == ShapeType::plane) planes.push_back(maker.listed(i));
    }
    // bodies have the lower ids: their planes come before those of containers
    model.unbounded.insert(model.unbounded.begin(), planes.begin(), planes.end());
    set_surface_velocities(scene, maker, model);
    const JointMaker joints(scene, maker, model);
    model.tendons = joints.tendons();
    const std::vector<GlobalId> jointed = jointed_bodies(joints);
    for (BodyRecord& body : model.unbounded) {
      body.constants.jointed =
          std::binary_search(jointed.begin(), jointed.end(), body.constants.id);
    }
    name_joints(scene, joints, model);
    model.forces = joints.applied_forces();
    if (scene.initial.present) return;  // they need not meet where the case puts the bodies
    const GlobalId n = joints.n_listed();
    std::vector<GlobalId> share;
    for (GlobalId k = n * comm.rank() / comm.size(); k < n * (comm.rank() + 1) / comm.size(); ++k)
      share.push_back(k);
    joints.check(share, joints.poses_of(share));
  });
}

}  // namespace

namespace scenarios {

std::uint64_t seed_of(const SceneSettings& scene, std::size_t generator, std::int64_t own) {
  if (own >= 0) return static_cast<std::uint64_t>(own);
  return mix64(static_cast<std::uint64_t>(scene.seed) ^ mix64(generator + 1));
}

std::vector<GlobalId> first_ids(const SceneSettings& scene, const Communicator& comm,
                                const Model& model) {
  std::vector<GlobalId> first;
  for (const Block& block : blocks_of(scene, comm, model)) first.push_back(block.first);
  return first;
}

}  // namespace scenarios

GlobalId bodies_at_start(const SceneSettings& scene, const Model& model) {
  GlobalId bodies = total_bodies(model);
  for (const GeneratorSettings& g : scene.generators)
    if (g.is<InsertionSettings>()) bodies -= scenarios::count_of(g);
  return bodies;
}

Model make_model(const SceneSettings& scene, const Communicator& comm, bool deterministic) {
  Model model;
  model.deterministic = deterministic;
  model.warnings = scene.hints;
  model.gravity = scene.gravity;
  model.gravity_table = scenarios::gravity_table(scene, comm);
  model.gravity = model.gravity_at(0.0);
  model.planar = scene.dimension == 2;
  model.periodic = scenarios::periodic_box(scene.periodic);
  model.cell = scenarios::cell_drives(scene, comm);
  model.contact = scene.contact;
  set_materials(scene, model);
  check_tension(model);
  const std::vector<std::string> groups = scenarios::group_names(scene);
  set_groups(scene, groups, model);
  const scenarios::GeometryPlan plan(scene);
  plan.build(comm, model);
  all_or_none(comm, [&] {
    scenarios::check_lattices(scene, plan, model);
    scenarios::check_packs(scene, plan, model);
  });
  add_table_geometries(scene, comm, model);
  for (std::size_t i = 0; i < scene.bodies.size(); ++i) {
    const BodySettings& s = scene.bodies[i];
    const auto id = static_cast<GlobalId>(i);
    if (s.motion.present) model.motions.push_back(scenarios::motion_of(s.motion, s.place, comm));
    model.names.add(id, 1, s.name, false);
    model.places.add(id, 1, s.place, false);
  }
  const std::vector<Block> blocks = blocks_of(scene, comm, model);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const GeneratorSettings& g = scene.generators[i];
    model.names.add(blocks[i].first, blocks[i].count, scenarios::stem_of(g, i), true);
    model.places.add(blocks[i].first, blocks[i].count, g.place, false);
    if (g.motion.present) model.motions.push_back(scenarios::motion_of(g.motion, g.place, comm));
    const auto* container = std::get_if<ContainerSettings>(&g.kind);
    if (container == nullptr) continue;
    const std::size_t before = model.unbounded.size();
    add_walls(*container, blocks[i].first, model);
    if (g.motion.present) turn_as_one(*container, model.motions.back());
    for (std::size_t k = before; k < model.unbounded.size(); ++k) {
      BodyConstants& wall = model.unbounded[k].constants;
      wall.collides = g.collide;
      wall.group = group_of(groups, g.group);
      if (!g.motion.present) continue;
      wall.kind = BodyKind::kinematic;
      wall.motion = narrow<int>(model.motions.size() - 1);
    }
  }
  add_joints(scene, comm, blocks, model);
  return model;
}

void generate_bodies(const SceneSettings& scene, const Communicator& comm, const Model& model,
                     Bodies& bodies, State& state) {
  const std::vector<Block> blocks = blocks_of(scene, comm, model);
  const GlobalId n = total_bodies(model);
  const GlobalId first = n * comm.rank() / comm.size(), last = n * (comm.rank() + 1) / comm.size();
  std::optional<BodyMaker> maker;
  all_or_none(comm, [&] { maker.emplace(scene, blocks, model); });
  maker->place_packs(comm, first, last);
  all_or_none(comm, [&] {
    const JointMaker joints(scene, *maker, model);
    const std::vector<GlobalId> jointed = jointed_bodies(joints);
    state.plane_motions = plane_motions(model);
    maker->make(first, last, [&](MadeBody body) {
      if (std::ranges::binary_search(jointed, body.constants.id)) body.constants.jointed = true;
      bodies.constants.push_back(body.constants);
      state.body.push_back(body.state);
      if (body.constants.kind == BodyKind::kinematic)
        state.motions.push_back({body.constants.id, body.motion});
      state.subdomain.push_back(comm.rank());
    });
    std::vector<GlobalId> own;
    for (GlobalId joint = 0; joint < joints.n_listed(); ++joint) {
      const GlobalId home = joints.home_of(joint);
      if (home >= first && home < last) own.push_back(joint);
    }
    for (const JointMaker::Made& joint : joints.make(own, joints.poses_of(own))) {
      bodies.joints.push_back(joint.constants);
      state.joints.push_back(joint.state);
    }
    for (const JointConstants& joint :
         maker->joints_of_generators(joints.first_of_generators(), first, last))
      bodies.joints.push_back(joint);
    state.joints.resize(bodies.joints.size());
  });
}

}  // namespace catena
