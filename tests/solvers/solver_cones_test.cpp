// Random problems with all kinds of rows, from starts inside, outside and on the polar cones: no
// solver returns impulses outside of their cones and bounds, and the certificate says so.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "catena/base/random.hpp"
#include "catena/math/types.hpp"
#include "catena/solvers/automatic.hpp"
#include "catena/solvers/solver_factory.hpp"
#include "solvers/newton/proximal_newton.hpp"
#include "solvers/stop_monitor.hpp"
#include "support/cone_distance.hpp"
#include "support/hand_problems.hpp"
#include "support/sanitized.hpp"
#include "support/scene.hpp"

namespace catena {
namespace {

using test::Scene;

constexpr double kRoundOff = 1e-14;

const std::uint64_t kProblems = test::kSanitized ? 50 : 1000;  ///< per solver at most

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : seed_(seed) {}
  double pm1() { return uniform_pm1(seed_, 1, next_++); }
  double in01() { return uniform01(seed_, 1, next_++); }
  bool one_in(int n) { return in01() * n < 1.0; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return *(values.begin() +
             static_cast<std::ptrdiff_t>(in01() * static_cast<double>(values.size())));
  }
  Vec3 vector() {
    const double x = pm1(), y = pm1();
    return {x, y, pm1()};
  }
  Vec3 unit() { return (vector() + 1e-6 * Vec3::UnitX()).normalized(); }

 private:
  std::uint64_t seed_, next_ = 0;
};

/// What a random problem may hold.
struct Contents {
  bool couples = true, cohesion = true, rows = true, joints = true;
};

/// A handful of bodies, round and not, with contacts and rows at random between them.
Scene random_scene(std::uint64_t seed, ContactLaw law, const Contents& contents) {
  Draw draw(seed);
  Scene scene;
  scene.law = law;
  // nothing but frictionless contacts, one of them, or any mixture
  const int frictionless = draw.one_of({0, 1, 2});
  // half of them straight, without any slip along a tangent
  const bool straight = draw.one_in(2);
  const auto motion = [&]() -> Twist {
    if (straight) return {Vec3(0.0, 0.0, draw.pm1()), Vec3::Zero()};
    const Vec3 v = draw.vector() - Vec3(0, 0, 0.5);
    return {v, draw.vector()};
  };
  scene.add_prescribed({0.1 * motion().v, Vec3::Zero()});
  const int n_bodies = 2 + static_cast<int>(4.0 * draw.in01());
  for (int b = 1; b <= n_bodies; ++b) {
    const double m = std::pow(10.0, draw.pm1());
    const Vec3 inertia =
        draw.one_in(2) ? Vec3(Vec3::Constant(0.1 * m)) : Vec3(m * Vec3(0.1, 0.2, 0.15));
    scene.add_rigid(m, inertia, motion());
  }
  const auto pair = [&] {
    const auto a = static_cast<GlobalId>(draw.in01() * n_bodies);
    return std::pair<GlobalId, GlobalId>(
        a, a + 1 + static_cast<GlobalId>(draw.in01() * static_cast<double>(n_bodies - a)));
  };
  const int n_contacts = 2 + static_cast<int>(5.0 * draw.in01());
  for (int k = 0; k < n_contacts; ++k) {
    const auto [a, b] = pair();
    const Vec3 n = straight ? Vec3::UnitZ() : draw.unit();
    const double mu = frictionless == 0 || (frictionless == 1 && k == 0)
                          ? 0.0
                          : draw.one_of({0.0, 0.05, 0.4, 1.5});
    RigidContact& c = scene.add_contact(a, b, n, 0.5 * n, -0.5 * n, 0.3 * draw.pm1(), mu);
    if (!straight && draw.one_in(2)) c.arm_b += 0.2 * draw.vector();
    if (contents.cohesion && draw.one_in(3)) c.cohesion = 0.1 * draw.in01();
    if (!contents.couples || !draw.one_in(3)) continue;
    const RigidContact wide = c;
    scene.contacts.pop_back();
    scene.blocks.push_back(test::wide_block(wide, draw.one_of({-1.0, 0.0, 0.01}),
                                            draw.one_of({0.0, 0.02}), wide.cohesion));
  }
  const auto row = [&](BlockKind kind, std::size_t rows) {
    const auto [a, b] = pair();
    test::SceneBlock block;
    block.kind = kind;
    block.bodies = {a, b};
    for (int i = 0; i < 2; ++i) {
      block.jacobians.emplace_back();
      for (std::size_t e = 0; e < 6 * rows; ++e) block.jacobians.back().push_back(draw.pm1());
    }
    for (std::size_t i = 0; i < rows; ++i) block.q.push_back(draw.pm1());
    scene.blocks.push_back(block);
  };
  if (contents.joints && !straight && draw.one_in(2)) row(BlockKind::bilateral, 2);
  if (!contents.rows || (straight && draw.one_in(2))) return scene;
  row(BlockKind::unilateral, 1);
  row(BlockKind::boxed, 1);
  const double low = 0.3 * draw.pm1();
  scene.blocks.back().lower = {draw.one_in(4) ? -kInfinity : low};
  scene.blocks.back().upper = {draw.one_in(4) ? std::max(low, 0.0) : low + 0.2 * draw.in01()};
  if (draw.one_in(4)) scene.blocks.back().upper = scene.blocks.back().lower = {low};
  return scene;
}

/// Zeros, or at random: far above the solution, outside the cones, or pulling.
std::vector<double> random_start(std::uint64_t seed, const ConstraintProblem& problem) {
  Draw draw(seed + 1000003);
  std::vector<double> x(static_cast<std::size_t>(problem.n_rows()), 0.0);
  const int kind = draw.one_of({0, 1, 2, 3});
  if (kind == 0) return x;
  const double size = std::pow(10.0, 2.0 * draw.pm1());
  for (double& value : x) value = size * draw.pm1();
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    const BlockView view = block_view(problem, k);
    if (view.kind != BlockKind::contact) continue;
    double* own = x.data() + view.row;
    if (kind == 1) own[0] = 10.0 * std::abs(own[0]);  // most of them inside
    if (kind == 3) {                                  // on the polar cone's axis
      own[0] = -std::abs(own[0]) - view.cohesion;
      std::fill(own + 1, own + view.rows, 0.0);
    }
  }
  return x;
}

