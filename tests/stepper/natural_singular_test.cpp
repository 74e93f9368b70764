// The stepper natural past singular positions: closed forms of mechanisms that pass them, at any
// step, with the order of the method.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "catena/stepper/natural_stepper.hpp"
#include "stepper/natural_four_bars.hpp"
#include "stepper/natural_run.hpp"

namespace catena::test {
namespace {

const bool kLong = std::getenv("CATENA_LONG_TESTS") != nullptr;

std::string text_of_step(double h) {
  char out[32];
  std::snprintf(out, sizeof out, "%.17g", h);
  return out;
}

/// What a run's steps near singular positions were, and how far it was from its closed form.
struct Passage {
  double off = 0.0;  ///< m
  int passed = 0;    ///< runs of steps near a singular position
  double softest_time = 0.0, softness = 0.0;
  GlobalId joint = kNoBody;
  void note(const StepReport& r) {
    passed += r.softest_joint != kNoBody && !near_;
    near_ = r.softest_joint != kNoBody;
    if (r.softness <= softness) return;
    softness = r.softness;
    softest_time = r.softest_time;
    joint = r.softest_joint;
  }

 private:
  bool near_ = false;
};

// ---- rows of parallelograms

Passage run_four_bars(int n, double h, double end, const std::string& natural = "scheme: rk4") {
  const auto sim = natural_run(four_bars(n), text_of_step(h), natural);
  Passage out;
  VectorX y(2);
  y << 0.0, 1.0;
  while (sim->state().time < end - 0.5 * h) {
    out.note(sim->step());
    y = four_bars_at(n, y, h, 40);
    for (const int crank : {0, n / 2, n}) {
      const Vec3 along = body_of(*sim, crank).pose.q * Vec3::UnitY();
      out.off = std::max(out.off, (along - Vec3(std::sin(y[0]), std::cos(y[0]), 0.0)).norm());
    }
  }
  std::printf("%3d four-bars, h %.6g ms, %s: off %.2e m, passed %d, at %.6f s\n", n, 1e3 * h,
              natural.c_str(), out.off, out.passed, out.softest_time);
  return out;
}

/// When bars first lie in one line: the angle from upright is a quarter of a turn.
double first_in_line(int n) {
  constexpr double kDt = 1e-5;
  VectorX y(2);
  y << 0.0, 1.0;
  double t = 0.0;
  for (VectorX next = y; next[0] < 0.5 * M_PI; t += kDt) {
    y = next;
    next = four_bars_at(n, y, kDt, 1);
    if (next[0] >= 0.5 * M_PI) return t + (0.5 * M_PI - y[0]) / y[1];
  }
  return t;
}

/// Errors at ten steps are of order 4: each is within four times C h^4, C their geometric mean.
void expect_order_4(const std::array<double, 10>& h, const std::array<double, 10>& off) {
  double log_c = 0.0;
  for (std::size_t i = 0; i < h.size(); ++i) log_c += std::log(off[i] / std::pow(h[i], 4)) / 10.0;
  for (std::size_t i = 0; i < h.size(); ++i)
    EXPECT_LE(off[i], 4.0 * std::exp(log_c) * std::pow(h[i], 4)) << "h = " << h[i] << " s";
}

void expect_ladder_of_four_bars(int n, double end) {
  std::array<double, 10> h{}, off{};
  for (std::size_t i = 0; i < h.size(); ++i) {
    h[i] = 1e-3 * static_cast<double>(i + 1);
    off[i] = run_four_bars(n, h[i], end).off;
  }
  expect_order_4(h, off);
}

TEST(NaturalSingular, TwoFourBarsKeepOrder4AtTenStepsPastPositionsInLine) {
  expect_ladder_of_four_bars(2, kLong ? 10.0 : 0.9);
}

TEST(NaturalSingular, LongRowsOfFourBarsKeepOrder4) {
  if (!kLong) GTEST_SKIP() << "a long test";
  expect_ladder_of_four_bars(17, 2.0);
}

TEST(NaturalSingular, AStepMayEndInLineOrHaveAStageThere) {
  const double in_line = first_in_line(2);
  // beside it, by a step that is longer by 3e-3
  const double beside = run_four_bars(2, in_line / 120.0 * 1.003, 0.9).off;
  for (const double part : {120.0, 119.5, 119.75})
    for (const double longer : {0.0, -1e-6, 1e-5}) {
      SCOPED_TRACE(std::to_string(part) + " steps, longer by " + std::to_string(longer));
      const Passage out = run_four_bars(2, in_line / part * (1.0 + longer), 0.9);
      EXPECT_LT(out.off, 1.5 * beside);
      EXPECT_EQ(out.passed, 1);
      EXPECT_NEAR(out.softest_time, in_line, 1e-2);
      EXPECT_NE(out.joint, kNoBody);
    }
}

/// Long steps, of some 0.1 and 0.2 rad.
TEST(NaturalSingular, ALongStepMayEndInLine) {
  for (const int n : {2, 5})
    for (const double part : {24.0, 12.0}) {
      const double in_line = first_in_line(n), h = in_line / part;
      const double beside = run_four_bars(n, 1.003 * h, in_line + 2.0 * h).off;
      const Passage out = run_four_bars(n, h, in_line + 2.0 * h);
      EXPECT_LT(out.off, 1.5 * beside) << n << " " << part;
      EXPECT_EQ(out.passed, 1) << n << " " << part;
    }
}

/// Velocities at such an end come from places beside it. Off by the fourth power of a step they
/// are a quarter farther from the closed form at the end.
TEST(NaturalSingular, AStepThatEndsInLineIsNoWorseThanOneBesideIt) {
  const std::string exact = "scheme: rk4, baumgarte: 0";
  const double in_line = first_in_line(2);

  const Passage ends_there = run_four_bars(2, in_line / 360.0, 0.9, exact);
  const Passage beside = run_four_bars(2, in_line / 359.7, 0.9, exact);

  EXPECT_EQ(ends_there.passed, 1);
  EXPECT_LT(ends_there.off, 1.1 * beside.off);
}

TEST(NaturalSingular, ErrorControlPassesPositionsInLine) {
  // round-off in front of the second position, at 1.228 s, is above the tolerance
  EXPECT_LT(run_four_bars(2, 5e-3, kLong ? 20.0 : 1.3, "scheme: dop853").off, 1e-7);
  if (!kLong) return;
  for (const int n : {17, 40, 200})
    EXPECT_LT(run_four_bars(n, 5e-3, 20.0, "scheme: dop853").off, 1e-6);
}

/// Long rows are soft in line, too, where they have lost a rank.
TEST(NaturalSingular, ErrorControlTakesAStepOfALongRowThatEndsInLine) {
  const double in_line = first_in_line(40), h = in_line / 72.0;
  const Passage out = run_four_bars(40, h, in_line + 4.0 * h, "scheme: dop853");
  EXPECT_LT(out.off, 1e-8);
  EXPECT_EQ(out.passed, 1);
}

// ---- a kite, whose two branches cross where it is folded: a frame of 2 m, crank and coupler of
// 1 m, rocker of 2 m. On the branch that is no mere turn of crank and coupler together the rocker's
// end is the mirror image of the crank's pivot in the line from the rocker's pivot to the crank's
// end. Unlike parallelograms it turns out of the other branch's directions as it moves.

constexpr double kCrank = 1.0, kFrame = 2.0, kKiteStart = 2.0, kKiteSpeed = 3.0;

/// Centres and directions of crank, coupler and rocker, at the crank's angle phi.
std::array<Eigen::Vector4d, 3> kite_places(double phi) {
  const Eigen::Vector2d a(0.0, 0.0), b(kFrame, 0.0),
      c(kCrank * std::cos(phi), kCrank * std::sin(phi));
  const Eigen::Vector2d along = (c - b).normalized();
  const Eigen::Vector2d d = b + 2.0 * along.dot(a - b) * along - (a - b);
  std::array<Eigen::Vector4d, 3> out;
  const std::array<std::array<Eigen::Vector2d, 2>, 3> bars = {{{a, c}, {c, d}, {b, d}}};
  for (std::size_t i = 0; i < bars.size(); ++i)
    out[i] << 0.5 * (bars[i][0] + bars[i][1]), (bars[i][1] - bars[i][0]).normalized();
  return out;
}
constexpr std::array<double, 3> kKiteMass = {1.0, 1.0, 2.0};
constexpr std::array<double, 3> kKiteInertia = {1.0 / 12.0, 1.0 / 12.0, 2.0 * 4.0 / 12.0};

/// d/dphi of a function by central differences of order 4.
template <class F>
auto slope(const F& f, double phi) -> decltype(f(phi)) {
  constexpr double kE = 1e-3;
  return (8.0 * (f(phi + kE) - f(phi - kE)) - (f(phi + 2.0 * kE) - f(phi - 2.0 * kE))) /
         (12.0 * kE);
}

/// Twice the kinetic energy at a unit rate of phi, and the potential energy.
double kite_inertia(double phi) {
  double sum = 0.0;
  for (std::size_t i = 0; i < 3; ++i) {
    const Eigen::Vector4d d =
        slope([&](double x) -> Eigen::Vector4d { return kite_places(x)[i]; }, phi);
    sum += kKiteMass[i] * d.head<2>().squaredNorm() + kKiteInertia[i] * d.tail<2>().squaredNorm();
  }
  return sum;
}
double kite_weight(double phi) {
  double sum = 0.0;
  for (std::size_t i = 0; i < 3; ++i) sum += kKiteMass[i] * kG * kite_places(phi)[i][1];
  return sum;
}

VectorX kite_at(const VectorX& y, double t, int steps) {
  return integrated(
      [](double, const VectorX& x) {
        VectorX d(2);
        d << x[1], (-slope(kite_weight, x[0]) - 0.5 * slope(kite_inertia, x[0]) * x[1] * x[1]) /
                       kite_inertia(x[0]);
        return d;
      },
      y, t, steps);
}

std::string kite() {
  const char* names[] = {"crank", "coupler", "rocker"};
  std::string text = "gravity: [0, -9.81, 0]\nbodies:\n";
  char line[400];
  const auto places = kite_places(kKiteStart);
  for (std::size_t i = 0; i < 3; ++i) {
    const Eigen::Vector4d& p = places[i];
    const Eigen::Vector4d d =
        kKiteSpeed *
        slope([&](double x) -> Eigen::Vector4d { return kite_places(x)[i]; }, kKiteStart);
    const double angle = std::atan2(p[3], p[2]), turn = p[2] * d[3] - p[3] * d[2];
    std::snprintf(line, sizeof line,
                  "  - {name: %s, mass: %.17g, inertia: [%.17g, %.17g, %.17g], position: [%.17g, "
                  "%.17g, 0], orientation: {quaternion: [%.17g, 0, 0, %.17g]}, velocity: [%.17g, "
                  "%.17g, 0], angular_velocity: [0, 0, %.17g]}\n",
                  names[i], kKiteMass[i], kKiteInertia[i], kKiteInertia[i], kKiteInertia[i], p[0],
                  p[1], std::cos(0.5 * angle), std::sin(0.5 * angle), d[0], d[1], turn);
    text += line;
  }
  text += "joints:\n";
  const auto hinge = [&](const char* name, const char* a, const char* b, double x, double y) {
    std::snprintf(line, sizeof line,
                  "  - {name: %s, type: revolute, between: [%s, %s], at: [%.17g, %.17g, 0], axis: "
                  "[0, 0, 1]}\n",
                  name, a, b, x, y);
    text += line;
  };
  const Eigen::Vector2d c = 2.0 * places[0].head<2>(),
                        d = 2.0 * places[2].head<2>() - Eigen::Vector2d(kFrame, 0.0);
  hinge("axle", "world", "crank", 0.0, 0.0);
  hinge("elbow", "crank", "coupler", c[0], c[1]);
  hinge("tip", "coupler", "rocker", d[0], d[1]);
  hinge("pivot", "world", "rocker", kFrame, 0.0);
  return text;
}

Passage run_kite(double h, double end) {
  const auto sim = natural_run(kite(), text_of_step(h));
  Passage out;
  VectorX y(2);
  y << kKiteStart, kKiteSpeed;
  while (sim->state().time < end - 0.5 * h) {
    out.note(sim->step());
    y = kite_at(y, h, std::max(1, static_cast<int>(std::lround(h / 2.5e-4))));
    const auto places = kite_places(y[0]);
    for (int i = 0; i < 3; ++i)
      out.off = std::max(out.off,
                         (body_of(*sim, i).pose.p - Vec3(places[i][0], places[i][1], 0.0)).norm());
  }
  std::printf("kite, h %.4g ms: off %.2e m, passed %d, at %.6f s\n", 1e3 * h, out.off, out.passed,
              out.softest_time);
  return out;
}

TEST(NaturalSingular, AKiteStaysOnItsBranchAndKeepsOrder4) {
  std::array<double, 10> h{}, off{};
  for (std::size_t i = 0; i < h.size(); ++i) {
    h[i] = 5e-4 * static_cast<double>(i + 2);
    const Passage out = run_kite(h[i], 0.7);
    off[i] = out.off;
    EXPECT_GE(out.passed, 1);
  }
  expect_order_4(h, off);
}

}  // namespace
}  // namespace catena::test
