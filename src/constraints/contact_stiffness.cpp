#include "catena/constraints/contact_stiffness.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace catena {
namespace {

constexpr double kLeastRestitution = 0.01;
constexpr std::size_t kTable = 1024;
/// zeta at restitutions kLeastRestitution to 1, evenly.
using DampingTable = std::array<double, kTable + 1>;

double linear_restitution(double zeta) {
  if (std::abs(zeta - 1.0) < 1e-9) return std::exp(-2.0);
  if (zeta < 1.0) {
    const double r = std::sqrt(1.0 - zeta * zeta);
    return std::exp(-zeta / r * std::atan2(2.0 * zeta * r, 2.0 * zeta * zeta - 1.0));
  }
  const double r = std::sqrt(zeta * zeta - 1.0);
  return std::exp(-zeta / r * std::log((zeta + r) / (zeta - r)));
}

/// A unit mass that hits x^(3/2) with unit speed and leaves where the force is none.
double hertz_restitution(double zeta) {
  constexpr double kStep = 4e-3;
  constexpr int kMost = 20000;
  const auto force = [zeta](double x, double v) {
    const double root = std::sqrt(std::max(0.0, x));
    return x * root + 2.0 * zeta * std::sqrt(1.5 * root) * v;
  };
  double x = 0.0, v = 1.0;
  for (int i = 0; i < kMost; ++i) {
    const double a1 = -force(x, v);
    const double v2 = v + 0.5 * kStep * a1, a2 = -force(x + 0.5 * kStep * v, v2);
    const double v3 = v + 0.5 * kStep * a2, a3 = -force(x + 0.5 * kStep * v2, v3);
    const double v4 = v + kStep * a3, a4 = -force(x + kStep * v3, v4);
    const double next_x = x + kStep / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4);
    const double next_v = v + kStep / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4);
    if (next_x <= 0.0 || (next_v < 0.0 && force(next_x, next_v) <= 0.0))
      return std::max(0.0, -0.5 * (v + next_v));
    x = next_x;
    v = next_v;
  }
  return 0.0;
}

/// The inverse of restitution(zeta), which falls.
template <class Restitution>
DampingTable damping_table(const Restitution& restitution) {
  constexpr std::size_t kSamples = 512;
  constexpr double kLargest = 8.0;  // far below kLeastRestitution for both laws
  const auto zeta_of = [](std::size_t i) {
    const double x = static_cast<double>(i) / kSamples;
    return kLargest * x * x;
  };
  DampingTable table{};
  std::size_t i = 1;
  double before = 1.0, after = restitution(zeta_of(1));
  for (std::size_t k = kTable; k-- > 0;) {
    const double e =
        kLeastRestitution + (1.0 - kLeastRestitution) * static_cast<double>(k) / kTable;
    while (after > e && i < kSamples) {
      before = after;
      after = restitution(zeta_of(++i));
    }
    const double part = std::clamp((before - e) / (before - after), 0.0, 1.0);
    table[k] = zeta_of(i - 1) + part * (zeta_of(i) - zeta_of(i - 1));
  }
  return table;
}

double look_up(const DampingTable& table, double restitution) {
  const double e = std::clamp(restitution, kLeastRestitution, 1.0);
  const double at =
      (e - kLeastRestitution) / (1.0 - kLeastRestitution) * static_cast<double>(kTable);
  const std::size_t i = std::min(kTable - 1, static_cast<std::size_t>(at));
  return table[i] + (at - static_cast<double>(i)) * (table[i + 1] - table[i]);
}

/// What a step that is this part of a contact must ask for so that e is the rebound, at the mean
/// over the places within a step at which bodies touch.
double asked_restitution(double e, double part) {
  return std::min(1.0, e + 1.2 * e * (1.0 - e) * part + 2.4 * e * e * part * part);
}

/// By how much more a contact of Hertz's law rebounds than asked for, per part.
double hertz_excess(double e) { return 0.75 * std::sqrt(e) * std::pow(1.0 - e, 2.4); }

/// The same of Hertz's law; `excess` is hertz_excess(e). The second bound keeps e = 1 from a
/// rebound above 1 at the worst place.
double asked_hertz_restitution(double e, double excess, double part) {
  return std::min(e - excess * part, 1.0 - 0.3 * part * part);
}

/// (1 + x)^(-1/5), x >= 0; by its series where bodies rest on each other: the first term dropped is
/// below 6e-17 there.
double minus_fifth_power(double x) {
  if (x < 1e-3) return 1.0 - x * (0.2 - x * (0.12 - x * (0.088 - x * 0.0704)));
  return std::pow(1.0 + x, -0.2);
}

