// Batched sweeps: all instruction sets give the same, one contact's turn meets its law, and batches
// hold each contact once beside others that it shares no body with.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "catena/base/random.hpp"
#include "catena/math/rotation.hpp"
#include "catena/solvers/solver_factory.hpp"
#include "solvers/batches/sweep_order.hpp"
#include "solvers/kernel_paths.hpp"

namespace catena {
namespace {

double random(std::uint64_t seed, std::uint64_t i, std::uint64_t k) {
  return uniform_pm1(seed, i, k);
}

/// A cubic grid of bodies that touch their 6 neighbours, thrown about at random; every third body
/// is unround, and body 0 is prescribed.
ConstraintProblem grid(int n, std::uint64_t seed, double friction, double cohesion) {
  ConstraintProblem problem(Communicator::self());
  const auto number = [n](int x, int y, int z) { return (z * n + y) * n + x; };
  for (int i = 0; i < n * n * n; ++i) {
    const auto u = static_cast<std::uint64_t>(i);
    Twist twist;
    for (int k = 0; k < 3; ++k) {
      twist.v[k] = random(seed, u, static_cast<std::uint64_t>(k));
      twist.w[k] = random(seed, u, static_cast<std::uint64_t>(k) + 3);
    }
    const Quat q(Eigen::AngleAxisd(random(seed, u, 7), Vec3(1, 2, 3).normalized()));
    const Vec3 inverse = i % 3 == 1 ? Vec3(2, 3, 5) : Vec3(4, 4, 4);
    if (i == 0)
      problem.bodies.add_prescribed(0, {});
    else
      problem.bodies.add_rigid(i, 1.0 + 0.5 * random(seed, u, 8), rotate_diagonal(q, inverse),
                               twist);
  }
  problem.bodies.n_owned = n * n * n;
  for (int z = 0; z < n; ++z)
    for (int y = 0; y < n; ++y)
      for (int x = 0; x < n; ++x)
        for (int axis = 0; axis < 3; ++axis) {
          const int other[3] = {x + (axis == 0), y + (axis == 1), z + (axis == 2)};
          if (*std::max_element(other, other + 3) >= n) continue;
          RigidContact c;
          c.body_a = number(x, y, z);
          c.body_b = number(other[0], other[1], other[2]);
          c.key = {c.body_a, c.body_b, 0, 0};
          const auto u = static_cast<std::uint64_t>(problem.contacts.size());
          c.normal = (Vec3::Unit(axis) +
                      0.1 * Vec3(random(seed, u, 9), random(seed, u, 10), random(seed, u, 11)))
                         .normalized();
          Vec3 second;
          tangents_of(c.normal, c.tangent, second);
          c.arm_a = 0.5 * c.normal;
          c.arm_b = -0.5 * c.normal;
          if (c.body_a % 3 == 1) c.arm_a += 0.2 * random(seed, u, 12) * c.tangent;
          if (c.body_b % 3 == 1) c.arm_b += 0.2 * random(seed, u, 13) * c.tangent;
          c.bias = 0.1 * random(seed, u, 14);
          c.friction = friction;
          c.cohesion = cohesion;
          problem.contacts.push_back(c);
        }
  return problem;
}

struct Result {
  std::vector<double> impulses, velocities;
};

Result sweep(const ConstraintProblem& problem, SolverSettings settings, int sweeps) {
  settings.stop.max_iterations = sweeps;
  settings.stop.relative_tolerance = 0.0;
  settings.stop.absolute_tolerance = 0.0;
  settings.stop.keep_best = false;
  Result result;
  result.impulses.resize(static_cast<std::size_t>(problem.n_rows()));
  result.velocities.resize(static_cast<std::size_t>(problem.bodies.n_dofs()));
  make_solver(settings)->solve(problem, result.impulses, result.velocities);
  return result;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST(BatchSweeps, EveryInstructionSetGivesTheSame) {
  ASSERT_GE(test::kernel_paths().size(), 1U);
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::frictionless})
    for (const double omega : {1.0, 1.3})
      for (const SweepOrder order : {SweepOrder::forward, SweepOrder::symmetric}) {
        ConstraintProblem problem = grid(5, 3, 0.4, law == ContactLaw::ccp ? 0.01 : 0.0);
        problem.law = law;
        SolverSettings settings;
        settings.gauss_seidel.relaxation = omega;
        settings.gauss_seidel.order = order;
        settings.gauss_seidel.kernels = KernelPath::plain;
        const Result plain = sweep(problem, settings, 25);

        for (const KernelPath path : test::kernel_paths()) {
          settings.gauss_seidel.kernels = path;
          const Result other = sweep(problem, settings, 25);

          EXPECT_LE(largest_difference(plain.impulses, other.impulses), test::kPathTolerance)
              << "law " << static_cast<int>(law) << " path " << static_cast<int>(path);
          EXPECT_LE(largest_difference(plain.velocities, other.velocities), test::kPathTolerance);
        }
      }
}

/// Two free bodies in one contact with a full block D.
ConstraintProblem pair(std::uint64_t seed, bool round, double friction) {
  ConstraintProblem problem(Communicator::self());
  for (std::uint64_t b = 0; b < 2; ++b) {
    Twist twist;
    for (int k = 0; k < 3; ++k) {
      twist.v[k] = random(seed, b, static_cast<std::uint64_t>(k));
      twist.w[k] = random(seed, b, static_cast<std::uint64_t>(k) + 3);
    }
    const Quat q(Eigen::AngleAxisd(3.0 * random(seed, b, 6), Vec3(3, 1, 2).normalized()));
    const double m = std::pow(10.0, 2.0 * random(seed, b, 7));
    const Vec3 inverse = round ? Vec3(4, 4, 4) : Vec3(1, 6, 20);
    problem.bodies.add_rigid(static_cast<GlobalId>(b), 1.0 / m, rotate_diagonal(q, inverse / m),
                             twist);
  }
  problem.bodies.n_owned = 2;
  RigidContact c;
  c.body_a = 0;
  c.body_b = 1;
  c.key = {0, 1, 0, 0};
  c.normal = Vec3(random(seed, 2, 0), random(seed, 2, 1), random(seed, 2, 2)).normalized();
  Vec3 second;
  tangents_of(c.normal, c.tangent, second);
  c.arm_a = 0.5 * c.normal;
  c.arm_b = -0.7 * c.normal;
  if (!round) {
    c.arm_a += 0.4 * c.tangent - 0.3 * second;
    c.arm_b += 0.5 * second;
  }
  c.bias = 0.2 * random(seed, 3, 0);
  c.friction = friction;
  problem.contacts.push_back(c);
  return problem;
}

/// Velocity of the problem's only contact under the bodies' `velocities`, (n, t1, t2), with its
/// bias.
Vec3 slip_of(const ConstraintProblem& problem, const std::vector<double>& velocities) {
  const RigidContact& c = problem.contacts[0];
  const auto velocity = [&](std::size_t body, const Vec3& arm) {
    const double* t = velocities.data() + 6 * body;
    return Vec3(Vec3(t[0], t[1], t[2]) + Vec3(t[3], t[4], t[5]).cross(arm));
  };
  const Vec3 u = velocity(1, c.arm_b) - velocity(0, c.arm_a);
  return {c.normal.dot(u) + c.bias, c.tangent.dot(u), c.normal.cross(c.tangent).dot(u)};
}

/// How far one contact with new velocities is from Coulomb's law, over its free slip.
double coulomb_misfit(const ConstraintProblem& problem, const Result& result) {
  const RigidContact& c = problem.contacts[0];
  const Vec3 w = slip_of(problem, result.velocities);
  const double size = slip_of(problem, problem.bodies.free_velocity).norm();
  const double normal = result.impulses[0];
  const Vec3 t(0.0, result.impulses[1], result.impulses[2]);
  if (normal == 0.0) return std::max(0.0, -w[0]) / size + t.norm();
  const double slipping = std::hypot(w[1], w[2]);
  const double bound = c.friction * normal;
  double misfit = std::abs(w[0]) / size + std::max(0.0, -normal) / std::abs(normal);
  misfit += std::max(0.0, t.norm() - bound * (1.0 + 1e-12)) / normal;
  if (slipping > 1e-11 * size) {  // sliding: on the cone, and against the slip
    misfit += std::abs(t.norm() - bound) / normal;
    misfit += (w[1] * t[1] + w[2] * t[2] + slipping * t.norm()) / (size * normal);
  }
  return misfit;
}

/// How far it is from the convex law: w in the dual cone, lambda in the cone, no power.
double convex_misfit(const ConstraintProblem& problem, const Result& result) {
  const double mu = problem.contacts[0].friction;
  const Vec3 w = slip_of(problem, result.velocities);
  const double size = slip_of(problem, problem.bodies.free_velocity).norm();
  const Vec3 z(result.impulses[0], result.impulses[1], result.impulses[2]);
  if (z.norm() == 0.0) return std::max(0.0, mu * std::hypot(w[1], w[2]) - w[0]) / size;
  return std::max(0.0, std::hypot(z[1], z[2]) - mu * z[0]) / z.norm() +
         std::max(0.0, mu * std::hypot(w[1], w[2]) - w[0]) / size +
         std::abs(w.dot(z)) / (size * z.norm());
}

/// One turn of contacts that open, stick and slide meets the law by `misfit`.
void expect_one_turn_solves(ContactLaw law, std::initializer_list<double> frictions,
                            double (&misfit)(const ConstraintProblem&, const Result&)) {
  int open = 0, stuck = 0, sliding = 0;
  for (const KernelPath path : test::kernel_paths())
    for (const bool round : {true, false})
      for (const double friction : frictions)
        for (std::uint64_t seed = 1; seed <= 75; ++seed) {
          ConstraintProblem problem = pair(seed, round, friction);
          problem.law = law;
          SolverSettings settings;
          settings.gauss_seidel.kernels = path;

          const Result result = sweep(problem, settings, 1);

          EXPECT_LT(misfit(problem, result), 1e-11)
              << "path " << static_cast<int>(path) << " round " << round << " friction " << friction
              << " seed " << seed;
          const double t = std::hypot(result.impulses[1], result.impulses[2]);
          const double bound = friction * result.impulses[0];
          ++(result.impulses[0] == 0.0 ? open : t < bound * (1.0 - 1e-9) ? stuck : sliding);
        }
  EXPECT_GT(open, 100);
  EXPECT_GT(stuck, 100);
  EXPECT_GT(sliding, 100);
}

TEST(BatchSweeps, OneTurnMeetsCoulombsLawToRoundOff) {
  expect_one_turn_solves(ContactLaw::coulomb, {0.0, 0.05, 0.4, 1.5}, coulomb_misfit);
}

TEST(BatchSweeps, OneTurnMeetsTheConvexLawToRoundOff) {
  expect_one_turn_solves(ContactLaw::ccp, {0.0, 0.05, 0.4, 1.5, 5.0}, convex_misfit);
}

/// As the scalar solve of a contact: one that must not be asked.
void refuse(const void* context, const double* /*d*/, const double* /*w*/, const double* lambda,
            double /*friction*/, double* z) {
  ++*static_cast<int*>(const_cast<void*>(context));
  std::copy_n(lambda, 3, z);
}

TEST(BatchSweeps, ContactsThatSlideUnderTheConvexLawSettleInTheirBatches) {
  for (const KernelPath path : test::kernel_paths()) {
    const BatchKernels kernels = choose_kernels(path);
    int asked = 0;
    KernelOptions rules;
    rules.law = BatchLaw::ccp;
    rules.vector_solve = true;
    rules.solve = refuse;
    rules.context = &asked;
    std::vector<BodyLine> lines(1);
    std::vector<InertiaLine> inertia(1);
    GeneralContactBatch arms{};
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto u = static_cast<std::uint64_t>(lane);
      const double d[6] = {2.0, 0.5 * random(1, u, 0), 0.5 * random(1, u, 1),
                           1.5, 0.4 * random(1, u, 2), 1.0};
      for (int j = 0; j < 6; ++j) arms.d[j][lane] = d[j];
      arms.friction[lane] = 0.4;
      arms.bias[0][lane] = -1.0;
      arms.bias[1][lane] = 3.0 + random(1, u, 3);
      arms.bias[2][lane] = 4.0 * random(1, u, 4);
    }

    kernels.arm(&arms, 1, lines.data(), inertia.data(), rules, true, nullptr);

    EXPECT_EQ(asked, 0) << kernels.name;
    for (int lane = 0; lane < kLanes; ++lane) {
      const Vec3 z(arms.lambda[0][lane], arms.lambda[1][lane], arms.lambda[2][lane]);
      EXPECT_GT(z[0], 0.0);
      EXPECT_NEAR(std::hypot(z[1], z[2]), 0.4 * z[0], 1e-12 * z[0]);
    }
  }
}

