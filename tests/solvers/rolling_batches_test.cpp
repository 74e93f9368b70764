// Rolling and spinning friction in batches: a turn is that of the scalar exact solve and meets its
// law, all instruction sets give the same, and what cannot be batched is not.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>
#include <vector>

#include "catena/base/random.hpp"
#include "catena/constraints/contact_cone.hpp"
#include "catena/math/rotation.hpp"
#include "catena/solvers/solver_factory.hpp"
#include "solvers/batches/local/rolling_contact.hpp"
#include "solvers/batches/sweep_order.hpp"
#include "solvers/kernel_paths.hpp"
#include "support/hand_problems.hpp"
#include "support/sanitized.hpp"

namespace catena {
namespace {

using test::Scene;

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : seed_(seed) {}
  double pm1() { return uniform_pm1(11, seed_, next_++); }
  bool one_in(int n) { return uniform01(11, seed_, next_++) * n < 1.0; }
  Vec3 vector() { return {pm1(), pm1(), pm1()}; }
  double size(double decades) { return std::pow(10.0, decades * pm1()); }

 private:
  std::uint64_t seed_, next_ = 0;
};

/// Two bodies in one contact that rolls and spins: spheres of any moment of inertia, or a sphere on
/// a prescribed body that moves and turns about any point.
struct Pair {
  explicit Pair(std::uint64_t seed) {
    Draw draw(seed);
    const Vec3 n = draw.vector().normalized();
    RigidContact c;
    c.body_a = 0;
    c.body_b = 1;
    c.normal = n;
    const bool turn_about = draw.one_in(2);  // which of both is prescribed
    const bool prescribed = draw.one_in(3);
    Twist twist[2];
    double radius[2];
    for (int i = 0; i < 2; ++i) {
      radius[i] = draw.one_in(2) ? 0.5 : 0.5 * draw.size(1.0);
      twist[i] = {draw.vector(), draw.vector() / radius[i]};
    }
    for (int i = 0; i < 2; ++i) {
      if (prescribed && (i == 0) == turn_about) {
        scene.add_prescribed(twist[i]);
        continue;
      }
      const double mass = draw.size(1.5);
      scene.add_rigid(
          mass, Vec3::Constant((0.35 + 0.3 * draw.pm1()) * mass * radius[i] * radius[i]), twist[i]);
    }
    c.arm_a = prescribed && turn_about ? draw.vector() : Vec3(radius[0] * n);
    c.arm_b = prescribed && !turn_about ? draw.vector() : Vec3(-radius[1] * n);
    Vec3 second;
    tangents_of(n, c.tangent, second);
    c.bias = 0.5 * draw.pm1();
    c.friction = draw.one_in(5) ? 0.0 : draw.size(1.5);
    if (draw.one_in(2)) {
      c.compliance = 0.1 * draw.size(1.0);
      c.tangent_compliance = 0.1 * draw.size(1.0);
      c.tangent_bias = {0.1 * draw.pm1(), 0.1 * draw.pm1()};
    }
    const double rolling = draw.one_in(6) ? -1.0 : draw.one_in(6) ? 0.0 : 0.2 * draw.size(1.5);
    const double spinning = draw.one_in(6) && rolling >= 0.0 ? -1.0
                            : draw.one_in(6)                 ? 0.0
                                                             : 0.2 * draw.size(1.5);
    test::SceneBlock block =
        test::wide_block(c, rolling, spinning, draw.one_in(3) ? 0.5 + 0.5 * draw.pm1() : 0.0);
    if (c.compliance > 0.0)
      for (std::size_t row = 3; row < block.q.size(); ++row) {
        const bool spins = rolling < 0.0 || row == 5;
        block.compliance[row] = spins ? 0.3 : 0.2;
        block.q[row] = 0.1 * draw.pm1();
      }
    scene.blocks.push_back(block);
    for (int i = 0; i < 6; ++i) guess[static_cast<std::size_t>(i)] = 0.3 * draw.pm1();
    if (draw.one_in(3)) guess.fill(0.0);
  }
  Scene scene;
  std::array<double, 6> guess{};
};

struct Result {
  std::vector<double> impulses, velocities;
  SolveReport report;
};

Result sweep(const ConstraintProblem& problem, SolverSettings settings, int sweeps,
             std::span<const double> guess = {}) {
  settings.stop.max_iterations = sweeps;
  settings.stop.relative_tolerance = 0.0;
  settings.stop.absolute_tolerance = 0.0;
  settings.stop.keep_best = false;
  Result result;
  result.impulses.resize(static_cast<std::size_t>(problem.n_rows()));
  if (!guess.empty()) std::copy_n(guess.begin(), result.impulses.size(), result.impulses.begin());
  result.velocities.resize(static_cast<std::size_t>(problem.bodies.n_dofs()));
  result.report = make_solver(settings)->solve(problem, result.impulses, result.velocities);
  return result;
}

double distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

bool is_batched(const ConstraintProblem& problem, const LocalSolveOptions& rules) {
  std::vector<Index> blocks;
  for (Index k = 0; k < problem.n_blocks(); ++k) blocks.push_back(k);
  const std::vector<BodyRole> own(static_cast<std::size_t>(problem.bodies.size()), BodyRole::own);
  const SweepPlan plan = plan_sweep(problem, blocks, own, rules);
  return std::all_of(plan.begin(), plan.end(), [](const PartPlan& p) { return p.general.empty(); });
}

/// |z - P(z - w)| of the one block of a problem in rows scaled as RollingContact says, over the
/// scaled size of what goes in. P: the projection on the cone (ccp); on z_n >= 0, then on the discs
/// of radius mu_i z_n (coulomb).
double law_residual(const ConstraintProblem& problem, ContactLaw law, const Result& result) {
  const BlockView view = block_view(problem, 0);
  const ContactCone cone = contact_cone(problem, 0);
  const GeneralBlocks& g = problem.blocks;
  Vec6 w = Vec6::Zero(), z = Vec6::Zero(), free = Vec6::Zero(), scale = Vec6::Ones();
  Vec6 diagonal = Vec6::Zero();
  for (int i = 0; i < 6; ++i) {
    if (cone.row[static_cast<std::size_t>(i)] < 0) continue;
    const auto row = static_cast<std::size_t>(cone.row[static_cast<std::size_t>(i)]);
    w[i] = -g.q[row] + g.compliance[row] * result.impulses[row];
    free[i] = -g.q[row];
    z[i] = result.impulses[row] + (i == 0 ? view.cohesion : 0.0);
    diagonal[i] = g.compliance[row];
    for (std::size_t b = 0; b < 2; ++b) {
      const double* j =
          g.jacobian.data() + g.jacobian_begin[b] + 6 * static_cast<std::ptrdiff_t>(row);
      std::array<double, 6> y{};
      apply_inverse_mass(problem.bodies, g.body[b], {j, 6}, y);
      for (std::size_t m = 0; m < 6; ++m) {
        w[i] += j[m] * result.velocities[6 * static_cast<std::size_t>(g.body[b]) + m];
        free[i] += j[m] * problem.bodies.free_velocity[6 * static_cast<std::size_t>(g.body[b]) + m];
        diagonal[i] += j[m] * y[m];
      }
    }
  }
  for (int i = 0; i < 6; ++i)
    if (cone.row[static_cast<std::size_t>(i)] >= 0) scale[i] = std::sqrt(diagonal[i]);
  DiscCone scaled;
  for (std::size_t i = 0; i < 3; ++i)
    scaled.bound[i] = cone.discs.bound[i] * scale[kDiscBegin[i]] / scale[0];
  w = w.cwiseQuotient(scale);
  z = z.cwiseProduct(scale);
  free = free.cwiseQuotient(scale);
  Vec6 y = z - w;
  if (law == ContactLaw::ccp) {
    y = project_disc_cone(scaled, y);
  } else {
    y[0] = std::max(0.0, y[0]);
    y = cut_discs(scaled, y);
  }
  return (z - y).norm() / (free.norm() + z.norm());
}

TEST(RollingBatches, OneTurnIsThatOfTheScalarSolveAndMeetsTheLaw) {
  const std::uint64_t seeds = test::kSanitized ? 300 : 6000;
  double worst = 0.0, most_law = 0.0;
  // open, and whether the discs of sliding, rolling and spinning are at their bounds
  std::set<std::tuple<bool, bool, bool, bool>> met;
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::frictionless})
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const Pair pair(seed);
      Scene scene = pair.scene;
      scene.law = law;
      const ConstraintProblem problem = test::whole(scene);
      ASSERT_TRUE(is_batched(problem, {law, LocalSolve::exact, 1.0})) << seed;
      SolverSettings settings;
      settings.gauss_seidel.accelerated = false;
      settings.gauss_seidel.kernels = seed % 2 == 0 ? KernelPath::plain : KernelPath::automatic;
      SolverSettings scalar = settings;
      scalar.gauss_seidel.formulation = Formulation::residual;

      const Result batch = sweep(problem, settings, 1, pair.guess);
      const Result expected = sweep(problem, scalar, 1, pair.guess);

      double size = 1e-3;
      for (const double x : expected.impulses) size = std::max(size, std::abs(x));
      const double off = distance(batch.impulses, expected.impulses) / size;
      worst = std::max(worst, off);
      EXPECT_LT(off, 1e-10) << "law " << static_cast<int>(law) << " seed " << seed;
      if (law != ContactLaw::frictionless) {
        const double residual = law_residual(problem, law, batch);
        most_law = std::max(most_law, residual);
        EXPECT_LT(residual, 1e-12) << "law " << static_cast<int>(law) << " seed " << seed
                                   << " scalar " << law_residual(problem, law, expected);
      }
      const ContactCone cone = contact_cone(problem, 0);
      Vec6 z = Vec6::Zero();
      for (int i = 0; i < 6; ++i)
        if (const int row = cone.row[static_cast<std::size_t>(i)]; row >= 0)
          z[i] = batch.impulses[static_cast<std::size_t>(row)];
      z[0] += cone.cohesion;
      const auto at_bound = [&](std::size_t i) {
        return cone.discs.bound[i] > 0.0 &&
               disc_length(z, i) > (1.0 - 1e-9) * cone.discs.bound[i] * z[0];
      };
      if (z[0] > 0.0)
        met.insert({false, at_bound(0), at_bound(1), at_bound(2)});
      else
        met.insert({true, false, false, false});
    }
  EXPECT_EQ(met.size(), 9U);
  std::printf("off by at most %.1e, from the law %.1e\n", worst, most_law);
}

