#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "catena/base/error.hpp"
#include "catena/partition/balance.hpp"
#include "catena/partition/tiles.hpp"
#include "catena/simulation/flow.hpp"
#include "catena/stepper/energy.hpp"
#include "simulation/flow/obstacle.hpp"

namespace catena {

namespace {

/// Bodies whose places are tried together, at first and at most: each round costs a sum over
/// all ranks, and in a full region all but the first are in vain.
constexpr std::size_t kFirstBatch = 16;
constexpr std::size_t kLargestBatch = 256;
/// Part of a body that may be missing from what is owed: round-off of rates times steps.
constexpr double kRoundOff = 1e-9;
constexpr int kMaxCells = 32;  ///< of the grid, along each direction

}  // namespace

/// What stands in a region: a grid of cells over it, each with the obstacles whose box meets it.
struct Inflow::Search {
  const Model& model;
  Aabb region;
  Vec3 cell = Vec3::Ones();
  std::array<int, 3> n = {1, 1, 1};
  std::vector<std::vector<std::int32_t>> cells;
  std::vector<Obstacle> obstacles;
  std::vector<Obstacle> planes;
  std::vector<ContactPoint> scratch;
  Aabb dynamic_box;  ///< of this rank's dynamic bodies' centres

  explicit Search(const Model& m) : model(m) {}

  /// Starts anew for the bodies of one insertion.
  void start(const Insertion& insertion, const Bodies& bodies, const State& state) {
    region = {insertion.settings().lower, insertion.settings().upper};
    for (std::size_t i = 0; i < 3; ++i) {  // what leaves the periodic box enters on the other side
      const int k = narrow<int>(i);
      const PeriodicBox& box = model.periodic;
      if (!box.active[i] || (region.lo[k] >= box.lo[i] && region.hi[k] <= box.hi[i])) continue;
      region.lo[k] = box.lo[i];
      region.hi[k] = box.hi[i];
    }
    // where the region spans the whole period bodies reach out of it
    region.inflate(insertion.largest_radius());
    const double size = 2.0 * insertion.largest_radius();
    for (int i = 0; i < 3; ++i) {
      const double extent = region.hi[i] - region.lo[i];
      n[i] = static_cast<int>(std::clamp(extent / size, 1.0, 1.0 * kMaxCells));
      cell[i] = extent / n[i];
    }
    cells.resize(Offset{n[0]} * Offset{n[1]} * Offset{n[2]});
    for (auto& list : cells) list.clear();
    obstacles.clear();
    planes.clear();
    dynamic_box = {};
    for (std::size_t i = 0; i < bodies.constants.size(); ++i) {
      const BodyConstants& body = bodies.constants[i];
      const Pose& pose = state.body[i].pose;
      const bool dynamic = body.kind == BodyKind::dynamic;
      if (dynamic) dynamic_box.merge({pose.p, pose.p});
      if (body.shape.type != ShapeType::none) {
        add(body, pose, dynamic ? narrow<std::int64_t>(i) : -1);
      }
    }
    for (const BodyRecord& body : model.unbounded) {
      const Pose pose = prescribed_state(model, body.constants, body.state.pose,
                                         motion_of(state, body.constants), state.time)
                            .pose;
      planes.push_back(obstacle_of(model, body.constants, pose));
    }
  }

  void add(const BodyConstants& body, const Pose& at, std::int64_t owned) {
    for_each_image(model.periodic, at, [&](const Pose& pose) {
      Obstacle o = obstacle_of(model, body, pose);
      if (!o.box.overlaps(region)) return;
      o.owned = owned;
      const auto k = narrow<std::int32_t>(obstacles.size());
      for_each_cell(o.box, [&](std::vector<std::int32_t>& list) { list.push_back(k); });
      obstacles.push_back(o);
    });
  }

  template <class Visit>
  void for_each_cell(const Aabb& box, const Visit& visit) {
    std::array<int, 3> from{}, to{};
    for (int i = 0; i < 3; ++i) {
      const auto place = [&](double x) {
        return static_cast<int>(std::clamp((x - region.lo[i]) / cell[i], 0.0, n[i] - 1.0));
      };
      from[i] = place(box.lo[i]);
      to[i] = place(box.hi[i]);
    }
    for (int z = from[2]; z <= to[2]; ++z) {
      for (int y = from[1]; y <= to[1]; ++y) {
        for (int x = from[0]; x <= to[0]; ++x) {
          visit(cells[(z * n[1] + y) * n[0] + x]);
        }
      }
    }
  }

