#include "search/wide_boxes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "catena/base/release.hpp"

namespace catena::search {

namespace {

/// How much wider a dynamic body's box is at each side, as a part of its half width, and how many
/// more steps' ways it holds.
constexpr double kSkin = 0.05, kWays = 6.0;
/// Wide boxes are too wide where their widths are on average more than these times those of a step.
constexpr double kWidest = 1.25;
/// Steps for which wide boxes must hold to be worth their price.
constexpr int kWorth = 3;
constexpr int kLongestWait = 64;

float below(double x) {
  const auto f = static_cast<float>(x);
  return static_cast<double>(f) > x ? std::nextafter(f, -std::numeric_limits<float>::infinity())
                                    : f;
}

float above(double x) { return -below(-x); }

}  // namespace

void WideBoxes::choose(const Communicator& comm, const Probes& probes) {
  use_ = Use::own;
  if (probes.images().any()) return;
  if (wait_ > 0) {
    --wait_;
    return;
  }
  const std::size_t n = probes.n_owned();
  if (valid_) {
    const bool here = n == n_owned_ && hold(probes, 0, n);
    if (comm.min(std::int64_t{here ? 1 : 0}) == 1) {
      // here, since every rank comes by: all wait as long before they ask each other again
      if (++age_ == kWorth) next_wait_ = kFirstWait;
      use_ = Use::kept;
      return;
    }
    valid_ = false;
    if (age_ < kWorth) return wait_longer();
  }
  make_room(kept_, n);
  kept_.clear();
  make_room(wide_, n);
  wide_.clear();
  add_rest(probes);
  if (comm.min(std::int64_t{is_narrow(probes) ? 1 : 0}) == 0) return wait_longer();
  n_owned_ = n;
  valid_ = true;
  age_ = 0;
  use_ = Use::made;
}

void WideBoxes::complete(const Probes& probes) {
  const std::size_t n = probes.boxes().size();
  if (use_ == Use::made) add_rest(probes);
  if (use_ == Use::kept && !(n == kept_.size() && hold(probes, n_owned_, n))) use_ = Use::own;
}

void WideBoxes::wait_longer() {
  wait_ = next_wait_;
  next_wait_ = std::min(2 * next_wait_, kLongestWait);
}

void WideBoxes::add(const Probe& probe, const Aabb& box, double step) {
  const Vec3 way = kWays * step * probe.v;
  double skin = kWays * step * probe.spin_speed;
  if (probe.dynamic) skin += 0.5 * kSkin * (box.hi - box.lo).maxCoeff();
  Kept kept{probe.id, probe.body, {}, {}};
  Aabb wide;
  for (int k = 0; k < 3; ++k) {
    const auto axis = static_cast<std::size_t>(k);
    kept.lo[axis] = below(box.lo[k] + std::min(way[k], 0.0) - skin);
    kept.hi[axis] = above(box.hi[k] + std::max(way[k], 0.0) + skin);
    wide.lo[k] = kept.lo[axis];
    wide.hi[k] = kept.hi[axis];
  }
  kept_.push_back(kept);
  wide_.push_back(wide);
}

void WideBoxes::add_rest(const Probes& probes) {
  for (std::size_t i = kept_.size(); i < probes.boxes().size(); ++i)
    add(probes.all()[i], probes.boxes()[i], probes.step());
}

bool WideBoxes::is_narrow(const Probes& probes) const {
  double own = 0.0, wide = 0.0;
  for (std::size_t i = 0; i < wide_.size(); ++i) {
    const Aabb& box = probes.boxes()[i];
    // not of bodies that hold all others, nor of empty boxes
    if (!probes.all()[i].dynamic || !(box.lo.x() <= box.hi.x())) continue;
    own += (box.hi - box.lo).sum();
    wide += (wide_[i].hi - wide_[i].lo).sum();
  }
  return wide <= kWidest * own;
}

bool WideBoxes::hold(const Probes& probes, std::size_t first, std::size_t n) const {
  for (std::size_t i = first; i < n; ++i) {
    const Kept& kept = kept_[i];
    const Probe& probe = probes.all()[i];
    const Aabb& box = probes.boxes()[i];
    bool within = kept.id == probe.id && kept.body == probe.body;
    for (int k = 0; k < 3; ++k) {
      const auto axis = static_cast<std::size_t>(k);
      within &= kept.lo[axis] <= box.lo[k] && box.hi[k] <= kept.hi[axis];
    }
    if (!within) return false;
  }
  return true;
}

void WideBoxes::release() { catena::release(wide_); }

}  // namespace catena::search
