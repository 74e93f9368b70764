#include "search/probes.hpp"

#include <numeric>

#include "catena/base/release.hpp"

namespace catena::search {

namespace {

/// Radius of the sphere of equal volume, of a dynamic body without one its bounding radius;
/// infinite for planes and surfaces.
double size_of(const BodyConstants& body, std::span<const Geometry> geometries) {
  const double radius = equivalent_radius(body.shape, geometries);
  if (std::isfinite(radius) || body.kind != BodyKind::dynamic) return radius;
  return bounding_radius(body.shape);
}

}  // namespace

void Probes::clear(const State& state, double step) {
  step_ = step;
  gravity_ = model_->mean_gravity(state.time, step);
  if (images_.any()) images_.move_to(box_of(*model_, state), step);
  probes_.clear();
  boxes_.clear();
  probes_.reserve(n_owned_);  // as many as there were
  boxes_.reserve(n_owned_);
}

void Probes::add(const BodyConstants& constants, const Vec3& p, const Twist& twist, Index body) {
  Probe& probe = probes_.emplace_back();
  probe.p = p;
  probe.v = twist.v;
  probe.dynamic = constants.kind == BodyKind::dynamic;
  if (probe.dynamic) probe.v += step_ * gravity_;
  probe.speed = probe.v.norm();
  probe.type = constants.shape.type;
  // a plane is dealt with on its own
  probe.radius = probe.type == ShapeType::plane ? 0.0 : bounding_radius(constants.shape);
  probe.spin_speed = probe.type == ShapeType::sphere ? 0.0 : twist.w.norm() * probe.radius;
  probe.size = std::isnan(model_->contact.margin) ? size_of(constants, model_->geometries) : 0.0;
  probe.id = constants.id;
  probe.group = constants.group;
  probe.jointed = constants.jointed;
  probe.body = body;
}

void Probes::add_swept(const BodyConstants& constants, const Pose& pose, const Twist& twist,
                       Index body) {
  add(constants, pose.p, twist, body);
  boxes_.push_back(swept_box(constants, pose, probes_.back()));
}

/// Box over the way of a body in the step, grown by half the margin; with margins per pair also
/// over the body grown by its own part of them, so that the parts of two bodies are their margin or
/// more.
Aabb Probes::swept_box(const BodyConstants& constants, const Pose& pose, const Probe& probe) const {
  Aabb box = bounds_of(constants.shape, pose, model_->geometries);
  const double margin = model_->contact.margin;
  Aabb grown = box;
  if (std::isnan(margin)) {
    double part = std::min(way_of(probe), kLargestMargin * probe.size);
    if (probe.dynamic) part = std::max(part, kLeastMargin * probe.size);
    grown.inflate(std::max(part, 0.5 * model_->contact.cohesion_range));
  }
  const Vec3 way = step_ * probe.v;
  box.lo += way.cwiseMin(0.0);
  box.hi += way.cwiseMax(0.0);
  if (std::isnan(margin)) {
    box.inflate(step_ * probe.spin_speed);
    box.merge(grown);
  } else {
    box.inflate(0.5 * margin + step_ * probe.spin_speed);
  }
  return box;
}

void Probes::order_by_id() {
  if (by_id_.size() != probes_.size()) {
    by_id_.resize(probes_.size());
    std::iota(by_id_.begin(), by_id_.end(), Index{0});
  }
  const auto less = [this](Index i, Index j) { return probes_[i].id < probes_[j].id; };
  if (!std::is_sorted(by_id_.begin(), by_id_.end(), less)) {
    std::sort(by_id_.begin(), by_id_.end(), less);
  }
  position_.resize(by_id_.size());
  for (std::size_t k = 0; k < by_id_.size(); ++k) {
    position_[by_id_[k]] = to_index(k);
  }
}

void Probes::release() { catena::release(probes_, boxes_, position_); }

}  // namespace catena::search
