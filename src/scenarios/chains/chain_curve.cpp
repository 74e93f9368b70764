#include "scenarios/chains/chain_curve.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "catena/base/error.hpp"
#include "catena/base/text.hpp"

namespace catena::scenarios {

namespace {

constexpr GlobalId kMarks = 256;  ///< points of a catenary from mark to mark
/// Directions closer to parallel have no common normal.
constexpr double kParallel = 1e-9;

Vec3 point_of(const std::vector<double>& rows, std::size_t i) {
  return {rows[3 * i], rows[3 * i + 1], rows[3 * i + 2]};
}

/// Horizontal and normal to `way`; the nearest to y where `way` is vertical.
Vec3 horizontal_normal(const Vec3& up, const Vec3& way) {
  const Vec3 normal = up.cross(way);
  if (normal.norm() > kParallel * way.norm()) return normal.normalized();
  const Vec3 y = Vec3::UnitY() - up[1] * up;
  return y.norm() > kParallel ? y.normalized() : Vec3::UnitX();
}

/// Newell's normal of a closed polygon.
Vec3 polygon_normal(const std::vector<Vec3>& corners) {
  Vec3 sum = Vec3::Zero();
  for (std::size_t i = 1; i + 1 < corners.size(); ++i) {
    sum += (corners[i] - corners[0]).cross(corners[i + 1] - corners[0]);
  }
  return sum;
}

}  // namespace

Vec3 perpendicular(const Vec3& z) {
  int least = 0;
  z.cwiseAbs().minCoeff(&least);
  return (Vec3::Unit(least) - z * (z[least] / z.squaredNorm())).normalized();
}

Quat frame_of(const Vec3& z, const Vec3& x) {
  const Vec3 axis = z.normalized();
  Vec3 side = x - axis.dot(x) * axis;
  side = side.norm() > kParallel * x.norm() ? Vec3(side.normalized()) : perpendicular(axis);
  Mat3 r;
  r << side, axis.cross(side), axis;
  return Quat(r).normalized();
}

ChainCurve::ChainCurve(const ChainPathSettings& path, int links, const Vec3& gravity)
    : kind_(path.kind), links_(links) {
  if (gravity.norm() > 0.0) up_ = -gravity.normalized();
  switch (kind_) {
    case ChainPath::straight:
      from_ = path.from;
      to_ = path.to;
      length_ = (to_ - from_).norm() / links;
      if (!(length_ > 0.0)) throw Error("from and to are the same point", "", "part them");
      normal_ = horizontal_normal(up_, to_ - from_);
      break;
    case ChainPath::polyline:
      set_polyline(path);
      break;
    case ChainPath::catenary:
      set_catenary(path);
      break;
    case ChainPath::curl:
      set_curl(path);
      break;
  }
}

std::vector<Vec3> ChainCurve::points(GlobalId first, GlobalId last) const {
  std::vector<Vec3> out;
  out.reserve(last - first);
  if (kind_ != ChainPath::catenary) {
    for (GlobalId k = first; k < last; ++k) {
      out.push_back(kind_ == ChainPath::straight   ? straight_point(k)
                    : kind_ == ChainPath::polyline ? run_point(k)
                                                   : curl_point(k));
    }
    return out;
  }
  GlobalId k = first / kMarks * kMarks;
  std::array<Real, 2> at = marks_[first / kMarks];
  for (; k < last; ++k) {
    if (k >= first) {
      out.push_back(from_ + static_cast<double>(at[0]) * across_ +
                    static_cast<double>(at[1]) * up_);
    }
    const std::array<Real, 2> d = step(k);
    at = {at[0] + d[0], at[1] + d[1]};
  }
  return out;
}

Vec3 ChainCurve::straight_point(GlobalId k) const {
  const double part = static_cast<double>(k) / static_cast<double>(links_);
  return k == links_ ? to_ : Vec3(from_ + part * (to_ - from_));
}

// -- polyline

void ChainCurve::set_polyline(const ChainPathSettings& path) {
  std::vector<Vec3> corners;
  for (std::size_t i = 0; 3 * i < path.path.size(); ++i) corners.push_back(point_of(path.path, i));
  if (path.closed && corners.front() != corners.back()) corners.push_back(corners.front());
  double total = 0.0;
  for (std::size_t i = 0; i + 1 < corners.size(); ++i) {
    const Vec3 way = corners[i + 1] - corners[i];
    const double length = way.norm();
    if (!(length > 0.0)) {
      throw Error("point " + std::to_string(i + 1) + " of the path is the same as the one before",
                  "", "leave it out");
    }
    segments_.push_back({corners[i], way / length, length});
    total += length;
  }
  from_ = corners.front();
  to_ = corners.back();
  const Vec3 way = to_ - from_;
  const Vec3 plane = polygon_normal(corners);
  normal_ = way.norm() > kParallel * total ? horizontal_normal(up_, way)
            : plane.norm() > kParallel * total * total
                ? Vec3(plane.normalized())
                : horizontal_normal(up_, segments_[0].direction);

  // chords are no longer than the path between their ends: the solution lies below total/links
  double hi = total / static_cast<double>(links_), lo = 0.5 * hi;
  double f_hi = walk(hi, nullptr), f_lo = walk(lo, nullptr);
  while (f_lo > 0.0 && lo > 1e-6 * hi) {
    hi = lo;
    f_hi = f_lo;
    lo *= 0.5;
    f_lo = walk(lo, nullptr);
  }
  // regula falsi in Illinois' form, halving where it is slow
  for (int i = 0; i < 300 && f_hi > 0.0 && f_lo < 0.0; ++i) {
    double c = i % 3 == 2 ? 0.5 * (lo + hi) : hi - f_hi * (hi - lo) / (f_hi - f_lo);
    if (!(c > lo && c < hi)) c = 0.5 * (lo + hi);
    if (!(c > lo && c < hi)) break;
    const double f = walk(c, nullptr);
    (f > 0.0 ? hi : lo) = c;
    (f > 0.0 ? f_hi : f_lo) = f;
    if (f == 0.0) hi = lo = c, f_hi = f_lo = f;
  }
  length_ = std::abs(f_hi) < std::abs(f_lo) ? hi : lo;
  const double miss = walk(length_, &runs_);
  if (!(std::abs(miss) <= 1e-9 * length_)) {
    throw Error(std::to_string(links_) + " links of one length do not fit the path", "",
                "take more links, or blunt its sharp corners");
  }
}

/// Goes along the path in chords; returns how far the last point lies beyond the end, m.
double ChainCurve::walk(double chord, std::vector<Run>* runs) const {
  const std::size_t last = segments_.size() - 1;
  std::size_t segment = 0;
  GlobalId k = 0;
  double s = 0.0;
  if (runs != nullptr) runs->clear();
  for (;;) {
    if (runs != nullptr) runs->push_back({k, s, segment});
    const Segment& now = segments_[segment];
    GlobalId more = links_ - k;
    if (segment < last) {
      more = std::min(more, static_cast<GlobalId>(std::max(0.0, (now.length - s) / chord)));
    }
    k += more;
    s += static_cast<double>(more) * chord;
    if (k == links_) break;
    // the next point lies where a later segment leaves the sphere of radius `chord`
    const Vec3 p = now.from + s * now.direction;
    for (++segment;; ++segment) {
      const Segment& next = segments_[segment];
      const Vec3 d = next.from - p;
      const double b = next.direction.dot(d), c = d.squaredNorm() - chord * chord;
      const double root = std::sqrt(std::max(0.0, b * b - c));
      s = b > 0.0 ? -c / (b + root) : root - b;
      if (segment == last || s <= next.length) break;
    }
    ++k;
  }
  double beyond = s - segments_[segment].length;
  for (std::size_t i = segment + 1; i <= last; ++i) beyond -= segments_[i].length;
  return beyond;
}

Vec3 ChainCurve::run_point(GlobalId k) const {
  if (k == links_) return to_;
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), k,
                                      [](GlobalId i, const Run& run) { return i < run.first; });
  const Run& run = *(after - 1);
  const Segment& segment = segments_[run.segment];
  return segment.from + (run.at + static_cast<double>(k - run.first) * length_) * segment.direction;
}

