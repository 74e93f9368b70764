// A law of friction that the library does not know, in this one file: every solver without a kernel
// of its own for it meets it, over ranks, with rolling and spinning rows and without.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "catena/base/error.hpp"
#include "catena/constraints/contact_cone.hpp"
#include "catena/solvers/solver_factory.hpp"
#include "support/dense_reference.hpp"
#include "support/hand_problems.hpp"

namespace catena {
namespace {

using test::Scene;

/// Friction mu along t1 and kAcross mu along t2: (lambda_1/mu)^2 + (lambda_2/(kAcross mu))^2 <=
/// lambda_n^2, with maximum dissipation on that ellipse.
constexpr double kAcross = 2.0;
class EllipticFriction final : public FrictionLaw {
 public:
  void change(const ConstraintProblem&, Index, ContactCone& cone) const override {
    cone.axis[2] = 1.0 / kAcross;
  }
};
const EllipticFriction kElliptic{};

struct Method {
  const char* name;
  SolverSettings settings;
};

/// All solvers that meet the law for both ContactLaw::coulomb and ccp.
std::vector<Method> methods(ContactLaw law) {
  std::vector<Method> out;
  const auto add = [&](const char* name, SolverMethod method) -> SolverSettings& {
    SolverSettings s;
    s.method = method;
    s.stop.metric = Metric::natural_map;
    s.stop.relative_tolerance = 0.0;
    s.stop.absolute_tolerance = 1e-8;
    s.stop.max_iterations = 100000;
    s.stop.check_interval = 50;
    out.push_back({name, s});
    return out.back().settings;
  };
  add("gauss_seidel", SolverMethod::gauss_seidel);
  add("acceleration", SolverMethod::gauss_seidel).gauss_seidel.formulation =
      Formulation::acceleration;
  if (law == ContactLaw::ccp)
    add("cone", SolverMethod::gauss_seidel).gauss_seidel.local = LocalSolve::cone;
  add("jacobi", SolverMethod::jacobi);
  add("apgd", SolverMethod::apgd);
  add("interior_point", SolverMethod::interior_point).stop.max_iterations = 200;
  add("auto", SolverMethod::automatic);
  return out;
}

struct Solved {
  SolveReport report;
  std::vector<double> impulses;  ///< of the whole scene
};

Solved solve_law(const Scene& scene, const Communicator& comm, const SolverSettings& settings) {
  test::LocalScene local = distribute(scene, comm, test::deal(comm));
  local.problem.friction_law = &kElliptic;
  std::vector<double> impulses(local.problem.n_rows(), 0.0);
  std::vector<double> velocities(local.problem.bodies.n_dofs());
  Solved s;
  s.report = make_solver(settings)->solve(local.problem, impulses, velocities);
  s.impulses = gather_rows(local, impulses);
  return s;
}

/// By how much lambda and w = N lambda + r miss the law at a contact's normal and tangents, N s and
/// m/s; written out from the ellipse, without the library's cones.
double miss(ContactLaw law, const Eigen::Vector3d& lambda, const Eigen::Vector3d& w, double mu) {
  const double mu_2 = kAcross * mu;
  const double friction = std::hypot(lambda[1] / mu, lambda[2] / mu_2);
  const double slip = std::hypot(mu * w[1], mu_2 * w[2]);
  const double shift = law == ContactLaw::coulomb ? slip : 0.0;
  // lambda in the cone, w (with Coulomb's shift) in its dual, no product between them
  return std::max(
      {friction - lambda[0], slip - (w[0] + shift), std::abs(lambda.dot(w) + shift * lambda[0])});
}

void expect_the_law(const Scene& scene, const Solved& s, double mu, const std::string& where) {
  EXPECT_EQ(s.report.status, SolveStatus::converged) << where << ": " << s.report.reason;
  const ConstraintProblem problem = whole(scene);
  const test::DenseProblem dense = test::dense_problem(problem);
  const Eigen::Map<const Eigen::VectorXd> lambda(s.impulses.data(), std::ssize(s.impulses));
  const Eigen::VectorXd w = dense.N * lambda + dense.r;
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    const Index row = block_view(problem, k).row;
    EXPECT_LT(miss(scene.law, lambda.segment<3>(row), w.segment<3>(row), mu), 1e-6)
        << where << ", contact " << k;
  }
}

class FrictionLawMpi : public testing::Test {
 protected:
  Communicator comm_ = Communicator::world();
};

/// A point mass that slides with w: by maximum dissipation its friction is -p (mu_1^2 w_1, mu_2^2
/// w_2) / |(mu_1 w_1, mu_2 w_2)|, so that V_free is known for a chosen w.
TEST_F(FrictionLawMpi, PointMassSlidesAcrossTheEllipse) {
  const double mass = 2.0, mu = 0.3, mu_2 = kAcross * mu;
  const double w_1 = 0.8, w_2 = -0.6, speed = 1.5;
  const double p = mass * speed, length = std::hypot(mu * w_1, mu_2 * w_2);
  const double friction_1 = -p * mu * mu * w_1 / length;
  const double friction_2 = -p * mu_2 * mu_2 * w_2 / length;
  Scene scene;
  scene.add_prescribed();
  const Vec3 n(0.0, 0.0, 1.0);
  scene.add_rigid(mass, Vec3(1.0, 1.0, 1.0));
  const RigidContact contact = scene.add_contact(0, 1, n, Vec3::Zero(), Vec3::Zero(), 0.0, mu);
  const Vec3 free = -speed * n + (w_1 - friction_1 / mass) * contact.tangent +
                    (w_2 - friction_2 / mass) * n.cross(contact.tangent);
  std::copy_n(free.data(), 3, scene.bodies[1].free_velocity.begin());

  for (const Method& method : methods(ContactLaw::coulomb)) {
    const Solved s = solve_law(scene, comm_, method.settings);

    EXPECT_NEAR(s.impulses[0], p, 1e-6) << method.name;
    EXPECT_NEAR(s.impulses[1], friction_1, 1e-6) << method.name;
    EXPECT_NEAR(s.impulses[2], friction_2, 1e-6) << method.name;
    expect_the_law(scene, s, mu, method.name);
  }
}

TEST_F(FrictionLawMpi, PilesMeetTheLawByEverySolver) {
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp}) {
    Scene pile = test::sphere_pile(8, 14, 0.3, 0.005, 11);
    Scene box = test::box_on_plane(0.3, 0.005, 0.5);
    for (Scene scene : {pile, box, with_couples(pile, 0.0, 0.0)}) {
      scene.law = law;
      for (const Method& method : methods(law))
        expect_the_law(scene, solve_law(scene, comm_, method.settings), 0.3,
                       std::string(method.name) + (law == ContactLaw::ccp ? ", ccp" : ", coulomb"));
    }
  }
}

TEST_F(FrictionLawMpi, MethodsThatDoNotKnowItSaySo) {
  SolverSettings settings;
  settings.method = SolverMethod::interior_point;
  settings.interior_point.form = InteriorPointForm::schur;
  Scene scene = test::two_spheres_on_plane(0.3, 0.005, 0.1);
  scene.law = ContactLaw::ccp;
  EXPECT_THROW(solve_law(scene, comm_, settings), Error);
  settings.method = SolverMethod::dantzig;
  scene.law = ContactLaw::coulomb;
  EXPECT_THROW(solve_law(scene, comm_, settings), Error);
}

}  // namespace
}  // namespace catena
