// Balls to ranks by their place.
#include <algorithm>
#include <array>
#include <cmath>

#include "catena/comm/typed_exchange.hpp"
#include "scenarios/pack/relaxation.hpp"

namespace catena::scenarios {

namespace {

constexpr int kCells = 32;  // along each direction

using Cell = std::array<int, 3>;

int number_of(const Cell& c) { return (c[2] * kCells + c[1]) * kCells + c[0]; }

Cell cell_of(const Vec3& p, const Aabb& box) {
  Cell cell{};
  for (int i = 0; i < 3; ++i) {
    const double part = (p[i] - box.lo[i]) / (box.hi[i] - box.lo[i]);
    cell[i] = std::clamp(static_cast<int>(std::floor(part * kCells)), 0, kCells - 1);
  }
  return cell;
}

/// Cuts cells again and again, always across their longest edge, so that each rank gets its part.
class Cutter {
 public:
  Cutter(const std::vector<std::int64_t>& counts, const Vec3& edge)
      : owner(counts.size(), 0), counts_(counts), edge_(edge) {}

  void cut(Cell lo, Cell hi, int first, int last) {
    int axis = 0;
    for (int i = 1; i < 3; ++i)
      if ((hi[i] - lo[i]) * edge_[i] > (hi[axis] - lo[axis]) * edge_[axis]) axis = i;
    if (last - first == 1 || hi[axis] - lo[axis] == 1) {
      for_cells(lo, hi, [&](int cell) { owner[cell] = first; });
      return;
    }
    const int middle = (first + last) / 2;
    const double wanted = static_cast<double>(count(lo, hi)) * (middle - first) / (last - first);
    Cell end = hi;
    double below = 0.0;
    end[axis] = lo[axis];
    while (end[axis] < hi[axis] - 1 && (end[axis] == lo[axis] || below < wanted)) {
      Cell slice = lo;
      slice[axis] = end[axis];
      Cell to = hi;
      to[axis] = ++end[axis];
      below += static_cast<double>(count(slice, to));
    }
    Cell start = lo;
    start[axis] = end[axis];
    cut(lo, end, first, middle);
    cut(start, hi, middle, last);
  }

  std::vector<int> owner;

 private:
  template <class Work>
  static void for_cells(const Cell& lo, const Cell& hi, const Work& work) {
    for (int z = lo[2]; z < hi[2]; ++z)
      for (int y = lo[1]; y < hi[1]; ++y)
        for (int x = lo[0]; x < hi[0]; ++x) work(number_of({x, y, z}));
  }
  std::int64_t count(const Cell& lo, const Cell& hi) const {
    std::int64_t n = 0;
    for_cells(lo, hi, [&](int cell) { n += counts_[cell]; });
    return n;
  }

  const std::vector<std::int64_t>& counts_;
  Vec3 edge_;
};

}  // namespace

std::vector<Ball> dealt_by_place(const Communicator& comm, const Aabb& box,
                                 const std::vector<Ball>& balls) {
  std::vector<std::int64_t> counts(kCells * kCells * kCells, 0);
  for (const Ball& ball : balls) ++counts[number_of(cell_of(ball.p, box))];
  comm.sum(counts);
  Cutter cutter(counts, box.hi - box.lo);
  cutter.cut({0, 0, 0}, {kCells, kCells, kCells}, 0, comm.size());
  RankLists<Ball> out(comm.size());
  for (const Ball& ball : balls) out[cutter.owner[number_of(cell_of(ball.p, box))]].push_back(ball);
  return joined(all_to_all(comm, std::move(out)));
}

}  // namespace catena::scenarios