// -- catenary

/// Way of a link across and up, m.
std::array<ChainCurve::Real, 2> ChainCurve::step(GlobalId link) const {
  const Real w = static_cast<Real>(link) + 0.5L - v_;
  const Real r = std::sqrt(h_ * h_ + w * w);
  return {static_cast<Real>(length_) * h_ / r, static_cast<Real>(length_) * w / r};
}

void ChainCurve::set_catenary(const ChainPathSettings& path) {
  from_ = path.from;
  to_ = path.to;
  const Vec3 way = to_ - from_;
  const double rise = way.dot(up_);
  const Vec3 level = way - rise * up_;
  const double across = level.norm();
  if (!(path.length > way.norm() * (1.0 + 1e-9))) {
    throw Error("the chain is " + short_text(path.length) + " m long, its ends are " +
                    short_text(way.norm()) + " m apart",
                "", "make it longer, or straight: leave out catenary, give from and to");
  }
  if (!(across > 1e-3 * path.length)) {
    throw Error("the ends stand above each other: the chain hangs in a fold", "",
                "part them along the ground by 1/1000 of its length at least");
  }
  length_ = path.length / static_cast<double>(links_);
  across_ = level / across;
  normal_ = horizontal_normal(up_, way);
  hang(across, rise);
  std::array<Real, 2> at = {0.0L, 0.0L};
  for (GlobalId k = 0; k <= links_; ++k) {
    if (k % kMarks == 0) marks_.push_back(at);
    const std::array<Real, 2> d = step(k);
    at = {at[0] + d[0], at[1] + d[1]};
  }
}

