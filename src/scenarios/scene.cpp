#include "catena/scenarios/scene.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "catena/base/error.hpp"
#include "catena/base/random.hpp"
#include "flow_parts.hpp"
#include "geometry_plan.hpp"
#include "scene_parts.hpp"

namespace catena {

Quat OrientationSettings::value() const {
  if (!std::isnan(quaternion[0])) {
    return Quat(quaternion[0], quaternion[1], quaternion[2], quaternion[3]).normalized();
  }
  return Quat(Eigen::AngleAxisd(angle, axis.normalized()));
}

const std::string& GeneratorSettings::name() const {
  switch (type) {
    case GeneratorType::container:
      return container.name;
    case GeneratorType::lattice:
      return lattice.name;
    case GeneratorType::wall:
      return wall.name;
    case GeneratorType::insertion:
      return insertion.name;
    case GeneratorType::table:
      break;
  }
  return table.name;
}

namespace scene_parts {

BodyKind kind_of(const BodySettings& s) {
  if (s.kinematic) return BodyKind::kinematic;
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

MaterialTable material_table(const SceneSettings& scene) {
  std::vector<Material> materials;
  for (const MaterialSettings& m : scene.materials) {
    materials.push_back({m.name, m.density, m.friction, m.restitution, m.rolling_friction,
                         m.spinning_friction, m.cohesion});
  }
  return MaterialTable(std::move(materials));
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
  const Geometry& geometry = geometries[static_cast<std::size_t>(shape.geometry)];
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

}  // namespace scene_parts

namespace {

using scene_parts::make_body;

/// Ids of the bodies of one generator.
struct Block {
  GlobalId first = 0;
  GlobalId count = 0;
};

/// The planes of a container: a point and the inward normal.
std::vector<std::pair<Vec3, Vec3>> walls_of(const ContainerSettings& s) {
  std::vector<std::pair<Vec3, Vec3>> walls = {
      {s.origin, Vec3::UnitZ()}, {s.origin, Vec3::UnitX()}, {s.origin, Vec3::UnitY()}};
  for (int i = 0; i < 3; ++i) {
    if (!std::isfinite(s.size[i])) continue;
    Vec3 far = s.origin;
    far[i] += s.size[i];
    walls.emplace_back(far, -Vec3::Unit(i));
  }
  return walls;
}

/// Turns z into `normal`, a coordinate direction.
Quat turn_z_to(const Vec3& normal) {
  const Vec3 axis = Vec3::UnitZ().cross(normal);
  if (axis.isZero()) return normal[2] > 0.0 ? Quat::Identity() : Quat(0.0, 1.0, 0.0, 0.0);
  return Quat(Eigen::AngleAxisd(std::numbers::pi / 2.0, axis));
}

GlobalId rows_of_table(const Communicator& comm, const TableSettings& table) {
  GlobalId rows = 0;
  all_or_none(comm, [&] {
    if (comm.rank() != 0) return;
    rows = scene_parts::count_rows(table.file);
  });
  return comm.sum(rows);
}

/// Collective. Ids of each generator; those of the bodies stand before.
std::vector<Block> blocks_of(const SceneSettings& scene, const Communicator& comm) {
  std::vector<Block> blocks;
  auto first = static_cast<GlobalId>(scene.bodies.size());
  for (const GeneratorSettings& g : scene.generators) {
    Block block{first, 0};
    switch (g.type) {
      case GeneratorType::container:
        block.count = static_cast<GlobalId>(walls_of(g.container).size());
        break;
      case GeneratorType::lattice:
        block.count = GlobalId{1} * g.lattice.count[0] * g.lattice.count[1] * g.lattice.count[2];
        break;
      case GeneratorType::wall:  // every second course has a brick more: two halves for one
        block.count = GlobalId{1} * g.wall.height * g.wall.along + g.wall.height / 2;
        break;
      case GeneratorType::table:
        block.count = rows_of_table(comm, g.table);
        break;
      case GeneratorType::insertion:
        block.count = g.insertion.count;
        break;
    }
    blocks.push_back(block);
    first += block.count;
  }
  return blocks;
}

/// Number of a group in Model::group_pairs.
std::uint8_t group_of(const std::vector<std::string>& groups, const std::string& name) {
  return static_cast<std::uint8_t>(std::find(groups.begin(), groups.end(), name) - groups.begin());
}

BodyRecord body_of(GlobalId id, const BodySettings& s, const Shape& shape, int motion,
                   const std::vector<std::string>& groups, const Model& model) {
  const MaterialTable& materials = model.materials;
  const int material = std::max(0, materials.find(s.material));
  const BodyKind kind = scene_parts::kind_of(s);
  BodyRecord body;
  body.constants.id = id;
  body.constants.kind = kind;
  body.constants.collides = s.collide;
  body.constants.group = group_of(groups, s.group);
  body.constants.shape = shape;
  body.constants.material = material;
  body.state.pose = {s.position,
                     scene_parts::body_rotation(shape, s.orientation.value(), model.geometries)};
  if (kind == BodyKind::kinematic) {
    body.constants.motion = motion;
  } else if (kind == BodyKind::dynamic) {
    if (s.position_of == PositionOf::shape_origin && shape.geometry >= 0) {
      const Geometry& geometry = model.geometries[static_cast<std::size_t>(shape.geometry)];
      body.state.pose.p -= body.state.pose.q * geometry.written.p;
    }
    double& mass = body.constants.mass;
    mass = s.mass;
    if (std::isnan(mass)) {
      mass = volume_of(shape, model.geometries) *
             materials.materials()[static_cast<std::size_t>(material)].density;
    }
    body.constants.inertia = std::isnan(s.inertia[0])
                                 ? Vec3(mass * inertia_per_mass(shape, model.geometries))
                                 : s.inertia;
    body.state.twist = {s.velocity, s.angular_velocity};
  }
  return body;
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

/// Body k of a lattice; its jitters depend on the seed and k alone.
BodyRecord lattice_body(const LatticeSettings& s, const Shape& whole, std::uint64_t seed,
                        GlobalId first, GlobalId k, int material, const Model& model) {
  const GlobalId nx = s.count[0];
  const GlobalId ny = s.count[1];
  const GlobalId layer = k / nx / ny;
  const Vec3 cell(static_cast<double>(k % nx), static_cast<double>(k / nx % ny),
                  static_cast<double>(layer));
  const auto number = static_cast<std::uint64_t>(k);
  const Shape shape = scaled(whole, 1.0 + s.radius_jitter * uniform_pm1(seed, number, 0));
  Vec3 position = s.origin + s.spacing.cwiseProduct(cell);
  for (int i = 0; i < 3; ++i) {
    position[i] += s.position_jitter * uniform_pm1(seed, number, static_cast<std::uint64_t>(i) + 1);
  }
  const double density = model.materials.materials()[static_cast<std::size_t>(material)].density;
  BodyRecord body = make_body(first + k, shape, material, density, position, model.geometries);
  const Quat written =
      s.random_orientation ? scene_parts::random_rotation(seed, number, 4) : s.orientation.value();
  body.state.pose.q = scene_parts::body_rotation(shape, written, model.geometries);
  body.state.twist.v = s.velocity;
  return body;
}

/// Brick k of a wall, course by course from below. Courses come in pairs: `along` whole
/// bricks, then a half, along - 1 whole ones and a half.
BodyRecord wall_brick(const WallSettings& s, GlobalId first, GlobalId k, int material,
                      double density) {
  const GlobalId pair = k / (2 * s.along + 1);
  GlobalId place = k % (2 * s.along + 1);
  const bool shifted = place >= s.along;
  if (shifted) place -= s.along;
  const auto course = static_cast<double>(2 * pair + (shifted ? 1 : 0));
  const double half = 0.5 * (s.brick[0] - s.gap);
  const bool is_half = shifted && (place == 0 || place == s.along);
  const double pitch = s.brick[0] + s.gap;
  double start = static_cast<double>(place) * pitch;
  if (shifted && place > 0) start -= pitch - half - s.gap;

  const double length = is_half ? half : s.brick[0];
  const Vec3 along = s.direction.normalized();
  const Vec3 left = Vec3::UnitZ().cross(along);
  const Vec3 centre = s.origin + (start + 0.5 * length) * along + 0.5 * s.brick[1] * left +
                      (course + 0.5) * s.brick[2] * Vec3::UnitZ();
  const Shape shape{ShapeType::box, 0.5 * Vec3(length, s.brick[1], s.brick[2])};
  BodyRecord body = make_body(first + k, shape, material, density, centre);
  body.state.pose.q =
      Quat(Eigen::AngleAxisd(std::atan2(s.direction[1], s.direction[0]), Vec3::UnitZ()));
  return body;
}

/// This rank's part of all ids, filling its bodies.
class Share {
 public:
  Share(const Communicator& comm, const Model& model, Bodies& bodies, State& state)
      : model_(model), bodies_(bodies), state_(state), rank_(comm.rank()) {
    const GlobalId n = total_bodies(model);
    begin_ = n * comm.rank() / comm.size();
    end_ = n * (comm.rank() + 1) / comm.size();
  }

  /// Calls make(k) for the bodies of `block` that fall to this rank, counted from the block's
  /// first.
  template <class Make>
  void take(const Block& block, const Make& make) {
    const GlobalId from = first_of(block);
    const GlobalId to = last_of(block);
    for (GlobalId k = from; k < to; ++k) add(make(k));
  }
  GlobalId first_of(const Block& block) const {
    return std::max(begin_ - block.first, GlobalId{0});
  }
  GlobalId last_of(const Block& block) const { return std::min(end_ - block.first, block.count); }

  /// Of the bodies to come.
  void set_collision(bool collides, std::uint8_t group) {
    collides_ = collides;
    group_ = group;
  }

  void add(BodyRecord body) {
    body.constants.collides = collides_;
    body.constants.group = group_;
    bodies_.constants.push_back(body.constants);
    const bool moved = body.constants.kind == BodyKind::kinematic;
    BodyMotionState now =
        moved ? prescribed_state(model_, body.constants, body.state.pose, 0.0) : body.state;
    now.pose.p = model_.periodic.wrapped(now.pose.p);
    state_.body.push_back(now);
    state_.subdomain.push_back(rank_);
  }

 private:
  const Model& model_;
  Bodies& bodies_;
  State& state_;
  std::int32_t rank_;
  GlobalId begin_, end_;
  bool collides_ = true;
  std::uint8_t group_ = 0;
};

/// `first_geometry` of the model is the first of the table's.
void generate(const SceneSettings& scene, std::size_t generator, const Block& block,
              const Shape& shape, std::int32_t first_geometry, const Model& model, Share& share) {
  const GeneratorSettings& g = scene.generators[generator];
  const auto material_of = [&](const std::string& name) { return model.materials.find(name); };
  const auto density_of = [&](int material) {
    return model.materials.materials()[static_cast<std::size_t>(material)].density;
  };
  if (g.type == GeneratorType::lattice) {
    const int material = material_of(g.lattice.material);
    const std::uint64_t seed = flow_parts::seed_of(scene, generator);
    share.take(block, [&](GlobalId k) {
      return lattice_body(g.lattice, shape, seed, block.first, k, material, model);
    });
  } else if (g.type == GeneratorType::wall) {
    const int material = material_of(g.wall.material);
    share.take(block, [&](GlobalId k) {
      return wall_brick(g.wall, block.first, k, material, density_of(material));
    });
  } else if (g.type == GeneratorType::table) {
    const int material = material_of(g.table.material);
    const GlobalId last = share.last_of(block);
    if (share.first_of(block) >= last) return;
    scene_parts::read_table(
        g.table.file, share.first_of(block), last,
        [&](GlobalId k, const scene_parts::TableRow& row) {
          Shape own = row.shape;
          if (own.geometry >= 0) {
            own.geometry += first_geometry;
            own.geometry_radius =
                model.geometries.at(static_cast<std::size_t>(own.geometry)).radius;
          }
          BodyRecord body = make_body(block.first + k, own, material, density_of(material),
                                      row.pose.p, model.geometries);
          body.state = {row.pose, row.twist};
          body.state.pose.q = scene_parts::body_rotation(own, row.pose.q, model.geometries);
          share.add(body);
        });
  }
}

void set_materials(const SceneSettings& scene, Model& model) {
  model.materials = scene_parts::material_table(scene);
  for (const PairSettings& p : scene.pairs) {
    const int a = model.materials.find(p.between[0]);
    const int b = model.materials.find(p.between[1]);
    PairMaterial pair = model.materials.pair(a, b);
    if (!std::isnan(p.friction)) pair.friction = p.friction;
    if (!std::isnan(p.restitution)) pair.restitution = p.restitution;
    if (!std::isnan(p.rolling_friction)) pair.rolling_friction = p.rolling_friction;
    if (!std::isnan(p.spinning_friction)) pair.spinning_friction = p.spinning_friction;
    if (!std::isnan(p.cohesion)) pair.cohesion = p.cohesion;
    model.materials.set_pair(a, b, pair);
  }
}

void add_table_geometries(const SceneSettings& scene, const Communicator& comm, Model& model) {
  all_or_none(comm, [&] {
    for (const GeneratorSettings& g : scene.generators) {
      if (g.type != GeneratorType::table) continue;
      const auto first = static_cast<std::int32_t>(model.geometries.size());
      for (Geometry& geometry : scene_parts::table_geometries(g.table.file, first))
        model.geometries.push_back(std::move(geometry));
    }
  });
}

/// Marks the pairs of groups that make no contacts; without any the table stays empty.
void set_groups(const SceneSettings& scene, const std::vector<std::string>& groups, Model& model) {
  model.n_groups = static_cast<int>(groups.size());
  if (scene.no_collisions.empty()) return;
  model.group_pairs.assign(groups.size() * groups.size(), 1);
  for (const NoCollisionSettings& pair : scene.no_collisions) {
    const std::size_t a = group_of(groups, pair.between[0]);
    const std::size_t b = group_of(groups, pair.between[1]);
    model.group_pairs[a * groups.size() + b] = 0;
    model.group_pairs[b * groups.size() + a] = 0;
  }
}

}  // namespace

namespace flow_parts {

std::uint64_t seed_of(const SceneSettings& scene, std::size_t generator) {
  const GeneratorSettings& g = scene.generators[generator];
  const std::int64_t own = g.type == GeneratorType::insertion ? g.insertion.seed : g.lattice.seed;
  if (own >= 0) return static_cast<std::uint64_t>(own);
  return mix64(static_cast<std::uint64_t>(scene.seed) ^ mix64(generator + 1));
}

std::vector<GlobalId> first_ids(const SceneSettings& scene, const Communicator& comm) {
  std::vector<GlobalId> first;
  for (const Block& block : blocks_of(scene, comm)) first.push_back(block.first);
  return first;
}

}  // namespace flow_parts

Model make_model(const SceneSettings& scene, const Communicator& comm) {
  Model model;
  model.gravity = scene.gravity;
  model.planar = scene.dimension == 2;
  model.periodic = flow_parts::periodic_box(scene.periodic);
  model.contact = scene.contact;
  set_materials(scene, model);
  const std::vector<std::string> groups = scene_parts::group_names(scene);
  set_groups(scene, groups, model);
  scene_parts::GeometryPlan(scene).build(comm, model);
  add_table_geometries(scene, comm, model);
  for (std::size_t i = 0; i < scene.bodies.size(); ++i) {
    const BodySettings& s = scene.bodies[i];
    const auto id = static_cast<GlobalId>(i);
    if (s.kinematic) model.motions.push_back(flow_parts::motion_of(s, comm));
    model.names.add(id, 1, s.name, false);
    if (s.shape.type != ShapeType::plane) continue;
    const int motion = static_cast<int>(model.motions.size()) - 1;
    model.unbounded.push_back(
        body_of(id, s, scene_parts::shape_of(s.shape), motion, groups, model));
  }
  const std::vector<Block> blocks = blocks_of(scene, comm);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const GeneratorSettings& g = scene.generators[i];
    const std::string name = g.name().empty() ? "generator" + std::to_string(i) : g.name();
    model.names.add(blocks[i].first, blocks[i].count, name, true);
    if (g.type != GeneratorType::container) continue;
    const std::size_t before = model.unbounded.size();
    add_walls(g.container, blocks[i].first, model);
    for (std::size_t k = before; k < model.unbounded.size(); ++k) {
      model.unbounded[k].constants.collides = g.collide;
      model.unbounded[k].constants.group = group_of(groups, g.group);
    }
  }
  return model;
}

void generate_bodies(const SceneSettings& scene, const Communicator& comm, const Model& model,
                     Bodies& bodies, State& state) {
  const std::vector<Block> blocks = blocks_of(scene, comm);
  const scene_parts::GeometryPlan plan(scene);
  const std::vector<std::string> groups = scene_parts::group_names(scene);
  Share share(comm, model, bodies, state);
  int motion = -1;
  const Block explicit_bodies{0, static_cast<GlobalId>(scene.bodies.size())};
  for (GlobalId i = 0; i < share.last_of(explicit_bodies); ++i) {
    const BodySettings& s = scene.bodies[static_cast<std::size_t>(i)];
    if (s.kinematic) ++motion;
    if (i < share.first_of(explicit_bodies) || s.shape.type == ShapeType::plane) continue;
    const Shape shape = plan.shape_of_body(static_cast<std::size_t>(i), model);
    share.set_collision(s.collide, group_of(groups, s.group));
    share.add(body_of(i, s, shape, motion, groups, model));
  }
  all_or_none(comm, [&] {
    auto geometry = static_cast<std::int32_t>(plan.size());  // the first of the next table
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const GeneratorSettings& g = scene.generators[i];
      share.set_collision(g.collide, group_of(groups, g.group));
      generate(scene, i, blocks[i], plan.shape_of_generator(i, model), geometry, model, share);
      if (g.type == GeneratorType::table)
        geometry += scene_parts::count_table_geometries(g.table.file);
    }
  });
}

}  // namespace catena
