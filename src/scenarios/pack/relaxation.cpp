#include "scenarios/pack/relaxation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "catena/base/random.hpp"
#include "catena/collision/broad_phase.hpp"
#include "catena/comm/sums.hpp"
#include "catena/comm/typed_exchange.hpp"

namespace catena::scenarios {

namespace {

/// Neighbours are looked for anew once a ball has moved by a quarter of this part of `unit`; in one
/// step none moves farther than that.
constexpr double kSkin = 0.3;
constexpr int kMostIterations = 30000;
/// Forces on balls that have come to this part of the overlaps: they hold each other.
constexpr double kHeld = 1e-4;

/// A ball of another rank, or an image of one.
struct Ghost {
  std::int64_t id = 0;
  Vec3 p = Vec3::Zero();  ///< of the ball itself
  double radius = 0.0;
  int image = kNoImage;
};

struct Sent {
  Index ball;
  int image;
};

/// The step of the descent, as in the paper.
struct Pace {
  static constexpr double kFirstStep = 0.1, kLongestStep = 0.5;
  static constexpr double kLonger = 1.1, kShorter = 0.5, kFirstMix = 0.1, kLessMix = 0.99;
  static constexpr int kPatience = 5;

  double step = kFirstStep, mix = kFirstMix;
  int downhill = 0;

  /// `power`: of the forces on the velocities. False: uphill, all stop.
  bool goes_on(double power) {
    if (!(power > 0.0)) {
      step *= kShorter;
      mix = kFirstMix;
      downhill = 0;
      return false;
    }
    if (++downhill > kPatience) {
      step = std::min(kLonger * step, kLongestStep);
      mix *= kLessMix;
    }
    return true;
  }
};

class Relaxation {
 public:
  Relaxation(const Communicator& comm, const PackRegion& region, double unit,
             std::vector<Ball>& balls)
      : comm_(comm),
        region_(region),
        unit_(unit),
        n_(to_index(balls.size())),
        balls_(balls),
        velocity_(n_, Vec3::Zero()),
        force_(n_, Vec3::Zero()) {
    for (Ball& ball : balls_) ball.radius *= 1.0 + kSwelling;
    for (int image = 0; image < kImages; ++image) {
      shift_[image] = region_.images().shift(image);
      if (region_.images().has_image(image)) images_.push_back(image);
    }
  }

  RelaxationReport run() {
    RelaxationReport report;
    find_neighbours();
    for (; report.iterations < kMostIterations; ++report.iterations) {
      add_up_forces();
      const Totals all = totals();
      report.overlap = all.overlap;
      if (all.overlap <= kSwelling / (1.0 + kSwelling)) {
        report.apart = true;
        break;
      }
      if (all.force < kHeld * all.overlap) break;
      move(all);
      if (all.moved > 0.25 * kSkin * unit_)
        find_neighbours();
      else
        bring_ghosts();
    }
    for (Ball& ball : balls_) {
      ball.radius /= 1.0 + kSwelling;
      ball.p = region_.images().wrapped(ball.p);
    }
    return report;
  }

 private:
  /// Over all balls: maxima over their radii, and sums that do not depend on their order.
  struct Totals {
    double overlap, force, moved;
    double power, forces, velocities;  ///< sums of F v, F^2, v^2
  };

  // in the order of an iteration
  void add_up_forces();
  Vec3 force_on(Index i);
  Totals totals() const;
  void move(const Totals& all);
  void bring_ghosts();
  // where balls have moved farther
  void find_neighbours();
  void exchange_ghosts();
  void list_pairs();
  double reach(double radius) const { return radius + 0.5 * kSkin * unit_; }

  const Communicator& comm_;
  const PackRegion& region_;
  double unit_;
  Index n_;
  std::vector<Ball>& balls_;
  std::vector<Vec3> velocity_, force_;
  Pace pace_;
  double overlap_ = 0.0;

