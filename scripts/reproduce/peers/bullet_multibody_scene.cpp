// Runs a scene of joints alone with Bullet's multibody (float64), coordinates in which joints
// cannot open:
//     bullet_multibody_scene EVERY < SCENE > STATES
// A tree: joint k holds body k to one before it or, for k = 0, to the world. No contacts. Memory
// grows as the square of the number of bodies.
#include <BulletDynamics/Featherstone/btMultiBody.h>
#include <BulletDynamics/Featherstone/btMultiBodyConstraintSolver.h>
#include <BulletDynamics/Featherstone/btMultiBodyDynamicsWorld.h>
#include <btBulletDynamicsCommon.h>

#include "scene.hpp"

int main(int argc, char** argv) {
  const int every = argc > 1 ? std::atoi(argv[1]) : 1;
  const Scene scene = read_scene();
  const int n = scene.moving;
  btDefaultCollisionConfiguration configuration;
  btCollisionDispatcher dispatcher(&configuration);
  btDbvtBroadphase broad_phase;
  btMultiBodyConstraintSolver solver;
  btMultiBodyDynamicsWorld world(&dispatcher, &broad_phase, &solver, &configuration);
  world.setGravity(btVector3(0, 0, -scene.gravity));
  btMultiBody multibody(n, 0, btVector3(0, 0, 0), true, false);
  multibody.setBasePos(btVector3(0, 0, 0));
  if (int(scene.joints.size()) != n) std::cerr << "not a tree\n", std::exit(1);
  for (int i = 0; i < n; ++i) {
    const SceneBody& b = scene.bodies[i];
    const SceneJoint& j = scene.joints[i];
    if (j.b != i || j.a >= i || b.q[0] != 1)
      std::cerr << "not a tree in order, or turned bodies\n", std::exit(1);
    const btVector3 at(j.at[0], j.at[1], j.at[2]), place(b.x[0], b.x[1], b.x[2]);
    const btVector3 parent =
        j.a < 0 ? btVector3(0, 0, 0)
                : btVector3(scene.bodies[j.a].x[0], scene.bodies[j.a].x[1], scene.bodies[j.a].x[2]);
    const double s[3] = {b.size[0] * b.size[0], b.size[1] * b.size[1], b.size[2] * b.size[2]};
    const btVector3 inertia = btVector3(s[1] + s[2], s[0] + s[2], s[0] + s[1]) * (b.mass / 12);
    multibody.setupSpherical(i, b.mass, inertia, j.a, btQuaternion(0, 0, 0, 1), at - parent,
                             place - at, true);
  }
  multibody.finalizeMultiDof();
  multibody.setHasSelfCollision(false);
  multibody.setLinearDamping(0);
  multibody.setAngularDamping(0);
  multibody.setMaxAppliedImpulse(1e30);
  multibody.setMaxCoordinateVelocity(1e9);
  world.addMultiBody(&multibody);
  double seconds = 0;
  std::vector<BodyState> states(n);
  std::vector<btVector3> spins(n + 1), velocities(n + 1);
  for (int k = 0; k < scene.steps; ++k) {
    const double start = cpu();
    world.stepSimulation(scene.step, 0);
    seconds += cpu() - start;
    if ((k + 1) % every != 0) continue;
    multibody.compTreeLinkVelocities(spins.data(), velocities.data());
    for (int i = 0; i < n; ++i) {
      const btVector3 x = multibody.localPosToWorld(i, btVector3(0, 0, 0));
      const btVector3 v = multibody.localDirToWorld(i, velocities[i + 1]),
                      w = multibody.localDirToWorld(i, spins[i + 1]);
      btQuaternion q;
      multibody.localFrameToWorld(i, btMatrix3x3::getIdentity()).getRotation(q);
      states[i] = {x[0], x[1], x[2], q.w(), q.x(), q.y(), q.z(),
                   v[0], v[1], v[2], w[0],  w[1],  w[2]};
    }
    write_states(seconds, states, {});
  }
  std::fflush(stdout);
  std::_Exit(0);
}