using MakeSolver = std::function<std::unique_ptr<Solver>(const StopRule&, Draw&)>;

/// Many problems under the laws given; solvers that stop early, and such that converge.
void check(const char* name, std::initializer_list<ContactLaw> laws, const Contents& contents,
           std::uint64_t count, const MakeSolver& make) {
  int converged = 0;
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    Draw draw(seed + 5000011);
    const ContactLaw law = draw.one_of(laws);
    const ConstraintProblem problem = test::whole(random_scene(seed, law, contents));
    StopRule stop;
    stop.metric = draw.one_of({Metric::energy, Metric::natural_map, Metric::siconos});
    stop.relative_tolerance = draw.one_of({1e-2, 1e-6, 0.0});
    stop.absolute_tolerance = 1e-9;
    stop.max_iterations = draw.one_of({1, 2, 5, 60});
    stop.keep_best = draw.one_in(2);
    stop.history_set = stop.report_set = draw.one_of({ErrorSet::energy, ErrorSet::all});
    std::vector<double> impulses = random_start(seed, problem);
    std::vector<double> velocities(static_cast<std::size_t>(problem.bodies.n_dofs()));

    const SolveReport report = make(stop, draw)->solve(problem, impulses, velocities);

    SCOPED_TRACE(std::string(name) + " seed " + std::to_string(seed) + " law " +
                 std::to_string(static_cast<int>(law)) + ": " + report.reason);
    const test::Outside outside = test::outside_of(problem, impulses);
    ASSERT_LE(outside.relative(), kRoundOff);
    ASSERT_LE(report.errors.cone_violation, kRoundOff * report.errors.largest_impulse);
    converged += report.status == SolveStatus::converged;
  }
  EXPECT_GT(converged, static_cast<int>(count / 20)) << name;
}

