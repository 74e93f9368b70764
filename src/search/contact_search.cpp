#include "catena/search/contact_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <type_traits>
#include <utility>

#include "catena/base/error.hpp"
#include "catena/base/release.hpp"
#include "catena/collision/broad_phase.hpp"
#include "catena/collision/sphere_pair.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "search/joint_ghosts.hpp"
#include "search/periodic_images.hpp"
#include "search/planar_contacts.hpp"
#include "search/rank_boxes.hpp"

namespace catena {

namespace {

using search::BodyFault;
using search::ImageOf;
using search::opposite_image;
using search::part_in_image;
using search::PeriodicImages;
using search::RankBoxes;

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

/// A pair as positions of probes in the order of ids, so that sorting it sorts by key; `high` is
/// displaced by the image.
struct IdPair {
  Index low, high;
  int image;
  bool same_bodies(const IdPair& o) const { return low == o.low && high == o.high; }
};

/// Scratch memory that is kept between steps, bytes: more than caches hold is given back to the
/// step's other stages.
constexpr std::size_t kKeptScratch = std::size_t{16} << 20;

/// Margin of a pair (docs/theory.md, "The margin"): the ways of both in the step with a safety, but
/// between these parts of the smaller size.
constexpr double kSafety = 1.1, kLeastMargin = 5e-3, kLargestMargin = 0.5;

/// Coinciding points in planar motion, as a fraction of the smaller body.
constexpr double kSamePoint = 1e-6;

/// Bound of the way of a body's surface in the step, with the safety; a sphere's does not move
/// where it spins.
double way_of(const Probe& probe, double step) {
  return kSafety * step * (probe.speed + probe.spin_speed);
}

/// Radius of the sphere of equal volume, of a dynamic body without one its bounding radius;
/// infinite for planes and surfaces.
double size_of(const BodyConstants& body, std::span<const Geometry> geometries) {
  const double radius = equivalent_radius(body.shape, geometries);
  if (std::isfinite(radius) || body.kind != BodyKind::dynamic) return radius;
  return bounding_radius(body.shape);
}

/// Whether a body may touch anything.
bool takes_part(const BodyConstants& body) {
  return body.collides && body.shape.type != ShapeType::none;
}

constexpr const char* kPeriodicRemedy = "make the periodic box larger or the body smaller";
constexpr const char* kPlanarRemedy =
    "in two dimensions bodies move in the x-z plane and turn about y alone";

}  // namespace

const Twist& LocalBodies::twist_among_moving(Index i) const {
  const auto at = std::lower_bound(moving.begin(), moving.end(), i,
                                   [](const auto& entry, Index j) { return entry.first < j; });
  const bool found = at != moving.end() && at->first == i;
  return found ? at->second : state[i].twist;
}

struct ContactSearch::Impl {
  Communicator comm;
  const Model* model;
  double step = 0.0;

  BroadPhase broad_phase;
  RankBoxes rank_boxes;
  PeriodicImages images;
  /// Probes of all local bodies that collide, in their order: most links of chains do not, and cost
  /// no more than a look.
  std::vector<Probe> probes;
  std::vector<Aabb> boxes;  ///< swept, of those that are owned or candidates
  Index n_owned_probes = 0;
  std::vector<Aabb> grid;        ///< periodic: the boxes and their images ...
  std::vector<ImageOf> grid_of;  ///< ... and what they are of
  /// Owned bodies sent to other ranks as candidates, ascending in rank.
  search::Offers offered;
  std::vector<Index> candidate_place;     ///< in the parcel of its owner
  std::vector<Index> by_id, place_by_id;  ///< probes in the order of ids, and back
  std::vector<IdPair> pairs, sorted_pairs;
  std::vector<Index> bucket;
  std::vector<ContactPoint> points;
  std::vector<Index> moved_to;  ///< new place of bodies that are not owned; kNoIndex: dropped
  std::span<const std::pair<GlobalId, GlobalId>> apart;  ///< pairs that joints hold apart ...
  std::size_t next_apart = 0;                            ///< ... and how far they are passed