TEST(RollingBatches, RelaxedTurnsAreThoseOfTheScalarSolve) {
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::frictionless})
    for (const double omega : {0.7, 1.4})
      for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        const Pair pair(seed);
        Scene scene = pair.scene;
        scene.law = law;
        const ConstraintProblem problem = test::whole(scene);
        SolverSettings settings;
        settings.gauss_seidel.accelerated = false;
        settings.gauss_seidel.relaxation = omega;
        SolverSettings scalar = settings;
        scalar.gauss_seidel.formulation = Formulation::residual;

        const Result batch = sweep(problem, settings, 3, pair.guess);
        const Result expected = sweep(problem, scalar, 3, pair.guess);

        double size = 1e-3;
        for (const double x : expected.impulses) size = std::max(size, std::abs(x));
        EXPECT_LT(distance(batch.impulses, expected.impulses) / size, 1e-10)
            << "law " << static_cast<int>(law) << " omega " << omega << " seed " << seed;
      }
}

struct Asked {
  ContactLaw law;
  mutable int times = 0;
};

/// What the kernels ask for where Newton's method does not settle: the same answer.
TEST(RollingBatches, TurnsOfTheGeneralSolveAreThoseOfTheKernel) {
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp}) {
    int closed = 0, all_asked = 0;
    for (std::uint64_t seed = 1; seed <= 500; ++seed) {
      Draw draw(seed);
      const Vec3 n = draw.vector().normalized();
      const auto across = [&] {
        const Vec3 x = draw.vector();
        return Vec3(x - n.dot(x) * n);
      };
      RollingTurn turn{};
      std::copy_n(n.data(), 3, turn.normal);
      RollingBatch batch{};
      std::array<BodyLine, 3> lines{};
      const double arm_a = 0.5 * draw.size(0.5), arm_b = -0.5 * draw.size(0.5);
      for (std::size_t b = 1; b <= 2; ++b) {
        lines[b].x[kInverseMass] = draw.size(1.0);
        const double arm = b == 1 ? arm_a : arm_b;
        lines[b].x[kInverseInertia] = 2.5 / (arm * arm) * lines[b].x[kInverseMass];
      }
      const double m = lines[1].x[kInverseMass] + lines[2].x[kInverseMass];
      const double i_a = lines[1].x[kInverseInertia], i_b = lines[2].x[kInverseInertia];
      turn.d[0] = m;
      turn.d[1] = m + arm_a * arm_a * i_a + arm_b * arm_b * i_b;
      turn.d[2] = turn.d[3] = i_a + i_b;
      turn.coupling = arm_a * i_a + arm_b * i_b;
      turn.bound[0] = draw.size(1.0);
      turn.bound[1] = 0.1 * draw.size(1.0);
      turn.bound[2] = 0.1 * draw.size(1.0);
      // from no impulse: w is the free slip and spin
      const Vec3 slip = across(), roll = across() / 0.5;
      const double normal = draw.pm1() - 0.3, spin = draw.pm1() / 0.5;
      turn.w[0] = normal;
      std::copy_n(slip.data(), 3, turn.w + 1);
      std::copy_n(roll.data(), 3, turn.w + 4);
      turn.w[7] = spin;
      batch.a[0] = 1;
      batch.b[0] = 2;
      batch.arm_a[0] = arm_a;
      batch.arm_b[0] = arm_b;
      // couple = n x r
      const Vec3 turn_bias = n.cross(roll) + spin * n;
      for (int i = 0; i < 3; ++i) {
        batch.n[i][0] = n[i];
        batch.slip_bias[i][0] = slip[i];
        batch.turn_bias[i][0] = turn_bias[i];
      }
      batch.bias[0] = normal;
      batch.friction[0] = turn.bound[0];
      batch.rolling[0] = turn.bound[1];
      batch.spinning[0] = turn.bound[2];
      const double determinant = turn.d[1] * turn.d[2] - turn.coupling * turn.coupling;
      batch.inverse_d_n[0] = 1.0 / turn.d[0];
      batch.inverse_d_s[0] = 1.0 / turn.d[3];
      batch.h_t[0] = turn.d[2] / determinant;
      batch.h_r[0] = turn.d[1] / determinant;
      batch.h_c[0] = turn.coupling / determinant;
      KernelOptions rules;
      rules.law = law == ContactLaw::ccp ? BatchLaw::ccp : BatchLaw::coulomb;
      Asked asked{law};
      rules.solve_rolling = [](const void* context, const RollingTurn& given, double* z_given) {
        const auto& of = *static_cast<const Asked*>(context);
        ++of.times;
        solve_rolling_turn(of.law, given, z_given);
      };
      rules.context = &asked;

      choose_kernels(KernelPath::automatic).rolling(&batch, 1, lines.data(), rules, true, nullptr);
      double z[8];
      solve_rolling_turn(law, turn, z);

      all_asked += asked.times;
      const Vec3 p(batch.p[0][0], batch.p[1][0], batch.p[2][0]);
      const Vec3 couple(batch.m[0][0], batch.m[1][0], batch.m[2][0]);
      const Vec3 t(z[1], z[2], z[3]), r(z[4], z[5], z[6]);
      const double size = 1e-3 + std::abs(z[0]);
      EXPECT_LT((p - z[0] * n - t).norm(), 1e-11 * size) << seed;
      EXPECT_LT((couple - n.cross(r) - z[7] * n).norm(), 1e-11 * size) << seed;
      if (z[0] > 0.0) ++closed;
    }
    EXPECT_GT(closed, 200);
    EXPECT_LE(all_asked, 2) << static_cast<int>(law);  // nearly all settle in the kernel
  }
}

