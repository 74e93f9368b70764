#include "search/pair_contacts.hpp"

#include <algorithm>
#include <limits>

#include "catena/base/fetch.hpp"
#include "catena/base/release.hpp"
#include "search/planar_contacts.hpp"

namespace catena::search {

namespace {

/// Coinciding points in planar motion, as a fraction of the smaller body.
constexpr double kSamePoint = 1e-6;
/// Pairs whose bodies are asked for ahead of their turn.
constexpr std::size_t kAhead = 8;

/// Bodies of one convex piece or several.
bool is_solid(const Shape& shape, std::span<const Geometry> geometries) {
  if (shape.type == ShapeType::compound)
    return std::ranges::all_of(geometries[shape.geometry].parts, [&](const CompoundPart& part) {
      return is_solid(part.shape, geometries);
    });
  return shape.type != ShapeType::plane && shape.type != ShapeType::hollow_cylinder &&
         !is_surface(shape.type);
}

double least_gap(std::span<const ContactPoint> points) {
  double least = kInfinity;
  for (const ContactPoint& c : points) least = std::min(least, c.gap);
  return least;
}

}  // namespace

void PairContacts::make(std::span<const IdPair> pairs,
                        std::span<const std::pair<GlobalId, GlobalId>> apart,
                        const LocalBodies& local, std::vector<Contact>& contacts) {
  contacts.clear();
  apart_ = apart;
  next_apart_ = 0;
  make_room(contacts, pairs.size());
  for (std::size_t k = 0; k < pairs.size();) {
    const std::size_t first = contacts.size();
    const IdPair& pair = pairs[k];
    do {
      if (k + kAhead < pairs.size()) {
        const Probe& ahead = probes_->at_position(pairs[k + kAhead].high);
        fetch_span(ahead, ahead);
      }
      collide_pair(local, pairs[k], contacts);
      ++k;
    } while (k < pairs.size() && pairs[k].same_bodies(pair));
    if (contacts.size() - first > 1 || model_->planar) finish_pair(pair, contacts, first);
  }
}

void PairContacts::collide_pair(const LocalBodies& local, const IdPair& pair,
                                std::vector<Contact>& contacts) {
  const Probe &a = probes_->at_position(pair.low), &b = probes_->at_position(pair.high);
  if (a.jointed && b.jointed && held_apart(a, b)) return;
  const Index body_a = a.body, body_b = b.body;
  const std::size_t i = body_a, j = body_b;
  const auto part = [&](std::int32_t items) { return part_in_image(items, pair.image); };
  if (a.type == ShapeType::sphere && b.type == ShapeType::sphere) {
    SphereGap g;
    if (!probes_->spheres_meet(a, b, pair.image, g)) return;
    contacts.push_back({{a.id, b.id, 0, part(0)},
                        body_a,
                        body_b,
                        sphere_pair_point(a.p, a.radius, g),
                        g.normal,
                        g.gap});
    return;
  }
  Pose pose_b = local.state[j].pose;
  Vec3 centre_velocity_b = b.v;
  if (pair.image != kNoImage) {
    pose_b.p += probes_->images().shift(pair.image);
    centre_velocity_b += probes_->images().velocity(pair.image);
  }
  const Twist &twist_a = local.twist(body_a), &twist_b = local.twist(body_b);
  const double step = probes_->step();
  const double margin = probes_->margin_of(a, b);
  // a plane turns about its position, which may be far from where it is touched
  const double distance = (pose_b.p - a.p).norm() + a.radius + b.radius;
  const double spin_a = a.type == ShapeType::plane ? twist_a.w.norm() * distance : a.spin_speed;
  const double spin_b = b.type == ShapeType::plane ? twist_b.w.norm() * distance : b.spin_speed;
  const double reach = margin + step * ((centre_velocity_b - a.v).norm() + spin_a + spin_b);
  points_.clear();
  collide(local.constants[i].shape, local.state[i].pose, local.constants[j].shape, pose_b, reach,
          points_, model_->geometries);
  const std::size_t first = contacts.size();
  for (const ContactPoint& c : points_) {
    const Vec3 v_a = a.v + twist_a.w.cross(c.point - a.p);
    const Vec3 v_b = centre_velocity_b + twist_b.w.cross(c.point - pose_b.p);
    if (!(c.gap < margin || c.gap < step * c.normal.dot(v_a - v_b))) continue;
    contacts.push_back(
        {{a.id, b.id, c.feature, part(c.part)}, body_a, body_b, c.point, c.normal, c.gap});
  }
  // farther away a contact would stop what goes past beside it
  const double gap = least_gap(points_);
  if (contacts.size() > first && gap >= margin &&
      is_solid(local.constants[i].shape, model_->geometries) &&
      is_solid(local.constants[j].shape, model_->geometries) &&
      !come_near({local.constants[i].shape, local.state[i].pose, {a.v, twist_a.w}},
                 {local.constants[j].shape, pose_b, {centre_velocity_b, twist_b.w}}, gap, margin,
                 reach))
    contacts.resize(first);
}

/// Whether two bodies whose least gap is `gap`, larger than `margin`, come nearer than half the
/// margin to each other in the step; how they do so between half and all of it is left open.
/// `reach`: the margin and what the surfaces of both may approach in the step, m. Conservative
/// advancement: for as long as a gap takes to close at the largest speed of approach nothing
/// touches, so that both are moved on by that time and looked at again.
bool PairContacts::come_near(const Moving& a, const Moving& b, double gap, double margin,
                             double reach) {
  /// Looks after which bodies that go along each other are taken to meet.
  constexpr int kMostLooks = 50;
  const double speed = (reach - margin) / probes_->step();
  double t = 0.0;
  for (int k = 0; k < kMostLooks; ++k) {
    t += (gap - 0.5 * margin) / speed;
    if (!(t < probes_->step())) return false;
    points_.clear();
    collide(a.shape, a.at(t), b.shape, b.at(t), reach - speed * t, points_, model_->geometries);
    if (points_.empty()) return false;  // too far for the rest of the step
    gap = least_gap(points_);
    if (gap < margin) return true;
  }
  return true;
}

/// Whether a joint keeps two bodies from making contacts. Pairs come in ascending order, as those
/// of the list do, so that the list is passed once.
bool PairContacts::held_apart(const Probe& a, const Probe& b) {
  const std::pair pair(a.id, b.id);
  while (next_apart_ < apart_.size() && apart_[next_apart_] < pair) ++next_apart_;
  return next_apart_ < apart_.size() && apart_[next_apart_] == pair;
}

/// Brings the contacts of a pair, of all images, into the order of keys and into the plane.
void PairContacts::finish_pair(const IdPair& pair, std::vector<Contact>& contacts,
                               std::size_t first) const {
  if (contacts.size() == first) return;
  std::sort(contacts.begin() + first, contacts.end(),
            [](const Contact& x, const Contact& y) { return x.key < y.key; });
  if (!model_->planar) return;
  double size = std::numeric_limits<double>::infinity();
  for (const Index position : {pair.low, pair.high}) {
    const Probe& probe = probes_->at_position(position);
    if (probe.type != ShapeType::plane) size = std::min(size, probe.radius);
  }
  flatten_contacts(contacts, first, kSamePoint * size);
}

}  // namespace catena::search
