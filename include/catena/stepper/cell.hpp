// Periodic cells that deform: their stress, and the rates that it asks for.
#pragma once

#include <array>

#include "catena/comm/communicator.hpp"
#include "catena/constraints/constraint_problem.hpp"
#include "catena/math/sum.hpp"
#include "catena/model/state.hpp"

namespace catena {

/// Mean stress of a periodic cell of volume V in a step, Pa, compression positive: xx, yy, zz, xy,
/// yz, zx. In two dimensions that of a slice of 1 m.
///
///   contacts  1/V sum over contacts of sym(f l^T): f on b, l from the centre of a to that of b
///             (J. Christoffersen, M. M. Mehrabadi, S. Nemat-Nasser 1981; Love and Weber)
///   kinetic   1/V sum over bodies of m c c^T, c = v - L x without its mean
struct CellStress {
  std::array<double, 6> contacts{}, kinetic{};
  /// What a rate of strain of 1/s along x, y, z adds in a step to the stress along itself where
  /// bodies move affinely, Pa s: the loaded contacts' 1/(h V) l_k^2 (n_k^2/Sigma_n + (1 -
  /// n_k^2)/Sigma_t), with 3 h times the kinetic stress of a gas. Rearranging bodies give less.
  std::array<double, 3> response{};
  /// The part of it that stays when the rate is zero again: h/V l_k^2 (n_k^2/eps_n + (1 -
  /// n_k^2)/eps_t) and that of the gas. The rest damps.
  std::array<double, 3> elastic{};
  double total(std::size_t k) const { return contacts[k] + kinetic[k]; }
};

/// The sums from which a cell's stress is made.
class CellSums {
 public:
  explicit CellSums(bool exact) { sums_.fill(Sum(exact)); }

  /// A loaded contact; `branch` from a's centre to b's, m, and `impulse` on b, N s, in the world
  /// frame. `compliance`: eps of normal and tangents, m/N; `diagonal`: in place of compliances of
  /// rows that are 0, 1/kg.
  void add_contact(const RigidContact& rows, const Vec3& branch, const Vec3& impulse,
                   const std::array<double, 2>& compliance, double diagonal, double h);
  /// A dynamic body with the velocity c + const.
  void add_body(double mass, const Vec3& c);
  /// Collective.
  CellStress stress(const Communicator& comm, double volume, double h, bool exact) const;

 private:
  enum Place : std::size_t {
    kForces = 0,
    kResponse = 6,
    kElastic = 9,
    kSquares = 12,
    kMomentum = 18,
    kMass = 21
  };
  std::array<Sum, 22> sums_;
};

/// Product of the lengths of a periodic box, m^3; of one without sides along y, as in two
/// dimensions, m^2.
double cell_volume(const PeriodicBox& box);

/// Rates of strain along x, y and z in the step of h s from time t, 1/s, of a cell whose stress was
/// measured in the step before with the rates `before`: of `rate` the given ones, of `stress` by
/// the servo
///
///   response rate = (response - elastic) before + gain (stress - target),
///
/// between +- largest_rate, which takes back the part `gain` of the error in every step: the stress
/// falls by elastic times rate, and by what damps times the change of the rate. Throws Error, with
/// the drive's place, where a side would pass through its opposite.
std::array<double, 3> cell_rates(const std::array<CellDrive, 3>& drives, const CellStress& stress,
                                 const std::array<double, 3>& before, double t, double h);

/// Puts the cell of the case into a state at its start, and gives owned bodies the velocity that
/// goes with the rates of strain along x, y and z that are prescribed. `step`: h, s.
void start_cell(const Model& model, const Bodies& bodies, double step, State& state);
/// The same for bodies of an earlier run whose cell `before` is: its sides and offset stay. `rest`:
/// their velocities are zero, so that those of its rates are not in them.
void take_up_cell(const Model& model, const Bodies& bodies, const PeriodicBox& before, bool rest,
                  double step, State& state);

}  // namespace catena
