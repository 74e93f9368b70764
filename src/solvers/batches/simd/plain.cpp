// One lane at a time.
#include "solvers/lanes/plain.hpp"

#include "solvers/batches/simd/contact_batches.hpp"

namespace catena {
namespace {

struct Lines {
  D x[8];
};

inline void load_lines(const BodyLine* lines, const std::int32_t* index, Lines& out) {
  for (int k = 0; k < 8; ++k) out.x[k].v = lines[*index].x[k];
}
inline void store_lines(BodyLine* lines, const std::int32_t* index, const Lines& in) {
  for (int k = 0; k < 6; ++k) lines[*index].x[k] = in.x[k].v;
}
/// One lane after the other: two may name a line.
inline void add_lines(BodyLine* lines, const std::int32_t* index, const Lines& in) {
  for (int k = 0; k < 8; ++k) lines[*index].x[k] += in.x[k].v;
}

}  // namespace
}  // namespace catena

#include "solvers/batches/simd/sweep_kernels.hpp"

namespace catena {
BatchKernels plain_kernels() { return kernels_named("plain"); }
}  // namespace catena