TEST(SolverCones, GaussSeidel) {
  const auto laws = {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::box,
                     ContactLaw::frictionless};
  for (const Formulation formulation :
       {Formulation::velocity, Formulation::residual, Formulation::acceleration})
    for (const ContactLaw law : laws) {
      std::vector<LocalSolve> locals = {LocalSolve::exact, LocalSolve::project, LocalSolve::sliding,
                                        LocalSolve::scalar};
      if (law == ContactLaw::ccp) locals = {LocalSolve::exact, LocalSolve::cone};
      for (const LocalSolve local : locals)  // 42 of them
        check("gauss_seidel", {law}, {}, std::min<std::uint64_t>(kProblems, 200),
              [&](const StopRule& stop, Draw& draw) {
                SolverSettings settings;
                settings.stop = stop;
                settings.gauss_seidel.local = local;
                settings.gauss_seidel.formulation = formulation;
                settings.gauss_seidel.relaxation = draw.one_of({1.0, 1.3, 0.7});
                settings.gauss_seidel.order =
                    draw.one_of({SweepOrder::forward, SweepOrder::symmetric});
                settings.joints.method = formulation == Formulation::velocity && draw.one_in(2)
                                             ? JointMethod::automatic
                                             : JointMethod::iterative;
                return make_solver(settings);
              });
    }
}

TEST(SolverCones, Jacobi) {
  check("jacobi", {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::box, ContactLaw::frictionless},
        {}, kProblems, [](const StopRule& stop, Draw& draw) {
          SolverSettings settings{.method = SolverMethod::jacobi};
          settings.stop = stop;
          settings.jacobi.relaxation = draw.one_of({1.0, 1.5, 0.5});
          if (draw.one_in(2)) settings.joints.method = JointMethod::iterative;
          return make_solver(settings);
        });
}

TEST(SolverCones, AcceleratedGradient) {
  check("apgd", {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::box, ContactLaw::frictionless},
        {}, kProblems, [](const StopRule& stop, Draw& draw) {
          SolverSettings settings{.method = SolverMethod::apgd};
          settings.stop = stop;
          settings.apgd.restart = draw.one_in(2);
          if (draw.one_in(2)) settings.joints.method = JointMethod::iterative;
          return make_solver(settings);
        });
}

TEST(SolverCones, InteriorPoint) {
  check("interior_point", {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::frictionless}, {},
        kProblems, [](const StopRule& stop, Draw&) {
          SolverSettings settings{.method = SolverMethod::interior_point};
          settings.stop = stop;
          return make_solver(settings);
        });
}

TEST(SolverCones, InteriorPointInFangsForms) {
  check("interior_point, [F14]", {ContactLaw::ccp}, {false, false, false, false}, kProblems,
        [](const StopRule& stop, Draw& draw) {
          SolverSettings settings{.method = SolverMethod::interior_point};
          settings.stop = stop;
          settings.interior_point.form = draw.one_of(
              {InteriorPointForm::kkt, InteriorPointForm::schur, InteriorPointForm::schur_pcg});
          return make_solver(settings);
        });
}

TEST(SolverCones, ProximalNewton) {
  check("proximal_newton", {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::frictionless}, {},
        kProblems, [](const StopRule& stop, Draw&) { return make_proximal_newton(stop); });
}

TEST(SolverCones, Dantzig) {
  check("dantzig", {ContactLaw::coulomb, ContactLaw::box, ContactLaw::frictionless}, {}, kProblems,
        [](const StopRule& stop, Draw&) {
          SolverSettings settings{.method = SolverMethod::dantzig};
          settings.stop = stop;
          return make_solver(settings);
        });
}

TEST(SolverCones, Automatic) {
  check("auto", {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::box, ContactLaw::frictionless},
        {}, kProblems, [](const StopRule& stop, Draw&) {
          SolverSettings settings;
          settings.method = SolverMethod::automatic;
          settings.stop = stop;
          return make_solver(settings);
        });
}

/// A ball that leaves a plane, its last step's impulse as the start: without a normal impulse that
/// could be negative it just flies on.
TEST(SolverCones, ABallThatLeavesAPlaneIsNotPulledBack) {
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::frictionless})
    for (const SolverMethod method : {SolverMethod::gauss_seidel, SolverMethod::jacobi,
                                      SolverMethod::apgd, SolverMethod::automatic}) {
      Scene scene;
      scene.law = law;
      scene.add_prescribed();
      scene.add_rigid(2.0, Vec3::Constant(0.1), {Vec3(0, 0, 4.0), Vec3::Zero()});
      scene.add_contact(0, 1, Vec3::UnitZ(), Vec3::Zero(), Vec3(0, 0, -0.1), 0.0, 0.0);
      const ConstraintProblem problem = test::whole(scene);
      SolverSettings settings;
      settings.method = method;
      std::vector<double> impulses = {16.0, 0.0, 0.0}, velocities(12);

      const SolveReport report = make_solver(settings)->solve(problem, impulses, velocities);

      EXPECT_EQ(report.status, SolveStatus::converged) << report.reason;
      EXPECT_EQ(impulses[0], 0.0) << kSolverNames[static_cast<std::size_t>(method)];
      EXPECT_EQ(velocities[8], 4.0);
    }
}

