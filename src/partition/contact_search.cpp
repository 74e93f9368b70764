#include "catena/partition/contact_search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "bytes.hpp"
#include "catena/base/error.hpp"
#include "catena/collision/broad_phase.hpp"
#include "catena/collision/sphere_pair.hpp"
#include "rank_boxes.hpp"

namespace catena {

using partition_detail::RankBoxes;

namespace {

/// What the pair loop needs of a body, close together in memory.
struct Probe {
  Vec3 p;
  Vec3 v;             ///< velocity that the step starts to move with: v + h g if dynamic
  double radius;      ///< of the sphere, or of the sphere around the body
  double spin_speed;  ///< bound of what rotation adds to the surface's normal speed
  GlobalId id;
  ShapeType type;
  bool dynamic;
};

/// A pair as positions in the order of ids, so that sorting it sorts by key.
struct IdPair {
  Index low, high;
};

}  // namespace

struct ContactSearch::Impl {
  Communicator comm;
  const Model* model;
  double step = 0.0;

  BroadPhase broad_phase;
  RankBoxes rank_boxes;
  std::vector<Probe> probes;  ///< of all local bodies
  std::vector<Aabb> boxes;    ///< swept, of owned bodies and candidates
  /// Owned bodies sent to other ranks as candidates, ascending in rank.
  std::vector<std::pair<int, std::vector<Index>>> offered;
  std::vector<Index> candidate_place;     ///< in the parcel of its owner
  std::vector<Index> by_id, place_by_id;  ///< local bodies in the order of ids, and back
  std::vector<IdPair> pairs, sorted_pairs;
  std::vector<Index> bucket;
  std::vector<ContactPoint> points;
  std::vector<Index> moved_to;  ///< new place of local bodies; kNoIndex: dropped

  Impl(const Communicator& c, const Model& m) : comm(c), model(&m) {}

  Probe probe_of(const BodyConstants& constants, const BodyMotionState& state) const;
  Aabb swept_box(const Shape& shape, const Pose& pose, const Probe& probe) const;
  void add_owned(const Bodies& bodies, const State& state, LocalBodies& local);
  void add_candidates(const Bodies& bodies, const State& state, LocalBodies& local);
  void add_unbounded(double time, LocalBodies& local);
  void order_by_id();
  void pairs_of_grid(const LocalBodies& local);
  void pairs_of_planes(const LocalBodies& local);
  void sort_pairs();
  void narrow_phase(const LocalBodies& local, std::vector<Contact>& contacts);
  void collide_pair(const LocalBodies& local, Index a, Index b, std::vector<Contact>& contacts);
  void keep_needed(ContactSet& out);
  void plan_halo(ContactSet& out);
};

Probe ContactSearch::Impl::probe_of(const BodyConstants& constants,
                                    const BodyMotionState& state) const {
  Probe probe;
  probe.p = state.pose.p;
  probe.v = state.twist.v;
  probe.dynamic = constants.kind == BodyKind::dynamic;
  if (probe.dynamic) probe.v += step * model->gravity;
  probe.type = constants.shape.type;
  // a plane is dealt with on its own
  probe.radius = probe.type == ShapeType::plane ? 0.0 : bounding_radius(constants.shape);
  probe.spin_speed = probe.type == ShapeType::sphere ? 0.0 : state.twist.w.norm() * probe.radius;
  probe.id = constants.id;
  return probe;
}

/// Box over the way of a body in the step, grown by half the margin.
Aabb ContactSearch::Impl::swept_box(const Shape& shape, const Pose& pose,
                                    const Probe& probe) const {
  Aabb box = bounds_of(shape, pose);
  if (shape.type == ShapeType::none) return box;
  const Vec3 way = step * probe.v;
  box.lo += way.cwiseMin(0.0);
  box.hi += way.cwiseMax(0.0);
  box.inflate(0.5 * model->contact.margin + step * probe.spin_speed);
  return box;
}

void ContactSearch::Impl::add_owned(const Bodies& bodies, const State& state, LocalBodies& local) {
  const std::size_t n = bodies.constants.size();
  CATENA_CHECK(state.body.size() == n, "a state for each body");
  local.constants.assign(bodies.constants.begin(), bodies.constants.end());
  local.state.assign(state.body.begin(), state.body.end());
  local.owner.assign(n, comm.rank());
  local.n_owned = static_cast<Index>(n);
  probes.resize(n);
  boxes.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    probes[i] = probe_of(bodies.constants[i], state.body[i]);
    boxes[i] = swept_box(bodies.constants[i].shape, state.body[i].pose, probes[i]);
  }
}