/// Spheres on a floor, some elastic, all rolling; `unround`: one body is no sphere.
ConstraintProblem pile(ContactLaw law, bool elastic, bool unround = false) {
  Scene scene = test::sphere_pile(40, 90, 0.4, 1e-3, 3);
  scene.law = law;
  for (RigidContact& c : scene.contacts) {
    c.compliance = elastic ? 0.02 : 0.0;
    c.tangent_compliance = elastic ? 0.03 : 0.0;
  }
  scene = test::with_couples(scene, 4e-3, 2e-3, elastic ? 1e-3 : 0.0);
  for (test::SceneBlock& block : scene.blocks)
    for (std::size_t row = 3; row < block.q.size() && elastic; ++row) block.compliance[row] = 5.0;
  if (unround) scene.bodies[5].inverse_mass[1] *= 1.5;
  return test::whole(scene);
}

TEST(RollingBatches, EveryInstructionSetGivesTheSame) {
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::frictionless})
    for (const bool elastic : {false, true})
      for (const double omega : {1.0, 1.3})
        for (const SweepOrder order : {SweepOrder::forward, SweepOrder::symmetric}) {
          const ConstraintProblem problem = pile(law, elastic);
          SolverSettings settings;
          settings.gauss_seidel.relaxation = omega;
          settings.gauss_seidel.order = order;
          settings.gauss_seidel.kernels = KernelPath::plain;
          const Result plain = sweep(problem, settings, 25);

          for (const KernelPath path : test::kernel_paths()) {
            settings.gauss_seidel.kernels = path;
            const Result other = sweep(problem, settings, 25);

            EXPECT_LE(distance(plain.impulses, other.impulses), test::kPathTolerance)
                << "law " << static_cast<int>(law) << " path " << static_cast<int>(path);
            EXPECT_LE(distance(plain.velocities, other.velocities), test::kPathTolerance);
          }
        }
}

