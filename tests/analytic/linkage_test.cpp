// Closed mechanisms: rows of parallelograms, Bricard's linkage.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "analytic/rods.hpp"
#include "support/reference.hpp"

namespace catena::test {
namespace {

/// Compliance that meets redundant rows: 1 mm under 1e6 N, 1e-9 rad under 1 N m.
constexpr const char* kSoft = ", compliance: 1e-9, angular_compliance: 1e-9";

struct LinkageErrors {
  double place = 0.0, speed = 0.0;  ///< of the reference's point, m, m/s
  double energy = 0.0, gap = 0.0;
  double skew = 0.0;  ///< how far couplers are from parallel to the ground, m
  std::size_t fewest_redundant = 1000, most_redundant = 0;
  double force = 0.0;  ///< largest in a joint, N
};

/// Steps to time t.
void advance(Simulation& sim, double t, LinkageErrors& e) {
  const double h = sim.settings().time.step;
  for (const std::int64_t last = std::llround(t / h); sim.state().step < last;) {
    const StepReport& r = sim.step();
    const std::size_t redundant = r.solve.joints.redundant.size();
    e.fewest_redundant = std::min(e.fewest_redundant, redundant);
    e.most_redundant = std::max(e.most_redundant, redundant);
    e.energy = std::max(e.energy, std::abs(r.kinetic + r.potential -
                                           sim.state().audit[EnergyTerm::initial_energy]));
    e.gap = std::max(e.gap, r.misfit.linear);
    for (std::size_t j = 0; j < sim.bodies().joints.size(); ++j)
      e.force = std::max(e.force, sim.stepper().joint_reaction(j).impulse.norm() / h);
  }
}

double order(double coarse, double fine) { return std::log2(coarse / fine); }

/// Cranks 0 .. n, upright and turning clockwise, then n couplers.
Rods parallelograms(int n, const std::string& soft) {
  Rods out;
  const auto crank = [](int i) { return "crank" + std::to_string(i); };
  for (int i = 0; i <= n; ++i)
    out.add_plane(crank(i), Vec3(i, 0, 0), Vec3(i, 1, 0), 1.0, Vec3(0.5, 0, 0), -1.0);
  for (int i = 0; i < n; ++i)
    out.add_plane("bar" + std::to_string(i), Vec3(i, 1, 0), Vec3(i + 1, 1, 0), 1.0, Vec3(1, 0, 0));
  for (int i = 0; i <= n; ++i) out.hinge("world", crank(i), Vec3(i, 0, 0), Vec3::UnitZ(), soft);
  for (int i = 0; i < n; ++i) {
    const std::string bar = "bar" + std::to_string(i);
    out.hinge(crank(i), bar, Vec3(i, 1, 0), Vec3::UnitZ(), soft);
    out.hinge(bar, crank(i + 1), Vec3(i + 1, 1, 0), Vec3::UnitZ(), soft);
  }
  return out;
}

LinkageErrors run_parallelograms(int n, double h, double end, const std::string& soft = "") {
  const ReferenceSeries ref = read_reference("A02_nfourbar_N" + std::to_string(n));
  const Rods rods = parallelograms(n, soft);
  const auto sim = simulate(rods.yaml(time_of(h)));
  LinkageErrors e;
  for (std::size_t row = 1; row < ref.rows.size() && ref.at(row, "t") < end + 1e-9; ++row) {
    advance(*sim, ref.at(row, "t"), e);
    const Vec3 b0(ref.at(row, "x_B0"), ref.at(row, "y_B0"), 0.0);
    const Vec3 v0(ref.at(row, "vx_B0"), ref.at(row, "vy_B0"), 0.0);
    e.place = std::max(e.place, (rods.end(*sim, 0) - b0).norm());
    e.speed = std::max(e.speed, (rods.end_velocity(*sim, 0) - v0).norm());
    for (int i = 1; i <= n; ++i) {
      const Vec3 apart = rods.end(*sim, static_cast<std::size_t>(i)) - rods.end(*sim, 0);
      e.skew = std::max(e.skew, (apart - Vec3(i, 0, 0)).norm());
    }
  }
  return e;
}

TEST(FourBars, TwoStayParallelThroughTheSingularPositions) {
  // ten singular positions in ten seconds: cranks and couplers in one line
  LinkageErrors e[3];
  for (int i = 0; i < 3; ++i) e[i] = run_parallelograms(2, std::ldexp(2e-3, -i), 10.0);

  for (const LinkageErrors& x : e) {
    EXPECT_LT(x.skew, 1e-4);  // the other branch is metres away
    // each loop of plane hinges holds out of plane what it holds already: three rows; with cranks
    // and couplers in one line each loop has one more
    EXPECT_EQ(x.fewest_redundant, 6U);
    EXPECT_LE(x.most_redundant, 8U);
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_GT(order(e[i].place, e[i + 1].place), 0.9);
    EXPECT_GT(order(e[i].speed, e[i + 1].speed), 0.9);
    EXPECT_NEAR(order(e[i].energy, e[i + 1].energy), 1.0, 0.1);
  }
  EXPECT_LT(e[2].place, 1e-3);
  EXPECT_LT(e[2].speed, 0.02);
  EXPECT_LT(e[2].energy, 0.06);  // of 36 J
}

TEST(FourBars, FortyStayParallelWithSoftJoints) {
  LinkageErrors e[2];
  for (int i = 0; i < 2; ++i) e[i] = run_parallelograms(40, std::ldexp(2.5e-3, -i), 4.0, kSoft);

  for (const LinkageErrors& x : e) {
    EXPECT_LT(x.skew, 1e-4);
    EXPECT_EQ(x.most_redundant, 0U);
  }
  EXPECT_GT(order(e[0].place, e[1].place), 0.9);
  EXPECT_NEAR(order(e[0].energy, e[1].energy), 1.0, 0.1);
  EXPECT_LT(e[1].place, 3e-3);
  EXPECT_LT(e[1].energy, 2.5);  // of 620 J
}

TEST(FourBars, FortyRigidOnesStartAsTheReferenceDoes) {
  const LinkageErrors e = run_parallelograms(40, 1e-2, 0.1);

  EXPECT_LT(e.skew, 1e-10);
  EXPECT_EQ(e.fewest_redundant, 100U);  // three per loop; so many are named
  EXPECT_LT(e.place, 1e-3);
}

LinkageErrors run_bricard(double h, double end, const std::string& solver,
                          const std::string& soft = "") {
  const ReferenceSeries ref = read_reference("A04_bricard");
  const Vec3 p[] = {{0, 0, 0}, {1, 0, 0}, {1, -1, 0}, {1, -1, 1}, {0, -1, 1}, {0, 0, 1}};
  const Vec3 axis[] = {{0, 1, 0}, {0, 0, 1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 0}};
  Rods rods;
  for (std::size_t i = 0; i < 5; ++i) {
    // a square prism, 1 x 0.1 x 0.1 m, 1 kg
    const Vec3 along = (p[i + 1] - p[i]).cwiseAbs();
    const Vec3 inertia = (1.01 * (Vec3::Ones() - along) + 0.02 * along) / 12.0;
    rods.add("rod" + std::to_string(i), p[i], p[i + 1], 1.0, inertia, Vec3::Zero(), 0.0);
  }
  for (std::size_t i = 0; i < 6; ++i)
    rods.hinge(i == 0 ? "world" : "rod" + std::to_string(i - 1),
               i == 5 ? "world" : "rod" + std::to_string(i), p[i], axis[i], soft);
  const auto sim = simulate(rods.yaml(time_of(h, solver)));
  LinkageErrors e;
  for (std::size_t row = 1; row < ref.rows.size() && ref.at(row, "t") < end + 1e-9; ++row) {
    advance(*sim, ref.at(row, "t"), e);
    const Vec3 p3(ref.at(row, "x_P3"), ref.at(row, "y_P3"), ref.at(row, "z_P3"));
    e.place = std::max(e.place, (rods.end(*sim, 2) - p3).norm());
  }
  return e;
}

TEST(Bricard, ProjectedItMovesThoughItsJointsAreOneTooMany) {
  LinkageErrors e[3];
  for (int i = 0; i < 3; ++i)
    e[i] = run_bricard(std::ldexp(5e-3, -i), 4.0, "{joints: {projection: 1 nm}}");

  for (const LinkageErrors& x : e) {
    // 30 rows for 30 velocities, rank 29
    EXPECT_EQ(x.fewest_redundant, 1U);
    EXPECT_EQ(x.most_redundant, 1U);
    EXPECT_LT(x.gap, 2e-9);
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_NEAR(order(e[i].place, e[i + 1].place), 1.0, 0.15);
    EXPECT_NEAR(order(e[i].energy, e[i + 1].energy), 1.0, 0.1);
  }
  EXPECT_LT(e[2].place, 8e-3);
  EXPECT_LT(e[2].energy, 0.05);  // of 29 J
}

// Misfits turn the redundant row into a nearly redundant one: taken for genuine it would lock the
// mechanism.
TEST(Bricard, RigidItMovesWithoutProjection) {
  LinkageErrors e[2];
  for (int i = 0; i < 2; ++i) e[i] = run_bricard(std::ldexp(2.5e-3, -i), 4.0, "{}");

  EXPECT_EQ(e[1].fewest_redundant, 1U);
  EXPECT_GT(order(e[0].place, e[1].place), 0.9);
  EXPECT_LT(e[1].place, 0.02);
  EXPECT_LT(e[1].energy, 0.1);  // of 29 J
}

// A rigid ring of 12 hinged links (48 kg) falls 0.1 m on a bump and comes to lie nearly flat, where
// rows that depend on others hardly show it by their pivots. Its hinges hold three rows more than
// they can; reactions stay of the size of impacts: 48 kg stopped from 1.4 m/s within a step of 1 ms
// is 7e4 N.
double largest_reaction_of_ring(const std::string& stiffness) {
  const std::string text = R"(materials: {steel: {density: 7800, friction: 0.8}}
contact: {stiffness: )" + stiffness +
                           R"(}
bodies:
  - {name: floor, material: steel, shape: {plane: {}}}
  - {name: bump, material: steel, shape: {sphere: {radius: 0.05}}, position: [0.02, 0.2, 0.01], fixed: true}
generators:
  - chain: {name: track, material: steel, shape: {box: {size: [9 cm, 0.6, 4 cm]}}, mass: 4, links: 12,
            joint: revolute, closed: true, axis: [0, 1, 0],
            path: [[-0.15, 0, 0.1], [0.15, 0, 0.1], [0.15, 0, 0.4], [-0.15, 0, 0.4]]}
time: {step: 1 ms, end: 0.5 s}
)";
  Simulation run(Communicator::self(), case_of(text));
  double largest = 0.0;
  for (std::int64_t i = 0; i < run.n_steps(); ++i) {
    run.step();
    for (std::size_t j = 0; j < run.bodies().joints.size(); ++j)
      largest = std::max(largest, run.stepper().joint_reaction(j).impulse.norm() / 1e-3);
  }
  return largest;
}

TEST(Ring, OfHingesOnABumpHasReactionsOfTheSizeOfImpacts) {
  for (const char* stiffness : {"rigid", "auto"}) {
    SCOPED_TRACE(stiffness);
    const double largest = largest_reaction_of_ring(stiffness);

    EXPECT_GT(largest, 100.0);
    EXPECT_LT(largest, 7e4);
  }
}

TEST(Bricard, SoftJointsMoveItToo) {
  LinkageErrors e[2];
  for (int i = 0; i < 2; ++i) e[i] = run_bricard(std::ldexp(2.5e-3, -i), 8.0, "{}", kSoft);

  EXPECT_GT(order(e[0].place, e[1].place), 0.9);
  EXPECT_NEAR(order(e[0].energy, e[1].energy), 1.0, 0.1);
  EXPECT_LT(e[1].place, 2e-3);
  EXPECT_LT(e[1].energy, 5e-3);
}

}  // namespace
}  // namespace catena::test
