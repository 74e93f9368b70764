// Runs a scene of joints alone with Simbody: simbody_scene EVERY < SCENE > STATES
// The joints of a spanning tree are ball mobilizers (coordinates in which they cannot open), the
// others constraints; semi-explicit Euler with the scene's step. No contacts.
#include <Simbody.h>

#include "scene.hpp"

int main(int argc, char** argv) {
  using namespace SimTK;
  const int every = argc > 1 ? std::atoi(argv[1]) : 1;
  const Scene scene = read_scene();
  MultibodySystem system;
  SimbodyMatterSubsystem matter(system);
  GeneralForceSubsystem forces(system);
  Force::UniformGravity(forces, matter, Vec3(0, 0, -scene.gravity));
  std::vector<MobilizedBody> bodies(scene.moving);
  std::vector<bool> placed(scene.moving, false), used(scene.joints.size(), false);
  std::vector<std::vector<std::size_t>> of(scene.moving);
  for (const SceneBody& b : scene.bodies)
    if (b.q[0] != 1) std::cerr << "bodies must not be turned at the start\n", std::exit(1);
  const auto place = [&](int i) {
    return Vec3(scene.bodies[i].x[0], scene.bodies[i].x[1], scene.bodies[i].x[2]);
  };
  const auto rigid = [&](int i) {
    const SceneBody& b = scene.bodies[i];
    const double* s = b.size;
    const double m = b.mass / 12;
    return Body::Rigid(
        MassProperties(b.mass, Vec3(0),
                       Inertia(m * (s[1] * s[1] + s[2] * s[2]), m * (s[0] * s[0] + s[2] * s[2]),
                               m * (s[0] * s[0] + s[1] * s[1]))));
  };
  const auto at = [&](std::size_t k) {
    return Vec3(scene.joints[k].at[0], scene.joints[k].at[1], scene.joints[k].at[2]);
  };
  std::vector<int> queue;
  const auto hang = [&](int parent, int child, std::size_t k) {
    const Vec3 in_parent = parent < 0 ? at(k) : at(k) - place(parent);
    MobilizedBody& base =
        parent < 0 ? static_cast<MobilizedBody&>(matter.updGround()) : bodies[parent];
    bodies[child] = MobilizedBody::Ball(base, Transform(in_parent), rigid(child),
                                        Transform(at(k) - place(child)));
    placed[child] = used[k] = true;
    queue.push_back(child);
  };
  for (std::size_t k = 0; k < scene.joints.size(); ++k) {
    const SceneJoint& j = scene.joints[k];
    if (j.a >= 0) of[j.a].push_back(k);
    of[j.b].push_back(k);
    if (j.a < 0 && !placed[j.b]) hang(-1, j.b, k);
  }
  for (std::size_t q = 0; q < queue.size(); ++q)
    for (const std::size_t k : of[queue[q]]) {
      const SceneJoint& j = scene.joints[k];
      const int other = j.a == queue[q] ? j.b : j.a;
      if (other >= 0 && !used[k] && !placed[other]) hang(queue[q], other, k);
    }
  for (std::size_t k = 0; k < scene.joints.size(); ++k) {
    const SceneJoint& j = scene.joints[k];
    if (used[k]) continue;
    MobilizedBody& base = j.a < 0 ? static_cast<MobilizedBody&>(matter.updGround()) : bodies[j.a];
    Constraint::Ball(base, j.a < 0 ? at(k) : Vec3(at(k) - place(j.a)), bodies[j.b],
                     at(k) - place(j.b));
  }
  system.realizeTopology();
  State state = system.getDefaultState();
  system.realizeModel(state);
  SemiExplicitEulerIntegrator integrator(system, scene.step);
  TimeStepper stepper(system, integrator);
  stepper.initialize(state);
  std::vector<BodyState> states(scene.moving);
  double seconds = 0;
  for (int k = 0; k < scene.steps; ++k) {
    const double start = cpu();
    stepper.stepTo((k + 1) * scene.step);
    seconds += cpu() - start;
    if ((k + 1) % every != 0) continue;
    const State& now = integrator.getState();
    system.realize(now, Stage::Velocity);
    for (int i = 0; i < scene.moving; ++i) {
      const Vec3 x = bodies[i].getBodyOriginLocation(now), v = bodies[i].getBodyOriginVelocity(now),
                 w = bodies[i].getBodyAngularVelocity(now);
      const Vec4 q = bodies[i].getBodyRotation(now).convertRotationToQuaternion().asVec4();
      states[i] = {x[0], x[1], x[2], q[0], q[1], q[2], q[3], v[0], v[1], v[2], w[0], w[1], w[2]};
    }
    write_states(seconds, states, {});
  }
}