TEST(RollingBatches, SweepsAreThoseOfTheScalarPath) {
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp})
    for (const bool elastic : {false, true})
      for (const SweepOrder order : {SweepOrder::forward, SweepOrder::symmetric}) {
        const ConstraintProblem problem = pile(law, elastic);
        SolverSettings settings;
        settings.gauss_seidel.order = order;
        settings.gauss_seidel.accelerated = false;
        const Result batch = sweep(problem, settings, 30);
        settings.gauss_seidel.formulation = Formulation::residual;
        const Result scalar = sweep(problem, settings, 30);

        EXPECT_LT(distance(batch.impulses, scalar.impulses), 1e-12);
        EXPECT_LT(distance(batch.velocities, scalar.velocities), 1e-10);
        EXPECT_NEAR(batch.report.errors.energy, scalar.report.errors.energy,
                    1e-8 * scalar.report.initial.energy);
      }
}

TEST(RollingBatches, AcceleratedSweepsReachTheSolution) {
  const ConstraintProblem problem = pile(ContactLaw::coulomb, true);
  SolverSettings settings;
  const Result mixed = sweep(problem, settings, 200);
  settings.gauss_seidel.accelerated = false;
  const Result plain = sweep(problem, settings, 2000);
  EXPECT_LT(distance(mixed.velocities, plain.velocities), 1e-9);
  // what the mixes keep of impulses and velocities belongs together
  EXPECT_LT(mixed.report.errors.energy, 1e-20);
}

