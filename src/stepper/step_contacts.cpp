#include "catena/stepper/step_contacts.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <tuple>

#include "catena/base/fetch.hpp"
#include "catena/base/release.hpp"
#include "catena/constraints/block_diagonal.hpp"
#include "catena/constraints/contact_cone.hpp"
#include "catena/constraints/delassus.hpp"
#include "catena/constraints/fetch_bodies.hpp"
#include "catena/solvers/gauss_seidel.hpp"
#include "catena/stepper/time_stepper.hpp"
#include "search/periodic_images.hpp"
#include "stepper/contact_solution.hpp"

namespace catena {

namespace {

/// Code of the image of `box` that is displaced by `shift` but for round-off; -1 if none is.
int image_at(const PeriodicBox& box, const Vec3& shift) {
  double shortest = kInfinity;
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (box.active[axis]) shortest = std::min(shortest, box.length(axis));
  for (int code = 0; code < kImages; ++code)
    if (box.has_image(code) && (box.shift(code) - shift).norm() < 0.5 * shortest) return code;
  return -1;
}

bool same_bodies(const ContactKey& x, const ContactKey& y) { return x.a == y.a && x.b == y.b; }

/// First row of a contact; the general blocks begin with those of contacts.
Index first_row(const KeptContact& kept, const ConstraintProblem& problem) {
  if (!kept.couples) return 3 * kept.slot;
  return to_index(3 * problem.contacts.size()) + problem.blocks.row_begin[kept.slot];
}

/// At contact k of a set: asks for what rows need of the bodies of the contact some places on.
[[gnu::always_inline]] inline void fetch_ahead(const ContactSet& set, std::size_t k,
                                               const ProblemBodies& bodies) {
  constexpr std::size_t kAhead = 8;
  if (k + kAhead >= set.contacts.size()) return;
  const LocalBodies& local = set.bodies;
  const Contact& c = set.contacts[k + kAhead];
  for (const Index b : {c.body_a, c.body_b}) {
    const BodyConstants& constants = local.constants[b];
    fetch_span(constants, constants.material);
    const BodyMotionState& state = local.state[b];
    fetch_span(state.pose.p, state.pose.p);
    fetch_span(state.twist, state.twist);
    const double* mass = bodies.inverse_mass.data() + bodies.mass_begin[b];
    fetch_span(mass[0], mass[6]);
  }
}

}  // namespace

/// A contact with its part of the problem's impulses.
inline ContactSolution StepContacts::solution_of(const KeptContact& kept,
                                                 const ConstraintProblem& problem,
                                                 std::span<const double> impulses,
                                                 std::span<const double> twists) const {
  return {kept, rigid_rows(kept, problem), problem, impulses.data() + first_row(kept, problem),
          twists};
}

void StepContacts::clear() {
  contacts_.clear();
  coupled_.clear();
  sunk_.clear();
  far_.clear();
  overlaps_ = Overlaps();
  overlaps_.sum = Sum(model_.deterministic);
}

/// Numbers the points of each manifold: those of a pair in one image.
void StepContacts::count_points() {
  for (std::size_t k = 0; k < contacts_.size();) {
    std::size_t end = k + 1;
    const ContactKey& key = contacts_[k].key;
    std::array<Index, kImages> points{};
    ++points[image_of(key)];
    for (; end < contacts_.size() && same_bodies(contacts_[end].key, key); ++end)
      ++points[image_of(contacts_[end].key)];
    for (; k < end; ++k) contacts_[k].points = points[image_of(contacts_[k].key)];
  }
}

/// Finds what the last step kept of each contact. Points of a pair that are new take over what
/// those in the same image that are gone leave, one from one in the order of keys: a stretch then
/// goes on where a face's corner changes its number, and the pair stores no more than before.
void StepContacts::match(const State& state) {
  const auto find = [&](const auto& list, auto KeptContact::*place) {
    std::size_t k = 0, j = 0;
    while (k < contacts_.size() && j < list.size()) {
      if (contacts_[k].key == list[j].key) {  // as most are
        contacts_[k++].*place = to_index(j++);
        continue;
      }
      const ContactKey pair = contacts_[k].key;
      if (!same_bodies(list[j].key, pair)) {
        list[j].key < pair ? ++j : ++k;
        continue;
      }
      lost_.clear();
      found_.clear();
      const auto more_old = [&] { return j < list.size() && same_bodies(list[j].key, pair); };
      const auto more_new = [&] {
        return k < contacts_.size() && same_bodies(contacts_[k].key, pair);
      };
      while (more_old() || more_new()) {
        if (more_old() && more_new() && list[j].key == contacts_[k].key)
          contacts_[k++].*place = to_index(j++);
        else if (more_old() && (!more_new() || list[j].key < contacts_[k].key))
          lost_.push_back(to_index(j++));
        else
          found_.push_back(to_index(k++));
      }
      if (stretches_.rigid()) continue;
      for (const Index i : found_) {
        const auto left = std::ranges::find(lost_, image_of(contacts_[i].key),
                                            [&](Index l) { return image_of(list[l].key); });
        if (left == lost_.end()) continue;
        contacts_[i].*place = *left;
        lost_.erase(left);
      }
    }
  };
  find(state.impulses, &KeptContact::old);
  find(state.couples, &KeptContact::old_couple);
}

void follow_images(const std::function<Vec3(int)>& shift, const PeriodicBox& after,
                   std::span<const PutBack> put_back, std::span<const BodyRecord> unbounded,
                   State& state) {
  const auto way_of = [&](GlobalId body) -> Vec3 {
    const auto at = std::ranges::lower_bound(put_back, body, {}, &PutBack::body);
    return at != put_back.end() && at->body == body ? at->by : Vec3::Zero();
  };
  const auto has_images = [&](GlobalId body) {
    return std::ranges::none_of(unbounded,
                                [&](const BodyRecord& b) { return b.constants.id == body; });
  };
  const auto follow = [&](auto& list) {
    bool changed = false;
    for (auto& item : list) {
      ContactKey& key = item.key;
      const int image = image_of(key);
      const Vec3 way = way_of(key.a) - way_of(key.b);
      // an offset that has gone half a period is counted from the next image
      if (way.isZero(0.0) && (image == kNoImage || !after.slanted())) continue;
      if (!has_images(key.a) || !has_images(key.b)) continue;
      const int now = image_at(after, shift(image) + way);
      if (now == image) continue;
      changed = true;
      if (now < 0)
        key.a = kNoBody;  // too far to touch
      else
        key.part = search::part_in_image(key.part / kImages, now);
    }
    if (!changed) return;
    std::erase_if(list, [](const auto& item) { return item.key.a == kNoBody; });
    std::ranges::sort(list, {}, [](const auto& item) { return item.key; });
  };
  follow(state.impulses);
  follow(state.couples);
}

void StepContacts::follow_images(const PeriodicBox& after, std::span<const PutBack> put_back,
                                 State& state) const {
  const auto shift = [&](int image) -> Vec3 {
    return box_.shift(image) + step_ * box_.velocity(image);
  };
  catena::follow_images(shift, after, put_back, model_.unbounded, state);
}

/// `contact` is contacts_[k].
void StepContacts::note_overlap(const Contact& contact, std::size_t k, const LocalBodies& local) {
  if (!(contact.gap < 0.0)) return;
  overlaps_.deepest = std::max(overlaps_.deepest, -contact.gap);
  const double radius = stretches_.smaller_radius(contact, local);
  const double overlap = -contact.gap / radius;
  const double borne = (-contact.gap - contacts_[k].start_overlap) / radius;
  if (borne > kSunkOverlap) sunk_.emplace_back(k, borne);
  overlaps_.sum += overlap;
  ++overlaps_.count;
  overlaps_.largest = std::max(overlaps_.largest, overlap);
  if (!(borne > overlaps_.borne)) return;
  overlaps_.borne = borne;
  overlaps_.key = contact.key;
}

/// `contact` is contacts_[k].
void StepContacts::note_gap(const Contact& contact, std::size_t k, const LocalBodies& local) {
  if (!(contact.gap > 0.0)) return;
  const double radius = stretches_.smaller_radius(contact, local);
  if (!(contact.gap > kFarContact * radius)) return;
  const double a = local.twist(contact.body_a).v.norm(), b = local.twist(contact.body_b).v.norm();
  // spin and gravity, too, may have closed it
  const double speed = std::max({a, b, contact.gap / step_});
  Far far{contact.gap, radius, speed, {contact.key.a, contact.key.b}};
  if (b > a) std::swap(far.bodies[0], far.bodies[1]);
  far_.emplace_back(k, far);
}

StepContacts::Far StepContacts::farthest(const ConstraintProblem& problem,
                                         std::span<const double> impulses) const {
  Far farthest;
  for (const auto& [k, far] : far_)
    if (std::tuple(-far.gap, far.bodies) < std::tuple(-farthest.gap, farthest.bodies) &&
        impulses[first_row(contacts_[k], problem)] > 0.0)
      farthest = far;
  return farthest;
}

StepContacts::Sunk StepContacts::deepest_sunk(const ConstraintProblem& problem,
                                              std::span<const double> impulses,
                                              const LocalBodies& local, double gravity) const {
  Sunk deepest;
  if (model_.contact.stiffness != Stiffness::automatic || !(gravity > 0.0)) return deepest;
  for (const auto& [k, overlap] : sunk_) {
    const KeptContact& kept = contacts_[k];
    const RigidContact& rows = rigid_rows(kept, problem);
    double mass = kInfinity;
    for (const Index b : {rows.body_a, rows.body_b})
      if (local.constants[b].kind == BodyKind::dynamic)
        mass = std::min(mass, local.constants[b].mass);
    const double load = impulses[first_row(kept, problem)] / (step_ * mass * gravity);
    if (load > kHeavyLoad && overlap > deepest.overlap) deepest = {overlap, load, kept.key};
  }
  return deepest;
}

std::vector<double> StepContacts::stretches(const ConstraintProblem& problem) const {
  if (stretches_.rigid() || contacts_.empty()) return {};
  std::vector<double> all(problem.n_rows(), 0.0);
  for (const KeptContact& kept : contacts_)
    stretches_.at_start(kept, rigid_rows(kept, problem), problem.blocks,
                        all.data() + first_row(kept, problem));
  return all;
}

/// `rows`: new ones.
void StepContacts::place_rows(const Contact& contact, const PairMaterial& pair,
                              const LocalBodies& local, const ProblemBodies& bodies,
                              RigidContact& rows) const {
  Vec3 p_b = local.state[contact.body_b].pose.p;
  Twist twist_b = local.twist(contact.body_b);
  if (const int image = image_of(contact.key); image != kNoImage) {
    p_b += box_.shift(image);
    twist_b.v += box_.velocity(image);
  }
  const Vec3& p_a = local.state[contact.body_a].pose.p;
  if (stretches_.rigid())
    make_contact_rows(contact, p_a, p_b, local.twist(contact.body_a), twist_b, pair, kind_, step_,
                      model_.contact, rows);
  else
    place_contact_rows(contact, p_a, p_b, pair, step_, model_.contact, rows);
  shift_arms(surface_shift(contact.gap, bodies, rows), rows);
  if (model_.planar) make_planar(rows);
}

/// KeptContact::drift. Surfaces move along the contact only.
Vec3 StepContacts::drift_of(const Contact& contact, const RigidContact& rows,
                            const LocalBodies& local) const {
  const Vec3 image = box_.velocity(image_of(contact.key));
  const auto surface = [&](Index body) -> Vec3 {
    return local.state[body].pose.q * model_.surface_velocity(local.constants[body].id);
  };
  const Vec3 along = image + surface(contact.body_b) - surface(contact.body_a);
  return {image.dot(rows.normal), along.dot(rows.tangent),
          along.dot(rows.normal.cross(rows.tangent))};
}

void StepContacts::make_rows(const ContactSet& set, const State& state, double own_step,
                             ConstraintProblem& problem) {
  const LocalBodies& local = set.bodies;
  const bool one_pair = model_.materials.materials().size() <= 1;
  const bool one_subdomain = std::adjacent_find(state.subdomain.begin(), state.subdomain.end(),
                                                std::not_equal_to<>()) == state.subdomain.end();
  clear();
  box_ = box_of(model_, state);
  const bool drifts = box_.sheared() || box_.stretches() || !model_.surface_velocities.empty();
  problem.contacts.clear();
  make_room(problem.contacts, set.contacts.size());
  problem.blocks.clear();
  problem.block_subdomain.clear();
  problem.body_subdomain = state.subdomain;
  make_room(problem.block_subdomain, set.contacts.size());
  coupled_subdomain_.clear();
  // copies of blank ones are made faster than new ones
  const KeptContact blank{};
  const RigidContact no_rows{};
  make_room(contacts_, set.contacts.size());
  for (const Contact& c : set.contacts) {
    contacts_.push_back(blank);
    contacts_.back().key = c.key;
    contacts_.back().point = c.point;
    contacts_.back().gap = c.gap;
  }
  match(state);
  count_points();
  for (std::size_t k = 0; k < contacts_.size(); ++k) {
    fetch_ahead(set, k, problem.bodies);
    const Contact& c = set.contacts[k];
    KeptContact& kept = contacts_[k];
    const BodyConstants &a = local.constants[c.body_a], &b = local.constants[c.body_b];
    const PairMaterial& pair =
        one_pair ? model_.materials.pair(0, 0) : model_.materials.pair(a.material, b.material);
    const bool couples =
        (pair.rolls() || pair.spins()) && model_.contact.law != ContactLaw::frictionless;
    kept.couples = couples;
    kept.slot = to_index(couples ? coupled_.size() : problem.contacts.size());
    std::vector<RigidContact>& list = couples ? coupled_ : problem.contacts;
    list.push_back(no_rows);
    RigidContact& rows = list.back();
    place_rows(c, pair, local, problem.bodies, rows);
    if (drifts) kept.drift = drift_of(c, rows, local);
    if (!stretches_.rigid()) {
      stretches_.fill_rows(c, local, pair, state, own_step, problem.bodies, kept, rows);
    } else {  // what restitution gives back is not pushed out of an overlap
      kept.recovering =
          c.gap < 0.0 && rows.bias == contact_bias(kind_, c.gap, 0.0, 0.0, step_, model_.contact);
      rows.bias += kept.drift[0];
      rows.tangent_bias = {kept.drift[1], kept.drift[2]};
    }
    if (stretches_.rigid() && model_.contact.law == ContactLaw::lagged)
      kept.diagonal = contact_mobility(problem.bodies, rows);
    note_overlap(c, k, local);
    note_gap(c, k, local);
    Index home = 0;  // any body that is owned
    if (!one_subdomain) home = home_of(a, b) == c.key.a ? c.body_a : c.body_b;
    (couples ? coupled_subdomain_ : problem.block_subdomain).push_back(state.subdomain[home]);
    if (!couples) continue;
    const double radius = stretches_.reduced_radius(a, b);
    add_contact_block(rows, pair.rolls() ? pair.rolling_length(radius) : -1.0,
                      pair.spins() ? pair.spinning_length(radius) : -1.0, problem.blocks);
    if (!stretches_.rigid()) stretches_.fill_couples(kept, rows, state, own_step, problem);
  }
  problem.block_subdomain.insert(problem.block_subdomain.end(), coupled_subdomain_.begin(),
                                 coupled_subdomain_.end());
}

void StepContacts::first_guess(const State& state, const ConstraintProblem& problem,
                               std::span<double> impulses) const {
  for (const KeptContact& kept : contacts_) {
    const bool pressed = kept.old != kNoIndex, turned = kept.old_couple != kNoIndex;
    if (!pressed && !turned) continue;
    const ContactFrame frame = frame_of(kept, rigid_rows(kept, problem), problem.blocks);
    double* lambda = impulses.data() + first_row(kept, problem);
    for (Index i = 0; pressed && i < 3; ++i)
      lambda[i] = state.impulses[kept.old].impulse.dot(frame.axis[i]);
    for (Index i = 3; turned && i < frame.rows; ++i)
      lambda[i] = state.couples[kept.old_couple].couple.dot(frame.axis[i]);
  }
}

std::vector<double> StepContacts::shifts(const ConstraintProblem& problem,
                                         std::span<const double> impulses,
                                         std::span<const double> twists) const {
  std::vector<double> shift(problem.n_blocks(), 0.0);
  for (const KeptContact& kept : contacts_) {
    const ContactSolution solution = solution_of(kept, problem, impulses, twists);
    shift[block_of(kept, problem)] = solution.friction_slip(solution.slip());
  }
  return shift;
}

std::vector<double> StepContacts::first_shifts(const State& state, const ConstraintProblem& problem,
                                               std::span<const double> twists) const {
  constexpr std::array<double, 6> kNothing{};
  std::vector<double> shift(problem.n_blocks(), 0.0);
  for (const KeptContact& kept : contacts_) {
    double& s = shift[block_of(kept, problem)];
    if (kept.old != kNoIndex && !state.impulses[kept.old].impulse.isZero(0.0)) {
      s = state.impulses[kept.old].shift;
      continue;
    }
    const RigidContact& rows = rigid_rows(kept, problem);
    // rolling and spinning as they are without the contact's impulse
    const ContactSolution without{kept, rows, problem, kNothing.data(), twists};
    const Vec3 u = without.slip();
    const Vec3 w = bias_of(rows) + u;
    Mat3 d = mobility_matrix(problem.bodies, rows);
    d.diagonal() += compliance_of(rows);
    const Vec3 after = w + d * solve_one_contact(d, w, rows.friction);
    const double sliding = std::hypot(after[1], after[2]);
    s = without.friction_slip(u) + rows.friction * (sliding - std::hypot(w[1], w[2]));
  }
  return shift;
}

std::int64_t StepContacts::count_opening(const ConstraintProblem& problem,
                                         std::span<const double> impulses,
                                         std::span<const double> twists) const {
  std::int64_t count = 0;
  for (const KeptContact& kept : contacts_) {
    const ContactSolution solution = solution_of(kept, problem, impulses, twists);
    const double pressed = solution.lambda[0];
    if (!(pressed > 0.0)) continue;
    const RigidContact& rows = solution.rows;
    // the rows that are kept of coupled contacts hold no shift
    const double bias = kept.couples ? rows.bias : problem.unshifted[kept.slot];
    const double w = solution.slip()[0] + rows.compliance * pressed + bias;
    if (w > contact_mobility(problem.bodies, rows)[0] * pressed) ++count;
  }
  return count;
}

void StepContacts::store(const ConstraintProblem& problem, std::span<const double> impulses,
                         std::span<const double> twists, State& state) {
  state.impulses.clear();
  make_room(state.impulses, contacts_.size());
  state.couples.clear();
  make_room(state.couples, coupled_.size());
  const bool rigid = stretches_.rigid();
  for (KeptContact& kept : contacts_) {
    if (!kept.couples)
      fetch_bodies_ahead(problem.contacts, kept.slot,
                         [&](Index b) { return twists.data() + Offset{6} * b; });
    const ContactSolution solution = solution_of(kept, problem, impulses, twists);
    kept.next_stretch = {0.0, 0.0};
    // most contacts of a packing that do not press come with three zeros
    if (!kept.couples && is_zero(solution.lambda) && kept.start_overlap < kLeastStartOverlap)
      continue;
    ContactForce force = force_of(kept, solution.rows, problem.blocks, solution.lambda);
    // nothing is kept of what methods that end within the cones leave on open contacts
    Vec3 u = Vec3::Zero();
    if (!rigid || problem.lagged) {
      u = solution.slip();
      kept.pressing = solution.pressing(u);
      kept.next_stretch = stretches_.next_stretch(solution, u);
      if (kept.pressing == 0.0) force = {};
    }
    if (!rigid) {
      stretches_.keep(solution, force, u, state);
      continue;
    }
    if (!force.impulse.isZero(0.0)) {
      state.impulses.push_back({kept.key, force.impulse});
      if (problem.lagged) state.impulses.back().shift = solution.friction_slip(u);
    }
    if (!force.couple.isZero(0.0)) state.couples.push_back({kept.key, force.couple});
  }
}

void StepContacts::add_work(const ConstraintProblem& problem, std::span<const double> impulses,
                            const LocalBodies& local, std::span<const double> twists,
                            AuditTerms& audit) const {
  // in the order of the rows
  for (const bool couples : {false, true}) {
    if (couples && coupled_.empty()) return;
    for (const KeptContact& kept : contacts_) {
      if (kept.couples != couples) continue;
      if (!couples) {
        fetch_bodies_ahead(problem.contacts, kept.slot,
                           [&](Index b) { return twists.data() + Offset{6} * b; });
        fetch_bodies_ahead(problem.contacts, kept.slot,
                           [&](Index b) { return local.state[b].twist.v.data(); });
      }
      const ContactSolution solution = solution_of(kept, problem, impulses, twists);
      if (stretches_.rigid() && !couples && is_zero(solution.lambda)) continue;
      const PointVelocities at_point = solution.point_velocities(local);
      solution.add_work(at_point, local, audit);
      stretches_.add_elastic(solution, at_point, audit);
    }
  }
}

void StepContacts::add_to_cell(const ConstraintProblem& problem, std::span<const double> impulses,
                               CellSums& sums) const {
  for (const KeptContact& kept : contacts_) {
    const RigidContact& rows = rigid_rows(kept, problem);
    const double* lambda = impulses.data() + first_row(kept, problem);
    if (is_zero(lambda)) continue;
    const Vec3 impulse = force_of(kept, rows, problem.blocks, lambda).impulse;
    const std::array<double, 2> compliance = {kept.given.normal, kept.given.tangent};
    const double apart = 2.0 * surface_shift(kept.gap, problem.bodies, rows);
    const Vec3 branch = rows.arm_a - rows.arm_b + apart * rows.normal;
    sums.add_contact(rows, branch, impulse, compliance, contact_mobility(problem.bodies, rows)[0],
                     step_);
  }
}

ContactArms StepContacts::arms(std::size_t k, const ConstraintProblem& problem) const {
  const KeptContact& kept = contacts_[k];
  const RigidContact& rows = rigid_rows(kept, problem);
  const Vec3 shift = surface_shift(kept.gap, problem.bodies, rows) * rows.normal;
  return {rows.body_a, rows.body_b, rows.arm_a, rows.arm_b, kept.point - shift, kept.point + shift};
}

ContactRecord StepContacts::record(std::size_t k, const ConstraintProblem& problem,
                                   std::span<const double> impulses) const {
  const KeptContact& kept = contacts_[k];
  const RigidContact& rows = rigid_rows(kept, problem);
  const ContactForce force =
      force_of(kept, rows, problem.blocks, impulses.data() + first_row(kept, problem));
  return {rows.key, kept.point, rows.normal, kept.gap, force.impulse, force.couple};
}

}  // namespace catena
