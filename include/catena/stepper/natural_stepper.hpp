// Smooth mechanisms in natural coordinates and modified state space [MV].
#pragma once

#include <memory>

#include "catena/base/settings.hpp"
#include "catena/solvers/joint_solver_settings.hpp"
#include "catena/stepper/time_stepper.hpp"

namespace catena {

/// Explicit Runge-Kutta methods: the classical one of order 4, and Dormand and Prince's 8(5,3) with
/// error control (Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, 1993).
enum class NaturalScheme { rk4, dop853 };

/// `time.natural:`
struct NaturalSettings {
  NaturalScheme scheme = NaturalScheme::rk4;
  double baumgarte = kNone;           ///< alpha, 1/s; kNone: 1, at most 1/step
  double relative_tolerance = 1e-10;  ///< of dop853's sub-steps
  double absolute_tolerance = 1e-12;  ///< m, m/s; of axes 1, 1/s
};
/// The keys of `time.natural:`.
void describe(SettingsVisitor& visit, NaturalSettings& s);

/// alpha h from which RK4 of f' = -alpha f grows.
inline constexpr double kBaumgarteBound = 2.78;

/// Bodies by centre of mass and principal axis vectors s, with the modified momentum p*:
///
///   M s' + J^T mu = p*,  J s' = -alpha f - df/dt,  p*' = F + J'^T mu      [MV] (1)-(3)
///
/// so that mu' = lambda of M s'' = F - J^T lambda. Internal constraints are eliminated body by
/// body, which leaves C T (T^T M T)^-1 T^T C^T mu = alpha f + ... on the joints' rows alone, with T
/// the rigid motions: the joint system of the other steppers, solved by its chains, trees and
/// loops. Each (sub-)step starts from p* = M s', mu = 0, at orthonormal axes (docs/theory.md,
/// "Natural coordinates"). Throws Error where a contact is found.
class NaturalStepper : public TimeStepper {
 public:
  /// Collective. `step`: h, s. References must outlive the stepper, and so must `watch`, at which
  /// sub-steps look; it may be null.
  NaturalStepper(const Communicator& comm, const Model& model, double step,
                 const NaturalSettings& settings, const JointSolverSettings& joints,
                 const Watch* watch = nullptr);
  ~NaturalStepper() override;

  void check_start(const Bodies& bodies, const State& state) override;
  const StepReport& step(const Bodies& bodies, State& state) override;
  const StepReport& report() const override;
  const ContactSet& find_contacts(const Bodies& bodies, const State& state) override;
  const LocalBodies& local_bodies() const override;
  std::size_t n_contacts() const override { return 0; }
  ContactRecord contact(std::size_t k) const override;
  ContactArms contact_arms(std::size_t k) const override;
  JointReaction joint_reaction(std::size_t j) const override;
  std::array<double, 3> joint_coordinates(const Bodies& bodies, const State& state,
                                          std::size_t j) const override;
  std::array<double, 3> joint_rates(const Bodies& bodies, const State& state,
                                    std::size_t j) const override;
  double joint_energy(const Bodies& bodies, const State& state, std::size_t j) const override;
  const ConstraintProblem& problem() const override;
  std::span<const double> impulses() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace catena