/// A solution but for one impulse outside of its cone by 1e-9 of the largest, which no metric but
/// the certificate takes for an error.
TEST(SolverCones, ImpulsesOutsideOfTheirConesAreNeverConverged) {
  for (const double off : {0.0, 1e-9})
    for (std::size_t m = 0; m < kMetricNames.size(); ++m) {
      Scene scene = test::incline_scene(2.0, 0.0, 0.5, 0.01);
      scene.add_prescribed();
      scene.add_rigid(1e-9, Vec3::Constant(1e-9), {Vec3::Zero(), Vec3::Zero()});
      scene.add_contact(2, 3, Vec3::UnitZ(), Vec3::Zero(), Vec3::Zero(), 0.0, 0.0);
      const ConstraintProblem problem = test::whole(scene);
      DelassusOperator op(problem);
      StopRule rule;
      rule.metric = static_cast<Metric>(m);
      rule.relative_tolerance = 0.0;
      rule.absolute_tolerance = 1e3;
      rule.max_iterations = 2;
      rule.history_set = rule.report_set = m % 2 == 0 ? ErrorSet::all : ErrorSet::energy;
      std::vector<double> impulses(6, 0.0), velocities(24);
      impulses[0] = 2.0 * test::kGravity * 0.01;
      impulses[3] = -off * impulses[0];
      StopMonitor monitor(problem, op, rule, impulses, velocities, 0.0);
      bool over = monitor.start();
      for (int iteration = 1; !over; ++iteration) {
        monitor.begin(iteration, 0.0, iteration == 2);
        over = monitor.end();
      }

      const SolveReport report = monitor.finish("");

      EXPECT_EQ(report.status, off > 0.0 ? SolveStatus::iteration_limit : SolveStatus::converged)
          << kMetricNames[m] << ": " << report.reason;
      EXPECT_NEAR(report.errors.cone_violation, off * impulses[0], 1e-20);
      EXPECT_EQ(report.iterations, off > 0.0 ? 2 : 0);
      EXPECT_EQ(report.reason.find("leave their cones") != std::string::npos, off > 0.0)
          << report.reason;
    }
}

/// Rows that nothing moves and whose bounds leave out 0.
TEST(SolverCones, ARowThatNothingMovesKeepsItsBounds) {
  Scene scene = test::two_spheres_on_plane(0.0, 0.01, 0.5);
  const GlobalId wall = scene.add_prescribed(), post = scene.add_prescribed();
  test::SceneBlock block;
  block.kind = BlockKind::boxed;
  block.bodies = {wall, post};
  block.jacobians.assign(2, {1.0, 0.0, 0.0, 0.0, 0.0, 0.0});
  block.q = {0.0};
  block.lower = {0.25};
  block.upper = {0.5};
  scene.blocks.push_back(block);
  const ConstraintProblem problem = test::whole(scene);
  for (const SolverMethod method :
       {SolverMethod::gauss_seidel, SolverMethod::jacobi, SolverMethod::apgd,
        SolverMethod::interior_point, SolverMethod::dantzig, SolverMethod::automatic}) {
    SolverSettings settings;
    settings.method = method;
    std::vector<double> impulses(static_cast<std::size_t>(problem.n_rows()), 0.0);
    std::vector<double> velocities(static_cast<std::size_t>(problem.bodies.n_dofs()));

    const SolveReport report = make_solver(settings)->solve(problem, impulses, velocities);

    EXPECT_EQ(report.status, SolveStatus::converged)
        << kSolverNames[static_cast<std::size_t>(method)] << ": " << report.reason;
    EXPECT_GE(impulses.back(), 0.25);
    EXPECT_LE(impulses.back(), 0.5);
  }
}

}  // namespace
}  // namespace catena
