// Where a run's energy came from and went: the terms of the energy audit.
#pragma once

#include <array>

#include "catena/base/enum_array.hpp"

namespace catena {

/// Where energy comes from and goes in a step; kEnergyTerms has names and units.
enum class EnergyTerm {
  dissipation_friction,
  dissipation_impact,
  recovery_work,
  external_work,    ///< by kinematic bodies and forces, and where a periodic box puts a body back
  initial_energy,   ///< kinetic + potential at the start
  cohesion_work,    ///< by the tension of cohesive contacts
  flow_energy,      ///< of bodies inserted, less that of bodies removed
  joint_work,       ///< by bilateral rows of joints, springs included: stored, damped, lost
  motor_work,       ///< by motors of joints
  projection_work,  ///< potential energy gained where positions are projected
  elastic_energy,   ///< stored in contacts now, not a sum
  /// Of that, what a step's straight motion does not explain; where a step undoes overlaps whole,
  /// without what contacts lose of it again in the same step (docs/theory.md, "The audit").
  elastic_jump
};

/// How a term enters the balance: total energy = sum of sign * term + residual.
struct EnergyTermEntry {
  EnergyTerm term;
  const char* name;  ///< in series and checkpoints
  double sign;
  bool in_steps;  ///< time steps add to it (elastic_energy: set it), each rank its part
};

/// In the order of checkpoints, and of sums.
inline constexpr std::array<EnergyTermEntry, 12> kEnergyTerms = {{
    {EnergyTerm::dissipation_friction, "dissipation_friction", -1.0, true},
    {EnergyTerm::dissipation_impact, "dissipation_impact", -1.0, true},
    {EnergyTerm::recovery_work, "recovery_work", 1.0, true},
    {EnergyTerm::external_work, "external_work", 1.0, true},
    {EnergyTerm::initial_energy, "initial_energy", 1.0, false},
    {EnergyTerm::cohesion_work, "cohesion_work", 1.0, true},
    {EnergyTerm::flow_energy, "flow_energy", 1.0, false},
    {EnergyTerm::joint_work, "joint_work", 1.0, true},
    {EnergyTerm::motor_work, "motor_work", 1.0, true},
    {EnergyTerm::projection_work, "projection_work", 1.0, true},
    {EnergyTerm::elastic_energy, "elastic_energy", -1.0, true},
    {EnergyTerm::elastic_jump, "elastic_jump", 1.0, true},
}};

/// A number for each term.
template <class Number>
using EnergyTerms = EnumArray<EnergyTerm, Number, kEnergyTerms.size()>;

/// Sums since the start over all ranks, J; the same on every rank.
using AuditSums = EnergyTerms<double>;

}  // namespace catena
