#include "partition/graph/curve.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "catena/comm/typed_exchange.hpp"
#include "catena/partition/balance.hpp"

namespace catena {

namespace {

constexpr int kBits = 21;  // per axis: 63 in all

std::uint32_t grid_coordinate(double x, double lo, double edge) {
  constexpr double kCells = 1 << kBits;
  const double s = (x - lo) / edge * kCells;
  if (!(s > 0.0)) return 0;  // also NaN, and 0/0 of a box without extent
  return s >= kCells ? (1U << kBits) - 1 : static_cast<std::uint32_t>(s);
}

// J. Skilling, Programming the Hilbert curve (2004): grid coordinates to the transposed
// Hilbert index, in place.
void to_transposed_hilbert(std::array<std::uint32_t, 3>& x) {
  constexpr std::uint32_t kTop = 1U << (kBits - 1);
  for (std::uint32_t q = kTop; q > 1; q >>= 1) {
    const std::uint32_t p = q - 1;
    for (std::uint32_t& xi : x) {
      if ((xi & q) != 0) {
        x[0] ^= p;
      } else {
        const std::uint32_t t = (x[0] ^ xi) & p;
        x[0] ^= t;
        xi ^= t;
      }
    }
  }
  x[1] ^= x[0];
  x[2] ^= x[1];
  std::uint32_t t = 0;
  for (std::uint32_t q = kTop; q > 1; q >>= 1) {
    if ((x[2] & q) != 0) t ^= q - 1;
  }
  for (std::uint32_t& xi : x) xi ^= t;
}

}  // namespace

std::uint64_t curve_key(const Vec3& point, const Aabb& box) {
  // Cubic cells: on stretched ones neighbours along the curve lie far apart.
  const double edge = (box.hi - box.lo).maxCoeff();
  std::array<std::uint32_t, 3> x{};
  for (int i = 0; i < 3; ++i) {
    x[i] = grid_coordinate(point[i], box.lo[i], edge);
  }
  to_transposed_hilbert(x);
  std::uint64_t key = 0;
  for (int bit = kBits - 1; bit >= 0; --bit) {
    for (const std::uint32_t xi : x) key = (key << 1) | ((xi >> bit) & 1U);
  }
  return key;
}

std::vector<int> partition_by_curve(const Communicator& comm, const Bodies& bodies,
                                    const State& state, int n_parts) {
  const Aabb box = partition::curve_box(comm, state);
  const auto places = partition::curve_places(bodies, state, box);
  const std::vector<std::int64_t> ones(places.size(), 1);
  return partition::split_curve(comm, places, ones, n_parts);
}

namespace partition {

Aabb curve_box(const Communicator& comm, const State& state) {
  Aabb own;
  for (const BodyMotionState& body : state.body) {
    if (body.pose.p.allFinite()) own.merge({body.pose.p, body.pose.p});
  }
  std::array<double, 6> bound{-own.lo.x(), -own.lo.y(), -own.lo.z(),
                              own.hi.x(),  own.hi.y(),  own.hi.z()};
  comm.max(bound);
  const Aabb box{{-bound[0], -bound[1], -bound[2]}, {bound[3], bound[4], bound[5]}};
  if ((box.lo.array() <= box.hi.array()).all()) return box;
  return {Vec3::Zero(), Vec3::Ones()};
}

std::vector<CurvePlace> curve_places(const Bodies& bodies, const State& state, const Aabb& box) {
  std::vector<CurvePlace> places(bodies.constants.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i] = {curve_key(state.body[i].pose.p, box),
                 static_cast<std::uint64_t>(bodies.constants[i].id)};
  }
  return places;
}

namespace {

// This rank's places in order, with the sums of weights before each.
struct SortedPlaces {
  std::vector<CurvePlace> places;
  std::vector<std::int64_t> before;  // one longer than places