  bool is_taken(const Obstacle& candidate) {
    for (const Obstacle& plane : planes) {
      if (overlap(model, candidate, plane, scratch)) return true;
    }
    bool taken = false;
    for_each_cell(candidate.box, [&](const std::vector<std::int32_t>& list) {
      for (const std::int32_t k : list) {
        if (taken) return;
        taken = overlap(model, candidate, obstacles[k], scratch);
      }
    });
    return taken;
  }

  /// Distance to the nearest own dynamic body: among those close by, else, larger, to the box
  /// that holds them all; infinite without any. `nearest` is its local index, or -1.
  double distance(const Vec3& p, double radius, std::int64_t& nearest) {
    double best = std::numeric_limits<double>::infinity();
    nearest = -1;
    Aabb around{p, p};
    around.inflate(2.0 * radius);
    for_each_cell(around, [&](const std::vector<std::int32_t>& list) {
      for (const std::int32_t k : list) {
        const Obstacle& o = obstacles[k];
        const double d = (o.pose.p - p).norm();
        if (o.owned < 0 || d >= best) continue;
        best = d;
        nearest = o.owned;
      }
    });
    if (nearest >= 0 || !(dynamic_box.lo.array() <= dynamic_box.hi.array()).all()) return best;
    const Vec3 way = (dynamic_box.lo - p).cwiseMax(p - dynamic_box.hi).cwiseMax(0.0);
    return way.norm() + (region.hi - region.lo).norm();
  }
};

Inflow::Inflow(const Communicator& comm, const SceneSettings& scene, const Model& model)
    : comm_(comm),
      model_(model),
      insertions_(make_insertions(scene, comm, model)),
      search_(std::make_unique<Search>(model)) {}

Inflow::~Inflow() = default;

namespace {

/// What one body takes of that which is owed: 1, or its mass.
double cost_of(const Insertion& insertion, const BodyConstants& body) {
  return std::isnan(insertion.settings().mass_rate) ? 1.0 : body.mass;
}

/// Collective. The tile of each body that comes in if this rank owns that tile, else -1.
std::vector<std::int32_t> parts_by_tile(const Communicator& comm, const Bodies& bodies,
                                        const State& state, const std::vector<BodyRecord>& fresh) {
  std::vector<Vec3> points;
  points.reserve(fresh.size());
  for (const BodyRecord& body : fresh) points.push_back(body.state.pose.p);
  return nearest_own_tiles(comm, bodies, state, points);
}

bool is_owed(double cost, double owed) { return owed >= cost * (1.0 - kRoundOff); }

/// Adds what falls due in [t, t + h); whether there is a body to insert.
bool fall_due(const Insertion& insertion, double t, double h, InflowProgress& progress) {
  const InsertionSettings& s = insertion.settings();
  if (progress.made == s.count) return false;
  const double rate = std::isnan(s.mass_rate) ? s.number_rate : s.mass_rate;
  progress.owed += rate * std::max(0.0, std::min(t + h, s.end) - std::max(t, s.start));
  if (std::isnan(s.mass_rate)) {  // no more than there will be
    progress.owed = std::min(progress.owed, static_cast<double>(s.count - progress.made));
  }
  return is_owed(cost_of(insertion, insertion.constants(progress.made)), progress.owed);
}

/// Bodies of an insertion that are tried in one round, with all places that they may take.
struct Batch {
  std::vector<BodyConstants> bodies;
  std::vector<double> cost;  ///< of what is owed
  std::vector<std::size_t> begin = {0};
  std::vector<BodyMotionState> places;
  std::vector<std::int64_t> taken;  ///< per place: by how many ranks' bodies

