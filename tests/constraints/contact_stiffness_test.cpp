#include "catena/constraints/contact_stiffness.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

namespace catena {
namespace {

PairMaterial pair_of(double restitution) {
  PairMaterial pair;
  pair.restitution = restitution;
  return pair;
}

ContactParameters linear(double stiffness) {
  ContactParameters parameters;
  parameters.stiffness = Stiffness::linear;
  parameters.pair_stiffness = stiffness;
  parameters.rest_speed = 1e-6;
  return parameters;
}

struct Bounce {
  double rebound = 0.0;  ///< speed after over speed before
  double highest = 0.0;  ///< kinetic and elastic energy from the touch on, over that at the start
  double force_at_gap = 0.0;  ///< largest impulse of a step that ends with a gap
};

/// A unit mass that flies at a wall with unit speed, `phase` of a step before it; no other force.
Bounce bounce(const ContactStiffness& stiffness, const PairMaterial& pair, double h, double phase,
              bool sphere = false) {
  double gap = phase * h, speed = -1.0;
  bool touched = false, pressed = false;
  Bounce out;
  for (int i = 0; i < 2000000; ++i) {
    ContactState now{.gap = gap,
                     .normal_speed = speed,
                     .mobility = 1.0,
                     .mean_mobility = 1.0,
                     .radius = sphere ? 1.0 : kInfinity,
                     .pressed = pressed};
    const ContactRowsGiven rows = stiffness.rows(now, pair, h);
    const double sigma = rows.impact ? 0.0 : stiffness.sigma(rows.normal, rows.normal_share);
    const double impulse = std::max(0.0, -(speed + rows.bias) / (1.0 + sigma));
    speed += impulse;
    gap += h * speed;
    pressed = impulse > 0.0;
    touched = touched || pressed;
    if (pressed) {
      const double energy =
          0.5 * speed * speed + (rows.resolved ? 0.0 : ContactStiffness::energy(rows, -gap));
      out.highest = std::max(out.highest, energy / 0.5);
    }
    if (touched && gap > 0.0 && speed > 0.0) break;
    if (touched && !pressed && std::abs(speed) < 1e-12) break;
  }
  out.rebound = std::max(0.0, speed);
  return out;
}

double mean_rebound(const ContactStiffness& stiffness, double e, double h) {
  double sum = 0.0;
  constexpr int kPhases = 16;
  for (int i = 0; i < kPhases; ++i)
    sum += bounce(stiffness, pair_of(e), h, (i + 0.5) / kPhases).rebound;
  return sum / kPhases;
}

/// Rebound of a spring and damper without tension, in steps far below its period.
template <class Force>
double integrated_rebound(const Force& force) {
  double x = 0.0, v = 1.0;
  const double dt = 1e-5;
  for (int i = 0; i < 100000000; ++i) {
    const double middle = v - 0.5 * dt * force(x, v);
    x += dt * middle;
    v -= dt * force(x - 0.5 * dt * middle, middle);
    if (v < 0.0 && (x <= 0.0 || force(x, v) <= 0.0)) break;
  }
  return -v;
}

TEST(DampingRatio, LinearSpringWithoutTensionReboundsAsAsked) {
  for (const double e : {0.05, 0.3, 0.5, 0.8, 0.95}) {
    const double zeta = linear_damping_ratio(e);
    EXPECT_NEAR(integrated_rebound([&](double x, double v) { return x + 2.0 * zeta * v; }), e, 2e-3)
        << e;
  }
  EXPECT_NEAR(linear_damping_ratio(std::exp(-2.0)), 1.0, 1e-3);
  EXPECT_NEAR(linear_damping_ratio(1.0), 0.0, 1e-12);
  EXPECT_GT(linear_damping_ratio(0.0), 4.0);
}

TEST(DampingRatio, HertzContactWithoutTensionReboundsAsAsked) {
  const std::vector<std::pair<double, double>> published = {
      {0.0343, 0.891}, {0.0744, 0.784}, {0.2553, 0.472}, {0.4972, 0.275}};
  for (const auto& [zeta, e] : published) EXPECT_NEAR(hertz_damping_ratio(e), zeta, 2e-3) << e;
  const double zeta = hertz_damping_ratio(0.6);
  EXPECT_NEAR(integrated_rebound([&](double x, double v) {
                const double root = std::sqrt(std::max(0.0, x));
                return x * root + 2.0 * zeta * std::sqrt(1.5 * root) * v;
              }),
              0.6, 3e-3);
}

TEST(ContactStiffness, OneRestitutionOnEveryScale) {
  // a contact that takes 1e-4 s, in steps from a hundredth of that to a hundred times
  const double duration = 1e-4;
  const double stiffness = std::pow(std::numbers::pi / duration, 2);
  for (const double e : {0.0, 0.3, 0.5, 0.8, 1.0})
    for (const double h : {1e-6, 2e-6, 5e-6, 9e-6, 1.1e-5, 2e-5, 5e-5, 1e-4, 1e-3, 1e-2}) {
      const ContactStiffness contact(StepperKind::spook, h, linear(stiffness));
      EXPECT_NEAR(mean_rebound(contact, e, h), e, 0.03) << "e " << e << " h " << h;
    }
}

TEST(ContactStiffness, DviReboundsByTheRuleWhereTheStepIsLong) {
  const double stiffness = std::pow(std::numbers::pi / 1e-4, 2);
  for (const double e : {0.3, 0.5, 0.8, 1.0})
    for (const double h : {1e-3, 1e-2}) {
      const ContactStiffness contact(StepperKind::dvi, h, linear(stiffness));
      EXPECT_NEAR(mean_rebound(contact, e, h), e, 0.03) << "e " << e << " h " << h;
    }
}

TEST(ContactStiffness, NoBounceEndsWithMoreThanItStartedWith) {
  for (const StepperKind kind : {StepperKind::spook, StepperKind::dvi})
    for (double kappa = 1e-6; kappa < 2e6; kappa *= 10.0)
      for (const double steps : {0.25, 0.75, 2.0, 20.0}) {
        const double h = 1e-3;
        ContactParameters parameters = linear(kappa / (h * h));
        parameters.damping_time = steps * h;
        for (const double phase : {0.05, 0.35, 0.65, 0.95}) {
          const Bounce found =
              bounce(ContactStiffness(kind, h, parameters), pair_of(0.0), h, phase);
          EXPECT_LE(found.rebound, 1.0 + 1e-9) << kappa << " " << steps << " " << phase;
        }
      }
}

TEST(ContactStiffness, UnresolvedRowsNeverRaiseTheEnergyOfAStep) {
  const double h = 1e-3;
  for (double ratio = 1.0; ratio < 1e5; ratio *= 10.0) {
    ContactParameters parameters;
    parameters.stiffness = Stiffness::automatic;
    parameters.stiffness_ratio = ratio;
    const ContactStiffness contact(StepperKind::spook, h, parameters);
    for (const double phase : {0.05, 0.5, 0.95})
      EXPECT_LE(bounce(contact, pair_of(0.0), h, phase).highest, 1.0 + 1e-12) << ratio;
  }
}

TEST(ContactStiffness, AutomaticIsTheMeanDiagonalOverTheRatio) {
  ContactParameters parameters;
  parameters.stiffness = Stiffness::automatic;
  parameters.stiffness_ratio = 300.0;
  for (const StepperKind kind : {StepperKind::spook, StepperKind::dvi})
    for (const double h : {1e-3, 4e-3}) {
      const ContactStiffness contact(kind, h, parameters);
      const ContactState now{.gap = -1e-4, .mobility = 2.0, .mean_mobility = 3.0};
      const ContactRowsGiven rows = contact.rows(now, pair_of(0.0), h);
      EXPECT_NEAR(contact.sigma(rows.normal, rows.normal_share), 0.01, 1e-15);
      // by the ratio of mobilities, 3.5 of tangents and 2 of the normal
      EXPECT_NEAR(contact.sigma(rows.tangent, rows.tangent_share), 0.0175, 1e-15);
      EXPECT_FALSE(rows.resolved);
      // tau = 3h/4: an overlap is undone in one step
      EXPECT_NEAR(rows.bias, -1e-4 / h, 1e-15);
    }
}

TEST(ContactStiffness, AutomaticHardensAsHertzAboveAShareOfTheRadius) {
  ContactParameters parameters;
  parameters.stiffness = Stiffness::automatic;
  parameters.hardening = 1e-2;
  const double h = 1e-3;
  const ContactStiffness contact(StepperKind::spook, h, parameters);
  const auto rows_at = [&](double overlap, double speed = 0.0) {
    return contact.rows({.gap = -overlap,
                         .normal_speed = speed,
                         .mobility = 2.0,
                         .mean_mobility = 3.0,
                         .size = 0.1},
                        pair_of(0.0), h);
  };
  const double eps = rows_at(1e-5).normal;
  EXPECT_EQ(rows_at(9.9e-4).normal, eps);
  EXPECT_NEAR(rows_at(4e-3).normal, eps / 2.0, 1e-12 * eps);
  EXPECT_EQ(rows_at(4e-3).tangent, rows_at(1e-5).tangent);
  // at the overlap that the approach leads to, not at that of a contact that opens
  EXPECT_NEAR(rows_at(1e-3, -3.0).normal, eps / 2.0, 1e-12 * eps);
  EXPECT_EQ(rows_at(9e-4, 3.0).normal, eps);
  // three times as stiff at most
  EXPECT_NEAR(rows_at(5e-2).normal, eps / 3.0, 1e-12 * eps);
  // what is stored is the work of the force, which is the secant's at each overlap
  for (const double overlap : {5e-4, 1e-3, 1.5e-3, 6e-3, 2e-2}) {
    const ContactRowsGiven rows = rows_at(overlap);
    constexpr int kParts = 20000;
    double work = 0.0;
    for (int i = 0; i < kParts; ++i) {
      const double x = (i + 0.5) / kParts * overlap;
      work += x / rows_at(x).normal * overlap / kParts;
    }
    EXPECT_NEAR(ContactStiffness::energy(rows, overlap), work, 1e-6 * work) << overlap;
    // the same energy by the rows of any other overlap of the hardened part
    const ContactRowsGiven others = rows_at(overlap > 1e-3 ? 4e-3 : overlap);
    EXPECT_NEAR(ContactStiffness::energy(others, overlap), work, 1e-6 * work) << overlap;
  }
  // a step undoes no more than was stored: secant times the end's overlap against the work
  for (const double overlap : {1.2e-3, 4e-3, 2e-2})
    for (double y = 0.05; y < 1.0; y += 0.05) {
      const ContactRowsGiven rows = rows_at(overlap);
      const double given = y * (1.0 - y) * overlap * overlap / rows.normal;
      EXPECT_LE(given, ContactStiffness::energy(rows, overlap) -
                           ContactStiffness::energy(rows, y * overlap));
    }
}

TEST(ContactStiffness, PointsOfAManifoldShareAPairsStiffness) {
  const ContactStiffness contact(StepperKind::spook, 1e-3, linear(1e5));
  ContactState now{.gap = -1e-4, .mobility = 1.0, .mean_mobility = 1.0};
  const double one = contact.rows(now, pair_of(0.0), 1e-3).normal;
  now.points = 4;
  EXPECT_NEAR(one, 1e-5, 1e-18);
  EXPECT_NEAR(contact.rows(now, pair_of(0.0), 1e-3).normal, 4e-5, 1e-18);
}

TEST(ContactStiffness, HertzIsTheSecantAtThePresentOverlapAndMindlinsTangent) {
  ContactParameters parameters;
  parameters.stiffness = Stiffness::material;
  const Material glass{.name = "glass", .youngs_modulus = 7e10, .poisson_ratio = 0.2};
  const MaterialTable table({glass});
  const PairMaterial& pair = table.pair(0, 0);
  EXPECT_NEAR(pair.contact_modulus, 7e10 / (2.0 * (1.0 - 0.04)), 1.0);
  EXPECT_NEAR(pair.tangential_ratio, 2.0 * 0.8 / 1.8, 1e-12);
  const double radius = 5e-3, overlap = 1e-6;
  const ContactStiffness contact(StepperKind::spook, 1e-7, parameters);
  const ContactState now{
      .gap = -overlap, .mobility = 100.0, .mean_mobility = 100.0, .radius = radius};
  const ContactRowsGiven rows = contact.rows(now, pair, 1e-7);
  ASSERT_TRUE(rows.resolved);
  const double force =
      4.0 / 3.0 * pair.contact_modulus * std::sqrt(radius) * std::pow(overlap, 1.5);
  EXPECT_NEAR(overlap / rows.normal, force, 1e-9 * force);
  const double tangent =
      pair.tangential_ratio * 2.0 * pair.contact_modulus * std::sqrt(radius * overlap);
  EXPECT_NEAR(1.0 / rows.tangent, tangent, 1e-9 * tangent);
  // the work of the force up to another overlap
  EXPECT_NEAR(ContactStiffness::energy(rows, 4e-6), 0.4 * force * overlap * 32.0,
              1e-9 * force * overlap);
}

/// The overlap to which a mass goes that Hertz's force c overlap^(3/2) stops, from `delta` and
/// `speed` on: where 2/5 c overlap^(5/2) is the energy of both.
double largest_overlap(double c, double delta, double mass, double speed) {
  const auto left = [&](double overlap) {
    return 0.5 * mass * speed * speed + 0.4 * c * (std::pow(delta, 2.5) - std::pow(overlap, 2.5));
  };
  double low = delta, high = 1.0;
  for (int i = 0; i < 200; ++i) (left(0.5 * (low + high)) > 0.0 ? low : high) = 0.5 * (low + high);
  return low;
}

TEST(ContactStiffness, HertzIsDampedByThePartsOfItsWholeImpactAtRestAndInFlight) {
  ContactParameters parameters;
  parameters.stiffness = Stiffness::material;
  constexpr double kH = 5e-5, kRadius = 2e-3, kDelta = 5e-6, kMass = 2.5e-3;
  const ContactStiffness contact(StepperKind::spook, kH, parameters);
  // two pairs by turns: what is kept of the last one is not taken for the other's
  for (const double speed : {0.0, 1e-6, 1e-4, 1.1e-4, 1e-2, 0.1, 1.0, -1.0})
    for (const double e : {0.3, 0.8}) {
      PairMaterial pair = pair_of(e);
      pair.contact_modulus = 1e7;
      const ContactState now{.gap = -kDelta,
                             .normal_speed = speed,
                             .mobility = 1.0 / kMass,
                             .mean_mobility = 1.0 / kMass,
                             .radius = kRadius};

      const ContactRowsGiven rows = contact.rows(now, pair, kH);

      const double c = 4.0 / 3.0 * pair.contact_modulus * std::sqrt(kRadius);
      const double most = largest_overlap(c, kDelta, kMass, speed);
      const double parts = std::numbers::pi / kH * std::sqrt(kMass / (c * std::sqrt(most)));
      const double asked = e - 0.75 * std::sqrt(e) * std::pow(1.0 - e, 2.4) / parts;
      const double tangent = 1.5 * c * std::sqrt(kDelta);
      const double time =
          2.0 * hertz_damping_ratio(asked) * std::sqrt(tangent * kMass) / (c * std::sqrt(kDelta));
      ASSERT_GT(parts, 10.0);
      EXPECT_NEAR(rows.normal_share, 4.0 / (1.0 + 4.0 * time / kH), 1e-13) << speed << " " << e;
      EXPECT_EQ(rows.tangent_share, rows.normal_share);
    }
}

TEST(ContactStiffness, RuleOfImpactsIsForNewContactsOnly) {
  ContactParameters parameters;
  parameters.stiffness = Stiffness::automatic;
  parameters.stiffness_ratio = 100.0;
  const ContactStiffness contact(StepperKind::spook, 1e-3, parameters);
  ContactState now{.gap = 1e-4, .normal_speed = -1.0, .mobility = 1.0, .mean_mobility = 1.0};
  ContactRowsGiven rows = contact.rows(now, pair_of(0.5), 1e-3);
  EXPECT_TRUE(rows.impact);
  EXPECT_DOUBLE_EQ(rows.bias, -0.5);
  now.pressed = true;
  EXPECT_FALSE(contact.rows(now, pair_of(0.5), 1e-3).impact);
  now.pressed = false;
  now.gap = 2e-3;  // not reached in this step
  EXPECT_FALSE(contact.rows(now, pair_of(0.5), 1e-3).impact);
  now.gap = 1e-4;
  EXPECT_FALSE(contact.rows(now, pair_of(0.0), 1e-3).impact);
}

}  // namespace
}  // namespace catena
