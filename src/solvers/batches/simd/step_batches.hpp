// What one step of a first-order method keeps of a batch, and what it reads and sums up. No Eigen
// and no library templates here, as in contact_batches.hpp.
#pragma once

#include "solvers/lanes/lanes.hpp"

namespace catena {

struct BodyLine;

/// Impulses of three iterates of a batch's contacts, as the batch holds its own (shifted by
/// cohesion), and their metric diag(s_n^2, s_t^2, s_t^2). 96 bytes a contact.
struct alignas(64) StepBatch {
  double h_n[kLanes], h_t[kLanes];  ///< 1/s^2; 0: nothing moves it
  double shift[kLanes];             ///< mu |w_t| as it was renewed last (law coulomb)
  double x[3][3][kLanes];           ///< of iterates, which change places
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

/// y = keep x_k + take x_k-1.
struct MomentumPoint {
  double keep = 1.0, take = 0.0;
  bool operator==(const MomentumPoint&) const = default;
};

/// One projected step:
///
///   x_k+1 = P(y - S^-2 (w(y) + shift)/L),   P in the metric of S^2
///
/// renew: first the shift mu |w_t(y)| of w_n is made anew (law coulomb).
struct StepWeights {
  MomentumPoint y = {};
  double inverse_l = 1.0;
  bool renew = false;
  MomentumPoint expected = {};  ///< the next step's y, should this one be accepted
};

/// Sums over rows of |S (x_k+1 - y)|^2, (w(y) + shift).(x_k+1 - x_k), |S x_k+1|^2 and
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

/// What a pass over batches reads and writes besides them.
struct StepPass {
  const BodyLine* velocities = nullptr;  ///< V at y
  BodyLine* forces = nullptr;            ///< G^T x_k+1 is added
  StepWeights weights;
  Slots slots;
  bool box = false;   ///< |x_t| <= mu x_n holds for each tangent
  bool rough = true;  ///< false: no friction, whatever the contacts' is
};

}  // namespace catena
