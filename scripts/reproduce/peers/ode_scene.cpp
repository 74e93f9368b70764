// Runs a scene with ODE: ode_scene EVERY quick|step SWEEPS ERP < SCENE > STATES
#include <ode/ode.h>

#include "scene.hpp"

namespace {
struct Touch {
  dJointID joint;
  dContactGeom geom;
  dJointFeedback feedback;
  long a, b;
};
Scene scene;
dWorldID world;
dJointGroupID group;
std::vector<Touch*> touches;

void collide(void*, dGeomID g, dGeomID h) {
  const dBodyID p = dGeomGetBody(g), q = dGeomGetBody(h);
  if (!p && !q) return;
  if (p && q && dAreConnected(p, q)) return;
  dContact c[16];
  const int n = dCollide(g, h, 16, &c[0].geom, sizeof(dContact));
  const long a = long(dGeomGetData(g)), b = long(dGeomGetData(h));
  for (int i = 0; i < n; ++i) {
    c[i].surface.mode = dContactApprox1 | (scene.restitution > 0 ? dContactBounce : 0);
    c[i].surface.mu = scene.bodies[a].friction * scene.bodies[b].friction;
    c[i].surface.bounce = scene.restitution;
    c[i].surface.bounce_vel = 0.01;
    Touch* t = new Touch{dJointCreateContact(world, group, &c[i]), c[i].geom, {}, a, b};
    dJointAttach(t->joint, p, q);
    dJointSetFeedback(t->joint, &t->feedback);
    touches.push_back(t);
  }
}
}  // namespace

int main(int argc, char** argv) {
  const int every = argc > 1 ? std::atoi(argv[1]) : 1;
  const std::string method = argc > 2 ? argv[2] : "quick";
  scene = read_scene();
  dInitODE2(0);
  world = dWorldCreate();
  group = dJointGroupCreate(0);
  const dSpaceID space = dHashSpaceCreate(nullptr);
  dWorldSetGravity(world, 0, 0, -scene.gravity);
  dWorldSetQuickStepNumIterations(world, argc > 3 ? std::atoi(argv[3]) : 50);
  dWorldSetERP(world, argc > 4 ? std::atof(argv[4]) : 0.2);
  dWorldSetCFM(world, method == "step" ? 1e-10 : 0);
  std::vector<dBodyID> bodies;
  for (std::size_t i = 0; i < scene.bodies.size(); ++i) {
    const SceneBody& b = scene.bodies[i];
    const dGeomID g = b.kind == "plane"    ? dCreatePlane(space, 0, 0, 1, 0)
                      : b.kind == "sphere" ? dCreateSphere(space, b.size[0])
                                           : dCreateBox(space, b.size[0], b.size[1], b.size[2]);
    dGeomSetData(g, reinterpret_cast<void*>(i));
    if (b.mass > 0) {
      const dBodyID body = dBodyCreate(world);
      dMass m;
      if (b.kind == "sphere")
        dMassSetSphereTotal(&m, b.mass, b.size[0]);
      else
        dMassSetBoxTotal(&m, b.mass, b.size[0], b.size[1], b.size[2]);
      dBodySetMass(body, &m);
      dBodySetPosition(body, b.x[0], b.x[1], b.x[2]);
      dBodySetQuaternion(body, b.q);
      dBodySetLinearVel(body, b.v[0], b.v[1], b.v[2]);
      dBodySetAngularVel(body, b.w[0], b.w[1], b.w[2]);
      dGeomSetBody(g, body);
      bodies.push_back(body);
    } else if (b.kind != "plane") {
      dGeomSetPosition(g, b.x[0], b.x[1], b.x[2]);
      dGeomSetQuaternion(g, b.q);
    }
  }
  for (const SceneJoint& j : scene.joints) {
    const dJointID ball = dJointCreateBall(world, nullptr);
    dJointAttach(ball, j.a < 0 ? nullptr : bodies[j.a], j.b < 0 ? nullptr : bodies[j.b]);
    dJointSetBallAnchor(ball, j.at[0], j.at[1], j.at[2]);
  }
  double seconds = 0;
  std::vector<BodyState> states(bodies.size());
  std::vector<ContactState> contacts;
  for (int k = 0; k < scene.steps; ++k) {
    const double start = cpu();
    dJointGroupEmpty(group);
    for (Touch* t : touches) delete t;
    touches.clear();
    if (scene.collide) dSpaceCollide(space, nullptr, &collide);
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      const double* f = scene.bodies[i].force;
      dBodyAddForce(bodies[i], f[0], f[1], f[2]);
    }
    method == "step" ? dWorldStep(world, scene.step) : dWorldQuickStep(world, scene.step);
    seconds += cpu() - start;
    if ((k + 1) % every != 0) continue;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      const dReal *x = dBodyGetPosition(bodies[i]), *q = dBodyGetQuaternion(bodies[i]),
                  *v = dBodyGetLinearVel(bodies[i]), *w = dBodyGetAngularVel(bodies[i]);
      states[i] = {x[0], x[1], x[2], q[0], q[1], q[2], q[3], v[0], v[1], v[2], w[0], w[1], w[2]};
    }
    contacts.clear();
    for (const Touch* t : touches) {
      const dReal *x = t->geom.pos,
                  *n = t->geom.normal;  // the normal points into the first geometry
      const bool of_first = scene.bodies[t->a].mass > 0;
      const dReal* f = of_first ? t->feedback.f1 : t->feedback.f2;
      const double s = of_first ? -scene.step : scene.step;
      contacts.push_back({double(t->a), double(t->b), x[0], x[1], x[2], -n[0], -n[1], -n[2],
                          -t->geom.depth, s * f[0], s * f[1], s * f[2]});
    }
    write_states(seconds, states, contacts);
  }
}