/// Collective. Owned bodies go to the ranks whose boxes they reach; theirs come here, all
/// as ghosts for the time being.
void ContactSearch::Impl::add_candidates(const Bodies& bodies, const State& state,
                                         LocalBodies& local) {
  offered.clear();
  candidate_place.clear();
  if (comm.size() > 1) {
    rank_boxes.group(bodies, boxes);
    const std::vector<double> all = comm.all_gather(std::span(rank_boxes.published()));
    rank_boxes.select(all, comm.rank(), boxes, offered);
    std::vector<Parcel> outgoing;
    for (const auto& [rank, list] : offered) {
      Parcel parcel{rank, {}};
      parcel.bytes.reserve(list.size() * sizeof(BodyRecord));
      for (const Index i : list) {
        const auto k = static_cast<std::size_t>(i);
        partition_detail::put(parcel.bytes, BodyRecord{bodies.constants[k], state.body[k]});
      }
      outgoing.push_back(std::move(parcel));
    }
    for (const Parcel& parcel : comm.exchange(std::move(outgoing))) {
      std::span<const std::byte> bytes(parcel.bytes);
      for (Index place = 0; !bytes.empty(); ++place) {
        const auto record = partition_detail::take<BodyRecord>(bytes);
        local.constants.push_back(record.constants);
        local.state.push_back(record.state);
        local.owner.push_back(parcel.rank);
        candidate_place.push_back(place);
        probes.push_back(probe_of(record.constants, record.state));
        boxes.push_back(swept_box(record.constants.shape, record.state.pose, probes.back()));
      }
    }
  }
  local.n_ghost = static_cast<Index>(candidate_place.size());
}

void ContactSearch::Impl::add_unbounded(double time, LocalBodies& local) {
  for (const BodyRecord& body : model->unbounded) {
    const BodyMotionState now = prescribed_state(*model, body.constants, body.state, time);
    local.constants.push_back(body.constants);
    local.state.push_back(now);
    local.owner.push_back(0);
    probes.push_back(probe_of(body.constants, now));
  }
}

/// The order of ids seldom changes between steps, so the last one is tried first.
void ContactSearch::Impl::order_by_id() {
  if (by_id.size() != probes.size()) {
    by_id.resize(probes.size());
    std::iota(by_id.begin(), by_id.end(), Index{0});
  }
  const auto less = [this](Index i, Index j) {
    return probes[static_cast<std::size_t>(i)].id < probes[static_cast<std::size_t>(j)].id;
  };
  if (!std::is_sorted(by_id.begin(), by_id.end(), less)) {
    std::sort(by_id.begin(), by_id.end(), less);
  }
  place_by_id.resize(by_id.size());
  for (std::size_t k = 0; k < by_id.size(); ++k) {
    place_by_id[static_cast<std::size_t>(by_id[k])] = static_cast<Index>(k);
  }
}

/// Pairs with overlapping boxes whose contacts this rank holds.
void ContactSearch::Impl::pairs_of_grid(const LocalBodies& local) {
  for (const auto& [i, j] : broad_phase.find(boxes, local.n_owned)) {
    const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j);
    if (!probes[a].dynamic && !probes[b].dynamic) continue;
    // i < j, so i is owned; where j is a ghost, the pair's home may be on its rank
    if (j >= local.n_owned && home_of(local.constants[a], local.constants[b]) != probes[a].id) {
      continue;
    }
    pairs.push_back(
        {std::min(place_by_id[a], place_by_id[b]), std::max(place_by_id[a], place_by_id[b])});
  }
}