TEST(BatchSweeps, NotANumberIsNotSweptUnderTheCone) {
  for (const KernelPath path : test::kernel_paths())
    for (const int kind : {0, 1, 2, 3}) {
      ConstraintProblem problem = pair(2, kind % 2 == 0, 0.4);
      if (kind > 1) problem.law = ContactLaw::ccp;
      problem.bodies.free_velocity[0] = std::nan("");
      SolverSettings settings;
      settings.gauss_seidel.kernels = path;
      std::vector<double> impulses(3), velocities(12);

      const SolveReport report = make_solver(settings)->solve(problem, impulses, velocities);

      EXPECT_EQ(report.status, SolveStatus::breakdown);
    }
}

/// What the scalar solve of a contact is given.
struct Asked {
  std::vector<double> impulses;
};
void ask(const void* context, const double* /*d*/, const double* /*w*/, const double* lambda,
         double /*friction*/, double* z) {
  auto& asked = *static_cast<Asked*>(const_cast<void*>(context));
  asked.impulses.insert(asked.impulses.end(), lambda, lambda + 3);
  std::copy_n(lambda, 3, z);
}

TEST(BatchSweeps, ScalarSolvesOfAMixStartFromTheMix) {
  for (const KernelPath path : test::kernel_paths()) {
    const BatchKernels kernels = choose_kernels(path);
    Asked asked;
    KernelOptions rules;
    rules.law = BatchLaw::ccp;
    rules.solve = ask;
    rules.context = &asked;
    BatchHistory history{};
    for (auto& row : history.before) row[2] = 3.0;
    BatchMixing mixing{&history, 0.5};
    std::vector<BodyLine> lines(1);
    std::vector<InertiaLine> inertia(1);
    GeneralContactBatch arms{};
    ExplicitContactBatch stored{};
    for (auto* lambda : {&arms.lambda, &stored.lambda})
      for (auto& row : *lambda) row[2] = 1.0;

    kernels.arm(&arms, 1, lines.data(), inertia.data(), rules, true, &mixing);
    for (auto& row : history.before) row[2] = 3.0;
    kernels.explicit_contact(&stored, 1, lines.data(), {lines.data(), 1, MassForm::diagonal}, rules,
                             true, &mixing);

    // 1 - 0.5 (1 - 3), and lanes without impulse and slip are left out
    EXPECT_EQ(asked.impulses, std::vector<double>(6, 2.0)) << kernels.name;
  }
}