/// k_t/k_n at which a contact's normal and tangential motions are equally stiff for a solver, and
/// equally fast: the ratio of their mobilities; 2/7 of uniform spheres (L. E. Silbert et al.,
/// Granular flow down an inclined plane, 2001). Never softer, and tangents are not the stiffer
/// ones.
double own_tangential_ratio(const ContactState& contact) {
  const double tangential = 0.5 * (3.0 * contact.mean_mobility - contact.mobility);
  return std::clamp(contact.mobility / tangential, 2.0 / 7.0, 1.0);
}

/// Steps in an undamped contact from which on the step resolves it.
constexpr double kResolved = 10.0;
/// Damping time of contacts that the step does not resolve, in steps: an overlap is undone in one.
constexpr double kDampingSteps = 0.75;
/// Most that hardening makes of a contact's stiffness.
constexpr double kHardest = 3.0;
/// Hertz's law is not followed below this overlap, in R*, where its stiffness vanishes.
constexpr double kLeastOverlap = 1e-7;

/// A gap across which a contact pulls like a spring: one that does not close within the step.
bool stretched(const ContactState& contact, double step) {
  return contact.cohesive && contact.gap > 0.0 && contact.gap + step * contact.normal_speed > 0.0;
}

}  // namespace

double linear_damping_ratio(double restitution) {
  static const DampingTable ratios = damping_table(linear_restitution);
  return look_up(ratios, restitution);
}

double hertz_damping_ratio(double restitution) {
  static const DampingTable ratios = damping_table(hertz_restitution);
  return look_up(ratios, restitution);
}

double ContactStiffness::energy(const ContactRowsGiven& rows, double overlap) {
  if (overlap <= 0.0) return 0.0;
  if (rows.secant_overlap == 0.0) return 0.5 * overlap * overlap / rows.normal;
  // f = c overlap^(3/2) with c = 1/(eps sqrt(delta)), of which 2/5 f overlap is stored, and linear
  // up to the overlap d: c sqrt(d)/2 overlap^2
  const double coefficient = 1.0 / (rows.normal * std::sqrt(rows.secant_overlap));
  if (rows.linear_overlap == 0.0)
    return coefficient * (0.4 * overlap * overlap * std::sqrt(overlap));
  const double linear = std::min(overlap, rows.linear_overlap);
  const double at_linear = linear * linear * std::sqrt(rows.linear_overlap);
  if (overlap <= rows.linear_overlap) return 0.5 * coefficient * at_linear;
  // where the stiffness does not grow any more
  const double top = kHardest * kHardest * rows.linear_overlap;
  const double below = std::min(overlap, top);
  return coefficient * (0.4 * below * below * std::sqrt(below) + 0.1 * at_linear +
                        0.5 * std::sqrt(top) * std::max(0.0, overlap - top) * (overlap + top));
}

ContactStiffness::ContactStiffness(StepperKind kind, double step,
                                   const ContactParameters& parameters)
    : kind_(kind),
      step_(step),
      parameters_(parameters),
      common_damping_time_(std::isnan(parameters.damping_time) &&
                                   parameters.stiffness == Stiffness::automatic
                               ? kDampingSteps * step
                               : parameters.damping_time),
      common_share_(share(common_damping_time_)),
      common_tangent_share_(tangent_share(common_damping_time_)) {}

double ContactStiffness::share(double damping_time) const {
  if (kind_ == StepperKind::dvi) return 1.0 / std::max(1.0, damping_time / step_);
  return 4.0 * spook_upsilon(damping_time, step_);
}

double ContactStiffness::excess_of(double e) const {
  if (excess_.restitution != e) excess_ = {e, hertz_excess(e)};
  return excess_.value;
}

