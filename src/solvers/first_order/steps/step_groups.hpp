// Contacts in groups of eight, and the pass over them that makes one step of a first-order method.
// No Eigen and no library templates here: these types are compiled for several instruction sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "solvers/lanes/lanes.hpp"

namespace catena::first_order {

/// Rows of a group: three per lane. All of a group's rows are scaled, x = S (lambda + c n) and g =
/// S^-1 w. Lanes without a contact have zeros, and bodies behind the problem's velocities.
inline constexpr std::size_t kGroupRows = 3 * kLanes;

/// x of three iterates, which change places.
using IterateRows = double[3][3][kLanes];

/// Contacts of bodies that they see as spheres (solvers/sphere_contacts.hpp): x is held in the
/// world frame, as normal part times n plus tangential part. 200 bytes a contact.
struct alignas(64) SphereGroup {
  std::int32_t a[kLanes], b[kLanes];  ///< first velocity of each body
  double n[3][kLanes];
  double arm_a[kLanes], arm_b[kLanes];
  double by_normal[kLanes], by_tangent[kLanes];  ///< 1/s
  double mu[kLanes];                             ///< of the scaled cone
  double offset_n[kLanes], offset_t[3][kLanes];  ///< w = G V + offset + sigma x
  double sigma_n[kLanes], sigma_t[kLanes];
  double shift[kLanes];  ///< mu |w_t| as it was renewed last (law coulomb)
  IterateRows x;
};

/// Contacts of any two rigid bodies. 248 bytes each.
struct alignas(64) ContactGroup {
  std::int32_t a[kLanes], b[kLanes];
  double n[3][kLanes], t[3][kLanes];
  double arm_a[3][kLanes], arm_b[3][kLanes];
  double by_normal[kLanes], by_tangent[kLanes];
  double mu[kLanes];
  double offset[3][kLanes], sigma_n[kLanes], sigma_t[kLanes];
  double shift[kLanes];
  IterateRows x;
};

/// Contacts with stored Jacobians, which are scaled, for two bodies of six velocities or one. 432
/// bytes each.
struct alignas(64) RowGroup {
  std::int32_t a[kLanes], b[kLanes];
  double g[2][6][3][kLanes];  ///< by body, velocity and row
  double mu[kLanes];
  double offset[3][kLanes], sigma[3][kLanes];
  double shift[kLanes];
  IterateRows x;
};

/// Which of three vectors is x_k, x_k-1 and x_k+1.
struct Slots {
  int now = 0, before = 1, next = 2;

  void accept() {
    const int free = before;
    before = now;
    now = next;
    next = free;
  }
};

/// One projected step:
///
///   y = keep x_k + take x_k-1,   x_k+1 = P(y - (g(y) + shift)/L)
///
/// renew: first the shift mu |g_t(y)| of w_n is made anew (law coulomb).
struct StepWeights {
  double keep = 1.0, take = 0.0;
  double inverse_l = 1.0;
  bool renew = false;
};

/// Sums over rows of |x_k+1 - y|^2, (g(y) + shift).(x_k+1 - x_k), |x_k+1|^2 and
/// (x_k+1 - y).N (x_k+1 - y).
struct StepSums {
  double moved = 0.0, along = 0.0, size = 0.0, curved = 0.0;

  void add(const StepSums& other) {
    moved += other.moved;
    along += other.along;
    size += other.size;
    curved += other.curved;
  }
};

/// What a pass over groups reads and writes besides them.
struct StepPass {
  const double* velocities = nullptr;  ///< V at y
  double* forces = nullptr;            ///< G^T S^-1 x_k+1 is added
  StepWeights weights;
  Slots slots;
  bool box = false;  ///< |x_t| <= mu x_n holds for each tangent
};

/// A step of the groups [first, first + n). Of `curved` only the compliances' part is given; the
/// rest is what the bodies' velocities say. One pass: x_k+1 and the shifts are written, nothing
/// else is kept per row.
struct StepKernels {
  const char* name;
  StepSums (*spheres)(SphereGroup* first, std::size_t n,
                      const StepPass& pass);  ///< not for `box`
  StepSums (*contacts)(ContactGroup* first, std::size_t n, const StepPass& pass);
  StepSums (*rows)(RowGroup* first, std::size_t n, const StepPass& pass);
};

/// The same arithmetic in the same order for every path, 1, 4 or 8 lanes at a time, as
/// batches/simd/contact_batches.hpp says. Without a name: the build has no such kernels.
StepKernels plain_step_kernels();
StepKernels avx2_step_kernels();
StepKernels avx512_step_kernels();
/// All that this CPU can run, the widest last.
std::vector<StepKernels> available_step_kernels();

}  // namespace catena::first_order