  Impl(const Communicator& c, const Model& m) : comm(c), model(&m), images(m.periodic) {}

  void add_probe(const BodyConstants& constants, const Vec3& p, const Twist& twist, Index body);
  Aabb swept_box(const BodyConstants& constants, const Pose& pose, const Probe& probe) const;
  Twist in_motion(const BodyConstants& body, double time) const;
  void refuse_faults(const Bodies& bodies, const State& state) const;
  void add_owned(const Bodies& bodies, const State& state, LocalBodies& local);
  void choose_offers(const Bodies& bodies);
  void add_candidates(const Bodies& bodies, const State& state, LocalBodies& local);
  void add_unbounded(double time, LocalBodies& local);
  void order_by_id();
  void pairs_of_grid(const LocalBodies& local);
  void consider(const LocalBodies& local, Index a, Index b, int image);
  void pairs_of_planes(const LocalBodies& local);
  void add_pair(std::size_t a, std::size_t b, int image);
  void sort_pairs();
  double margin_of(const Probe& a, const Probe& b) const;
  bool spheres_meet(const Probe& a, const Probe& b, int image, SphereGap& g) const;
  void narrow_phase(const LocalBodies& local, std::vector<Contact>& contacts);
  void collide_pair(const LocalBodies& local, const IdPair& pair, std::vector<Contact>& contacts);
  /// The probe at a position in the order of ids.
  const Probe& probe_at(Index position) const { return probes[by_id[position]]; }
  bool held_apart(const Probe& a, const Probe& b);
  void finish_pair(const IdPair& pair, std::vector<Contact>& contacts, std::size_t first) const;
  void keep_needed(const JointLinks& links, ContactSet& out);
  void plan_halo(ContactSet& out);
  void release_large();
};

void ContactSearch::Impl::add_probe(const BodyConstants& constants, const Vec3& p,
                                    const Twist& twist, Index body) {
  Probe& probe = probes.emplace_back();
  probe.p = p;
  probe.v = twist.v;
  probe.dynamic = constants.kind == BodyKind::dynamic;
  if (probe.dynamic) probe.v += step * model->gravity;
  probe.speed = probe.v.norm();
  probe.type = constants.shape.type;
  // a plane is dealt with on its own
  probe.radius = probe.type == ShapeType::plane ? 0.0 : bounding_radius(constants.shape);
  probe.spin_speed = probe.type == ShapeType::sphere ? 0.0 : twist.w.norm() * probe.radius;
  probe.size = std::isnan(model->contact.margin) ? size_of(constants, model->geometries) : 0.0;
  probe.id = constants.id;
  probe.group = constants.group;
  probe.jointed = constants.jointed;
  probe.body = body;
}

/// Box over the way of a body in the step, grown by half the margin; with margins per pair also
/// over the body grown by its own part of them, so that the parts of two bodies are their margin or
/// more.
Aabb ContactSearch::Impl::swept_box(const BodyConstants& constants, const Pose& pose,
                                    const Probe& probe) const {
  Aabb box = bounds_of(constants.shape, pose, model->geometries);
  const double margin = model->contact.margin;
  Aabb grown = box;
  if (std::isnan(margin)) {
    double part = std::min(way_of(probe, step), kLargestMargin * probe.size);
    if (probe.dynamic) part = std::max(part, kLeastMargin * probe.size);
    grown.inflate(std::max(part, 0.5 * model->contact.cohesion_range));
  }
  const Vec3 way = step * probe.v;
  box.lo += way.cwiseMin(0.0);
  box.hi += way.cwiseMax(0.0);
  if (std::isnan(margin)) {
    box.inflate(step * probe.spin_speed);
    box.merge(grown);
  } else {
    box.inflate(0.5 * margin + step * probe.spin_speed);
  }
  return box;
}

/// Mean twist over the step of a prescribed body; in planar motion what is left of it in the plane.
Twist ContactSearch::Impl::in_motion(const BodyConstants& body, double time) const {
  const Twist twist = mean_twist(*model, body, time, step);
  if (!model->planar) return twist;
  return {Vec3(twist.v.x(), 0.0, twist.v.z()), Vec3(0.0, twist.w.y(), 0.0)};
}

/// Throws Error, with the body's place, if this rank's bodies do not fit into the plane or the
/// periodic box.
void ContactSearch::Impl::refuse_faults(const Bodies& bodies, const State& state) const {
  if (model->planar) {
    const BodyFault found = search::planar_fault(*model, bodies, state);
    if (found.body != kNoBody)
      throw Error(found.text, model->places.text_of(found.body), kPlanarRemedy);
  }
  if (images.any()) {
    const BodyFault found = search::periodic_fault(*model, bodies, state);
    if (found.body != kNoBody)
      throw Error(found.text, model->places.text_of(found.body), kPeriodicRemedy);
  }
}

void ContactSearch::Impl::add_owned(const Bodies& bodies, const State& state, LocalBodies& local) {
  const std::size_t n = bodies.constants.size();
  CATENA_CHECK(state.body.size() == n, "a state for each body");
  local.constants.refer_to(bodies.constants);
  local.state.refer_to(state.body);
  local.owner.assign(n, comm.rank());
  local.n_owned = to_index(n);
  local.moving.clear();
  probes.clear();
  boxes.clear();
  probes.reserve(n_owned_probes);  // as many as there were
  boxes.reserve(n_owned_probes);
  for (std::size_t i = 0; i < n; ++i) {
    const BodyConstants& body = bodies.constants[i];
    const auto place = to_index(i);
    if (body.kind == BodyKind::kinematic && body.motion >= 0) {
      local.moving.emplace_back(place, in_motion(body, state.time));
    }
    if (!takes_part(body)) continue;
    const Pose& pose = state.body[i].pose;
    add_probe(body, pose.p, local.twist(place), place);
    boxes.push_back(swept_box(body, pose, probes.back()));
  }
  n_owned_probes = to_index(probes.size());
}

/// Collective. Tells the owned bodies that reach other ranks' boxes or on which their joints act.
void ContactSearch::Impl::choose_offers(const Bodies& bodies) {
  std::vector<RankBoxes::Member> members;
  members.reserve(probes.size());
  for (const Probe& probe : probes) {
    const BodyConstants& body = bodies.constants[probe.body];
    members.push_back({half_extent(body.shape), probe.dynamic});
  }
  rank_boxes.group(members, boxes);
  const std::vector<double> all = comm.all_gather(std::span(rank_boxes.published()));
  rank_boxes.select(all, comm.rank(), boxes, images, offered);
  for (auto& [rank, list] : offered) {
    for (Index& i : list) i = probes[i].body;
  }
  search::merge_offers(offered, bodies.links.offered);
}

/// Collective. Owned bodies go to the ranks whose boxes they reach or whose joints need them;
/// theirs come here, all as ghosts for the time being.
void ContactSearch::Impl::add_candidates(const Bodies& bodies, const State& state,
                                         LocalBodies& local) {
  offered.clear();
  candidate_place.clear();
  if (comm.size() > 1) {
    choose_offers(bodies);
    std::vector<Parcel> outgoing;
    for (const auto& [rank, list] : offered) {
      Packer out(list.size() * sizeof(BodyRecord));
      for (const Index i : list)
        out.put(BodyRecord{bodies.constants[i], {state.body[i].pose, local.twist(i)}});
      outgoing.push_back({rank, out.take()});
    }
    for (const Parcel& parcel : comm.exchange(std::move(outgoing))) {
      Unpacker in(parcel.bytes);
      for (Index place = 0; !in.empty(); ++place) {
        const auto record = in.get<BodyRecord>();
        candidate_place.push_back(place);
        if (takes_part(record.constants)) {
          add_probe(record.constants, record.state.pose.p, record.state.twist, local.size());
          boxes.push_back(swept_box(record.constants, record.state.pose, probes.back()));
        }
        local.constants.push_back(record.constants);
        local.state.push_back(record.state);
        local.owner.push_back(parcel.rank);
      }
    }
  }
  local.n_ghost = to_index(candidate_place.size());
}

void ContactSearch::Impl::add_unbounded(double time, LocalBodies& local) {
  for (const BodyRecord& body : model->unbounded) {
    BodyMotionState now = prescribed_state(*model, body.constants, body.state.pose, time);
    now.twist = in_motion(body.constants, time);
    if (takes_part(body.constants)) {
      add_probe(body.constants, now.pose.p, now.twist, local.size());
      probes.back().jointed = true;  // owners know of the other body only
    }
    local.constants.push_back(body.constants);
    local.state.push_back(now);
    local.owner.push_back(0);
  }
}

/// The order of ids seldom changes between steps, so the last one is tried first.
void ContactSearch::Impl::order_by_id() {
  if (by_id.size() != probes.size()) {
    by_id.resize(probes.size());
    std::iota(by_id.begin(), by_id.end(), Index{0});
  }
  const auto less = [this](Index i, Index j) { return probes[i].id < probes[j].id; };
  if (!std::is_sorted(by_id.begin(), by_id.end(), less)) {
    std::sort(by_id.begin(), by_id.end(), less);
  }
  place_by_id.resize(by_id.size());
  for (std::size_t k = 0; k < by_id.size(); ++k) {
    place_by_id[by_id[k]] = to_index(k);
  }
}

/// Pairs with overlapping boxes whose contacts this rank holds.
void ContactSearch::Impl::pairs_of_grid(const LocalBodies& local) {
  if (!images.any()) {
    for (const auto& [i, j] : broad_phase.find_unsorted(boxes, n_owned_probes)) {
      consider(local, i, j, kNoImage);
    }
    return;
  }
  const Index n_first = images.place(boxes, n_owned_probes, grid, grid_of);
  for (const auto& [i, j] : broad_phase.find_unsorted(grid, n_first)) {
    const ImageOf &x = grid_of[i], &y = grid_of[j];
    // two images: the relation stands for itself elsewhere
    if ((x.code != kNoImage && y.code != kNoImage) || x.body == y.body) continue;
    if (x.code != kNoImage) {
      consider(local, y.body, x.body, x.code);
    } else {
      consider(local, x.body, y.body, y.code);
    }
  }
}

/// Probes a and b, displaced by the image; at least one of them is of an owned body.
void ContactSearch::Impl::consider(const LocalBodies& local, Index a, Index b, int image) {
  const std::size_t i = a, j = b;
  const Probe &x = probes[i], &y = probes[j];
  if (!x.dynamic && !y.dynamic) return;
  const std::size_t of_a = x.body, of_b = y.body;
  if (!model->group_pairs.empty() &&
      !may_collide(*model, local.constants[of_a], local.constants[of_b])) {
    return;
  }
  SphereGap g;
  if (x.type == ShapeType::sphere && y.type == ShapeType::sphere && !spheres_meet(x, y, image, g)) {
    return;
  }
  // where one is a ghost, the pair's home may be on its rank
  if (std::max(a, b) >= n_owned_probes) {
    const GlobalId owned = a < n_owned_probes ? x.id : y.id;
    if (home_of(local.constants[of_a], local.constants[of_b]) != owned) return;
  }
  add_pair(i, j, image);
}

void ContactSearch::Impl::add_pair(std::size_t a, std::size_t b, int image) {
  const Index i = place_by_id[a], j = place_by_id[b];
  if (i < j) {
    pairs.push_back({i, j, image});
  } else {
    pairs.push_back({j, i, opposite_image(image)});
  }
}

/// Owned dynamic bodies with the planes that they can reach in the step.
void ContactSearch::Impl::pairs_of_planes(const LocalBodies& local) {
  for (std::size_t u = boxes.size(); u < probes.size(); ++u) {
    if (probes[u].type != ShapeType::plane) continue;
    const std::size_t plane = probes[u].body;
    const Vec3 up = local.state[plane].pose.q.toRotationMatrix().col(2);
    const double spin = local.state[plane].twist.w.norm();
    for (std::int64_t i = 0; i < n_owned_probes; ++i) {
      const Probe& body = probes[i];
      if (!body.dynamic) continue;
      const Vec3 from_plane = body.p - probes[u].p;
      double closing = up.dot(probes[u].v - body.v) + body.spin_speed;
      if (spin > 0.0) closing += spin * (from_plane.norm() + body.radius);
      const double reach = margin_of(body, probes[u]) + step * std::max(0.0, closing);
      if (!(up.dot(from_plane) - body.radius < reach)) continue;
      const std::size_t own = body.body;
      if (!may_collide(*model, local.constants[own], local.constants[plane])) continue;
      add_pair(i, u, kNoImage);
    }
  }
}

/// Counting sort by the lower id, then each bucket by the higher.
void ContactSearch::Impl::sort_pairs() {
  bucket.assign(by_id.size() + 1, 0);
  for (const IdPair& pair : pairs) ++bucket[pair.low + 1];
  std::partial_sum(bucket.begin(), bucket.end(), bucket.begin());
  sorted_pairs.resize(pairs.size());
  for (const IdPair& pair : pairs) {
    sorted_pairs[bucket[pair.low]++] = pair;
  }
  auto begin = sorted_pairs.begin();
  for (std::size_t k = 0; k < by_id.size(); ++k) {
    const auto end = sorted_pairs.begin() + bucket[k];
    std::sort(begin, end, [](const IdPair& x, const IdPair& y) {
      return x.high != y.high ? x.high < y.high : x.image < y.image;
    });
    begin = end;
  }
}

/// The gap below which a pair makes contacts, m. One of the two is dynamic, so of finite size.
double ContactSearch::Impl::margin_of(const Probe& a, const Probe& b) const {
  const ContactParameters& contact = model->contact;
  if (!std::isnan(contact.margin)) return contact.margin;
  const double size = std::min(a.size, b.size);
  const double way = way_of(a, step) + way_of(b, step);
  const double margin = std::max(std::min(way, kLargestMargin * size), kLeastMargin * size);
  return std::max(margin, contact.cohesion_range);
}

/// Whether a and b, displaced by the image, touch or may do so within the step; the gap is known
/// only if they do.
bool ContactSearch::Impl::spheres_meet(const Probe& a, const Probe& b, int image,
                                       SphereGap& g) const {
  const Vec3 p_b = image == kNoImage ? b.p : Vec3(b.p + images.shift(image));
  // the farthest that they can be, which costs no root; a bit wider for its round-off
  const double margin = margin_of(a, b);
  const double far = a.radius + b.radius + std::max(margin, step * (a.speed + b.speed));
  if (!((p_b - a.p).squaredNorm() < far * far * (1.0 + 1e-12))) return false;
  g = sphere_gap(a.p, a.radius, p_b, b.radius);
  return g.gap < margin || g.gap < step * g.normal.dot(a.v - b.v);
}

/// Contacts of all pairs, in the order of pairs, so ascending in key.
void ContactSearch::Impl::narrow_phase(const LocalBodies& local, std::vector<Contact>& contacts) {
  contacts.clear();
  next_apart = 0;
  // exact but for a little: half of what doubling takes would lie idle
  if (contacts.capacity() < sorted_pairs.size()) {
    contacts.reserve(sorted_pairs.size() + sorted_pairs.size() / 32);
  }
  for (std::size_t k = 0; k < sorted_pairs.size();) {
    const std::size_t first = contacts.size();
    const IdPair& pair = sorted_pairs[k];
    do {
      collide_pair(local, sorted_pairs[k], contacts);
      ++k;
    } while (k < sorted_pairs.size() && sorted_pairs[k].same_bodies(pair));
    if (contacts.size() - first > 1 || model->planar) finish_pair(pair, contacts, first);
  }
}

void ContactSearch::Impl::collide_pair(const LocalBodies& local, const IdPair& pair,
                                       std::vector<Contact>& contacts) {
  const Probe &a = probe_at(pair.low), &b = probe_at(pair.high);
  if (a.jointed && b.jointed && held_apart(a, b)) return;
  const Index body_a = a.body, body_b = b.body;
  const std::size_t i = body_a, j = body_b;
  const auto part = [&](std::int32_t items) { return part_in_image(items, pair.image); };
  if (a.type == ShapeType::sphere && b.type == ShapeType::sphere) {
    SphereGap g;
    if (!spheres_meet(a, b, pair.image, g)) return;
    contacts.push_back({{a.id, b.id, 0, part(0)},
                        body_a,
                        body_b,
                        sphere_pair_point(a.p, a.radius, g),
                        g.normal,
                        g.gap});
    return;
  }
  Pose pose_b = local.state[j].pose;
  if (pair.image != kNoImage) pose_b.p += images.shift(pair.image);
  const Twist &twist_a = local.twist(body_a), &twist_b = local.twist(body_b);
  const double margin = margin_of(a, b);
  // a plane turns about its position, which may be far from where it is touched
  const double distance = (pose_b.p - a.p).norm() + a.radius + b.radius;
  const double spin_a = a.type == ShapeType::plane ? twist_a.w.norm() * distance : a.spin_speed;
  const double spin_b = b.type == ShapeType::plane ? twist_b.w.norm() * distance : b.spin_speed;
  const double reach = margin + step * ((b.v - a.v).norm() + spin_a + spin_b);
  points.clear();
  collide(local.constants[i].shape, local.state[i].pose, local.constants[j].shape, pose_b, reach,
          points, model->geometries);
  for (const ContactPoint& c : points) {
    const Vec3 v_a = a.v + twist_a.w.cross(c.point - a.p);
    const Vec3 v_b = b.v + twist_b.w.cross(c.point - pose_b.p);
    if (!(c.gap < margin || c.gap < step * c.normal.dot(v_a - v_b))) continue;
    contacts.push_back(
        {{a.id, b.id, c.feature, part(c.part)}, body_a, body_b, c.point, c.normal, c.gap});
  }
}

/// Whether a joint keeps two bodies from making contacts. Pairs come in ascending order, as those
/// of the list do, so that the list is passed once.
bool ContactSearch::Impl::held_apart(const Probe& a, const Probe& b) {
  const std::pair pair(a.id, b.id);
  while (next_apart < apart.size() && apart[next_apart] < pair) ++next_apart;
  return next_apart < apart.size() && apart[next_apart] == pair;
}

/// Brings the contacts of a pair, of all images, into the order of keys and into the plane.
void ContactSearch::Impl::finish_pair(const IdPair& pair, std::vector<Contact>& contacts,
                                      std::size_t first) const {
  if (contacts.size() == first) return;
  std::sort(contacts.begin() + first, contacts.end(),
            [](const Contact& x, const Contact& y) { return x.key < y.key; });
  if (!model->planar) return;
  double size = std::numeric_limits<double>::infinity();
  for (const Index position : {pair.low, pair.high}) {
    const Probe& probe = probe_at(position);
    if (probe.type != ShapeType::plane) size = std::min(size, probe.radius);
  }
  search::flatten_contacts(contacts, first, kSamePoint * size);
}

/// Drops the candidates that touch nothing here and that no joint needs, and renumbers the rest.
void ContactSearch::Impl::keep_needed(const JointLinks& links, ContactSet& out) {
  LocalBodies& local = out.bodies;
  if (local.n_ghost == 0) return;
  const std::size_t n_owned = local.n_owned;
  const std::size_t n_candidates = local.n_ghost;
  const std::size_t n_others = local.constants.size() - n_owned;
  moved_to.assign(n_others, kNoIndex);
  for (std::size_t k = 0; k < n_others; ++k) {
    if (k >= n_candidates || search::joints_need(links, local.constants[n_owned + k])) {
      moved_to[k] = 0;
    }
  }
  for (const Contact& contact : out.contacts) {
    for (const Index body : {contact.body_a, contact.body_b}) {
      if (body >= local.n_owned) moved_to[body - n_owned] = 0;
    }
  }
  std::size_t to = n_owned, kept = 0;
  for (std::size_t k = 0; k < n_others; ++k) {
    if (moved_to[k] == kNoIndex) continue;
    if (k < n_candidates) candidate_place[kept++] = candidate_place[k];
    local.constants.other(to) = local.constants[n_owned + k];
    local.state.other(to) = local.state[n_owned + k];
    local.owner[to] = local.owner[n_owned + k];
    moved_to[k] = to_index(to++);
  }
  local.constants.resize(to);
  local.state.resize(to);
  local.owner.resize(to);
  candidate_place.resize(kept);
  local.n_ghost = to_index(kept);
  const auto renumber = [&](Index& body) {
    if (body >= local.n_owned) body = moved_to[body - n_owned];
  };
  for (Contact& contact : out.contacts) {
    renumber(contact.body_a);
    renumber(contact.body_b);
  }
}

/// Collective. Owners learn which of the bodies that they offered are needed where.
void ContactSearch::Impl::plan_halo(ContactSet& out) {
  out.ghosts.neighbours.clear();
  if (comm.size() == 1) return;
  auto& neighbours = out.ghosts.neighbours;
  const LocalBodies& local = out.bodies;
  std::vector<ValueParcel<Index>> wanted;
  for (Index g = 0; g < local.n_ghost; ++g) {
    const std::size_t i = local.n_owned + g;
    if (local.constants[i].kind != BodyKind::dynamic) continue;
    if (neighbours.empty() || neighbours.back().rank != local.owner[i]) {
      neighbours.push_back({local.owner[i], {}, {}});
      wanted.push_back({local.owner[i], {}});
    }
    neighbours.back().receive.push_back(local.n_owned + g);
    wanted.back().values.push_back(candidate_place[g]);
  }
  const auto by_rank = [](const auto& x, int rank) { return x.rank < rank; };
  for (const auto& parcel : exchange_values(comm, std::move(wanted))) {
    auto at = std::lower_bound(neighbours.begin(), neighbours.end(), parcel.rank, by_rank);
    if (at == neighbours.end() || at->rank != parcel.rank) {
      at = neighbours.insert(at, {parcel.rank, {}, {}});
    }
    const auto offer = std::lower_bound(offered.begin(), offered.end(), parcel.rank,
                                        [](const auto& x, int rank) { return x.first < rank; });
    CATENA_CHECK(offer != offered.end() && offer->first == parcel.rank, "what was offered");
    for (const Index place : parcel.values) at->send.push_back(offer->second[place]);
  }
}

void ContactSearch::Impl::release_large() {
  const std::size_t bytes = probes.capacity() * sizeof(Probe) +
                            (boxes.capacity() + grid.capacity()) * 3 * sizeof(Aabb) +
                            (pairs.capacity() + sorted_pairs.capacity()) * sizeof(IdPair);
  if (bytes < kKeptScratch) return;
  broad_phase.release();
  release(probes, boxes, grid, grid_of, place_by_id, pairs, sorted_pairs, bucket);
}

ContactSearch::ContactSearch(const Communicator& comm, const Model& model)
    : impl_(std::make_unique<Impl>(comm, model)) {}
ContactSearch::~ContactSearch() = default;
ContactSearch::ContactSearch(ContactSearch&&) noexcept = default;

void ContactSearch::find(const Bodies& bodies, const State& state, double step, ContactSet& out) {
  Impl& m = *impl_;
  m.step = step;
  m.pairs.clear();
  m.apart = bodies.links.apart;
  if (m.images.any() || m.model->planar) {
    all_or_none(m.comm, [&] { m.refuse_faults(bodies, state); });
  }
  m.add_owned(bodies, state, out.bodies);
  m.add_candidates(bodies, state, out.bodies);
  m.add_unbounded(state.time, out.bodies);
  m.order_by_id();
  m.pairs_of_grid(out.bodies);
  m.pairs_of_planes(out.bodies);
  m.sort_pairs();
  m.narrow_phase(out.bodies, out.contacts);
  m.keep_needed(bodies.links, out);
  search::find_joint_bodies(bodies, out);
  m.plan_halo(out);
  m.release_large();
}

}  // namespace catena
