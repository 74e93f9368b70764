// Law lagged: friction by the last step's sliding. Against closed forms, against Coulomb's law and
// ccp, by all solvers, and through passes.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "support/case_text.hpp"
#include "support/gravity.hpp"

namespace catena::test {
namespace {

constexpr double kFriction = 0.5;

/// A ball that hardly turns (its inertia is large) slides at 1 m/s over the ground.
std::string sliding_ball(const std::string& contact, double h) {
  return "materials: {m: {density: 1000, friction: " + text_of(kFriction) +
         "}}\n"
         "contact: {" +
         contact +
         "}\n"
         "bodies:\n"
         "  - {name: ball, material: m, mass: 1, inertia: [1e6, 1e6, 1e6], shape: {sphere: "
         "{radius: 0.1}}, position: [0, 0, 0.1], velocity: [1, 0, 0]}\n"
         "  - {name: ground, material: m, shape: plane}\n"
         "solver: {relative_tolerance: 1e-12, absolute_tolerance: 1e-18}\n"
         "time: {step: " +
         text_of(h) + ", end: 0.4}\n";
}

struct Slide {
  double way = 0.0;      ///< at the end, m
  double highest = 0.0;  ///< above the start, m
};

Slide slide(const std::string& contact, double h) {
  Simulation sim(Communicator::self(), case_of(sliding_ball(contact, h)));
  Slide result;
  for (std::int64_t i = 0; i < sim.n_steps(); ++i) {
    sim.step();
    const Vec3& p = sim.state().body[0].pose.p;
    result.highest = std::max(result.highest, p.z() - 0.1);
    result.way = p.x();
  }
  return result;
}

TEST(Lagged, SlidingBallStopsWhereFrictionStopsItToFirstOrder) {
  const double way = 1.0 / (2.0 * kFriction * kG);
  for (const char* stiffness : {"rigid", "auto"}) {
    SCOPED_TRACE(stiffness);
    const std::string contact = std::string("law: lagged, stiffness: ") + stiffness;
    double error[3];
    const double steps[3] = {8e-3, 2e-3, 5e-4};
    for (int i = 0; i < 3; ++i) {
      const Slide s = slide(contact, steps[i]);
      error[i] = std::abs(s.way - way);
      // no hop by h mu |w_t|
      EXPECT_LT(s.highest, 0.1 * steps[i] * kFriction);
    }
    EXPECT_LT(error[0], 5e-3);
    EXPECT_LT(error[2], 4e-4);
    EXPECT_GT(std::log2(error[0] / error[2]) / 4.0, 0.8);
  }
}

/// Time in (from, to) at which f, of unlike signs there, is zero.
template <class Function>
double root_of(Function f, double from, double to) {
  const bool rising = f(to) > 0.0;
  for (int i = 0; i < 100; ++i) {
    const double middle = 0.5 * (from + to);
    ((f(middle) > 0.0) == rising ? to : from) = middle;
  }
  return 0.5 * (from + to);
}

/// A flat block of 1 kg, whose ground has the `motion`, at x with the velocity v; gravity along z.
std::string block_on_moving_ground(const std::string& contact, const std::string& motion, double x,
                                   double v, const std::string& forces, double h) {
  return "materials: {m: {friction: " + text_of(kFriction) + "}}\ncontact: {" + contact +
         "}\nbodies:\n  - {name: block, material: m, mass: 1, inertia: [0.01, 0.01, 0.02], shape: "
         "{box: {size: [0.4, 0.3, 0.02]}}, position: [" +
         text_of(x) + ", 0, 0.01], velocity: [" + text_of(v) + ", 0, 0]}\n" +
         "  - {name: ground, material: m, shape: plane, motion: {" + motion + "}}\n" + forces +
         // accelerated sweeps end at 1e-6 m/s in some of these steps
         "solver: {max_iterations: 5000, relative_tolerance: 1e-12, absolute_tolerance: 1e-20, "
         "accelerated: false}\n"
         "time: {step: " +
         text_of(h) + ", end: 10}\n";
}

/// Largest miss of body 0 over all steps until `end`, and in what part of them it went with the
/// ground.
struct StickSlip {
  double error = 0.0, sticking = 0.0;
  double highest = 0.0;  ///< above the start, m
};

template <class Miss, class GroundSpeed>
StickSlip stick_slip(const std::string& yaml, double end, Miss miss, GroundSpeed ground) {
  Simulation sim(Communicator::self(), case_of(yaml));
  StickSlip result;
  std::int64_t steps = 0, sticking = 0;
  while (sim.state().time < end) {
    sim.step();
    EXPECT_EQ(sim.stepper().report().solve.status, SolveStatus::converged);
    const double t = sim.state().time;
    const BodyMotionState& block = body_of(sim, 0);
    result.error = std::max(result.error, std::abs(miss(block, t)));
    result.highest = std::max(result.highest, block.pose.p.z() - 0.01);
    sticking += std::abs(block.twist.v.x() - ground(t)) < 10.0 * sim.settings().time.step;
    ++steps;
  }
  result.sticking = static_cast<double>(sticking) / static_cast<double>(steps);
  return result;
}

/// `run(contact, h)` at three steps, by contacts of both kinds: errors halve with the step.
template <class Run>
void expect_first_order(const char* name, double largest_step, double bound, Run run) {
  for (const char* stiffness : {"rigid", "auto"}) {
    SCOPED_TRACE(stiffness);
    const StickSlip hops = run(std::string("law: ccp, stiffness: ") + stiffness, largest_step);
    double error[3];
    for (int i = 0; i < 3; ++i) {
      const double h = largest_step / (1 << i);
      const StickSlip s = run(std::string("law: lagged, stiffness: ") + stiffness, h);
      EXPECT_LT(s.highest, 0.2 * hops.highest) << "it does not hop as under ccp";
      std::printf(
          "%s, %s, h = %.1e s: within %.3e, sticks in %.0f %% of the steps, hops by %.1e m (ccp: "
          "%.1e)\n",
          name, stiffness, h, s.error, 100.0 * s.sticking, s.highest, hops.highest);
      error[i] = s.error;
    }
    EXPECT_NEAR(error[0] / error[1], 2.0, 0.3);
    EXPECT_NEAR(error[1] / error[2], 2.0, 0.3);
    EXPECT_LT(error[2], bound);
  }
}

// A block on a belt, drawn back by a spring: k (x - x0) = mu m g at x_slip = mu g/omega^2. It
// swings about x_slip while it slides (the belt is faster), is caught where it reaches the belt's
// speed, is carried to x_slip and slides again.
TEST(Lagged, BlockDrawnBackFromABeltSticksAndSlipsToFirstOrder) {
  const double belt = 0.4, omega = 5.0, start = 0.3;
  const double slips_at = kFriction * kG / (omega * omega);
  // -start omega sin(omega t) = belt, in the second half of the swing
  const double caught = (std::numbers::pi + std::asin(belt / (start * omega))) / omega;
  const double caught_at = slips_at + start * std::cos(omega * caught);
  const double lets_go = caught + (slips_at - caught_at) / belt;
  ASSERT_LT(std::abs(caught_at), slips_at) << "friction holds it where it is caught";
  const auto place = [&](double t) {
    if (t < caught) return slips_at + start * std::cos(omega * t);
    if (t < lets_go) return caught_at + belt * (t - caught);
    return slips_at + belt / omega * std::sin(omega * (t - lets_go));
  };
  const std::string spring =
      "forces:\n  - {name: spring, type: spring, between: [world, block], at: [[-1, 0, 0.01], [" +
      text_of(slips_at + start) + ", 0, 0.01]], stiffness: " + text_of(omega * omega) +
      ", length: 1}\n";

  expect_first_order("belt", 4e-3, 2e-3, [&](const std::string& contact, double h) {
    const std::string yaml =
        block_on_moving_ground(contact, "velocity: [0.4, 0, 0]", slips_at + start, 0.0, spring, h);
    const auto miss = [&](const BodyMotionState& block, double t) {
      return block.pose.p.x() - place(t);
    };
    const StickSlip s = stick_slip(yaml, lets_go + 1.0, miss, [&](double) { return belt; });
    EXPECT_GT(s.sticking, 0.25);
    return s;
  });
}

// A block on a table that is shaken by A sin(Omega t) sticks while A Omega^2 |sin(Omega t)| < mu g
// and else slides with the acceleration mu g until it has the table's velocity again.
TEST(Lagged, BlockOnAShakenTableSticksAndSlipsToFirstOrder) {
  const double frequency = 1.5, rate = 2.0 * std::numbers::pi * frequency;
  const double friction = kFriction * kG, most = 1.3 * friction, amplitude = most / (rate * rate);
  const double end = 2.0;
  const auto table = [&](double t) { return amplitude * std::sin(rate * t); };
  const auto table_speed = [&](double t) { return amplitude * rate * std::cos(rate * t); };
  // slides from .. until, first with the table's velocity
  struct Piece {
    double from, until, x, v, a;
  };
  std::vector<Piece> slides;
  const double begins = std::asin(friction / most) / rate;
  double offset = 0.0;  // of the block on the table while it sticks
  for (int half = 0; half < 6; ++half) {
    const double from = begins + 0.5 * half / frequency;
    Piece s{from, 0.0, table(from) + offset, table_speed(from),
            half % 2 == 0 ? -friction : friction};
    const auto lead = [&](double t) { return s.v + s.a * (t - from) - table_speed(t); };
    // they part at first; the table's acceleration is below the bound again after half a quarter
    s.until = root_of(lead, from + 0.1 / frequency, from + 0.5 / frequency);
    const double slid = s.until - from;
    offset = s.x + s.v * slid + 0.5 * s.a * slid * slid - table(s.until);
    ASSERT_LT(std::abs(std::sin(rate * s.until)), friction / most) << "it sticks where they meet";
    slides.push_back(s);
  }
  ASSERT_GT(slides.back().from + 0.5 / frequency, end);
  // speeds, since the errors of the place cancel over a swing
  const auto miss = [&](const BodyMotionState& block, double t) {
    for (const Piece& s : slides)
      if (t >= s.from && t < s.until) return block.twist.v.x() - (s.v + s.a * (t - s.from));
    return block.twist.v.x() - table_speed(t);
  };

  expect_first_order("shaken table", 4e-3, 1e-2, [&](const std::string& contact, double h) {
    const std::string motion = "harmonics: [{amplitude: [" + text_of(amplitude) +
                               ", 0, 0], frequency: " + text_of(frequency) + "}]";
    const StickSlip s =
        stick_slip(block_on_moving_ground(contact, motion, 0.0, amplitude * rate, "", h), end, miss,
                   table_speed);
    EXPECT_GT(s.sticking, 0.25);
    EXPECT_LT(s.sticking, 0.9);
    return s;
  });
}

TEST(Lagged, CcpHopsInTheSameScene) {
  EXPECT_GT(slide("law: ccp, stiffness: rigid", 2e-3).highest, 0.5 * 2e-3 * kFriction);
}

/// A pile that is being made.
std::string pile(const std::string& contact, const std::string& solver) {
  return R"(
materials: {m: {density: 2500, friction: 0.45}}
contact: {)" +
         contact + R"(}
generators:
  - container: {name: bin, material: m, size: [0.46, 0.46, .inf], origin: [0, 0, 0]}
  - lattice: {name: grains, material: m, shape: {sphere: {radius: 5 cm}}, radius_jitter: 0.12,
              count: [4, 4, 4], spacing: 0.113, origin: [0.06, 0.06, 0.06], position_jitter: 3 mm}
time: {step: 4 ms, end: 1}
solver: {)" +
         solver + R"(}
)";
}

struct Pile {
  double largest_error = 0.0, mean_error = 0.0;  ///< of Coulomb's law, relative
  std::int64_t missed = 0, opening = 0;
  std::vector<Vec3> place;
};

Pile settle(const std::string& text, int steps) {
  Simulation sim(Communicator::self(), case_of(text));
  Pile result;
  for (int i = 0; i < steps; ++i) {
    sim.step();
    const StepReport& r = sim.stepper().report();
    result.largest_error = std::max(result.largest_error, r.lag_error);
    result.mean_error += r.lag_error / steps;
    result.opening += r.lag_opening;
    if (r.solve.status != SolveStatus::converged) ++result.missed;
  }
  for (const BodyMotionState& b :
       std::vector<BodyMotionState>(sim.state().body.begin(), sim.state().body.end()))
    result.place.push_back(b.pose.p);
  return result;
}

TEST(Lagged, PassesLeadToCoulombsLawItself) {
  const Pile one = settle(pile("law: lagged", ""), 100);
  const Pile many = settle(pile("law: lagged, lagged_passes: 60", ""), 100);
  const Pile exact = settle(pile("law: coulomb", ""), 100);

  EXPECT_EQ(one.missed, 0);
  EXPECT_EQ(many.missed, 0);
  EXPECT_GT(one.mean_error, 1e-3);
  EXPECT_LT(many.mean_error, 1e-2 * one.mean_error);
  EXPECT_GT(one.opening, 0);
  EXPECT_EQ(exact.largest_error, 0.0);
}

TEST(Lagged, EverySolverMakesTheSameRun) {
  const std::string tight = "relative_tolerance: 1e-18, absolute_tolerance: 1e-24, ";
  const Pile sweeps = settle(pile("law: lagged", tight + "max_iterations: 20000"), 40);
  for (const char* method : {"apgd", "jacobi", "interior_point", "auto"}) {
    SCOPED_TRACE(method);
    const Pile other =
        settle(pile("law: lagged", tight + "max_iterations: 20000, method: " + method), 40);
    for (std::size_t i = 0; i < sweeps.place.size(); ++i)
      EXPECT_NEAR((sweeps.place[i] - other.place[i]).norm(), 0.0, 1e-7) << i;
  }
}

}  // namespace
}  // namespace catena::test
