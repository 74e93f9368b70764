// A scene built in C++: a ball of 1 kg is dropped on a floor and comes to rest on it.
#include <cmath>
#include <cstdio>

#include "catena/base/version.hpp"
#include "catena/comm/communicator.hpp"
#include "catena/solvers/gauss_seidel.hpp"
#include "catena/stepper/semi_implicit_stepper.hpp"

int main() {
  using namespace catena;
  const Communicator comm = Communicator::self();

  Model model;
  model.materials = MaterialTable({{.name = "steel", .friction = 0.3}});
  BodyRecord floor;
  floor.constants.id = 0;
  floor.constants.kind = BodyKind::fixed;
  floor.constants.shape.type = ShapeType::plane;
  model.unbounded.push_back(floor);

  const double radius = 0.1;
  BodyConstants ball;
  ball.id = 1;
  ball.shape = {ShapeType::sphere, Vec3(radius, radius, radius)};
  ball.mass = 1.0;
  ball.inertia = inertia_per_mass(ball.shape);
  BodyMotionState start;
  start.pose.p = Vec3(0.0, 0.0, 0.15);

  Bodies bodies;
  bodies.constants.push_back(ball);
  State state;
  state.body.push_back(start);
  state.subdomain.push_back(0);

  SemiImplicitStepper stepper(comm, model, StepperSettings{.step = 1e-3}, make_gauss_seidel({}));
  for (int i = 0; i < 1000; ++i) stepper.step(bodies, state);

  const double height = state.body[0].pose.p.z();
  std::printf("catena %s: the ball rests at z = %.6f m\n", std::string(version()).c_str(), height);
  // at rest on the floor, but for the margin in which contacts act
  return std::abs(height - radius) < 1e-3 && state.body[0].twist.v.norm() < 1e-6 ? 0 : 1;
}