  SortedPlaces(std::span<const CurvePlace> from, std::span<const std::int64_t> weights) {
    std::vector<std::size_t> order(from.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return from[a] < from[b]; });
    before.push_back(0);
    for (const std::size_t i : order) {
      places.push_back(from[i]);
      before.push_back(before.back() + weights[i]);
    }
  }
  std::int64_t weight_before(const CurvePlace& place) const {
    const auto at = std::lower_bound(places.begin(), places.end(), place);
    return before[at - places.begin()];
  }
};

constexpr int kDigitBits = 4;
constexpr int kDigits = 64 / kDigitBits;        // of the key, then as many of the id
constexpr int kTrials = (1 << kDigitBits) - 1;  // values of a digit besides 0

CurvePlace with_digit(CurvePlace place, int digit, int value) {
  const auto shift = static_cast<unsigned>((2 * kDigits - 1 - digit) % kDigits * kDigitBits);
  const std::uint64_t bits = static_cast<std::uint64_t>(value) << shift;
  (digit < kDigits ? place.key : place.id) |= bits;
  return place;
}

// First places of parts 1 .. n_parts-1, found digit by digit, all parts at once.
std::vector<CurvePlace> find_cuts(const Communicator& comm, const SortedPlaces& sorted,
                                  int n_parts) {
  const std::int64_t total = comm.sum(sorted.before.back());
  const std::size_t n_cuts = n_parts - 1;
  std::vector<CurvePlace> cut(n_cuts);
  std::vector<std::int64_t> target(n_cuts);
  for (std::size_t c = 0; c < n_cuts; ++c) {
    const auto p = narrow<std::int64_t>(c) + 1;
    target[c] = total / n_parts * p + total % n_parts * p / n_parts;
  }
  std::vector<std::int64_t> reached(n_cuts, 0);
  std::vector<std::int64_t> trial(n_cuts * kTrials);
  for (int digit = 0; digit < 2 * kDigits && reached != target; ++digit) {
    for (std::size_t c = 0; c < n_cuts; ++c) {
      for (int v = 1; v <= kTrials; ++v) {
        trial[c * kTrials + v - 1] = sorted.weight_before(with_digit(cut[c], digit, v));
      }
    }
    comm.sum(trial);
    for (std::size_t c = 0; c < n_cuts; ++c) {
      if (reached[c] == target[c]) continue;
      const std::int64_t* first = &trial[c * kTrials];
      const auto v = std::upper_bound(first, first + kTrials, target[c]) - first;
      if (v == 0) continue;
      cut[c] = with_digit(cut[c], digit, narrow<int>(v));
      reached[c] = first[v - 1];
    }
  }
  return cut;
}

}  // namespace

std::vector<int> split_curve(const Communicator& comm, std::span<const CurvePlace> places,
                             std::span<const std::int64_t> weights, int n_parts) {
  CATENA_CHECK(n_parts > 0, "at least one part is needed");
  const SortedPlaces sorted(places, weights);
  const std::vector<CurvePlace> cut = find_cuts(comm, sorted, n_parts);
  std::vector<int> part(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto at = std::upper_bound(cut.begin(), cut.end(), places[i]);
    part[i] = narrow<int>(at - cut.begin());
  }
  return part;
}

std::vector<std::int64_t> curve_positions(const Communicator& comm,
                                          std::span<const CurvePlace> places) {
  const std::vector<std::int64_t> ones(places.size(), 1);
  const std::vector<int> sorter = split_curve(comm, places, ones, comm.size());
  // the answers need messages of their own, so the way there and back are two
  RankLists<CurvePlace> sent(comm.size());
  for (std::size_t i = 0; i < places.size(); ++i) sent[sorter[i]].push_back(places[i]);
  const RankLists<CurvePlace> questions = all_to_all(comm, std::move(sent));
  std::vector<CurvePlace> sorted = joined(questions);
  std::sort(sorted.begin(), sorted.end());
  const std::int64_t first = comm.exclusive_sum(std::ssize(sorted));
  const RankLists<std::int64_t> positions = all_to_all(
      comm, reply_each<std::int64_t>(questions, [&](const CurvePlace& place) {
        return first + (std::lower_bound(sorted.begin(), sorted.end(), place) - sorted.begin());
      }));
  std::vector<std::int64_t> result(places.size());
  std::vector<std::size_t> taken(positions.size(), 0);
  for (std::size_t i = 0; i < places.size(); ++i)
    result[i] = positions[sorter[i]][taken[sorter[i]]++];
  return result;
}

}  // namespace partition
}  // namespace catena
