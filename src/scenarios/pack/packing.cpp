#include "scenarios/pack/packing.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "catena/base/error.hpp"
#include "catena/base/random.hpp"
#include "catena/base/text.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "scenarios/pack/permutation.hpp"
#include "scenarios/pack/relaxation.hpp"
#include "scenarios/scene_parts.hpp"

namespace catena::scenarios {

namespace {

/// Equal balls fill pi / sqrt(18) of space at most.
const double kDensest = std::numbers::pi / std::sqrt(18.0);
/// A pack that misses its fraction by more is remarked on.
constexpr double kMiss = 0.002;
/// Places drawn for a body until one is inside the region.
constexpr std::uint64_t kDraws = 100000;

double cube(double x) { return x * x * x; }

}  // namespace

Pack::Pack(const PackSettings& settings, const Shape& one, const Geometry* surface,
           const Model& model, std::uint64_t seed)
    : settings_(settings),
      region_(settings.region, model.periodic, surface),
      sizes_(settings.sizes, 2.0 * equivalent_radius(one, model.geometries)),
      seed_(seed),
      ball_(bounding_radius(one)) {
  constexpr int kParts = 4096;
  for (int i = 0; i < kParts; ++i) {
    const double factor = sizes_.factor((i + 0.5) / kParts);
    mean_factor_ += factor / kParts;
    mean_cube_ += cube(factor) / kParts;
  }
  body_volume_ = mean_cube_ * volume_of(one, model.geometries);
  const double count = settings.solid_fraction * region_.volume() / body_volume_;
  count_ = static_cast<GlobalId>(std::llround(std::min(count, kMaxBodies + 1.0)));
}

double Pack::factor(GlobalId k) const {
  const auto n = static_cast<std::uint64_t>(count_);
  const std::uint64_t part = permuted(static_cast<std::uint64_t>(k), n, seed_);
  return sizes_.factor((static_cast<double>(part) + 0.5) / static_cast<double>(n));
}

double Pack::ball_fraction() const {
  constexpr double kBall = 4.0 / 3.0 * std::numbers::pi;
  return static_cast<double>(count_) * kBall * mean_cube_ * cube(ball_) / region_.volume();
}

Vec3 Pack::first_place(GlobalId k) const {
  constexpr std::uint64_t kFirstStream = 8, kPerDraw = 3;
  const Aabb box = region_.bounds();
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    Vec3 p;
    for (int i = 0; i < 3; ++i) {
      const double u = uniform01(seed_, static_cast<std::uint64_t>(k),
                                 kFirstStream + kPerDraw * draw + static_cast<std::uint64_t>(i));
      p[i] = box.lo[i] + u * (box.hi[i] - box.lo[i]);
    }
    if (region_.holds(p)) return p;
  }
  throw Error("of " + std::to_string(kDraws) + " points in the box about the region none is inside",
              "", "check the surface, its unit and scale");
}

void check_pack(const Pack& pack, const Model& model, const std::string& place,
                std::vector<std::string>& warnings) {
  const PackSettings& s = pack.settings();
  const auto refuse = [&](const std::string& key, const std::string& found,
                          const std::string& fix) { throw Error(found, place + "." + key, fix); };
  if (pack.largest_ball() > pack.region().largest_radius())
    refuse("region",
           "the largest body is " + short_text(2.0 * pack.largest_ball()) +
               " m across and does not fit",
           "make the region larger, or the bodies smaller");
  if (pack.count() < 1)
    refuse("solid_fraction", "that is less than half a body", "make the region larger");
  if (static_cast<double>(pack.count()) > kMaxBodies)
    refuse("region", "more than 1e12 bodies", "make the region smaller");
  const Aabb box = pack.region().bounds();
  for (int i = 0; i < 3; ++i) {
    const PeriodicBox& periodic = model.periodic;
    if (!periodic.active[i] || (box.lo[i] >= periodic.lo[i] && box.hi[i] <= periodic.hi[i]))
      continue;
    refuse("region", std::string("reaches beyond the periodic box along ") + "xyz"[i],
           "keep it within the box, or let a box of a region span the direction whole");
  }
  const double balls = pack.ball_fraction();
  const bool one_size = s.sizes.kind == SizeSettings::Kind::none;
  if (balls > (one_size ? kDensest : 1.0))
    refuse("solid_fraction",
           "the balls about the bodies would fill " + short_text(balls) + " of the region" +
               (one_size ? ", of which equal ones fill 0.74 at most" : ""),
           "lower solid_fraction, and let gravity or a piston settle it");
  if (std::abs(pack.fraction() - s.solid_fraction) > kMiss)
    warnings.push_back(place + ".solid_fraction: " + std::to_string(pack.count()) +
                       " whole bodies make " + short_text(pack.fraction()));
}

namespace {

struct Place {
  GlobalId number;
  Vec3 p;
};

/// Who holds number k, where rank r chose from[r] .. from[r + 1] - 1; ranks may hold nothing.
int rank_of(const std::vector<std::int64_t>& to, GlobalId k) {
  return static_cast<int>(std::upper_bound(to.begin(), to.end(), k) - to.begin());
}

}  // namespace

std::vector<Vec3> pack_places(const Communicator& comm, const Pack& pack, GlobalId from,
                              GlobalId to, const std::string& place) {
  std::vector<Ball> balls;
  all_or_none(comm, [&] {
    with_place(place + ".region", [&] {
      for (GlobalId k = from; k < to; ++k)
        balls.push_back({k, pack.first_place(k), pack.factor(k) * pack.ball()});
    });
  });
  balls = dealt_by_place(comm, pack.region().bounds(), balls);
  const RelaxationReport report = move_apart(comm, pack.region(), pack.typical_ball(), balls);
  bool inside = true;
  for (const Ball& ball : balls) inside = inside && pack.region().holds(ball.p);
  if (comm.min(std::int64_t{inside}) == 0 || !report.apart)
    throw Error("the bodies do not fit: after " + std::to_string(report.iterations) +
                    " steps of moving them apart they still overlap by up to " +
                    short_text(report.overlap) + " of the smaller radius",
                place + ".solid_fraction",
                "lower it: equal spheres reach about 0.63, less where the region is few diameters "
                "wide, spheres of several sizes more; other shapes count as the balls about them");
  const std::vector<std::int64_t> ends = comm.all_gather(std::span(&std::as_const(to), 1));
  RankLists<Place> out(comm.size());
  for (const Ball& ball : balls) out[rank_of(ends, ball.id)].push_back({ball.id, ball.p});
  std::vector<Vec3> places(static_cast<std::size_t>(std::max(to - from, GlobalId{0})));
  for (const Place& one : joined(all_to_all(comm, std::move(out))))
    places[static_cast<std::size_t>(one.number - from)] = one.p;
  return places;
}

}  // namespace catena::scenarios
