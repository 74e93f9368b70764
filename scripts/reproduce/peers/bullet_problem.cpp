// Solves a contact problem with Bullet's sequential impulses (float64) from zero:
// bullet_problem SWEEPS... < PROBLEM
#include <btBulletDynamicsCommon.h>

#include <memory>

#include "contact_problem.hpp"

namespace {
btVector3 vector(const double* x) { return {x[0], x[1], x[2]}; }
}  // namespace

int main(int argc, char** argv) {
  const ContactProblem problem = read_problem();
  btDefaultCollisionConfiguration configuration;
  btCollisionDispatcher dispatcher(&configuration);
  btSphereShape shape(1);  // contacts are given
  std::vector<std::unique_ptr<btRigidBody>> bodies;
  for (const ProblemBody& b : problem.bodies) {
    bodies.push_back(std::make_unique<btRigidBody>(
        btRigidBody::btRigidBodyConstructionInfo(b.mass, nullptr, &shape, vector(b.moments))));
    bodies.back()->setCenterOfMassTransform(
        btTransform(btQuaternion(b.q[1], b.q[2], b.q[3], b.q[0]), vector(b.x)));
    bodies.back()->setDamping(0, 0);
    bodies.back()->setFlags(0);  // what turns bodies is in the velocities already
  }
  btRigidBody fixed(btRigidBody::btRigidBodyConstructionInfo(0, nullptr, &shape));
  const auto body_of = [&](int i) { return i < 0 ? &fixed : bodies[i].get(); };
  for (int k = 1; k < argc; ++k) {
    std::vector<std::unique_ptr<btPersistentManifold>> manifolds;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      bodies[i]->setLinearVelocity(vector(problem.bodies[i].v));
      bodies[i]->setAngularVelocity(vector(problem.bodies[i].w));
      bodies[i]->setCompanionId(-1);
    }
    for (const ProblemContact& c : problem.contacts) {
      manifolds.push_back(
          std::make_unique<btPersistentManifold>(body_of(c.a), body_of(c.b), 0, 1e30, 1e30));
      const auto point = [&](int i, const double* arm, const double* other, int j) {
        return i >= 0 ? vector(problem.bodies[i].x) + vector(arm)
                      : vector(problem.bodies[j].x) + vector(other);
      };
      btManifoldPoint p(btVector3(0, 0, 0), btVector3(0, 0, 0), -vector(c.n),
                        c.bias * problem.step);
      p.m_positionWorldOnA = point(c.a, c.arm_a, c.arm_b, c.b);
      p.m_positionWorldOnB = point(c.b, c.arm_b, c.arm_a, c.a);
      p.m_combinedFriction = c.friction;
      manifolds.back()->addManifoldPoint(p);
    }
    btContactSolverInfo info;
    info.m_timeStep = problem.step;
    info.m_numIterations = std::atoi(argv[k]);
    info.m_erp = info.m_erp2 = 1;  // the bias of overlaps as the problem states it
    info.m_splitImpulse = 0;
    info.m_linearSlop = 0;
    info.m_solverMode = SOLVER_USE_WARMSTARTING | SOLVER_USE_2_FRICTION_DIRECTIONS;
    std::vector<btCollisionObject*> objects;
    for (const auto& b : bodies) objects.push_back(b.get());
    std::vector<btPersistentManifold*> all;
    for (const auto& m : manifolds) all.push_back(m.get());
    btSequentialImpulseConstraintSolver solver;
    const double start = cpu();
    solver.solveGroup(objects.data(), int(objects.size()), all.data(), int(all.size()), nullptr, 0,
                      info, nullptr, &dispatcher);
    const double seconds = cpu() - start;
    std::vector<double> impulses;
    for (const auto& m : manifolds) {
      const btManifoldPoint& p = m->getContactPoint(0);
      const btVector3 on_b = -p.m_appliedImpulse * p.m_normalWorldOnB -
                             p.m_appliedImpulseLateral1 * p.m_lateralFrictionDir1 -
                             p.m_appliedImpulseLateral2 * p.m_lateralFrictionDir2;
      for (int j = 0; j < 3; ++j) impulses.push_back(on_b[j]);
    }
    write_impulses(seconds, impulses);
  }
  std::fflush(stdout);
  std::_Exit(0);
}