TEST(RollingBatches, HoldOnlyWhatTheyCanSolve) {
  const auto lists = [](const ConstraintProblem& problem, const LocalSolveOptions& rules) {
    std::vector<Index> blocks;
    for (Index k = 0; k < problem.n_blocks(); ++k) blocks.push_back(k);
    const std::vector<BodyRole> own(static_cast<std::size_t>(problem.bodies.size()), BodyRole::own);
    std::array<std::set<Index>, 2> found;
    for (const PartPlan& part : plan_sweep(problem, blocks, own, rules)) {
      EXPECT_EQ(part.rolling.size() % kLanes, 0U);
      for (const Index k : part.rolling) EXPECT_TRUE(k == kNoIndex || found[0].insert(k).second);
      for (const Index k : part.general) EXPECT_TRUE(found[1].insert(k).second);
    }
    EXPECT_EQ(found[0].size() + found[1].size(), blocks.size());
    return found;
  };
  const ConstraintProblem problem = pile(ContactLaw::coulomb, false, true);
  const auto [batched, general] = lists(problem, {});
  EXPECT_GT(batched.size(), 60U);
  for (const auto* of : {&batched, &general})
    for (const Index k : *of) {
      const auto b =
          static_cast<std::size_t>(problem.blocks.body_begin[static_cast<std::size_t>(k)]);
      EXPECT_EQ(problem.blocks.body[b] == 5 || problem.blocks.body[b + 1] == 5, of == &general);
    }
  for (const LocalSolve local : {LocalSolve::project, LocalSolve::sliding, LocalSolve::scalar})
    EXPECT_TRUE(lists(problem, {ContactLaw::coulomb, local, 1.0})[0].empty());
  EXPECT_TRUE(lists(problem, {ContactLaw::box, LocalSolve::exact, 1.0})[0].empty());
}

TEST(RollingBatches, NotANumberIsNotSweptUnderTheCone) {
  for (const KernelPath path : test::kernel_paths())
    for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp})
      for (const std::size_t velocity : {0U, 4U}) {
        ConstraintProblem problem = pile(law, false);
        problem.bodies.free_velocity[6 + velocity] = std::nan("");
        SolverSettings settings;
        settings.gauss_seidel.kernels = path;

        const Result result = sweep(problem, settings, 5);

        EXPECT_EQ(result.report.status, SolveStatus::breakdown);
      }
}

}  // namespace
}  // namespace catena
