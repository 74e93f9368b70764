// Contacts packed for vector registers, and the functions that sweep them. No Eigen and no
// library templates here: these types are compiled for several instruction sets.
#pragma once

#include <cstddef>
#include <cstdint>

#include "solvers/batches/simd/step_batches.hpp"
#include "solvers/lanes/lanes.hpp"

// A batch is kLanes contacts, swept at once. No two of them share a body that moves, so their order
// does not matter. Lanes left over hold a contact of line 0 with itself (which has M^-1 = 0) and do
// nothing.
namespace catena {

/// One cache line of velocities. A rigid body takes one line: velocity (v, omega), 1/m
/// and, for contacts that see it as a sphere, 1/I; while contacts across borders are swept both
/// scaled by the body's multiplicity. A body with another number of velocities takes as many
/// lines as hold them. Prescribed bodies have 1/m = 1/I = 0.
struct alignas(64) BodyLine {
  double x[8];
};
inline constexpr int kInverseMass = 6;
inline constexpr int kInverseInertia = 7;

/// World inverse inertia of the rigid body in the line of the same number: xx, xy, xz,
/// yy, yz, zz.
struct alignas(64) InertiaLine {
  double x[8];
};

/// Contacts of bodies that they see as spheres: arms along the normal and isotropic inertia
/// (or immovable), so that D = diag(d_n, d_t, d_t) and the local solve is closed. The
/// impulse p = lambda_n n + lambda_t is held in the world frame: no tangents are needed.
/// 144 bytes a contact.
struct alignas(64) SphereBatch {
  std::int32_t a[kLanes], b[kLanes];    ///< lines of the bodies
  double n[3][kLanes];                  ///< from a to b
  double p[3][kLanes];                  ///< impulse on b, shifted by cohesion, N s
  double arm_a[kLanes], arm_b[kLanes];  ///< r = arm n, m
  double bias[kLanes], friction[kLanes];
  double slip_bias[3][kLanes];                      ///< b of the tangents' rows, as a vector
  double sigma_n[kLanes], sigma_t[kLanes];          ///< Sigma
  double inverse_d_n[kLanes], inverse_d_t[kLanes];  ///< 0: nothing moves
};

/// Contacts of any two rigid bodies: 224 bytes each.
struct alignas(64) GeneralContactBatch {
  std::int32_t a[kLanes], b[kLanes];
  double n[3][kLanes], t[3][kLanes];  ///< normal and first tangent; the second is n x t
  double arm_a[3][kLanes], arm_b[3][kLanes];
  double lambda[3][kLanes];  ///< shifted by cohesion
  double bias[3][kLanes], friction[kLanes];
  double sigma_n[kLanes], sigma_t[kLanes];  ///< Sigma
  double d[6][kLanes];                      ///< D = N_kk: nn, n1, n2, 11, 12, 22
};

/// Contacts of three rows with stored Jacobians for two bodies of six velocities, or one: line 0
/// stands for the other. 424 bytes each.
struct alignas(64) ExplicitContactBatch {
  std::int32_t a[kLanes], b[kLanes];
  double g[2][6][3][kLanes];  ///< G by body, velocity and row
  double lambda[3][kLanes];   ///< shifted by cohesion
  double bias[3][kLanes], sigma[3][kLanes], friction[kLanes];
  double d[6][kLanes];  ///< as in GeneralContactBatch
};

/// What M^-1 of all bodies is: the least form that holds them.
///   diagonal  the diagonal
///   rigid     1/m three times, then a symmetric 3 x 3 I^-1: (1/m, xx, xy, xz, yy, yz, zz)
///   full      rows of six
enum class MassForm : std::uint8_t { diagonal, rigid, full };

/// M^-1 of bodies of six velocities, scaled as in BodyLine: in line l of the body, of full
/// ones row j in line j stride + l.
struct InverseMassLines {
  const BodyLine* line = nullptr;
  std::size_t stride = 0;
  MassForm form = MassForm::diagonal;
};

/// Contacts with rolling or spinning friction between bodies that they see as spheres, at least one
/// of which moves. Immovable bodies are line 0, with arm 0; their velocities are part of the
/// biases. Sliding and rolling are coupled by one number c = arm_a/I_a + arm_b/I_b: with the couple
/// m of the rolling rows on b, r = m x n and the sliding impulse t, D = (d_t c; c d_r) times the
/// unit matrix on (t, r), and the normal and spinning rows stand alone. Impulse p and couple m are
/// held in the world frame, m = n x r + lambda_s n. 256 bytes a contact.
struct alignas(64) RollingBatch {
  std::int32_t a[kLanes], b[kLanes];    ///< lines of the bodies
  double n[3][kLanes];                  ///< from a to b
  double p[3][kLanes];                  ///< impulse on b, shifted by cohesion, N s
  double m[3][kLanes];                  ///< couple on b, N m s
  double arm_a[kLanes], arm_b[kLanes];  ///< r = arm n, m
  double bias[kLanes];
  double friction[kLanes], rolling[kLanes], spinning[kLanes];  ///< 0 for rows that are not there
  double has_rolling[kLanes];                                  ///< 1 or 0
  double slip_bias[3][kLanes];  ///< b of the tangents' rows, as a vector
  double turn_bias[3][kLanes];  ///< b of the rolling and spinning rows, as a vector
  double sigma_n[kLanes], sigma_t[kLanes], sigma_r[kLanes], sigma_s[kLanes];  ///< Sigma
  double inverse_d_n[kLanes], inverse_d_s[kLanes];  ///< inverse_d_s: 0 without spinning friction
  /// (h_t -h_c; -h_c h_r) is the inverse of (d_t c; c d_r); rows and columns of rows without
  /// friction are left out of both and 0 here.
  double h_t[kLanes], h_c[kLanes], h_r[kLanes];
};

/// A batch's impulses on their own; of a RollingBatch two, impulses and couples.
struct alignas(64) BatchImpulses {
  double p[3][kLanes];
};

/// What Anderson's acceleration keeps of a batch; of a RollingBatch two, impulses and couples.
struct alignas(64) BatchHistory {
  double before[3][kLanes];  ///< impulses after the sweep before
  double change[3][kLanes];  ///< by the last sweep
};

/// A mix within a sweep (solvers/batches/anderson.hpp): each contact's update starts from
/// p - gamma (p - before), where the velocities are mixed already.
struct BatchMixing {
  BatchHistory* history = nullptr;  ///< of the first batch
  double gamma = 0.0;
  /// Sums of sigma_n f.f, f.df and df.df, f what the update changes from the mix on; added to.
  double ff = 0.0, fd = 0.0, dd = 0.0;
};

/// One contact of a RollingBatch for the general local solve: D, w and lambda by kind, with vectors
/// in the world frame and rolling as r = m x n: normal, sliding (3), rolling (3), spinning.
struct RollingTurn {
  double normal[3];
  double d[4];      ///< d_n, d_t, d_r, d_s
  double coupling;  ///< c
  double bound[3];  ///< mu, mu_r, mu_s
  double w[8], lambda[8];
};

enum class BatchLaw : std::int8_t { coulomb, ccp, frictionless };

/// Diagonal of N_kk with the true masses, of batches whose bodies are split between subdomains:
/// normal, mean of the tangents, rolling and spinning rows (a RollingBatch's alone).
struct alignas(64) BatchDiagonal {
  double d[4][kLanes];
};

/// Energy errors of contacts, J: the normal and the other components (docs/theory.md, "Errors").
struct BatchErrors {
  double normal = 0.0, friction = 0.0;
  /// At zero impulses: sum of s^2/N_ii, J, s the size of the terms that a row adds up
  /// (ErrorEvaluator::energy_round_off).
  double scale = 0.0;
};

/// What every contact's solve depends on besides its own data.
struct KernelOptions {
  BatchLaw law = BatchLaw::coulomb;
  double omega = 1.0;  ///< relaxation, (0, 2)
  /// Solves one contact of a GeneralContactBatch or ExplicitContactBatch: d as there, w =
  /// w(lambda), z receives the new impulse. Called for all of them, or with `vector_solve` for
  /// those that slide and do not settle in a few Newton steps.
  void (*solve)(const void* context, const double* d, const double* w, const double* lambda,
                double friction, double* z) = nullptr;
  const void* context = nullptr;
  bool vector_solve = false;  ///< laws coulomb and ccp solved exactly, omega = 1
  /// Solves one contact of a RollingBatch exactly and without relaxation: z receives the new
  /// impulses, by kind as there. Called for those that do not settle in a few Newton steps.
  void (*solve_rolling)(const void* context, const RollingTurn& turn, double* z) = nullptr;
};

/// One projected Gauss-Seidel sweep over batches [first, first + n), in order or backward. Both
/// return the sum of |D dlambda|^2, (m/s)^2: what the contacts' own residuals were before their
/// turn. Neither allocates.
struct BatchKernels {
  const char* name;
  /// Laws coulomb, ccp, frictionless:
  ///   u  = v_b - v_a + (arm_b w_b - arm_a w_a) x n,   w = u + Sigma p + bias n + slip_bias
  ///   p <- exact solution of the law for this contact alone
  ///   v_b += (1/m_b) dp,  w_b += (arm_b/I_b) n x dp;  a with the other sign
  /// About 120 flops and 144 bytes a contact, and one line per body.
  /// With `mixing` another 48 bytes a contact are read and written.
  double (*sphere)(SphereBatch* first, std::size_t n, BodyLine* bodies, const KernelOptions& rules,
                   bool forward, BatchMixing* mixing);
  /// The same for general arms and inertias. About 300 flops and 224 bytes a contact, and two
  /// lines per body.
  double (*arm)(GeneralContactBatch* first, std::size_t n, BodyLine* bodies,
                const InertiaLine* inertia, const KernelOptions& rules, bool forward,
                BatchMixing* mixing);
  /// As `sphere`, with rolling and spinning rows besides:
  ///   s  = w_b - w_a + turn_bias,   r rows: s x n + sigma_r r,   spinning row: s.n + sigma_s m.n
  ///   w_b += 1/I_b (arm_b n x dp + dm);  a with the other sign
  /// About 250 flops and 256 bytes a contact, and one line per body. With `mixing` another 96 bytes
  /// a contact are read and written: history[2 i] of batch i's impulses, [2 i + 1] of its couples.
  double (*rolling)(RollingBatch* first, std::size_t n, BodyLine* bodies,
                    const KernelOptions& rules, bool forward, BatchMixing* mixing);
  /// As `arm`, with G as it is stored:
  ///   w = G_a V_a + G_b V_b + Sigma lambda + bias,   V += M^-1 G^T dlambda
  /// About 350 flops and 424 bytes a contact, and two lines per body, seven where masses are full.
  double (*explicit_contact)(ExplicitContactBatch* first, std::size_t n, BodyLine* bodies,
                             const InverseMassLines& masses, const KernelOptions& rules,
                             bool forward, BatchMixing* mixing);
  /// Energy errors of the batches' impulses at the bodies' velocities; `diagonal` (null: the
  /// batches' own) of each batch; `at_zero`: of zero impulses in their place, where no contact has
  /// cohesion. Nothing is written: some 100 flops a contact and the traffic of a sweep without its
  /// stores.
  BatchErrors (*sphere_errors)(const SphereBatch* first, std::size_t n, const BodyLine* bodies,
                               BatchLaw law, const BatchDiagonal* diagonal, bool at_zero);
  BatchErrors (*arm_errors)(const GeneralContactBatch* first, std::size_t n, const BodyLine* bodies,
                            BatchLaw law, const BatchDiagonal* diagonal, bool at_zero);
  BatchErrors (*rolling_errors)(const RollingBatch* first, std::size_t n, const BodyLine* bodies,
                                BatchLaw law, const BatchDiagonal* diagonal, bool at_zero);
  /// Adds M^-1 G^T p of the batches' impulses to the bodies' velocities.
  void (*sphere_apply)(const SphereBatch* first, std::size_t n, BodyLine* bodies);
  void (*arm_apply)(const GeneralContactBatch* first, std::size_t n, BodyLine* bodies,
                    const InertiaLine* inertia);
  void (*rolling_apply)(const RollingBatch* first, std::size_t n, BodyLine* bodies);
  /// One step of a first-order method from the iterates of the same batches, whose own impulses are
  /// not read. Of StepSums::curved only the compliances' part is given; the rest is what the
  /// bodies' velocities say. One pass: x_k+1 and the shifts are written, nothing else is kept per
  /// row.
  StepSums (*sphere_steps)(const SphereBatch* first, StepBatch* iterates, std::size_t n,
                           const StepPass& pass);  ///< not for `box`
  StepSums (*arm_steps)(const GeneralContactBatch* first, StepBatch* iterates, std::size_t n,
                        const StepPass& pass);
  StepSums (*explicit_steps)(const ExplicitContactBatch* first, StepBatch* iterates, std::size_t n,
                             const StepPass& pass);
};

/// The same arithmetic in the same order for every path, one lane at a time, 4 or 8: all
/// results are equal to the last bit where the compiler has fused multiply-add for the plain
/// path (as with -march=native on a CPU that has it), else to round-off.
BatchKernels plain_kernels();
BatchKernels avx2_kernels();    ///< needs AVX2 and FMA
BatchKernels avx512_kernels();  ///< needs AVX-512F and DQ

}  // namespace catena
