// The bodies that collide, as the search for pairs sees them in a step.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "catena/collision/sphere_pair.hpp"
#include "catena/model/state.hpp"
#include "search/periodic_images.hpp"

namespace catena::search {

/// What the pair loop needs of a body that collides, close together in memory.
struct Probe {
  Vec3 p;
  Vec3 v;             ///< velocity that the step starts to move with: v + h g if dynamic
  double radius;      ///< of the sphere, or of the sphere around the body
  double spin_speed;  ///< bound of what rotation adds to the surface's normal speed
  double speed;       ///< |v|
  double size;        ///< size_of, if margins are made per pair
  GlobalId id;
  ShapeType type;
  bool dynamic;
  std::uint8_t group;
  bool jointed;  ///< a joint may hold it apart from others
  Index body;    ///< among the local ones
};

/// Margin of a pair (docs/theory.md, "The margin"): the ways of both in the step with a safety, but
/// between these parts of the smaller size.
inline constexpr double kSafety = 1.1, kLeastMargin = 5e-3, kLargestMargin = 0.5;

/// Whether a body may touch anything.
inline bool takes_part(const BodyConstants& body) {
  return body.collides && body.shape.type != ShapeType::none;
}

/// Probes of all local bodies that collide, in their order: most links of chains do not, and cost
/// no more than a check. Those that are owned come first, then candidates, both with a box over
/// their way in the step, then unbounded bodies.
class Probes {
 public:
  explicit Probes(const Model& model) : model_(&model), images_(model.periodic) {}

  /// Starts a step of `step` s.
  void clear(const State& state, double step);
  /// `twist`: at the step's start, mean of the step for prescribed bodies.
  void add(const BodyConstants& constants, const Vec3& p, const Twist& twist, Index body);
  /// The same with the box that it sweeps.
  void add_swept(const BodyConstants& constants, const Pose& pose, const Twist& twist, Index body);
  /// Those that are there belong to owned bodies.
  void end_owned() { n_owned_ = to_index(probes_.size()); }
  /// Owners know of the other body only: takes the last one for jointed.
  void take_for_jointed() { probes_.back().jointed = true; }
  /// The order of ids seldom changes between steps, so the last one is tried first.
  void order_by_id();

  double step() const { return step_; }
  const PeriodicImages& images() const { return images_; }
  const std::vector<Probe>& all() const { return probes_; }
  const std::vector<Aabb>& boxes() const { return boxes_; }
  Index n_owned() const { return n_owned_; }
  /// Position of probe i in the order of ids, and the probe at a position and its place.
  Index position(std::size_t i) const { return position_[i]; }
  const Probe& at_position(Index position) const { return probes_[by_id_[position]]; }
  Index probe_at(Index position) const { return by_id_[position]; }

  /// The gap below which a pair makes contacts, m. One of the two is dynamic, so of finite size.
  double margin_of(const Probe& a, const Probe& b) const {
    const ContactParameters& contact = model_->contact;
    if (!std::isnan(contact.margin)) return contact.margin;
    const double size = std::min(a.size, b.size);
    const double way = way_of(a) + way_of(b);
    const double margin = std::max(std::min(way, kLargestMargin * size), kLeastMargin * size);
    return std::max(margin, contact.cohesion_range);
  }
  /// No less than the margin that it can have with any other one.
  double largest_margin(const Probe& a) const {
    const ContactParameters& contact = model_->contact;
    if (!std::isnan(contact.margin)) return contact.margin;
    return std::max(kLargestMargin * a.size, contact.cohesion_range);
  }
  /// Whether a and b, displaced by the image, touch or may do so within the step; the gap is known
  /// only if they do.
  bool spheres_meet(const Probe& a, const Probe& b, int image, SphereGap& g) const {
    Vec3 p_b = b.p, v_b = b.v;
    double speed = a.speed + b.speed;
    if (image != kNoImage) {
      p_b += images_.shift(image);
      v_b += images_.velocity(image);
      speed += images_.velocity(image).norm();
    }
    // the farthest that they can be, which costs no root; a bit wider for its round-off
    const double margin = margin_of(a, b);
    const double far = a.radius + b.radius + std::max(margin, step_ * speed);
    if (!((p_b - a.p).squaredNorm() < far * far * (1.0 + 1e-12))) return false;
    g = sphere_gap(a.p, a.radius, p_b, b.radius);
    if (g.gap < margin) return true;
    // farther away a contact would stop what goes past beside it
    return g.gap < step_ * g.normal.dot(a.v - v_b) &&
           nearest_way(p_b - a.p, v_b - a.v) < a.radius + b.radius + margin;
  }

  std::size_t memory() const {
    return probes_.capacity() * sizeof(Probe) + boxes_.capacity() * 3 * sizeof(Aabb);
  }
  void release();

 private:
  /// Bound of the way of a body's surface in the step, with the safety; a sphere's does not move
  /// where it spins.
  double way_of(const Probe& probe) const {
    return kSafety * step_ * (probe.speed + probe.spin_speed);
  }
  /// Least distance within the step of what is at p and moves with v.
  double nearest_way(const Vec3& p, const Vec3& v) const {
    return (p + std::clamp(-p.dot(v) / v.squaredNorm(), 0.0, step_) * v).norm();
  }
  Aabb swept_box(const BodyConstants& constants, const Pose& pose, const Probe& probe) const;

  const Model* model_;
  PeriodicImages images_;
  double step_ = 0.0;
  Vec3 gravity_ = Vec3::Zero();  ///< mean of the step, m/s^2
  std::vector<Probe> probes_;
  std::vector<Aabb> boxes_;
  Index n_owned_ = 0;
  std::vector<Index> by_id_, position_;
};

}  // namespace catena::search
