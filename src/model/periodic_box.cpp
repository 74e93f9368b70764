#include "catena/model/periodic_box.hpp"

#include <algorithm>
#include <cmath>

namespace catena {

namespace {

/// Whole periods along x, y and z of an image.
std::array<int, 3> periods_of(int code) { return {code / 9 - 1, code / 3 % 3 - 1, code % 3 - 1}; }

}  // namespace

bool PeriodicBox::stretches() const {
  return std::ranges::any_of(stretch_rate, [](double rate) { return rate != 0.0; });
}

Vec3 PeriodicBox::centre() const { return 0.5 * Vec3(lo[0] + hi[0], lo[1] + hi[1], lo[2] + hi[2]); }

Mat3 PeriodicBox::gradient() const {
  Mat3 l = Vec3(stretch_rate[0], stretch_rate[1], stretch_rate[2]).asDiagonal();
  l(shear_along, shear_across) += shear_rate;
  return l;
}

PeriodicBox PeriodicBox::after(double h) const {
  PeriodicBox now = *this;
  const double along = 1.0 + h * stretch_rate[shear_along];
  const double across = 1.0 + h * stretch_rate[shear_across];
  if (slanted()) {
    const double way = along * offset + h * shear_rate * length(shear_across);
    const double period = along * length(shear_along);
    now.offset = way - period * std::round(way / period);
    now.shear_rate = shear_rate / (along * across);
  }
  for (std::size_t k = 0; k < 3; ++k) {
    if (stretch_rate[k] == 0.0) continue;
    const double factor = 1.0 + h * stretch_rate[k];
    const double middle = 0.5 * (lo[k] + hi[k]), half = 0.5 * factor * length(k);
    now.lo[k] = middle - half;
    now.hi[k] = middle + half;
    now.stretch_rate[k] = stretch_rate[k] / factor;
  }
  return now;
}

bool PeriodicBox::has_image(int code) const {
  const std::array<int, 3> n = periods_of(code);
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (n[axis] != 0 && !active[axis]) return false;
  return true;
}

Vec3 PeriodicBox::shift(int code) const {
  const std::array<int, 3> n = periods_of(code);
  Vec3 by = Vec3::Zero();
  for (int axis = 0; axis < 3; ++axis)
    if (active[axis]) by[axis] = n[axis] * (hi[axis] - lo[axis]);
  if (offset != 0.0) by[shear_along] += n[shear_across] * offset;
  return by;
}

Vec3 PeriodicBox::velocity_of(const Vec3& shift) const {
  Vec3 v = Vec3::Zero();
  if (sheared()) v[shear_along] = shear_rate * shift[shear_across];
  for (int axis = 0; axis < 3; ++axis)
    if (stretch_rate[axis] != 0.0) v[axis] += stretch_rate[axis] * shift[axis];
  return v;
}

Vec3 PeriodicBox::nearest_shift(const Vec3& way) const {
  Vec3 shift = Vec3::Zero();
  const auto add = [&](int axis) {
    if (!active[axis]) return 0.0;
    const double period = hi[axis] - lo[axis];
    const double whole = std::round((way[axis] - shift[axis]) / period);
    shift[axis] += whole * period;
    return whole;
  };
  // across the shear first, since that displaces along another direction
  if (slanted()) shift[shear_along] += add(shear_across) * offset;
  for (int axis = 0; axis < 3; ++axis)
    if (!slanted() || axis != shear_across) add(axis);
  return shift;
}

PeriodicBox::Move PeriodicBox::wrap(const Vec3& p) const {
  Move inside{p, Vec3::Zero()};
  Vec3 moved = Vec3::Zero();  // by whole periods, without what rounding adds
  const auto bring = [&](int axis) {
    double& x = inside.p[axis];
    if (!active[axis] || (x >= lo[axis] && x <= hi[axis])) return 0.0;
    const double period = hi[axis] - lo[axis];
    const double whole = std::floor((x - lo[axis]) / period);
    // rounding may leave it a bit outside
    x = std::clamp(x - whole * period, lo[axis], hi[axis]);
    moved[axis] -= whole * period;
    return whole;
  };
  if (slanted()) {  // first, since it displaces along another direction
    const double whole = bring(shear_across);
    inside.p[shear_along] -= whole * offset;
    moved[shear_along] -= whole * offset;
  }
  for (int axis = 0; axis < 3; ++axis) bring(axis);
  inside.v = velocity_of(moved);
  return inside;
}

double CellDrive::mean_target(double t, double h) const {
  return table.time.empty() ? target : target * table.mean(t, h);
}

}  // namespace catena
