// Contacts that give, in motion: waves in chains, oblique impacts, restitution on all scales, and
// energy that no collision adds to. Against closed forms, and against references that are
// integrated here in steps far below the contact's period, or elsewhere by DOP853.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "analytic/case_runner.hpp"
#include "analytic/elastic_scenes.hpp"

namespace catena::test {
namespace {

std::string time_text(double h, double end, const std::string& keys = "") {
  return "time: {step: " + text_of(h) + ", end: " + text_of(end) + keys + "}\n";
}

double speed_x(const Simulation& sim, GlobalId id) { return body_of(sim, id).twist.v.x(); }

/// Kinetic, potential and elastic, J.
double total_energy(const StepReport& r) {
  return r.kinetic + r.potential + r.audit[EnergyTerm::elastic_energy];
}

/// Equal balls that touch in a row along x from the origin on, without gravity; ids from 0 on.
std::string row_of_balls(const std::vector<double>& speeds, double radius,
                         const std::string& contact, const std::string& material,
                         const std::string& body = "") {
  std::string yaml = "gravity: [0, 0, 0]\nmaterials: {m: {" + material + "}}\ncontact: {" +
                     contact + "}\nbodies:\n";
  for (std::size_t i = 0; i < speeds.size(); ++i)
    yaml += "  - {name: b" + std::to_string(i) + ", material: m" + body +
            ", shape: {sphere: {radius: " + text_of(radius) +
            "}}, position: " + text_of(Vec3(2.0 * radius * static_cast<double>(i), 0.0, 0.0)) +
            ", velocity: " + text_of(Vec3(speeds[i], 0.0, 0.0)) + "}\n";
  return yaml;
}

const std::string kOneKilogram = ", mass: 1, inertia: [0.004, 0.004, 0.004]";

/// One ball of 0.1 m and 1 kg, that of a uniform sphere, over a floor.
std::string ball_over_floor(double height, const Vec3& velocity, const std::string& contact,
                            const std::string& material) {
  return "materials: {m: {" + material + "}}\ncontact: {" + contact +
         "}\nbodies:\n  - {name: ball, material: m" + kOneKilogram +
         ", shape: {sphere: {radius: 0.1}}, position: " + text_of(Vec3(0.0, 0.0, 0.1 + height)) +
         ", velocity: " + text_of(velocity) + "}\n" + kFloorText;
}

/// Steps until the body's contacts have closed and opened again.
void run_through_impact(Simulation& sim) {
  bool touched = false;
  for (int i = 0; i < 100000; ++i) {
    sim.step();
    const bool pressed = !sim.state().impulses.empty();
    if (touched && !pressed) return;
    touched = touched || pressed;
  }
}

// Two halves of a chain that fly at each other. The speeds of the balls and sqrt(k/m) times the
// overlaps, in turn, follow dx_i/dt = sqrt(k/m) (x_{i-1} - x_{i+1}), whose solutions are sums of
// J_i(2 sqrt(k/m) t) (E. Schroedinger, Zur Dynamik elastisch gekoppelter Punktsysteme, 1914).
// Behind and before the front overlaps are integrals of J_i from 0 on, and these are positive:
// contacts that cannot pull make no difference, the chain is pressed by the impact itself.
TEST(ElasticWave, LinearChainIsSchroedingersLattice) {
  const int half = 60, near = 10, far = 50;
  const double k = 1e4, v = 0.1, radius = 0.1, rate = std::sqrt(k);
  const double h = kPi * std::sqrt(0.5 / k) / 50.0;
  std::vector<double> speeds(2 * half, 0.5 * v);
  std::fill(speeds.begin() + half, speeds.end(), -0.5 * v);
  const auto sim = simulate(
      row_of_balls(speeds, radius, "stiffness: 1e4", "friction: 0, restitution: 1", kOneKilogram) +
      kTight + time_text(h, 1.0));
  const auto lattice = [&](int ball, double t) {
    double sum = 0.0;
    for (int i = 1; i < 120; ++i) sum += std::cyl_bessel_j(2.0 * (ball + i), 2.0 * rate * t);
    return sum;
  };

  std::map<int, double> arrival, before;
  double worst = 0.0;
  while (sim->state().time < (far + 5) / rate) {
    sim->step();
    const double t = sim->state().time;
    for (const int ball : {0, near, 30, far}) {
      const double now = speed_x(*sim, half + ball) / v + 0.5;
      if (sim->state().step % 16 == 0) worst = std::max(worst, std::abs(now - lattice(ball, t)));
      // the front is Airy's integral, a third of the final 1/2 where the long wave is
      const double level = 0.5 / 3.0;
      if (now >= level && arrival.count(ball) == 0)
        arrival[ball] = t - h * (now - level) / (now - before[ball]);
      before[ball] = now;
    }
  }

  const double long_wave = 2.0 * radius * rate;
  const double found = (far - near) * 2.0 * radius / (arrival[far] - arrival[near]);
  EXPECT_NEAR(found, long_wave, 2e-3 * long_wave);
  EXPECT_LT(worst, 0.02);  // of the whole front; the steps' own dispersion
}

// Steel beads as V. F. Nesterenko's and C. Daraio's. With F = K overlap^(3/2) a solitary wave goes
// with V = c 2r K^(1/3) F^(1/6)/sqrt(m), F its peak: c = 0.90552, and the fastest bead has 0.68163
// of the striker's speed, by DOP853 on 60 beads (relative tolerance 1e-11). The continuum's
// V = 0.68 (E/(r rho^(3/2) (1 - nu^2)))^(1/3) F^(1/6) (Nesterenko, Dynamics of heterogeneous
// materials, 2001) is c = 0.8941.
TEST(ElasticWave, HertzChainCarriesNesterenkosWave) {
  const double modulus = 193e9, nu = 0.3, density = 8000.0, radius = 2.38e-3, v = 0.44;
  const double m = density * 4.0 / 3.0 * kPi * std::pow(radius, 3);
  const double hertz = 2.0 / 3.0 * modulus / (1.0 - nu * nu) * std::sqrt(0.5 * radius);
  const double unit = std::pow(m / hertz, 0.4) * std::pow(v, -0.2), h = 0.025 * unit;
  const std::size_t n = 40, near = 12, far = 30;
  std::vector<double> speeds(n, 0.0);
  speeds[0] = v;
  const auto sim = simulate(row_of_balls(speeds, radius, "stiffness: material",
                                         "density: 8000, friction: 0, restitution: 1, "
                                         "youngs_modulus: 193e9, poisson_ratio: 0.3") +
                            kTight + time_text(h, 1.0));

  struct Peak {
    double force = 0.0, time = 0.0;
  };
  std::vector<Peak> peak(n);
  double fastest = 0.0;
  while (sim->state().time < 45.0 * unit) {
    sim->step();
    for (std::size_t k = 0; k < sim->stepper().n_contacts(); ++k) {
      const ContactRecord c = sim->stepper().contact(k);
      Peak& p = peak[static_cast<std::size_t>(std::min(c.key.a, c.key.b))];
      const double force = c.impulse.norm() / h;
      if (force > p.force) p = {force, sim->state().time};
    }
    fastest = std::max(fastest, speed_x(*sim, 20));
  }

  const double found = (far - near) * 2.0 * radius / (peak[far].time - peak[near].time);
  const double root = std::pow(peak[20].force, 1.0 / 6.0);
  const double beads = 0.90552 * 2.0 * radius * std::cbrt(hertz) / std::sqrt(m) * root;
  const double continuum =
      0.68 * std::cbrt(modulus / (radius * std::pow(density, 1.5) * (1.0 - nu * nu))) * root;
  EXPECT_NEAR(found, beads, 4e-3 * beads);  // a step more or less is 1/500
  EXPECT_NEAR(found, continuum, 0.02 * continuum);
  EXPECT_NEAR(fastest / v, 0.68163, 2e-3);
}

/// Damping ratio of a linear spring without tension (T. Schwager, T. Poeschel, 2007), below 1.
double damping_ratio(double e) {
  double low = 0.0, high = 0.999;
  for (int i = 0; i < 60; ++i) {
    const double z = 0.5 * (low + high), r = std::sqrt(1.0 - z * z);
    const double found = std::exp(-z / r * std::atan2(2.0 * z * r, 2.0 * z * z - 1.0));
    (found > e ? low : high) = z;
  }
  return 0.5 * (low + high);
}

constexpr double kFriction = 0.3;

/// Slip after the impact of a sphere that comes with 1 and slips with `slip`, in units of the
/// normal speed: linear springs with dampers of one damping time, the tangential one behind an
/// ideal slider. Mass, normal stiffness 1, tangential `ratio`.
double slip_after_linear(double slip, double ratio, double e) {
  const double dt = 2e-5, tau = e < 1.0 ? 2.0 * damping_ratio(e) : 0.0;
  double x = 0.0, v = 1.0, u = slip, xi = 0.0;
  while (true) {
    const double f = x + tau * v;
    if (v < 0.0 && f <= 0.0) return u;
    const double bound = kFriction * std::max(0.0, f);
    double t = -ratio * (xi + (tau + dt) * u);
    if (std::abs(t) > bound) {
      t = std::copysign(bound, t);
      // the slider takes what spring and damper do not
      xi = tau > 0.0 ? xi - dt * (xi + t / ratio) / tau : -t / ratio;
    } else {
      xi += dt * u;
    }
    u += 3.5 * dt * t;  // tangential mobility of a sphere: 1/m + r^2/I = 7/2
    v -= dt * f;
    x += dt * v;
  }
}

/// The same of Hertz's and Mindlin's stiffnesses, e = 1: loading adds k_t du, unloading lessens the
/// force as k_t (C. Thornton, S. J. Cummins, P. W. Cleary, An investigation of the comparative
/// behaviour of alternative contact force models during elastic collisions, 2011).
double slip_after_hertz(double slip, double nu) {
  const double dt = 2e-5, mindlin = 2.0 * (1.0 - nu) / (2.0 - nu);
  double x = 0.0, v = 1.0, u = slip, t = 0.0, before = 0.0;
  while (v > 0.0 || x > 0.0) {
    const double root = std::sqrt(std::max(0.0, x)), stiffness = 1.5 * mindlin * root;
    if (stiffness < before) t *= stiffness / before;
    before = stiffness;
    const double bound = kFriction * x * root;
    t = std::clamp(t - stiffness * dt * u, -bound, bound);
    u += 3.5 * dt * t;
    v -= dt * x * root;
    x += dt * v;
  }
  return u;
}

double slip_after(double slip, const std::string& contact, const std::string& material, double h) {
  const auto sim = simulate("gravity: [0, 0, 0]\n" +
                            ball_over_floor(0.3 * h, Vec3(slip, 0.0, -1.0), contact,
                                            "friction: " + text_of(kFriction) + material) +
                            kTight + time_text(h, 1.0));
  run_through_impact(*sim);
  const Twist& after = body_of(*sim, 0).twist;
  return after.v.x() - 0.1 * after.w.y();
}

// A contact of 0.1 ms in 400 steps: where it sticks, its error is that of a damping time of h/4 in
// the tangents, 2.5 h over the duration.
constexpr double kDuration = 1e-4, kFineStep = kDuration / 400.0;
const std::string kStiffness = "stiffness: " + text_of(kPi * kPi / (kDuration * kDuration));

// The tangent of the rebound angle against that of the incidence. With k_t/k_n = 2/7 normal and
// tangential motion of a sphere have one frequency, and their forces one ratio: it sticks all the
// time or slides all the time, which is the two regimes of O. R. Walton and R. L. Braun (1986) and
// S. F. Foerster et al. (Phys. Fluids 6, 1994), with e_t = e where it sticks and
// e_t = 1 - mu (1 + e) (7/2) cot(gamma) where it slides.
TEST(ElasticImpact, ObliqueImpactsOfOneFrequencyStickOrSlideThroughout) {
  for (const double e : {1.0, 0.6})
    for (const double slip : {0.2, 0.5, 0.9, 1.2, 1.6, 2.2, 3.5, 5.0}) {
      const double found =
          slip_after(slip, kStiffness + ", tangential_ratio: " + text_of(2.0 / 7.0),
                     ", restitution: " + text_of(e), kFineStep);
      const bool slides = slip > 3.5 * kFriction;
      const double expected = slides ? slip - 3.5 * kFriction * (1.0 + e) : -e * slip;
      EXPECT_NEAR(found, expected, slides ? 1e-3 : 7e-3 * slip) << e << " " << slip;
    }
}

TEST(ElasticImpact, ObliqueImpactsReboundAsASpringBehindASlider) {
  for (const double e : {1.0, 0.6})
    for (const double slip : {0.2, 0.5, 0.9, 1.2, 1.4, 1.6, 1.8, 2.2, 3.5}) {
      const double found = slip_after(slip, kStiffness + ", tangential_ratio: 0.8",
                                      ", restitution: " + text_of(e), kFineStep);
      EXPECT_NEAR(found, slip_after_linear(slip, 0.8, e), 7e-3) << e << " " << slip;
    }
}

TEST(ElasticImpact, ObliqueImpactsOfHertzAndMindlin) {
  // E* = 1e11/(2 (1 - 0.3^2)), and the sphere's reduced radius is its own
  const double hertz = 4.0 / 3.0 * 1e11 / (2.0 * 0.91) * std::sqrt(0.1);
  const double unit = std::pow(hertz, -0.4);  // of time
  for (const double slip : {0.2, 0.5, 0.9, 1.2, 1.4, 1.6, 1.8, 2.2, 3.5}) {
    const double found =
        slip_after(slip, "stiffness: material",
                   ", restitution: 1, youngs_modulus: 1e11, poisson_ratio: 0.3", 5e-3 * unit);
    EXPECT_NEAR(found, slip_after_hertz(slip, 0.3), 4e-3) << slip;
  }
}

/// Speeds of a ball that comes with 1 and touches at several places within a step.
std::vector<double> rebounds(double e, double h, const std::string& stepper,
                             const std::string& contact = kStiffness,
                             const std::string& material = "") {
  std::vector<double> out;
  for (const double phase : {0.05, 0.35, 0.65, 0.95}) {
    const auto sim =
        simulate("gravity: [0, 0, 0]\n" +
                 ball_over_floor(phase * h, Vec3(0.0, 0.0, -1.0), contact,
                                 "friction: 0.5, restitution: " + text_of(e) + material) +
                 time_text(h, 100.0, ", stepper: " + stepper));
    run_through_impact(*sim);
    out.push_back(body_of(*sim, 0).twist.v.z());
  }
  return out;
}

const double kSteps[] = {1e-6, 2e-6, 5e-6, 9e-6, 1.1e-5, 2e-5, 5e-5, 1e-4, 1e-3, 1e-2};

TEST(ElasticImpact, ReboundIsTheMaterialsOnAllScalesOfTheStep) {
  for (const double e : {0.0, 0.3, 0.5, 0.8, 1.0})
    for (const double h : kSteps)
      for (const double found : rebounds(e, h, "spook"))
        EXPECT_NEAR(found, e, 0.03) << e << " " << h;
}

/// Moduli with which the ball's contact lasts as long: 2.943 (m/K)^(2/5) v^(-1/5).
std::string hertz_moduli() {
  const double hertz = std::pow(2.9433 / kDuration, 2.5);
  const double modulus = 2.0 * 0.91 * hertz / (4.0 / 3.0 * std::sqrt(0.1));
  return ", youngs_modulus: " + text_of(modulus) + ", poisson_ratio: 0.3";
}

TEST(ElasticImpact, ReboundFromHertzsContactIsTheMaterialsOnAllScalesOfTheStep) {
  for (const double e : {0.0, 0.3, 0.5, 0.8, 1.0})
    for (const double h : kSteps)
      for (const double found : rebounds(e, h, "spook", "stiffness: material", hertz_moduli())) {
        EXPECT_NEAR(found, e, 0.02) << e << " " << h;
        EXPECT_LE(found, 1.0 + 1e-12) << e << " " << h;
      }
}

double mean_of(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

TEST(ElasticImpact, DviReboundsByTheRuleUntilItsOwnDampingIsLessThanTheMaterials) {
  for (const double e : {0.3, 0.5, 0.8, 1.0})
    for (const double h : kSteps) {
      // up to N = pi/(2 zeta): 3 (e = 0.3) to 21 (0.8) steps a contact, and always for e = 1
      const std::vector<double> found = rebounds(e, h, "dvi");
      if (e == 1.0 || kDuration / h < 0.99 * kPi / (2.0 * damping_ratio(e))) {
        for (const double one : found) EXPECT_NEAR(one, e, 1e-9) << e << " " << h;
      }
      EXPECT_NEAR(mean_of(found), e, 0.03) << e << " " << h;
      EXPECT_NEAR(mean_of(rebounds(e, h, "dvi", "stiffness: material", hertz_moduli())), e, 0.03)
          << e << " " << h;
    }
}

TEST(ElasticImpact, FallingBallReboundsAsItsMaterialSays) {
  for (const double e : {0.3, 0.5, 0.8, 1.0})
    for (const char* contact : {"stiffness: auto", "stiffness: 1e6"}) {
      const auto sim = simulate(
          ball_over_floor(1.0, Vec3::Zero(), contact, "friction: 0.5, restitution: " + text_of(e)) +
          time_text(2e-4, 1.0));
      double lowest = 0.0, highest = 0.0;
      while (sim->state().time < 1.0) {
        sim->step();
        lowest = std::min(lowest, body_of(*sim, 0).twist.v.z());
        highest = std::max(highest, body_of(*sim, 0).twist.v.z());
      }
      EXPECT_NEAR(highest / -lowest, e, 0.03) << e << " " << contact;
    }
}

// Speeds after the first of five balls hits the others with 1, all touching: by DOP853 (relative
// tolerance 1e-12), for forces as the overlap and as its power 3/2.
TEST(ElasticImpact, CradleOfFiveTouchingBallsRunsByItsSprings) {
  struct Cradle {
    const char* contact;
    std::array<double, 5> speed;
  };
  for (const Cradle& c :
       {Cradle{"stiffness: 1e5", {-0.132279, -0.075329, -0.031011, 0.296218, 0.942402}},
        Cradle{"stiffness: material", {-0.071085, -0.030274, -0.014464, 0.127045, 0.988777}}}) {
    const auto sim = simulate(row_of_balls({1.0, 0.0, 0.0, 0.0, 0.0}, 0.1, c.contact,
                                           "friction: 0, restitution: 1, youngs_modulus: 1e7, "
                                           "poisson_ratio: 0.3",
                                           kOneKilogram) +
                              kTight + time_text(1e-4, 1.0));
    run_until(*sim, 0.1);
    for (int i = 0; i < 5; ++i) EXPECT_NEAR(speed_x(*sim, i), c.speed[i], 1e-3) << c.contact << i;
  }
}

/// How contacts give, with a step; by how much of the start's energy the sum may be above it, and
/// what may be left. Linear and unresolved contacts: round-off. Hertz's stiffness is that of a
/// step's start and its energy that of the mean overlap: off by 1/N^2, N the steps of a contact.
struct Giving {
  const char* contact;
  double step, above, left;
};
const Giving kGiving[] = {{"stiffness: auto", 1e-3, 1e-12, 0.95},
                          {"stiffness: 1e5", 1e-4, 1e-12, 0.95},        // N = 99
                          {"stiffness: 1e5", 9e-4, 1e-12, 0.3},         // N = 11
                          {"stiffness: material", 1e-4, 1.4e-4, 0.95},  // N = 84
                          {"stiffness: material", 7e-4, 7e-3, 0.5}};    // N = 12

TEST(ElasticEnergy, BallsBetweenWallsNeverHaveMoreThanAtTheStart) {
  for (const int n : {1, 5})
    for (const Giving& giving : kGiving) {
      std::vector<double> speeds(n, 0.0);
      speeds[0] = 1.0;
      const auto sim = simulate(
          row_of_balls(speeds, 0.1, giving.contact,
                       "friction: 0, restitution: 1, youngs_modulus: 1e7, poisson_ratio: 0.3",
                       kOneKilogram) +
          "  - {name: left, material: m, shape: {plane: {normal: [1, 0, 0]}}, "
          "position: [-0.35, 0, 0]}\n"
          "  - {name: right, material: m, shape: {plane: {normal: [-1, 0, 0]}}, position: " +
          text_of(Vec3(0.2 * n + 0.15, 0.0, 0.0)) + "}\n" + time_text(giving.step, 5.0));
      double highest = 0.0, now = 0.0, speed = 1.0;
      int turns = 0;
      while (sim->state().time < 5.0 - 0.5 * giving.step) {
        now = total_energy(sim->step());
        highest = std::max(highest, now);
        turns += speed_x(*sim, 0) * speed < 0.0 ? 1 : 0;
        if (speed_x(*sim, 0) != 0.0) speed = speed_x(*sim, 0);
      }
      EXPECT_LE(highest, 0.5 * (1.0 + giving.above)) << n << " " << giving.contact;
      EXPECT_GT(now, 0.5 * giving.left) << n << " " << giving.contact;
      EXPECT_GT(turns, n == 1 ? 7 : 4) << n << " " << giving.contact;
    }
}

std::string pile_of_boxes(int n, double gap, const std::string& contact) {
  std::string yaml =
      "materials: {m: {density: 1000, friction: 0.5, restitution: 0.5, youngs_modulus: 1e8, "
      "poisson_ratio: 0.3}}\ncontact: {" +
      contact + "}\nbodies:\n";
  for (int i = 0; i < n; ++i)
    yaml += "  - {name: b" + std::to_string(i) +
            ", material: m, shape: {box: {size: [0.2, 0.2, 0.2]}}, position: " +
            text_of(Vec3(0.0, 0.0, 0.1 + 0.2 * i + gap * (i + 1))) + "}\n";
  return yaml + kFloorText;
}

TEST(ElasticEnergy, FallingStackNeverHasMoreThanAtTheStartAndComesToRest) {
  for (const double gap : {0.05, 0.0})
    for (const char* contact : {"stiffness: auto", "stiffness: 1e6", "stiffness: material"}) {
      SCOPED_TRACE(std::string(contact) + " gap " + text_of(gap));
      const double h = std::string(contact) == "stiffness: auto" ? 2e-3 : 2e-4;
      const auto sim = simulate(pile_of_boxes(5, gap, contact) + time_text(h, 4.0));
      double start = 0.0;
      for (int i = 0; i < 5; ++i) start += 8.0 * kG * (0.1 + 0.2 * i + gap * (i + 1));
      const double settled = 2.5;  // 1e6 N/m sway for long at e = 0.5
      double highest = 0.0, fastest = 0.0;
      int open = 0, missed = 0;
      while (sim->state().time < settled + 1.0) {
        const StepReport& r = sim->step();
        highest = std::max(highest, total_energy(r));
        missed += r.solve.status == SolveStatus::converged ? 0 : 1;
        if (sim->state().time < settled) continue;
        // chatter: corners that open, or speeds from which on impacts have restitution
        open += 20 - static_cast<int>(sim->state().impulses.size());
        for (int i = 0; i < 5; ++i) fastest = std::max(fastest, body_of(*sim, i).twist.v.norm());
      }
      // semi-implicit steps lose m g^2 h^2/2 in each step of a fall
      EXPECT_LE(highest, start * (1.0 + 1e-12));
      EXPECT_EQ(open, 0);
      EXPECT_EQ(missed, 0);
      EXPECT_LT(fastest, 0.2 * 0.01);
    }
}

TEST(ElasticEnergy, IsBalancedThroughBouncesAndRest) {
  for (const char* contact : {"stiffness: auto", "stiffness: 1e6", "stiffness: material"}) {
    const auto sim =
        simulate(ball_over_floor(0.5, Vec3::Zero(), contact,
                                 "friction: 0.5, restitution: 0.6, youngs_modulus: 1e7, "
                                 "poisson_ratio: 0.3") +
                 time_text(1e-4, 2.0));
    run_until(*sim, 2.0);
    const StepReport& r = sim->stepper().report();
    const double fallen = kG * 0.5;
    EXPECT_LT(std::abs(r.energy_residual), 2e-3 * fallen) << contact;
    EXPECT_GT(r.audit[EnergyTerm::dissipation_impact], 0.9 * fallen) << contact;
    // what the overlap stores at rest, f delta/2 or 2/5 f delta
    const double sunk = 0.1 - body_of(*sim, 0).pose.p.z();
    const double part = std::string(contact) == "stiffness: material" ? 0.4 : 0.5;
    EXPECT_NEAR(r.audit[EnergyTerm::elastic_energy], part * kG * sunk, 2e-2 * kG * sunk) << contact;
  }
}

}  // namespace
}  // namespace catena::test
