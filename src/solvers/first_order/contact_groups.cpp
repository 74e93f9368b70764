#include "solvers/first_order/contact_groups.hpp"

#include <cmath>

namespace catena::first_order {
namespace {

/// A vector per lane.
using Three = std::array<Lanes, 3>;
using Six = std::array<Lanes, 6>;

inline Three cross(const Three& a, const Three& b) {
  Three c;
  for (std::size_t i = 0; i < kLanes; ++i) {
    c[0][i] = a[1][i] * b[2][i] - a[2][i] * b[1][i];
    c[1][i] = a[2][i] * b[0][i] - a[0][i] * b[2][i];
    c[2][i] = a[0][i] * b[1][i] - a[1][i] * b[0][i];
  }
  return c;
}

inline void gather(const std::array<Index, kLanes>& first, const double* velocities, Lanes* v) {
  for (std::size_t i = 0; i < kLanes; ++i) {
    const double* from = velocities + first[i];
    for (std::size_t d = 0; d < 6; ++d) v[d][i] = from[d];
  }
}

/// Lane by lane, since two contacts of a group may touch the same body.
inline void scatter(const std::array<Index, kLanes>& first, const Lanes* f, double* forces) {
  for (std::size_t i = 0; i < kLanes; ++i) {
    double* to = forces + first[i];
    for (std::size_t d = 0; d < 6; ++d) to[d] += f[d][i];
  }
}

double total(const Lanes& sum) {
  double all = 0.0;
  for (const double value : sum) all += value;
  return all;
}

/// Where y lies: in the cone, below its tip, or beside it, where the projection is on the nearest
/// generator.
inline void project_discs(const ConeGroup& cones, const double* y, double* out) {
  for (std::size_t i = 0; i < kLanes; ++i) {
    const double n = y[i], t_1 = y[kLanes + i], t_2 = y[2 * kLanes + i], mu = cones.mu[i];
    const double t = std::sqrt(t_1 * t_1 + t_2 * t_2);
    // without friction the last alone would take any normal impulse, and any sign of it, as inside
    const bool inside = n >= 0.0 && t <= mu * n;
    const double pull = n + mu * t;
    // of the three, a NaN takes the last
    const double on_cone = pull <= 0.0 ? 0.0 : pull * cones.inverse[i];
    const double by_length = t > 0.0 ? 1.0 / t : 0.0;
    const double cut = inside ? 1.0 : mu * on_cone * by_length;
    out[i] = inside ? n : on_cone;
    out[kLanes + i] = cut * t_1;
    out[2 * kLanes + i] = cut * t_2;
  }
}

inline void project_boxes(const ConeGroup& cones, const double* y, double* out) {
  for (std::size_t i = 0; i < kLanes; ++i) {
    const double n = y[i] <= 0.0 ? 0.0 : y[i];
    const double bound = cones.mu[i] * n;
    out[i] = n;
    for (std::size_t r = kLanes; r < kGroupRows; r += kLanes) {
      const double t = y[r + i];
      out[r + i] = t < -bound ? -bound : t > bound ? bound : t;
    }
  }
}

}  // namespace

void add_forces(const GeneralContactGroup& c, const double* x, double* forces) {
  const Three second = cross(c.normal, c.tangent);
  Three p;
  for (std::size_t d = 0; d < 3; ++d)
    for (std::size_t i = 0; i < kLanes; ++i)
      p[d][i] =
          x[i] * c.by_normal[i] * c.normal[d][i] +
          c.by_tangent[i] * (x[kLanes + i] * c.tangent[d][i] + x[2 * kLanes + i] * second[d][i]);
  const Three turn_a = cross(c.arm_a, p), turn_b = cross(c.arm_b, p);
  Six f_a, f_b;
  for (std::size_t d = 0; d < 3; ++d)
    for (std::size_t i = 0; i < kLanes; ++i) {
      f_a[d][i] = -p[d][i];
      f_a[d + 3][i] = -turn_a[d][i];
      f_b[d][i] = p[d][i];
      f_b[d + 3][i] = turn_b[d][i];
    }
  scatter(c.a, f_a.data(), forces);
  scatter(c.b, f_b.data(), forces);
}

void residual_velocities(const GeneralContactGroup& c, const double* velocities, const double* x,
                         double* g) {
  std::array<Three, 2> v_a, v_b;
  gather(c.a, velocities, v_a[0].data());
  gather(c.b, velocities, v_b[0].data());
  const Three turn_a = cross(v_a[1], c.arm_a), turn_b = cross(v_b[1], c.arm_b);
  const Three second = cross(c.normal, c.tangent);
  Three u;
  for (std::size_t d = 0; d < 3; ++d)
    for (std::size_t i = 0; i < kLanes; ++i)
      u[d][i] = v_b[0][d][i] - v_a[0][d][i] + (turn_b[d][i] - turn_a[d][i]);
  for (std::size_t i = 0; i < kLanes; ++i) {
    const auto along = [&](const Three& e) {
      return e[0][i] * u[0][i] + e[1][i] * u[1][i] + e[2][i] * u[2][i];
    };
    g[i] = along(c.normal) * c.by_normal[i] + (c.offset[0][i] + c.compliance[0][i] * x[i]);
    g[kLanes + i] =
        along(c.tangent) * c.by_tangent[i] + (c.offset[1][i] + c.compliance[1][i] * x[kLanes + i]);
    g[2 * kLanes + i] =
        along(second) * c.by_tangent[i] + (c.offset[2][i] + c.compliance[2][i] * x[2 * kLanes + i]);
  }
}

void add_forces(const RowGroup& c, const double* x, double* forces) {
  std::array<Lanes, 12> f;
  for (std::size_t d = 0; d < 12; ++d)
    for (std::size_t i = 0; i < kLanes; ++i)
      f[d][i] = c.jacobian[d][0][i] * x[i] + c.jacobian[d][1][i] * x[kLanes + i] +
                c.jacobian[d][2][i] * x[2 * kLanes + i];
  scatter(c.a, f.data(), forces);
  scatter(c.b, f.data() + 6, forces);
}

void residual_velocities(const RowGroup& c, const double* velocities, const double* x, double* g) {
  std::array<Lanes, 12> v;
  gather(c.a, velocities, v.data());
  gather(c.b, velocities, v.data() + 6);
  for (std::size_t r = 0; r < 3; ++r) {
    Lanes w;
    for (std::size_t i = 0; i < kLanes; ++i)
      w[i] = c.offset[r][i] + c.compliance[r][i] * x[r * kLanes + i];
    for (std::size_t d = 0; d < 12; ++d)
      for (std::size_t i = 0; i < kLanes; ++i) w[i] += c.jacobian[d][r][i] * v[d][i];
    for (std::size_t i = 0; i < kLanes; ++i) g[r * kLanes + i] = w[i];
  }
}

void step(const ConeGroup& cones, ContactLaw law, const StepWeights& weights, const GroupRows& rows,
          StepSums& sums) {
  alignas(64) std::array<double, kGroupRows> y, g, trial;
  for (std::size_t i = 0; i < kGroupRows; ++i) {
    y[i] = weights.keep * rows.x[i] + weights.take * rows.y[i];
    g[i] = weights.keep * rows.g[i] + weights.take * rows.g_y[i];
    rows.y[i] = y[i];
    rows.g_y[i] = g[i];
  }
  if (weights.renew)
    for (std::size_t i = 0; i < kLanes; ++i)
      rows.shift[i] = cones.mu[i] * std::sqrt(g[kLanes + i] * g[kLanes + i] +
                                              g[2 * kLanes + i] * g[2 * kLanes + i]);
  for (std::size_t i = 0; i < kLanes; ++i) g[i] += rows.shift[i];
  for (std::size_t i = 0; i < kGroupRows; ++i) trial[i] = y[i] - weights.inverse_l * g[i];
  alignas(64) std::array<double, kGroupRows> next;
  if (law == ContactLaw::box)
    project_boxes(cones, trial.data(), next.data());
  else
    project_discs(cones, trial.data(), next.data());
  Lanes moved{}, along{}, size{};
  for (std::size_t r = 0; r < kGroupRows; r += kLanes)
    for (std::size_t i = 0; i < kLanes; ++i) {
      const double d = next[r + i] - y[r + i];
      moved[i] += d * d;
      along[i] += g[r + i] * (next[r + i] - rows.x[r + i]);
      size[i] += next[r + i] * next[r + i];
      rows.next[r + i] = next[r + i];
    }
  sums.moved += total(moved);
  sums.along += total(along);
  sums.size += total(size);
}

void project(const ConeGroup& cones, ContactLaw law, double* x) {
  std::array<double, kGroupRows> y;
  for (std::size_t i = 0; i < kGroupRows; ++i) y[i] = x[i];
  if (law == ContactLaw::box)
    project_boxes(cones, y.data(), x);
  else
    project_discs(cones, y.data(), x);
}

double curvature(std::size_t n, const double* next, const double* y, const double* g_next,
                 const double* g_y) {
  Lanes sum{};
  std::size_t k = 0;
  for (; k + kLanes <= n; k += kLanes)
    for (std::size_t i = 0; i < kLanes; ++i)
      sum[i] += (next[k + i] - y[k + i]) * (g_next[k + i] - g_y[k + i]);
  for (; k < n; ++k) sum[0] += (next[k] - y[k]) * (g_next[k] - g_y[k]);
  return total(sum);
}

}  // namespace catena::first_order