/// Owned dynamic bodies with the planes that they can reach in the step.
void ContactSearch::Impl::pairs_of_planes(const LocalBodies& local) {
  const auto first = static_cast<std::size_t>(local.n_owned + local.n_ghost);
  for (std::size_t u = first; u < probes.size(); ++u) {
    if (probes[u].type != ShapeType::plane) continue;
    const Vec3 up = local.state[u].pose.q.toRotationMatrix().col(2);
    const double spin = local.state[u].twist.w.norm();
    for (std::size_t i = 0; i < static_cast<std::size_t>(local.n_owned); ++i) {
      const Probe& body = probes[i];
      if (!body.dynamic || body.type == ShapeType::none) continue;
      const Vec3 from_plane = body.p - probes[u].p;
      const double closing =
          up.dot(probes[u].v - body.v) + body.spin_speed + spin * (from_plane.norm() + body.radius);
      const double reach = model->contact.margin + step * std::max(0.0, closing);
      if (!(up.dot(from_plane) - body.radius < reach)) continue;
      pairs.push_back(
          {std::min(place_by_id[i], place_by_id[u]), std::max(place_by_id[i], place_by_id[u])});
    }
  }
}

/// Counting sort by the lower id, then each bucket by the higher.
void ContactSearch::Impl::sort_pairs() {
  bucket.assign(by_id.size() + 1, 0);
  for (const IdPair& pair : pairs) ++bucket[static_cast<std::size_t>(pair.low) + 1];
  std::partial_sum(bucket.begin(), bucket.end(), bucket.begin());
  sorted_pairs.resize(pairs.size());
  for (const IdPair& pair : pairs) {
    sorted_pairs[static_cast<std::size_t>(bucket[static_cast<std::size_t>(pair.low)]++)] = pair;
  }
  auto begin = sorted_pairs.begin();
  for (std::size_t k = 0; k < by_id.size(); ++k) {
    const auto end = sorted_pairs.begin() + bucket[k];
    std::sort(begin, end, [](const IdPair& x, const IdPair& y) { return x.high < y.high; });
    begin = end;
  }
}

/// Contacts of all pairs, in the order of pairs, so ascending in key.
void ContactSearch::Impl::narrow_phase(const LocalBodies& local, std::vector<Contact>& contacts) {
  const double margin = model->contact.margin;
  contacts.clear();
  for (const IdPair& pair : sorted_pairs) {
    const Index body_a = by_id[static_cast<std::size_t>(pair.low)],
                body_b = by_id[static_cast<std::size_t>(pair.high)];
    const Probe &a = probes[static_cast<std::size_t>(body_a)],
                &b = probes[static_cast<std::size_t>(body_b)];
    if (a.type != ShapeType::sphere || b.type != ShapeType::sphere) {
      collide_pair(local, body_a, body_b, contacts);
      continue;
    }
    const SphereGap g = sphere_gap(a.p, a.radius, b.p, b.radius);
    if (!(g.gap < margin || g.gap < step * g.normal.dot(a.v - b.v))) continue;
    contacts.push_back(
        {{a.id, b.id, 0, 0}, body_a, body_b, sphere_pair_point(a.p, a.radius, g), g.normal, g.gap});
  }
}

void ContactSearch::Impl::collide_pair(const LocalBodies& local, Index body_a, Index body_b,
                                       std::vector<Contact>& contacts) {
  const auto i = static_cast<std::size_t>(body_a), j = static_cast<std::size_t>(body_b);
  const Probe &a = probes[i], &b = probes[j];
  const Twist &twist_a = local.state[i].twist, &twist_b = local.state[j].twist;
  const double margin = model->contact.margin;
  // a plane turns about its position, which may be far from where it is touched
  const double distance = (b.p - a.p).norm() + a.radius + b.radius;
  const double spin_a = a.type == ShapeType::plane ? twist_a.w.norm() * distance : a.spin_speed;
  const double spin_b = b.type == ShapeType::plane ? twist_b.w.norm() * distance : b.spin_speed;
  const double reach = margin + step * ((b.v - a.v).norm() + spin_a + spin_b);
  points.clear();
  collide(local.constants[i].shape, local.state[i].pose, local.constants[j].shape,
          local.state[j].pose, reach, points);
  std::sort(points.begin(), points.end(),
            [](const ContactPoint& x, const ContactPoint& y) { return x.feature < y.feature; });
  for (const ContactPoint& c : points) {
    const Vec3 v_a = a.v + twist_a.w.cross(c.point - a.p);
    const Vec3 v_b = b.v + twist_b.w.cross(c.point - b.p);
    if (!(c.gap < margin || c.gap < step * c.normal.dot(v_a - v_b))) continue;
    contacts.push_back({{a.id, b.id, c.feature, 0}, body_a, body_b, c.point, c.normal, c.gap});
  }
}