TEST(SweepPlan, HoldsEveryContactOnceInBatchesThatShareNoMovingBody) {
  const ConstraintProblem problem = grid(9, 1, 0.4, 0.0);
  std::vector<Index> blocks(problem.contacts.size());
  std::iota(blocks.begin(), blocks.end(), 0);
  const std::vector<BodyRole> own(static_cast<std::size_t>(problem.bodies.size()), BodyRole::own);

  const SweepPlan plan = plan_sweep(problem, blocks, own, {});

  std::set<Index> seen;
  std::size_t places = 0;
  for (const PartPlan& part : plan) {
    EXPECT_TRUE(part.general.empty());
    for (const std::vector<Index>* list : {&part.spheres, &part.arms}) {
      ASSERT_EQ(list->size() % kLanes, 0U);
      places += list->size();
      for (std::size_t first = 0; first < list->size(); first += kLanes) {
        std::set<Index> bodies;
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          const Index k = (*list)[first + lane];
          if (k == kNoIndex) continue;
          EXPECT_TRUE(seen.insert(k).second);
          for (const Index b : {problem.contacts[static_cast<std::size_t>(k)].body_a,
                                problem.contacts[static_cast<std::size_t>(k)].body_b}) {
            const bool moves = b != 0;
            EXPECT_TRUE(!moves || bodies.insert(b).second);
          }
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), blocks.size());
  // a grid in lexicographic order fills nearly all lanes
  EXPECT_LT(static_cast<double>(places), 1.15 * static_cast<double>(blocks.size()));
}

TEST(SweepPlan, ContactsOfForeignAndKeptBodiesHavePartsOfTheirOwn) {
  const ConstraintProblem problem = grid(4, 1, 0.4, 0.0);
  std::vector<Index> blocks(problem.contacts.size());
  std::iota(blocks.begin(), blocks.end(), 0);
  std::vector<BodyRole> roles(static_cast<std::size_t>(problem.bodies.size()), BodyRole::own);
  roles[21] = BodyRole::foreign;
  roles[22] = BodyRole::kept;

  const SweepPlan plan = plan_sweep(problem, blocks, roles, {});

  std::array<std::size_t, kSweepParts> sizes{};
  for (std::size_t part = 0; part < plan.size(); ++part)
    for (const Index k : flatten({plan[part], {}, {}, {}})) {
      const RigidContact& c = problem.contacts[static_cast<std::size_t>(k)];
      const auto touches = [&](Index b) { return c.body_a == b || c.body_b == b; };
      ++sizes[part];
      EXPECT_EQ(touches(21), part == ordinal(SweepPart::crossing));
      EXPECT_EQ(touches(22) && !touches(21), part == ordinal(SweepPart::border));
    }
  const std::size_t first = sizes[ordinal(SweepPart::first_interior)],
                    second = sizes[ordinal(SweepPart::second_interior)];
  EXPECT_TRUE(first == second || first == second + 1);
}

// A planner that has seen another problem before plans as a new one does, and keeps its plan only
// where a new one would be the same.
TEST(SweepPlan, FollowsFromTheProblemAloneAndIsKeptWhileItWouldBeTheSame) {
  struct Problem {
    const char* what;
    ConstraintProblem problem;
    std::vector<BodyRole> roles;
    LocalSolveOptions rules;
    bool same;  ///< plan as that of the problem before
  };
  const ConstraintProblem first = grid(6, 1, 0.4, 0.0);
  const std::size_t n = first.bodies.size();
  const std::vector<BodyRole> own(n, BodyRole::own);
  std::vector<BodyRole> kept = own, foreign = own;
  kept[21] = BodyRole::kept;
  foreign[21] = BodyRole::foreign;
  ConstraintProblem other_values = first, fewer = first, swapped = first, fixed = first,
                    off_centre = first, ordered = first;
  for (RigidContact& c : other_values.contacts) {
    c.friction = 0.1;
    c.compliance = 1e-3;
    c.bias = -0.3;
  }
  fewer.contacts.erase(fewer.contacts.begin() + 7);
  std::swap(swapped.contacts[3], swapped.contacts[40]);
  fixed.bodies.mass_kind[30] = MassKind::prescribed;
  off_centre.contacts[11].arm_b += Vec3(0.01, 0.02, 0.03);
  ordered.ordered = true;
  const std::vector<Problem> problems = {
      {"first", first, own, {}, false},
      {"again", first, own, {}, true},
      {"other values", other_values, own, {}, true},
      {"fewer", fewer, own, {}, false},
      {"swapped", swapped, own, {}, false},
      {"fixed", fixed, own, {}, false},
      {"off centre", off_centre, own, {}, false},
      {"ordered", ordered, own, {}, false},
      {"kept", first, kept, {}, false},
      {"foreign", first, foreign, {}, false},
      {"cone", first, foreign, {.law = ContactLaw::ccp, .local = LocalSolve::cone}, false},
      {"last", first, own, {}, false}};

  SweepPlanner planner;
  for (const Problem& p : problems) {
    std::vector<Index> blocks(p.problem.contacts.size());
    std::iota(blocks.begin(), blocks.end(), 0);
    const SweepPlan& plan = planner.plan(p.problem, blocks, p.roles, p.rules);
    const SweepPlan anew = plan_sweep(p.problem, blocks, p.roles, p.rules);

    EXPECT_EQ(planner.kept(), p.same) << p.what;
    for (std::size_t part = 0; part < plan.size(); ++part) {
      EXPECT_EQ(plan[part].spheres, anew[part].spheres) << p.what;
      EXPECT_EQ(plan[part].arms, anew[part].arms) << p.what;
      EXPECT_EQ(plan[part].general, anew[part].general) << p.what;
    }
    planner.rest();
  }
}

}  // namespace
}  // namespace catena
