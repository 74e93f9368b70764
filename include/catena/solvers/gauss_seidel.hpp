// Block projected Gauss-Seidel/SOR on velocities; over subdomains the
// block-Jacobi/Gauss-Seidel hybrid with mass splitting.
#pragma once

#include <memory>

#include "catena/solvers/joint_solver_settings.hpp"
#include "catena/solvers/solver.hpp"

namespace catena {

class HybridEngine;

/// How one contact is solved while the others are held fixed; w and D = N_kk are its own:
///   exact    the law met to round-off (coulomb, ccp)
///   cone     P_K(lambda - omega w/a), a the largest eigenvalue of D; law ccp only
///   project  [L11] (18)-(19), sliding  (20)-(21), scalar  (22): approximate where D couples
///            normal and tangents (anything but spheres); not for law ccp
/// Laws box and frictionless are scalar rows whatever is set here (cone is refused).
enum class LocalSolve { exact, cone, project, sliding, scalar };
/// velocity: [L11] Algorithms 2.2 and 3.1; residual: Algorithm 2.1, on one subdomain only;
/// acceleration: [ODE] quickstep's a_c = M^-1 G^T lambda. The iterates are the same to
/// round-off. An assembled operator has rows only and takes `velocity`.
enum class Formulation { velocity, residual, acceleration };
/// symmetric: forward and backward in turns, each counting as one sweep.
enum class SweepOrder { forward, backward, symmetric };

/// Instruction set of the sweeps: the widest that the CPU has, or one by name. The results are the
/// same: to the last bit in a build for the CPU (-march=native, the default), else to round-off.
enum class KernelPath { automatic, plain, avx2, avx512 };

/// Keys of `solver:` beside those that all methods share.
struct GaussSeidelSettings {
  LocalSolve local = LocalSolve::exact;
  Formulation formulation = Formulation::velocity;
  SweepOrder order = SweepOrder::forward;
  double relaxation = 1.0;  ///< omega in (0, 2)
  KernelPath kernels = KernelPath::automatic;
  /// Anderson's acceleration where contacts are compliant; not for order symmetric, formulations
  /// other than velocity, and where joints close loops.
  bool accelerated = true;
};
/// The keys of `solver:` for this method.
void describe(SettingsVisitor& visit, GaussSeidelSettings& s);

/// z of one contact alone that is at `w` without impulse, by Coulomb's law: w + D z and z satisfy
/// it. `d`: D = N_kk, order n, t1, t2.
Vec3 solve_one_contact(const Mat3& d, const Vec3& w, double friction);

/// Block projected Gauss-Seidel/SOR ([L11], [ODE]; docs/theory.md). solve():
///
/// - The first guess is made admissible (projected on its cone or bounds).
/// - Within a subdomain blocks go in a fixed order: rigid contacts by their smaller local body, in
///   batches of contacts that share no body, those of spheres first; then general blocks in the
///   problem's order; an assembled operator in its own.
/// - Blocks that touch a body of another subdomain come first: a body that such blocks of n_b
///   subdomains touch is copied with n_b M^-1 for them, and its owner adds the copies' changes with
///   the true mass, in subdomain order. All other blocks are swept after them, with true masses.
///   For law ccp (exact, cone) and frictionless the objective falls in every sweep, whatever the
///   split. Two messages per neighbour and sweep, hidden behind blocks that touch no shared body.
/// - An assembled operator on several ranks: block-Jacobi between them with a safe
///   diagonal; the report's reason says so.
/// - The evaluation of errors is begun after 1, 2, 4, ... sweeps, then every check_interval sweeps,
///   and judged after the next sweep; the iterate returned is the one that was judged. Where sweeps
///   are accelerated up to three evaluations in a row are left out while the sweeps' change
///   foretells that they would fail, and one is made early where it would do. The time limit is
///   checked there, and between them where they lie half a second apart.
/// - The same input and rank count give the same bits (unless the time limit decides).
///
/// stop.max_iterations counts sweeps. Throws Error(bad_input) on every rank for settings that do
/// not fit the problem.
///
/// `engine`: where it packs problems; null: in memory of its own, of which it gives large lists
/// back after each solve. Otherwise that is up to the owner, and the engine holds what was packed.
std::unique_ptr<Solver> make_gauss_seidel(const StopRule& stop,
                                          const JointSolverSettings& joints = {},
                                          const GaussSeidelSettings& settings = {},
                                          HybridEngine* engine = nullptr);

}  // namespace catena
