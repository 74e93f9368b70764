// Runs a scene with Bullet (float64): bullet_scene EVERY SWEEPS ERP < SCENE > STATES
// Sequential impulses with two friction directions and warm starts.
#include <btBulletDynamicsCommon.h>

#include "scene.hpp"

extern btScalar gContactBreakingThreshold;

int main(int argc, char** argv) {
  const int every = argc > 1 ? std::atoi(argv[1]) : 1;
  const Scene scene = read_scene();
  btDefaultCollisionConfiguration configuration;
  btCollisionDispatcher dispatcher(&configuration);
  btDbvtBroadphase broad_phase;
  btSequentialImpulseConstraintSolver solver;
  btDiscreteDynamicsWorld world(&dispatcher, &broad_phase, &solver, &configuration);
  world.setGravity(btVector3(0, 0, -scene.gravity));
  btContactSolverInfo& info = world.getSolverInfo();
  info.m_numIterations = argc > 2 ? std::atoi(argv[2]) : 50;
  info.m_erp = info.m_erp2 = argc > 3 ? std::atof(argv[3]) : 0.2;
  info.m_solverMode = SOLVER_USE_WARMSTARTING | SOLVER_USE_2_FRICTION_DIRECTIONS;
  info.m_splitImpulse = 0;
  info.m_restitutionVelocityThreshold = 0.01;
  gContactBreakingThreshold = 0.001;
  std::vector<btRigidBody*> bodies;
  for (std::size_t i = 0; i < scene.bodies.size(); ++i) {
    const SceneBody& b = scene.bodies[i];
    btCollisionShape* shape;
    btVector3 inertia(0, 0, 0);
    if (b.kind == "plane")
      shape = new btStaticPlaneShape(btVector3(0, 0, 1), 0);
    else if (b.kind == "sphere")
      shape = new btSphereShape(b.size[0]);
    else {
      shape = new btBoxShape(btVector3(b.size[0], b.size[1], b.size[2]) / 2);
      shape->setMargin(btScalar(1e-4));
    }
    if (b.mass > 0) shape->calculateLocalInertia(b.mass, inertia);
    if (b.mass > 0 && b.kind == "box") {  // without the margin
      const double s[3] = {b.size[0] * b.size[0], b.size[1] * b.size[1], b.size[2] * b.size[2]};
      inertia = btVector3(s[1] + s[2], s[0] + s[2], s[0] + s[1]) * (b.mass / 12);
    }
    btRigidBody* body =
        new btRigidBody(btRigidBody::btRigidBodyConstructionInfo(b.mass, nullptr, shape, inertia));
    if (b.kind != "plane") {
      const btTransform at(btQuaternion(b.q[1], b.q[2], b.q[3], b.q[0]),
                           btVector3(b.x[0], b.x[1], b.x[2]));
      body->setWorldTransform(at);
      body->setCenterOfMassTransform(at);
      body->setInterpolationWorldTransform(at);
    }
    body->setLinearVelocity(btVector3(b.v[0], b.v[1], b.v[2]));
    body->setAngularVelocity(btVector3(b.w[0], b.w[1], b.w[2]));
    body->setFriction(b.friction);  // of a pair: the product
    body->setRestitution(std::sqrt(scene.restitution));
    body->setDamping(0, 0);
    body->setActivationState(DISABLE_DEACTIVATION);
    body->setUserIndex(int(i));
    world.addRigidBody(body, 1, scene.collide);
    if (b.mass > 0) bodies.push_back(body);
  }
  for (const SceneJoint& j : scene.joints) {
    const btVector3 at(j.at[0], j.at[1], j.at[2]);
    const auto local = [&](int i) { return bodies[i]->getCenterOfMassTransform().inverse() * at; };
    btTypedConstraint* joint =
        j.a < 0 ? new btPoint2PointConstraint(*bodies[j.b], local(j.b))
                : new btPoint2PointConstraint(*bodies[j.a], *bodies[j.b], local(j.a), local(j.b));
    world.addConstraint(joint, true);
  }
  double seconds = 0;
  std::vector<BodyState> states(bodies.size());
  std::vector<ContactState> contacts;
  for (int k = 0; k < scene.steps; ++k) {
    const double start = cpu();
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      const double* f = scene.bodies[i].force;
      bodies[i]->applyCentralForce(btVector3(f[0], f[1], f[2]));
    }
    world.stepSimulation(scene.step, 0);
    world.clearForces();
    seconds += cpu() - start;
    if ((k + 1) % every != 0) continue;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      const btTransform& t = bodies[i]->getCenterOfMassTransform();
      const btVector3 x = t.getOrigin(), v = bodies[i]->getLinearVelocity(),
                      w = bodies[i]->getAngularVelocity();
      const btQuaternion q = t.getRotation();
      states[i] = {x[0], x[1], x[2], q.w(), q.x(), q.y(), q.z(),
                   v[0], v[1], v[2], w[0],  w[1],  w[2]};
    }
    contacts.clear();
    for (int m = 0; m < dispatcher.getNumManifolds(); ++m) {
      const btPersistentManifold* manifold = dispatcher.getManifoldByIndexInternal(m);
      for (int p = 0; p < manifold->getNumContacts(); ++p) {
        const btManifoldPoint& c = manifold->getContactPoint(p);
        // the normal points from the second body to the first
        const btVector3 n = -c.m_normalWorldOnB,
                        x = (c.getPositionWorldOnA() + c.getPositionWorldOnB()) / 2;
        const btVector3 impulse = c.m_appliedImpulse * n -
                                  c.m_appliedImpulseLateral1 * c.m_lateralFrictionDir1 -
                                  c.m_appliedImpulseLateral2 * c.m_lateralFrictionDir2;
        contacts.push_back({double(manifold->getBody0()->getUserIndex()),
                            double(manifold->getBody1()->getUserIndex()), x[0], x[1], x[2], n[0],
                            n[1], n[2], c.getDistance(), impulse[0], impulse[1], impulse[2]});
      }
    }
    write_states(seconds, states, contacts);
  }
  std::fflush(stdout);
  std::_Exit(0);  // the world's objects end with the process
}
