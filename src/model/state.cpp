#include "catena/model/state.hpp"

#include <algorithm>

namespace catena {

GlobalId home_of(const BodyConstants& a, const BodyConstants& b) {
  const bool a_moves = a.kind == BodyKind::dynamic, b_moves = b.kind == BodyKind::dynamic;
  if (a_moves != b_moves) return a_moves ? a.id : b.id;
  if (a_moves) {
    const double size_a = half_extent(a.shape), size_b = half_extent(b.shape);
    if (size_a < 0.25 * size_b) return a.id;
    if (size_b < 0.25 * size_a) return b.id;
  }
  // parity deals the contacts of equals out evenly
  return (a.id + b.id) % 2 == 0 ? std::min(a.id, b.id) : std::max(a.id, b.id);
}

}  // namespace catena