/// Finds h and v by Newton's method with halved steps, from those of a continuous chain.
void ChainCurve::hang(double across, double rise) {
  const double total = length_ * static_cast<double>(links_);
  // sinh(u)/u = sqrt(S^2 - R^2)/D for u = D/(2 a)
  const double ratio = std::sqrt(total * total - rise * rise) / across;
  double lo = 0.0, hi = 20.0;
  for (int i = 0; i < 100; ++i) {
    const double u = 0.5 * (lo + hi);
    (std::sinh(u) < ratio * u ? lo : hi) = u;
  }
  const double u = std::max(lo, 1e-6);
  const double a = across / (2.0 * u);
  h_ = a / length_;
  v_ = -static_cast<Real>(a * std::sinh(std::atanh(rise / total) - u) / length_);

  // in double up to what that resolves, then in Real
  const double d = across / length_, r = rise / length_;
  for (int i = 0; i < 60 && improve<double>(d, r) > 1e-9; ++i) continue;
  const Real d_exact = static_cast<Real>(across) / length_,
             r_exact = static_cast<Real>(rise) / length_;
  for (int i = 0; i < 6 && improve<Real>(d_exact, r_exact) > 1e-17L; ++i) continue;
}

/// A step of Newton's method for the minimum at h, v, computed in T; returns its size relative to
/// h and the number of links.
template <class T>
ChainCurve::Real ChainCurve::improve(T d, T r) {
  const T h = static_cast<T>(h_), v = static_cast<T>(v_);
  T gh = -d, gv = r, hh = 0, hv = 0, vv = 0;
  for (GlobalId i = 0; i < links_; ++i) {
    const T w = static_cast<T>(i) + static_cast<T>(0.5) - v;
    const T q = 1 / std::sqrt(h * h + w * w);
    gh += h * q;
    gv -= w * q;
    const T q3 = q * q * q;
    hh += w * w * q3;
    hv += h * w * q3;
    vv += h * h * q3;
  }
  const T det = hh * vv - hv * hv;
  const T dh = -(vv * gh - hv * gv) / det, dv = -(hh * gv - hv * gh) / det;
  // far from the solution a step may overshoot; near it values no longer tell
  T part = 1;
  if (std::abs(dh) > static_cast<T>(1e-4) * h ||
      std::abs(dv) > static_cast<T>(1e-4 * static_cast<double>(links_))) {
    const auto value = [&](T h_new, T v_new) {
      T sum = v_new * r - h_new * d;
      for (GlobalId i = 0; i < links_; ++i) {
        const T w = static_cast<T>(i) + static_cast<T>(0.5) - v_new;
        sum += std::sqrt(h_new * h_new + w * w);
      }
      return sum;
    };
    const T now = value(h, v);
    while (part > static_cast<T>(1e-6) &&
           !(h + part * dh > 0 && value(h + part * dh, v + part * dv) < now))
      part /= 2;
  }
  h_ += static_cast<Real>(part * dh);
  v_ += static_cast<Real>(part * dv);
  return std::abs(static_cast<Real>(dh)) / h_ +
         std::abs(static_cast<Real>(dv)) / static_cast<Real>(links_);
}

// -- helix

void ChainCurve::set_curl(const ChainPathSettings& path) {
  length_ = path.length / static_cast<double>(links_);
  radius_ = path.radius;
  pitch_ = path.pitch;
  axis_ = path.axis.normalized();
  from_ = path.centre;
  first_radius_ = perpendicular(axis_);
  normal_ = axis_;
  // chord^2 = (2 R sin(pi n))^2 + (pitch n)^2 at n turns per link, ascending up to half a turn
  const auto chord = [&](Real turns) {
    return std::hypot(2.0L * radius_ * std::sin(std::numbers::pi_v<Real> * turns), pitch_ * turns);
  };
  if (!(chord(0.5L) > length_)) {
    throw Error("links of " + short_text(length_) + " m do not fit a helix of radius " +
                    short_text(radius_) + " m",
                "", "enlarge the radius, or take more links");
  }
  Real lo = 0.0L, hi = 0.5L;
  for (int i = 0; i < 100; ++i) {
    const Real middle = 0.5L * (lo + hi);
    (chord(middle) < length_ ? lo : hi) = middle;
  }
  turn_ = lo;
}

Vec3 ChainCurve::curl_point(GlobalId k) const {
  const Real turns = static_cast<Real>(k) * turn_;
  const Real angle = 2.0L * std::numbers::pi_v<Real> * (turns - std::floor(turns));
  return from_ + radius_ * static_cast<double>(std::cos(angle)) * first_radius_ +
         radius_ * static_cast<double>(std::sin(angle)) * axis_.cross(first_radius_) +
         static_cast<double>(pitch_ * turns) * axis_;
}

}  // namespace catena::scenarios