  std::array<Vec3, kImages> shift_;
  std::vector<int> images_;       ///< those that there are, the ball itself among them
  std::vector<Vec3> found_at_;    ///< places of balls when neighbours were found
  std::vector<Ghost> ghosts_;     ///< of this rank, then by source rank
  std::vector<Sent> own_images_;  ///< the first of them
  std::vector<ValueParcel<Sent>> sent_;
  std::vector<char> near_side_;        ///< may come to the region's sides
  std::vector<Index> begin_, around_;  ///< neighbours of each ball; ghosts count from n_ on
  BroadPhase broad_phase_;
};

Vec3 Relaxation::force_on(Index i) {
  const Ball& ball = balls_[i];
  Vec3 force = Vec3::Zero();
  if (near_side_[i] != 0) {
    force = region_.way_in(ball.p, ball.radius);
    overlap_ = std::max(overlap_, force.norm() / ball.radius);
  }
  for (Index k = begin_[i]; k < begin_[i + 1]; ++k) {
    const Index j = around_[k];
    Vec3 other;
    double radius = 0.0;
    std::int64_t id = 0;
    if (j < n_) {
      other = balls_[j].p;
      radius = balls_[j].radius;
      id = balls_[j].id;
    } else {
      const Ghost& ghost = ghosts_[j - n_];
      other = ghost.p + shift_[ghost.image];
      radius = ghost.radius;
      id = ghost.id;
    }
    const Vec3 way = ball.p - other;
    const double sum = ball.radius + radius, square = way.squaredNorm();
    if (square >= sum * sum) continue;
    const double distance = std::sqrt(square);
    const double depth = sum - distance;
    overlap_ = std::max(overlap_, depth / std::min(ball.radius, radius));
    if (distance > 0.0)
      force += depth / distance * way;
    else  // two centres in one place: the lower id goes up
      force += (ball.id < id ? depth : -depth) * Vec3::UnitZ();
  }
  return force;
}

void Relaxation::add_up_forces() {
  overlap_ = 0.0;
  for (Index i = 0; i < n_; ++i) force_[i] = force_on(i);
}

Relaxation::Totals Relaxation::totals() const {
  std::array<double, 3> most = {overlap_, 0.0, 0.0};
  Sum power(true), forces(true), velocities(true);
  for (Index i = 0; i < n_; ++i) {
    const double square = force_[i].squaredNorm();
    most[1] = std::max(most[1], std::sqrt(square) / balls_[i].radius);
    most[2] = std::max(most[2], (balls_[i].p - found_at_[i]).squaredNorm());
    power += force_[i].dot(velocity_[i]);
    forces += square;
    velocities += velocity_[i].squaredNorm();
  }
  comm_.max(most);
  SumWords words(true);
  words.add(power);
  words.add(forces);
  words.add(velocities);
  comm_.sum(words.words());
  return {most[0], most[1], std::sqrt(most[2]), words[0], words[1], words[2]};
}

void Relaxation::move(const Totals& all) {
  const bool on = pace_.goes_on(all.power);
  const double along = all.forces > 0.0 ? std::sqrt(all.velocities / all.forces) : 0.0;
  for (Index i = 0; i < n_; ++i) {
    Vec3& v = velocity_[i];
    if (on)
      v = (1.0 - pace_.mix) * v + pace_.mix * along * force_[i];
    else
      v.setZero();
    // a large ball has many neighbours: it is as much heavier
    const double size = balls_[i].radius / unit_;
    v += pace_.step / std::max(1.0, size * size) * force_[i];
    const double most = 0.25 * std::min(balls_[i].radius, kSkin * unit_) / pace_.step;
    if (const double speed = v.norm(); speed > most) v *= most / speed;
    balls_[i].p += pace_.step * v;
  }
}

void Relaxation::bring_ghosts() {
  std::size_t at = 0;
  for (const Sent& own : own_images_) ghosts_[at++].p = balls_[own.ball].p;
  if (comm_.size() == 1) return;
  std::vector<ValueParcel<Vec3>> out;
  for (const auto& [rank, list] : sent_) {
    out.push_back({rank, {}});
    for (const Sent& one : list) out.back().values.push_back(balls_[one.ball].p);
  }
  for (const auto& parcel : exchange_values(comm_, std::move(out)))
    for (const Vec3& p : parcel.values) ghosts_[at++].p = p;
}

void Relaxation::find_neighbours() {
  found_at_.clear();
  near_side_.clear();
  for (Ball& ball : balls_) {
    ball.p = region_.images().wrapped(ball.p);
    found_at_.push_back(ball.p);
    near_side_.push_back(region_.way_in(ball.p, reach(ball.radius)).isZero(0.0) ? 0 : 1);
  }
  exchange_ghosts();
  list_pairs();
}

void Relaxation::exchange_ghosts() {
  const auto box_at = [&](const Ball& ball, const Vec3& p) {
    return Aabb{p.array() - reach(ball.radius), p.array() + reach(ball.radius)};
  };
  Aabb own;
  for (const Ball& ball : balls_) own.merge(box_at(ball, ball.p));
  std::array<double, 6> sides{};
  for (int i = 0; i < 3; ++i) {
    sides[i] = own.lo[i];
    sides[3 + i] = own.hi[i];
  }
  const std::vector<double> all = comm_.all_gather(sides);
  sent_.clear();
  own_images_.clear();
  ghosts_.clear();
  std::vector<ValueParcel<Ghost>> out;
  for (int rank = 0; rank < comm_.size(); ++rank) {
    const double* s = all.data() + 6 * rank;
    const Aabb theirs{{s[0], s[1], s[2]}, {s[3], s[4], s[5]}};
    std::vector<Sent> list;
    for (const int image : images_) {
      if (image == kNoImage && rank == comm_.rank()) continue;
      const Vec3& shift = shift_[image];
      if (!theirs.overlaps({own.lo + shift, own.hi + shift})) continue;
      for (Index i = 0; i < n_; ++i)
        if (theirs.overlaps(box_at(balls_[i], balls_[i].p + shift))) list.push_back({i, image});
    }
    if (list.empty()) continue;
    std::vector<Ghost> ghosts;
    for (const Sent& one : list) {
      const Ball& ball = balls_[one.ball];
      ghosts.push_back({ball.id, ball.p, ball.radius, one.image});
    }
    if (rank == comm_.rank()) {
      own_images_ = std::move(list);
      ghosts_ = std::move(ghosts);
    } else {
      sent_.push_back({rank, std::move(list)});
      out.push_back({rank, std::move(ghosts)});
    }
  }
  if (comm_.size() == 1) return;
  for (const auto& parcel : exchange_values(comm_, std::move(out)))
    ghosts_.insert(ghosts_.end(), parcel.values.begin(), parcel.values.end());
}

/// Neighbours of each ball in an order that does not depend on ranks.
void Relaxation::list_pairs() {
  std::vector<Vec3> centres;
  std::vector<double> radii;
  std::vector<Aabb> boxes;
  const auto add = [&](const Vec3& p, double radius) {
    centres.push_back(p);
    radii.push_back(reach(radius));
    boxes.push_back({p.array() - radii.back(), p.array() + radii.back()});
  };
  for (const Ball& ball : balls_) add(ball.p, ball.radius);
  for (const Ghost& ghost : ghosts_) add(ghost.p + shift_[ghost.image], ghost.radius);
  std::vector<std::pair<Index, Index>> pairs;
  for (const auto& [i, j] : broad_phase_.find_unsorted(boxes, n_))
    if ((centres[i] - centres[j]).norm() < radii[i] + radii[j]) pairs.emplace_back(i, j);
  begin_.assign(n_ + 1, 0);
  for (const auto& [i, j] : pairs) {
    ++begin_[i + 1];
    if (j < n_) ++begin_[j + 1];
  }
  for (Index i = 0; i < n_; ++i) begin_[i + 1] += begin_[i];
  around_.resize(begin_[n_]);
  std::vector<Index> next(begin_.begin(), begin_.end() - 1);
  for (const auto& [i, j] : pairs) {
    around_[next[i]++] = j;
    if (j < n_) around_[next[j]++] = i;
  }
  const auto key = [&](Index j) {
    return j < n_ ? std::pair(balls_[j].id, kNoImage)
                  : std::pair(ghosts_[j - n_].id, ghosts_[j - n_].image);
  };
  for (Index i = 0; i < n_; ++i)
    std::sort(around_.begin() + begin_[i], around_.begin() + begin_[i + 1],
              [&](Index a, Index b) { return key(a) < key(b); });
}

}  // namespace

RelaxationReport move_apart(const Communicator& comm, const PackRegion& region, double unit,
                            std::vector<Ball>& balls) {
  return Relaxation(comm, region, unit, balls).run();
}

}  // namespace catena::scenarios