/// Drops the candidates that touch nothing here and renumbers the rest.
void ContactSearch::Impl::keep_needed(ContactSet& out) {
  LocalBodies& local = out.bodies;
  if (local.n_ghost == 0) return;
  const auto n_owned = static_cast<std::size_t>(local.n_owned);
  const std::size_t n = local.constants.size();
  moved_to.assign(n, kNoIndex);
  const auto n_candidates = static_cast<std::size_t>(local.n_ghost);
  for (std::size_t i = 0; i < n; ++i) {
    if (i < n_owned || i >= n_owned + n_candidates) moved_to[i] = 0;
  }
  for (const Contact& contact : out.contacts) {
    moved_to[static_cast<std::size_t>(contact.body_a)] = 0;
    moved_to[static_cast<std::size_t>(contact.body_b)] = 0;
  }
  std::size_t to = 0, kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (moved_to[i] == kNoIndex) continue;
    if (i >= n_owned && i < n_owned + n_candidates) {
      candidate_place[kept++] = candidate_place[i - n_owned];
    }
    local.constants[to] = local.constants[i];
    local.state[to] = local.state[i];
    local.owner[to] = local.owner[i];
    moved_to[i] = static_cast<Index>(to++);
  }
  local.constants.resize(to);
  local.state.resize(to);
  local.owner.resize(to);
  candidate_place.resize(kept);
  local.n_ghost = static_cast<Index>(kept);
  for (Contact& contact : out.contacts) {
    contact.body_a = moved_to[static_cast<std::size_t>(contact.body_a)];
    contact.body_b = moved_to[static_cast<std::size_t>(contact.body_b)];
  }
}

/// Collective. Owners learn which of the bodies that they offered are needed where.
void ContactSearch::Impl::plan_halo(ContactSet& out) {
  out.ghosts.neighbours.clear();
  if (comm.size() == 1) return;
  auto& neighbours = out.ghosts.neighbours;
  const LocalBodies& local = out.bodies;
  std::vector<Parcel> wanted;
  for (Index g = 0; g < local.n_ghost; ++g) {
    const auto i = static_cast<std::size_t>(local.n_owned + g);
    if (local.constants[i].kind != BodyKind::dynamic) continue;
    if (neighbours.empty() || neighbours.back().rank != local.owner[i]) {
      neighbours.push_back({local.owner[i], {}, {}});
      wanted.push_back({local.owner[i], {}});
    }
    neighbours.back().receive.push_back(local.n_owned + g);
    partition_detail::put(wanted.back().bytes, candidate_place[static_cast<std::size_t>(g)]);
  }
  const auto by_rank = [](const auto& x, int rank) { return x.rank < rank; };
  for (const Parcel& parcel : comm.exchange(std::move(wanted))) {
    auto at = std::lower_bound(neighbours.begin(), neighbours.end(), parcel.rank, by_rank);
    if (at == neighbours.end() || at->rank != parcel.rank) {
      at = neighbours.insert(at, {parcel.rank, {}, {}});
    }
    const auto offer = std::lower_bound(offered.begin(), offered.end(), parcel.rank,
                                        [](const auto& x, int rank) { return x.first < rank; });
    CATENA_CHECK(offer != offered.end() && offer->first == parcel.rank, "what was offered");
    for (const Index place : partition_detail::from_bytes<Index>(parcel.bytes)) {
      at->send.push_back(offer->second[static_cast<std::size_t>(place)]);
    }
  }
}

ContactSearch::ContactSearch(const Communicator& comm, const Model& model)
    : impl_(std::make_unique<Impl>(comm, model)) {}
ContactSearch::~ContactSearch() = default;
ContactSearch::ContactSearch(ContactSearch&&) noexcept = default;

void ContactSearch::find(const Bodies& bodies, const State& state, double step, ContactSet& out) {
  Impl& m = *impl_;
  m.step = step;
  m.pairs.clear();
  m.add_owned(bodies, state, out.bodies);
  m.add_candidates(bodies, state, out.bodies);
  m.add_unbounded(state.time, out.bodies);
  m.order_by_id();
  m.pairs_of_grid(out.bodies);
  m.pairs_of_planes(out.bodies);
  m.sort_pairs();
  m.narrow_phase(out.bodies, out.contacts);
  m.keep_needed(out);
  m.plan_halo(out);
}

}  // namespace catena
