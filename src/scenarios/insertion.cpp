#include "catena/scenarios/insertion.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "catena/base/error.hpp"
#include "catena/base/random.hpp"
#include "scenarios/flow_parts.hpp"
#include "scenarios/make/geometry_plan.hpp"
#include "scenarios/scene_parts.hpp"

namespace catena {

namespace scenarios {

PeriodicBox periodic_box(const PeriodicSettings& s) {
  PeriodicBox box;
  if (!s.present) return box;
  const std::array<double, 2>* const all[] = {&s.x, &s.y, &s.z};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::array<double, 2>& sides = *all[i];
    if (std::isnan(sides[0])) continue;
    box.active[i] = true;
    box.lo[i] = sides[0];
    box.hi[i] = sides[1];
  }
  box.shear_rate = s.shear.rate;
  box.shear_along = s.shear.along;
  box.shear_across = s.shear.across;
  return box;
}

}  // namespace scenarios

namespace {

/// Random numbers of an attempt: three for the place, three for the orientation.
constexpr std::uint64_t kStreams = 8;
constexpr std::uint64_t kPlaceStream = 1;
constexpr std::uint64_t kOrientationStream = 4;

/// Range of centres along each direction for a body with bounds `box` about its centre.
Aabb centres_in(const InsertionSettings& s, const Aabb& box, const Model& model) {
  Aabb range{s.lower - box.lo, s.upper - box.hi};
  for (std::size_t i = 0; i < 3; ++i) {
    const int k = narrow<int>(i);
    const PeriodicBox& periodic = model.periodic;
    if (!periodic.active[i] || s.lower[k] > periodic.lo[i] || s.upper[k] < periodic.hi[i]) continue;
    range.lo[k] = periodic.lo[i];
    range.hi[k] = periodic.hi[i];
  }
  if (model.planar) range.lo[1] = range.hi[1] = 0.5 * (s.lower[1] + s.upper[1]);
  return range;
}

}  // namespace

namespace scenarios {

std::string region_shortfall(const InsertionSettings& s, const Shape& shape,
                             const Quat& orientation, const Model& model) {
  const Sizes sizes(s.sizes, 2.0 * equivalent_radius(shape, model.geometries));
  const Shape largest = scaled(shape, sizes.largest());
  const double radius = bounding_radius(largest);
  Aabb box{Vec3::Constant(-radius), Vec3::Constant(radius)};
  if (!s.random_orientation)
    box = bounds_of(largest, {Vec3::Zero(), orientation}, model.geometries);
  const Aabb range = centres_in(s, box, model);
  for (int i = 0; i < 3; ++i) {
    if (range.lo[i] <= range.hi[i]) continue;
    return "the region is smaller than the largest body: " +
           std::to_string(s.upper[i] - s.lower[i]) + " m of " +
           std::to_string(box.hi[i] - box.lo[i]) + " m along " + "xyz"[i];
  }
  return {};
}

}  // namespace scenarios

Insertion::Insertion(const SceneSettings& scene, std::size_t generator, GlobalId first,
                     const Model& model)
    : settings_(std::get<InsertionSettings>(scene.generators[generator].kind)),
      model_(model),
      first_(first),
      seed_(scenarios::seed_of(scene, generator, settings_.seed)) {
  const int material = model.materials.find(settings_.material);
  const double density = model.materials.materials()[material].density;
  const Shape shape = scenarios::GeometryPlan(scene).shape_of_generator(generator, model);
  prototype_ =
      scenarios::make_body(first, shape, material, density, Vec3::Zero(), model.geometries);
  sizes_ = Sizes(settings_.sizes, 2.0 * equivalent_radius(shape, model.geometries));
  const std::vector<std::string> groups = scenarios::group_names(scene);
  const GeneratorSettings& g = scene.generators[generator];
  prototype_.constants.collides = g.collide;
  prototype_.constants.group =
      static_cast<std::uint8_t>(std::find(groups.begin(), groups.end(), g.group) - groups.begin());

  const std::string shortfall = scenarios::region_shortfall(settings_, prototype_.constants.shape,
                                                            prototype_.state.pose.q, model);
  if (shortfall.empty()) return;
  const std::string name = settings_.name.empty() ? std::to_string(generator) : settings_.name;
  throw Error(shortfall, (g.place.empty() ? "generators." + name : g.place) + ".region",
              scenarios::kRegionRemedy);
}

double Insertion::largest_radius() const {
  return sizes_.largest() * bounding_radius(prototype_.constants.shape);
}

BodyConstants Insertion::constants(std::int64_t number) const {
  const BodyConstants& one = prototype_.constants;
  const double f = sizes_.factor(uniform01(seed_, static_cast<std::uint64_t>(number), 0));
  BodyConstants body = one;
  body.id = first_ + number;
  body.shape = scaled(one.shape, f);
  body.mass = f * f * f * one.mass;
  body.inertia = f * f * f * f * f * one.inertia;
  return body;
}

BodyMotionState Insertion::place(const BodyConstants& body, std::int64_t number,
                                 std::int64_t attempt) const {
  const auto n = static_cast<std::uint64_t>(number);
  const std::uint64_t stream = kStreams * static_cast<std::uint64_t>(attempt);
  BodyMotionState state;
  state.pose.q = prototype_.state.pose.q;
  if (settings_.random_orientation && model_.planar) {
    const double angle = 2.0 * std::numbers::pi * uniform01(seed_, n, stream + kOrientationStream);
    state.pose.q = Quat(Eigen::AngleAxisd(angle, Vec3::UnitY())) * state.pose.q;
  } else if (settings_.random_orientation) {
    state.pose.q = scenarios::random_rotation(seed_, n, stream + kOrientationStream);
  }
  const Aabb range =
      centres_in(settings_, bounds_of(body.shape, state.pose, model_.geometries), model_);
  for (int i = 0; i < 3; ++i) {
    const double u = uniform01(seed_, n, stream + kPlaceStream + static_cast<std::uint64_t>(i));
    state.pose.p[i] = range.lo[i] + u * (range.hi[i] - range.lo[i]);
  }
  state.twist = {settings_.velocity, settings_.angular_velocity};
  state.pose.p = model_.periodic.wrapped(state.pose.p);
  return state;
}

std::vector<Insertion> make_insertions(const SceneSettings& scene, const Communicator& comm,
                                       const Model& model) {
  std::vector<Insertion> insertions;
  const std::vector<GlobalId> first = scenarios::first_ids(scene, comm, model);
  for (std::size_t i = 0; i < scene.generators.size(); ++i) {
    if (!scene.generators[i].is<InsertionSettings>()) continue;
    insertions.emplace_back(scene, i, first[i], model);
  }
  return insertions;
}

}  // namespace catena
