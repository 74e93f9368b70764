// A few bodies in a hand-made model, stepped on any number of ranks.
#pragma once

#include <memory>
#include <stdexcept>
#include <vector>

#include "catena/partition/balance.hpp"
#include "catena/solvers/solver_factory.hpp"
#include "catena/stepper/semi_implicit_stepper.hpp"

namespace catena::test {

inline constexpr double kStep = 2e-3;
inline constexpr double kGravity = 9.81;

inline BodyRecord ball(GlobalId id, double radius, const Vec3& p, const Vec3& v) {
  BodyRecord record;
  record.constants.id = id;
  record.constants.shape.type = ShapeType::sphere;
  record.constants.shape.size.x() = radius;
  record.constants.mass = 1.0 + 0.1 * static_cast<double>(id);
  record.constants.inertia = Vec3::Constant(0.4 * record.constants.mass * radius * radius);
  record.state.pose.p = p;
  record.state.twist.v = v;
  return record;
}

inline BodyRecord plane(GlobalId id, const Vec3& p, const Vec3& normal) {
  BodyRecord record;
  record.constants.id = id;
  record.constants.kind = BodyKind::fixed;
  record.constants.shape.type = ShapeType::plane;
  record.state.pose.p = p;
  record.state.pose.q = Quat::FromTwoVectors(Vec3::UnitZ(), normal);
  return record;
}

inline Model model_of(const Material& material) {
  Model model;
  model.materials = MaterialTable({material});
  return model;
}

/// A run of hand-made bodies over all ranks.
class HandRun {
 public:
  HandRun(const Communicator& comm, const Model& model, const std::vector<BodyRecord>& scene,
          int sweeps = 20000)
      : model_(model), comm_(comm) {
    for (std::size_t i = 0; i < scene.size(); ++i) {
      if (static_cast<int>(i) % comm.size() != comm.rank()) continue;
      bodies.constants.push_back(scene[i].constants);
      state.body.push_back(scene[i].state);
      state.subdomain.push_back(comm.rank());
    }
    migrate(comm, bodies, state, partition_by_curve(comm, bodies, state, comm.size()), comm.size());
    const EnergyMomentum start = total_energy_and_momentum(comm, model_, bodies, state);
    state.audit[EnergyTerm::initial_energy] = start.kinetic + start.potential;
    SolverSettings settings;
    settings.stop.max_iterations = sweeps;
    settings.stop.relative_tolerance = 1e-14;
    settings.stop.absolute_tolerance = 1e-24;
    stepper_ = std::make_unique<SemiImplicitStepper>(
        comm, model_, StepperSettings{StepperKind::spook, kStep, true}, make_solver(settings));
  }

  const StepReport& steps(int n) {
    for (int i = 0; i < n; ++i) stepper_->step(bodies, state);
    return stepper_->report();
  }
  const SemiImplicitStepper& stepper() const { return *stepper_; }
  /// On one rank.
  const BodyMotionState& body(GlobalId id) const {
    for (std::size_t i = 0; i < state.body.size(); ++i) {
      if (bodies.constants[i].id == id) return state.body[i];
    }
    throw std::logic_error("no such body");
  }

  Bodies bodies;
  State state;

 private:
  Model model_;
  Communicator comm_;
  std::unique_ptr<SemiImplicitStepper> stepper_;
};

/// A box of 2 x 2 m without gravity.
inline Model periodic_model() {
  Model model = model_of({.name = "m", .friction = 0.5});
  model.gravity.setZero();
  model.periodic.active = {true, true};
  model.periodic.lo = {0.0, -1.0};
  model.periodic.hi = {2.0, 1.0};
  return model;
}

}  // namespace catena::test
