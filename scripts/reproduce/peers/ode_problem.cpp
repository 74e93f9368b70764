// Solves a contact problem with ODE's QuickStep from zero: ode_problem SWEEPS... < PROBLEM
#include <ode/ode.h>

#include "contact_problem.hpp"

int main(int argc, char** argv) {
  const ContactProblem problem = read_problem();
  dInitODE2(0);
  for (int k = 1; k < argc; ++k) {
    const dWorldID world = dWorldCreate();
    dWorldSetQuickStepNumIterations(world, std::atoi(argv[k]));
    dWorldSetCFM(world, 0);
    std::vector<dBodyID> bodies;
    for (const ProblemBody& b : problem.bodies) {
      const dBodyID body = dBodyCreate(world);
      dMass m;
      dMassSetParameters(&m, b.mass, 0, 0, 0, b.moments[0], b.moments[1], b.moments[2], 0, 0, 0);
      dBodySetMass(body, &m);
      dBodySetPosition(body, b.x[0], b.x[1], b.x[2]);
      dBodySetQuaternion(body, b.q);
      dBodySetLinearVel(body, b.v[0], b.v[1], b.v[2]);
      dBodySetAngularVel(body, b.w[0], b.w[1], b.w[2]);
      dBodySetGyroscopicMode(body, 0);  // it is in the velocities already
      bodies.push_back(body);
    }
    std::vector<dJointFeedback> feedback(problem.contacts.size());
    const double start = cpu();
    for (std::size_t i = 0; i < problem.contacts.size(); ++i) {
      const ProblemContact& c = problem.contacts[i];
      // ODE's normal points into the first body, which must not be the fixed one
      const bool on_b = c.b >= 0;
      const int first = on_b ? c.b : c.a, second = on_b ? c.a : c.b;
      const double* arm = on_b ? c.arm_b : c.arm_a;
      dContact d{};
      d.surface.mode = dContactApprox1 | dContactFDir1 | dContactMotionN;
      d.surface.mu = c.friction;
      d.surface.motionN = -c.bias;
      for (int j = 0; j < 3; ++j) {
        d.geom.pos[j] = problem.bodies[first].x[j] + arm[j];
        d.geom.normal[j] = on_b ? c.n[j] : -c.n[j];
        d.fdir1[j] = c.t[j];
      }
      const dJointID joint = dJointCreateContact(world, nullptr, &d);
      dJointAttach(joint, bodies[first], second < 0 ? nullptr : bodies[second]);
      dJointSetFeedback(joint, &feedback[i]);
    }
    dWorldQuickStep(world, problem.step);
    const double seconds = cpu() - start;
    std::vector<double> impulses;
    for (std::size_t i = 0; i < problem.contacts.size(); ++i)
      for (int j = 0; j < 3; ++j)
        impulses.push_back((problem.contacts[i].b >= 0 ? 1 : -1) * problem.step *
                           feedback[i].f1[j]);
    write_impulses(seconds, impulses);
    dWorldDestroy(world);
  }
}
