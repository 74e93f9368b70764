#include "scenarios/make/body_maker.hpp"

#include <algorithm>
#include <cmath>

#include "catena/base/error.hpp"
#include "catena/base/random.hpp"
#include "catena/base/text.hpp"
#include "scenarios/flow_parts.hpp"
#include "scenarios/scene_parts.hpp"

namespace catena {

namespace scenarios {

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

std::uint8_t group_of(const std::vector<std::string>& groups, const std::string& name) {
  return static_cast<std::uint8_t>(std::find(groups.begin(), groups.end(), name) - groups.begin());
}

namespace {

GlobalId count(const ContainerSettings& s) { return static_cast<GlobalId>(walls_of(s).size()); }
GlobalId count(const LatticeSettings& s) {
  return GlobalId{1} * s.count[0] * s.count[1] * s.count[2];
}
/// Every second course has a brick more: two halves for one.
GlobalId count(const WallSettings& s) { return GlobalId{1} * s.height * s.along + s.height / 2; }
GlobalId count(const TableSettings&) { return -1; }
GlobalId count(const PackSettings&) { return -1; }
GlobalId count(const InsertionSettings& s) { return s.count; }
GlobalId count(const ChainSettings& s) { return s.links; }
GlobalId count(const BondSettings&) { return 0; }
GlobalId count(const NetSettings& s) { return GlobalId{1} * s.count[0] * s.count[1]; }
GlobalId count(const TreeSettings& s) { return n_knots(s); }

GlobalId rows_of_table(const Communicator& comm, const GeneratorSettings& g) {
  GlobalId rows = 0;
  all_or_none(comm, [&] {
    if (comm.rank() != 0) return;
    with_place(g.place,
               [&] { rows = scenarios::count_rows(std::get<TableSettings>(g.kind).file); });
  });
  return comm.sum(rows);
}

/// Body k of a lattice; its size and jitters depend on the seed and k alone.
BodyRecord lattice_body(const LatticeSettings& s, const Shape& whole, const Sizes& sizes,
                        std::uint64_t seed, GlobalId first, GlobalId k, int material,
                        const Model& model) {
  const GlobalId nx = s.count[0];
  const GlobalId ny = s.count[1];
  const GlobalId layer = k / nx / ny;
  const Vec3 cell(static_cast<double>(k % nx), static_cast<double>(k / nx % ny),
                  static_cast<double>(layer));
  const auto number = static_cast<std::uint64_t>(k);
  const bool even = s.sizes.kind == SizeSettings::Kind::none;
  const double factor = even ? 1.0 + s.radius_jitter * uniform_pm1(seed, number, 0)
                             : sizes.factor(uniform01(seed, number, 0));
  const Shape shape = scaled(whole, factor);
  Vec3 position = s.origin + s.spacing.cwiseProduct(cell);
  for (int i = 0; i < 3; ++i) {
    position[i] += s.position_jitter * uniform_pm1(seed, number, static_cast<std::uint64_t>(i) + 1);
  }
  const double density = model.materials.materials()[material].density;
  BodyRecord body = make_body(first + k, shape, material, density, position, model.geometries);
  const Quat written =
      s.random_orientation ? scenarios::random_rotation(seed, number, 4) : s.orientation.value();
  body.state.pose.q = scenarios::body_rotation(shape, written, model.geometries);
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

/// The curve of a chain; nullptr for other generators.
std::unique_ptr<ChainCurve> curve_of(const GeneratorSettings& g, const SceneSettings& scene) {
  const auto* chain = std::get_if<ChainSettings>(&g.kind);
  if (chain == nullptr) return nullptr;
  try {
    return std::make_unique<ChainCurve>(chain->path, chain->links, scene.gravity);
  } catch (const Error& e) {
    throw Error(e.found(), g.place, e.fix());
  }
}

}  // namespace

BodyRecord body_of(GlobalId id, const BodySettings& s, const Shape& shape, int motion,
                   const std::vector<std::string>& groups, const Model& model) {
  const MaterialTable& materials = model.materials;
  const int material = std::max(0, materials.find(s.material));
  const BodyKind kind = scenarios::kind_of(s);
  BodyRecord body;
  body.constants.id = id;
  body.constants.kind = kind;
  body.constants.collides = s.collide;
  body.constants.group = group_of(groups, s.group);
  body.constants.shape = shape;
  body.constants.material = material;
  body.state.pose = {
      s.position, scenarios::body_rotation(shape, scenarios::orientation_of(s), model.geometries)};
  if (kind == BodyKind::kinematic) {
    body.constants.motion = motion;
  } else if (kind == BodyKind::dynamic) {
    if (s.position_of == PositionOf::shape_origin && shape.geometry >= 0) {
      const Geometry& geometry = model.geometries[shape.geometry];
      body.state.pose.p -= body.state.pose.q * geometry.written.p;
    }
    double& mass = body.constants.mass;
    mass = s.mass;
    if (std::isnan(mass)) {
      mass = volume_of(shape, model.geometries) * materials.materials()[material].density;
    }
    body.constants.inertia = std::isnan(s.inertia[0])
                                 ? Vec3(mass * inertia_per_mass(shape, model.geometries))
                                 : s.inertia;
    body.state.twist = {s.velocity, s.angular_velocity};
  }
  return body;
}

GlobalId count_of(const GeneratorSettings& g) {
  return std::visit([](const auto& s) { return count(s); }, g.kind);
}

void check_lattices(const SceneSettings& scene, const GeometryPlan& plan, const Model& model) {
  for (std::size_t g = 0; g < scene.generators.size(); ++g) {
    const auto* s = std::get_if<LatticeSettings>(&scene.generators[g].kind);
    if (s == nullptr || s->sizes.kind == SizeSettings::Kind::none) continue;
    const Shape one = plan.shape_of_generator(g, model);
    const Sizes sizes(s->sizes, 2.0 * equivalent_radius(one, model.geometries));
    const Shape largest = scaled(one, sizes.largest());
    Vec3 extent = Vec3::Constant(2.0 * bounding_radius(largest));
    if (!s->random_orientation) {
      const Quat q = body_rotation(one, s->orientation.value(), model.geometries);
      const Aabb box = bounds_of(largest, {Vec3::Zero(), q}, model.geometries);
      extent = box.hi - box.lo;
    }
    for (int i = 0; i < 3; ++i) {
      const double room = s->spacing[i] - 2.0 * s->position_jitter;
      if (s->count[i] == 1 || extent[i] <= room * (1.0 + 1e-12)) continue;
      throw Error("the largest bodies of `sizes` are " + short_text(extent[i]) + " m along " +
                      "xyz"[i] + ", and neighbours have " + short_text(room) + " m",
                  scene.generators[g].place + ".spacing",
                  "make it larger, or cut the sizes off below");
    }
  }
}

void check_packs(const SceneSettings& scene, const GeometryPlan& plan, Model& model) {
  const std::vector<std::unique_ptr<Pack>> packs = packs_of(scene, plan, model);
  for (std::size_t g = 0; g < packs.size(); ++g)
    if (packs[g] != nullptr)
      check_pack(*packs[g], model, scene.generators[g].place, model.warnings);
}

std::vector<Block> blocks_of(const SceneSettings& scene, const Communicator& comm,
                             const Model& model) {
  const std::vector<std::unique_ptr<Pack>> packs = packs_of(scene, GeometryPlan(scene), model);
  std::vector<Block> blocks;
  auto first = static_cast<GlobalId>(scene.bodies.size());
  for (std::size_t i = 0; i < scene.generators.size(); ++i) {
    const GeneratorSettings& g = scene.generators[i];
    Block block{first, 0};
    block.count = packs[i] != nullptr     ? packs[i]->count()
                  : g.is<TableSettings>() ? rows_of_table(comm, g)
                                          : count_of(g);
    blocks.push_back(block);
    first += block.count;
  }
  return blocks;
}

BodyMaker::BodyMaker(const SceneSettings& scene, std::vector<Block> blocks, const Model& model)
    : scene_(scene),
      model_(model),
      blocks_(std::move(blocks)),
      plan_(scene),
      packs_(packs_of(scene, plan_, model)),
      groups_(group_names(scene)) {
  int next = 0;  // in the order of make_model
  for (const BodySettings& s : scene.bodies) motions_.push_back(s.motion.present ? next++ : -1);
  for (const GeneratorSettings& g : scene.generators)
    generator_motions_.push_back(g.motion.present ? next++ : -1);
  // geometries of tables are the last ones
  auto geometry = narrow<std::int32_t>(model.geometries.size());
  for (const GeneratorSettings& g : scene.generators)
    if (const auto* table = std::get_if<TableSettings>(&g.kind))
      geometry -= count_table_geometries(table->file);
  for (const GeneratorSettings& g : scene.generators) {
    table_geometry_.push_back(geometry);
    if (const auto* table = std::get_if<TableSettings>(&g.kind))
      geometry += count_table_geometries(table->file);
    curves_.push_back(curve_of(g, scene));
  }
}

void BodyMaker::place_packs(const Communicator& comm, GlobalId first, GlobalId last) {
  places_ = std::make_unique<PackPlaces>(comm, scene_, packs_, blocks_, first, last);
}

double BodyMaker::density_of(int material) const {
  if (material < 0) return 0.0;
  return model_.materials.materials()[material].density;
}

Quat BodyMaker::written(const Shape& shape) const {
  if (shape.geometry < 0) return Quat::Identity();
  return model_.geometries[shape.geometry].written.q;
}

MadeBody BodyMaker::moved(const BodyRecord& body) const {
  MadeBody made{body, {}};
  if (body.constants.kind != BodyKind::kinematic) return made;
  made.motion = motion_start(model_.motions[body.constants.motion], body.state.pose);
  made.state = prescribed_state(model_, body.constants, body.state.pose, made.motion, 0.0);
  return made;
}

MadeBody BodyMaker::finished(const BodyRecord& body) const {
  MadeBody made = moved(body);
  made.state.pose.p = model_.periodic.wrapped(made.state.pose.p);
  return made;
}

BodyRecord BodyMaker::listed(std::size_t i) const {
  const BodySettings& s = scene_.bodies[i];
  const Shape shape =
      s.shape.type == ShapeType::plane ? shape_of(s.shape) : plan_.shape_of_body(i, model_);
  return body_of(static_cast<GlobalId>(i), s, shape, motions_[i], groups_, model_);
}

void BodyMaker::make(GlobalId first, GlobalId last,
                     const std::function<void(const MadeBody&)>& take) const {
  const auto n_listed = static_cast<GlobalId>(scene_.bodies.size());
  for (GlobalId i = first; i < std::min(last, n_listed); ++i) {
    if (scene_.bodies[i].shape.type != ShapeType::plane) take(finished(listed(i)));
  }
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const GlobalId from = std::max(first - blocks_[i].first, GlobalId{0});
    const GlobalId to = std::min(last - blocks_[i].first, blocks_[i].count);
    if (from >= to) continue;
    const GeneratorSettings& g = scene_.generators[i];
    const std::uint8_t group = group_of(groups_, g.group);
    make_generated(i, from, to, [&](BodyRecord body) {
      body.constants.collides = g.collide;
      body.constants.group = group;
      if (g.held()) {
        body.constants.kind = g.fixed ? BodyKind::fixed : BodyKind::kinematic;
        body.constants.jointed = false;
        body.constants.motion = generator_motions_[i];
        body.constants.mass = 0.0;
        body.constants.inertia = Vec3::Zero();
        body.state.twist = {};
      }
      take(finished(body));
    });
  }
}

void BodyMaker::make_generated(std::size_t generator, GlobalId from, GlobalId to,
                               const Take& take) const {
  const GeneratorKind& kind = scene_.generators[generator].kind;
  const Block& block = blocks_[generator];
  const int material = material_of(scene_.generators[generator].material());
  if (const auto* lattice = std::get_if<LatticeSettings>(&kind)) {
    const Shape shape = plan_.shape_of_generator(generator, model_);
    const Sizes sizes(lattice->sizes, 2.0 * equivalent_radius(shape, model_.geometries));
    const std::uint64_t seed = seed_of(scene_, generator, lattice->seed);
    for (GlobalId k = from; k < to; ++k)
      take(lattice_body(*lattice, shape, sizes, seed, block.first, k, material, model_));
  } else if (const auto* pack = std::get_if<PackSettings>(&kind)) {
    const Shape shape = plan_.shape_of_generator(generator, model_);
    const std::uint64_t seed = seed_of(scene_, generator, pack->seed);
    for (GlobalId k = from; k < to; ++k)
      take(pack_body(*pack, *packs_[generator], shape, seed, block.first, k, material,
                     places_ == nullptr ? Vec3::Constant(kNone) : places_->of(generator, k),
                     model_));
  } else if (const auto* wall = std::get_if<WallSettings>(&kind)) {
    for (GlobalId k = from; k < to; ++k)
      take(wall_brick(*wall, block.first, k, material, density_of(material)));
  } else if (std::holds_alternative<TableSettings>(kind)) {
    make_table(generator, from, to, take);
  } else if (const auto* chain = std::get_if<ChainSettings>(&kind)) {
    const BodyRecord prototype = link(*chain, generator);
    make_links(*chain, *curves_[generator], prototype,
               frame_of_link(*chain, prototype.constants.shape), {block.first, block.count, 0},
               from, to, take);
  } else if (const auto* net = std::get_if<NetSettings>(&kind)) {
    make_knots(*net, generator, from, to, take);
  } else if (const auto* tree = std::get_if<TreeSettings>(&kind)) {
    make_knots(*tree, generator, from, to, take);
  }
}

template <class Settings>
void BodyMaker::make_knots(const Settings& s, std::size_t generator, GlobalId from, GlobalId to,
                           const Take& take) const {
  const Shape shape = plan_.shape_of_generator(generator, model_);
  const int material = material_of(s.material);
  const bool jointed = n_joints(s) > 0;
  for (GlobalId k = from; k < to; ++k) {
    BodyRecord body = make_body(blocks_[generator].first + k, shape, material, density_of(material),
                                knot_place(s, k), model_.geometries);
    body.constants.jointed = jointed;
    take(body);
  }
}

void BodyMaker::make_table(std::size_t generator, GlobalId from, GlobalId to,
                           const Take& take) const {
  const auto& table = std::get<TableSettings>(scene_.generators[generator].kind);
  const int material = material_of(table.material);
  read_table(table.file, from, to, [&](GlobalId k, const TableRow& row) {
    Shape own = row.shape;
    if (own.geometry >= 0) {
      own.geometry += table_geometry_[generator];
      own.geometry_radius = model_.geometries.at(own.geometry).radius;
    }
    BodyRecord body = make_body(blocks_[generator].first + k, own, material, density_of(material),
                                row.pose.p, model_.geometries);
    body.state = {row.pose, row.twist};
    body.state.pose.q = body_rotation(own, row.pose.q, model_.geometries);
    take(body);
  });
}

/// A link of a chain at the origin.
BodyRecord BodyMaker::link(const ChainSettings& s, std::size_t generator) const {
  const int material = material_of(s.material);
  const Shape shape = plan_.shape_of_generator(generator, model_);
  BodyRecord body = make_body(0, shape, std::max(0, material), density_of(material), Vec3::Zero(),
                              model_.geometries);
  BodyConstants& c = body.constants;
  if (!std::isnan(s.mass)) {
    c.inertia = s.mass * inertia_per_mass(shape, model_.geometries);
    c.mass = s.mass;
  }
  if (!std::isnan(s.inertia[0])) c.inertia = s.inertia;
  return body;
}

LinkFrame BodyMaker::frame_of_link(const ChainSettings& s, const Shape& shape) const {
  LinkFrame frame{Vec3::Zero(), written(shape)};
  if (is_set(s.centre_of_mass)) frame.p = model_.geometries[shape.geometry].written.p;
  return frame;
}

std::vector<MadeBody> BodyMaker::some(const std::vector<GlobalId>& ids) const {
  std::vector<MadeBody> out;
  const auto n_listed = static_cast<GlobalId>(scene_.bodies.size());
  for (std::size_t i = 0; i < ids.size();) {
    GlobalId last = ids[i] + 1;
    std::size_t next = i + 1;
    // rows of a table that are wanted: from the first to the last in one go
    for (std::size_t g = 0; g < blocks_.size() && ids[i] >= n_listed; ++g) {
      const Block& block = blocks_[g];
      if (!scene_.generators[g].is<TableSettings>() || ids[i] < block.first ||
          ids[i] >= block.first + block.count)
        continue;
      while (next < ids.size() && ids[next] < block.first + block.count) last = ids[next++] + 1;
    }
    // others in a row at once; a container's planes are made one by one
    const auto of_container = [&](GlobalId id) {
      return std::ranges::any_of(model_.unbounded,
                                 [&](const BodyRecord& plane) { return plane.constants.id == id; });
    };
    while (ids[i] >= n_listed && next < ids.size() && ids[next] == last &&
           !of_container(ids[next]) && !of_container(ids[i]))
      last = ids[next++] + 1;
    if (ids[i] < n_listed) {
      const BodyRecord body = listed(ids[i]);
      out.push_back(body.constants.shape.type != ShapeType::plane ? finished(body) : moved(body));
    } else {
      std::size_t wanted = i;
      make(ids[i], last, [&](const MadeBody& body) {
        if (wanted < next && body.constants.id == ids[wanted]) {
          out.push_back(body);
          ++wanted;
        }
      });
      // planes of a container
      if (wanted == i) {
        for (const BodyRecord& body : model_.unbounded) {
          if (body.constants.id == ids[i]) out.push_back(moved(body));
        }
      }
    }
    i = next;
  }
  CATENA_CHECK(out.size() == ids.size(), "a body of the case is missing");
  return out;
}

std::vector<JointConstants> BodyMaker::joints_of_generators(
    const std::vector<GlobalId>& first_joint, GlobalId first, GlobalId last) const {
  std::vector<JointConstants> joints;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const GlobalId from = std::max(first - blocks_[i].first, GlobalId{0});
    const GlobalId to = std::min(last - blocks_[i].first, blocks_[i].count);
    if (from >= to || scene_.generators[i].held()) continue;
    const GeneratorKind& kind = scene_.generators[i].kind;
    const JointedBlock block{blocks_[i].first, blocks_[i].count, first_joint[i]};
    const Shape shape = plan_.shape_of_generator(i, model_);
    const std::size_t made = joints.size();
    if (const auto* chain = std::get_if<ChainSettings>(&kind)) {
      make_chain_joints(*chain, *curves_[i], frame_of_link(*chain, shape), block, from, to, joints);
    } else if (const auto* net = std::get_if<NetSettings>(&kind)) {
      make_net_joints(*net, body_rotation(shape, Quat::Identity(), model_.geometries), block, from,
                      to, joints);
    } else if (const auto* tree = std::get_if<TreeSettings>(&kind)) {
      make_tree_joints(*tree, body_rotation(shape, Quat::Identity(), model_.geometries), block,
                       from, to, joints);
    }
    const int breaking = break_limits_of_generator(scene_, i);
    for (std::size_t j = made; j < joints.size(); ++j) joints[j].breaking = breaking;
  }
  return joints;
}

}  // namespace scenarios

}  // namespace catena