  Batch(const Insertion& insertion, const InflowProgress& progress, std::size_t most) {
    const InsertionSettings& s = insertion.settings();
    double owed = progress.owed;
    for (std::int64_t number = progress.made; number < s.count && bodies.size() < most; ++number) {
      const BodyConstants body = insertion.constants(number);
      const double one = cost_of(insertion, body);
      if (!is_owed(one, owed)) break;
      owed -= one;
      const std::int64_t tried = bodies.empty() ? progress.tried : 0;
      for (int k = 0; k < s.attempts; ++k) {
        places.push_back(insertion.place(body, number, tried + k));
      }
      bodies.push_back(body);
      cost.push_back(one);
      begin.push_back(places.size());
    }
  }
};

}  // namespace

std::vector<BodyRecord> Inflow::accept(const Insertion& insertion, InflowProgress& progress,
                                       Search& search) const {
  std::vector<BodyRecord> accepted;
  std::vector<ContactPoint> scratch;
  for (std::size_t most = kFirstBatch;; most = std::min(2 * most, kLargestBatch)) {
    Batch batch(insertion, progress, most);
    if (batch.bodies.empty()) return accepted;
    const auto candidate = [&](std::size_t i, std::size_t k) {
      return obstacle_of(model_, batch.bodies[i], batch.places[k].pose);
    };
    for (std::size_t i = 0; i < batch.bodies.size(); ++i) {
      for (std::size_t k = batch.begin[i]; k < batch.begin[i + 1]; ++k) {
        batch.taken.push_back(search.is_taken(candidate(i, k)) ? 1 : 0);
      }
    }
    comm_.sum(batch.taken);

    std::vector<Obstacle> fresh;
    for (std::size_t i = 0; i < batch.bodies.size(); ++i) {
      std::size_t k = batch.begin[i];
      for (; k < batch.begin[i + 1]; ++k) {
        if (batch.taken[k] > 0) continue;
        const Obstacle place = candidate(i, k);
        const bool free = std::ranges::none_of(
            fresh, [&](const Obstacle& other) { return overlap(model_, place, other, scratch); });
        if (free) break;
      }
      progress.refused += k - batch.begin[i];
      if (k == batch.begin[i + 1]) {  // no room: it and those behind it wait
        progress.tried += k - batch.begin[i];
        return accepted;
      }
      progress.tried = 0;
      progress.owed -= batch.cost[i];
      ++progress.made;
      accepted.push_back({batch.bodies[i], batch.places[k]});
      for_each_image(model_.periodic, batch.places[k].pose, [&](const Pose& pose) {
        fresh.push_back(obstacle_of(model_, batch.bodies[i], pose));
      });
      search.add(batch.bodies[i], batch.places[k].pose, -1);
    }
  }
}

std::vector<std::int32_t> Inflow::parts_by_neighbour(const std::vector<BodyRecord>& fresh,
                                                     int n_parts, const State& state) const {
  const std::size_t n = fresh.size();
  std::vector<std::int64_t> neighbour(n);
  std::vector<double> nearness(n), claims(n, -std::numeric_limits<double>::infinity());
  for (std::size_t k = 0; k < n; ++k) {
    nearness[k] = -search_->distance(fresh[k].state.pose.p,
                                     bounding_radius(fresh[k].constants.shape), neighbour[k]);
  }
  std::vector<double> nearest = nearness;
  comm_.max(nearest);
  for (std::size_t k = 0; k < n; ++k) {
    if (nearness[k] == nearest[k]) claims[k] = -comm_.rank();
  }
  comm_.max(claims);
  int first_part = 0;  // of this rank
  while (first_part + 1 < n_parts &&
         rank_of_part(first_part, n_parts, comm_.size()) < comm_.rank()) {
    ++first_part;
  }
  std::vector<std::int32_t> part(n, -1);
  for (std::size_t k = 0; k < n; ++k) {
    if (claims[k] != -comm_.rank()) continue;
    const std::size_t next = std::max<std::int64_t>(neighbour[k], 0);
    part[k] = state.subdomain.empty() ? first_part : state.subdomain[next];
  }
  return part;
}

std::int64_t Inflow::insert(double h, int n_parts, Bodies& bodies, State& state) {
  std::int64_t inserted = 0;
  for (std::size_t i = 0; i < insertions_.size(); ++i) {
    if (!fall_due(insertions_[i], state.time, h, state.inflow[i])) continue;
    search_->start(insertions_[i], bodies, state);
    const std::vector<BodyRecord> fresh = accept(insertions_[i], state.inflow[i], *search_);
    for (const BodyRecord& body : fresh) {
      ++state.flow.inserted;
      state.flow.inserted_mass += body.constants.mass;
    }
    inserted += std::ssize(fresh);

    const std::vector<std::int32_t> part = model_.deterministic
                                               ? parts_by_tile(comm_, bodies, state, fresh)
                                               : parts_by_neighbour(fresh, n_parts, state);
    Bodies own_bodies;
    State own_state;
    for (std::size_t k = 0; k < fresh.size(); ++k) {
      if (part[k] < 0) continue;
      bodies.constants.push_back(fresh[k].constants);
      state.body.push_back(fresh[k].state);
      state.subdomain.push_back(part[k]);
      own_bodies.constants.push_back(fresh[k].constants);
      own_state.body.push_back(fresh[k].state);
    }
    const EnergyMomentum energy = total_energy_and_momentum(comm_, model_, own_bodies, own_state);
    state.audit[EnergyTerm::flow_energy] += energy.kinetic + energy.potential;
  }
  return inserted;
}

}  // namespace catena