void ContactStiffness::set_damping(const ContactState& contact, const PairMaterial& pair,
                                   ContactRowsGiven& rows) const {
  const bool hertz = rows.secant_overlap > 0.0;
  const double e = std::max(kLeastRestitution, pair.restitution);
  const auto ratio = [&](double of) {
    return hertz ? hertz_damping_ratio(of) : linear_damping_ratio(of);
  };
  const double mass = 1.0 / contact.mobility;
  // of the whole impact: with Hertz's law, of which eps falls with the root of the overlap, at the
  // one to which this speed leads: overlap^(5/2) = delta^(5/2) (1 + 5/4 eps m u^2/delta^2)
  double eps = rows.normal;
  if (hertz) {
    const double speed = contact.normal_speed / rows.secant_overlap;
    eps *= minus_fifth_power(1.25 * eps * mass * speed * speed);
  }
  const double parts = std::numbers::pi / step_ * std::sqrt(eps * mass);
  rows.resolved =
      kind_ == StepperKind::spook ? parts >= kResolved : 2.0 * ratio(e) * parts >= std::numbers::pi;
  rows.normal_share = common_share_;
  rows.tangent_share = common_tangent_share_;
  if (!std::isnan(common_damping_time_)) return;
  // c = 2 zeta sqrt(k m), where k of Hertz's law is the tangent's, and tau = c eps
  const double root = std::sqrt((hertz ? 1.5 : 1.0) * rows.normal * mass);
  double time = 2.0 * root;
  if (!rows.resolved) {
    time = std::max(kDampingSteps * step_, time * ratio(e));
  } else {
    const double part = 1.0 / parts;
    double asked = e;
    if (!hertz)
      asked = asked_restitution(e, part);
    else if (kind_ == StepperKind::spook)
      asked = asked_hertz_restitution(e, excess_of(e), part);
    time *= ratio(asked);
  }
  rows.normal_share = share(time);
  rows.tangent_share = time < kLeastTangentTime * step_ ? tangent_share(time) : rows.normal_share;
}

void ContactStiffness::set_bias(const ContactState& contact, const PairMaterial& pair,
                                ContactRowsGiven& rows) const {
  const double speed = contact.normal_speed, rate = contact.gap / step_;
  rows.impact = !rows.resolved && !contact.pressed && pair.restitution > 0.0 &&
                speed < -parameters_.rest_speed && contact.gap + step_ * speed <= 0.0;
  if (rows.impact) {
    rows.bias = pair.restitution * speed;
    return;
  }
  rows.bias = rate;
  if (stretched(contact, step_)) {
    // damped as far as the damper does not turn the pull into a push at a distance
    rows.normal_share = std::max(rows.normal_share, -speed / rate);
    rows.bias = rows.normal_share * rate;
  }
  if (contact.gap > 0.0) return;
  rows.bias = rows.normal_share * rate;
  if (rows.resolved && kind_ == StepperKind::spook)
    rows.bias -= 0.25 * rows.normal_share * std::max(speed, rate);
}

ContactRowsGiven ContactStiffness::rows(const ContactState& contact, const PairMaterial& pair,
                                        double own_step) const {
  ContactRowsGiven rows;
  double ratio = parameters_.tangential_ratio;
  if (parameters_.stiffness == Stiffness::automatic) {
    if (std::isnan(ratio)) ratio = own_tangential_ratio(contact);
    // Sigma = a/s
    rows.normal =
        contact.mean_mobility * own_step * own_step / (common_share_ * parameters_.stiffness_ratio);
    rows.tangent = rows.normal / ratio;
    const double linear = parameters_.hardening * contact.size;
    const double overlap = -contact.gap - std::min(0.0, step_ * contact.normal_speed);
    if (overlap > linear) {
      rows.secant_overlap = std::min(overlap, kHardest * kHardest * linear);
      rows.linear_overlap = linear;
      rows.normal *= std::sqrt(linear / rows.secant_overlap);
    }
  } else {
    if (std::isnan(ratio)) ratio = std::isnan(pair.tangential_ratio) ? 1.0 : pair.tangential_ratio;
    rows.normal = static_cast<double>(contact.points) / parameters_.pair_stiffness;
    if (parameters_.stiffness == Stiffness::material) {
      const double overlap = std::max(stretched(contact, step_) ? contact.gap : -contact.gap,
                                      kLeastOverlap * contact.radius);
      const auto set = [&](double delta) {
        rows.secant_overlap = delta;
        rows.normal = static_cast<double>(contact.points) /
                      (4.0 / 3.0 * pair.contact_modulus * std::sqrt(contact.radius * delta));
      };
      set(overlap);
      set_damping(contact, pair, rows);
      if (!rows.resolved) {
        set(std::max(overlap, -(contact.gap + step_ * contact.normal_speed)));
        set_damping(contact, pair, rows);
      }
      // Mindlin's is of Hertz's tangent, 3/2 of the secant
      rows.tangent = rows.normal / (1.5 * ratio);
      set_bias(contact, pair, rows);
      return rows;
    }
    rows.tangent = rows.normal / ratio;
  }
  set_damping(contact, pair, rows);
  set_bias(contact, pair, rows);
  return rows;
}

}  // namespace catena
