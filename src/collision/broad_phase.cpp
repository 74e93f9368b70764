#include "catena/collision/broad_phase.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "catena/base/release.hpp"

namespace catena {

namespace {

using Pair = std::pair<Index, Index>;

/// Cells per axis that a key has room for. What lies outside is put into the outermost
/// cells: a map that keeps neighbours neighbours, so nothing is lost, only slower.
constexpr std::int64_t kMaxCells = std::int64_t{1} << 19;
/// Boxes larger than this are not in the grid but tested against all.
constexpr double kUnbounded = 1e150;

/// Size class of a length: eight classes an octave, by the leading bits of the number.
int size_class(double length) {
  const auto bits = std::bit_cast<std::uint64_t>(length);
  return narrow<int>((bits + (std::uint64_t{1} << 49) - 1) >> 49);
}

struct Cell {
  std::uint64_t key;  ///< (z, y, x), packed
  Index begin, end;   ///< its items
};

struct Item {
  Aabb box;
  Index body;
};

struct CellCoordinates {
  std::array<std::int32_t, 3> c;
};

/// Boxes of one octave of sizes, each in the cell of its lower corner. A cell is at least
/// as wide as the largest of them, so that overlapping ones lie in neighbouring cells.
struct Level {
  double width = 0.0;
  Vec3 origin = Vec3::Zero();
  std::array<std::int64_t, 3> first{}, last{};  ///< cell coordinates in use
  std::array<int, 3> shift{};                   ///< of x, y, z in the key
  std::array<std::uint64_t, 3> mask{};
  std::vector<Cell> cells;  ///< ascending in key
  std::vector<Item> items;  ///< in the order of the cells

  std::int64_t coordinate(double x, int axis) const {
    const double scaled = std::floor((x - origin[axis]) / width);
    return static_cast<std::int64_t>(
        std::clamp(scaled, -static_cast<double>(kMaxCells), static_cast<double>(kMaxCells)));
  }
  /// Key of cell coordinates that lie in [first - 1, last + 1].
  std::uint64_t key(std::int64_t x, std::int64_t y, std::int64_t z) const {
    return (static_cast<std::uint64_t>(x - first[0] + 1) << shift[0]) |
           (static_cast<std::uint64_t>(y - first[1] + 1) << shift[1]) |
           (static_cast<std::uint64_t>(z - first[2] + 1) << shift[2]);
  }
  std::int64_t from_key(std::uint64_t k, std::size_t axis) const {
    return narrow<std::int64_t>((k >> shift[axis]) & mask[axis]) + first[axis] - 1;
  }
};

}  // namespace

struct BroadPhase::Impl {
  std::vector<double> size;   ///< largest extent of each box
  std::vector<int> level_of;  ///< octave of the size; -1: empty or unbounded
  std::vector<Level> levels;  ///< the first n_levels are in use, ascending in size
  std::size_t n_levels = 0;
  std::vector<Index> order, level_begin, unbounded;
  std::vector<std::uint64_t> keys, keys_other;
  std::vector<Index> bodies, bodies_other;
  std::vector<CellCoordinates> coordinates;
  std::vector<double> sample;
  std::vector<Pair> raw;  ///< the first n_raw are pairs found so far
  std::size_t n_raw = 0;
  std::vector<Pair> sorted;
  std::vector<Index> bucket;

  std::span<const Aabb> boxes;
  Index n_first = 0;

  void sort_into_levels();
  int best_offset() const;
  void fill_level(Level& level, std::span<const Index> members);
  void choose_cells(Level& level, std::span<const Index> members);
  void sort_keys(int bits);
  void pairs_within(const Level& level);
  void pairs_across(const Level& fine, const Item& item);
  void pairs_of_unbounded();
  void sort_pairs(std::size_t n);

  /// Pairs of `item` with items [begin, end) of a level. Without branches: whether two boxes of
  /// neighbouring cells overlap is as good as random.
  void test(const Item& item, const Level& level, Index begin, Index end) {
    if (raw.size() < n_raw + (end - begin)) {
      raw.resize(std::max(2 * raw.size(), n_raw + (end - begin)));
    }
    const Aabb& a = item.box;
    const Index body = item.body;
    const auto fits = [](double lo, double hi) { return lo <= hi ? 1 : 0; };
    Pair* out = raw.data() + n_raw;
    for (Index k = begin; k < end; ++k) {
      const Item& other = level.items[k];
      const Aabb& b = other.box;
      *out = {std::min(body, other.body), std::max(body, other.body)};
      out += fits(a.lo.x(), b.hi.x()) & fits(b.lo.x(), a.hi.x()) & fits(a.lo.y(), b.hi.y()) &
             fits(b.lo.y(), a.hi.y()) & fits(a.lo.z(), b.hi.z()) & fits(b.lo.z(), a.hi.z()) &
             (out->first < n_first ? 1 : 0);
    }
    n_raw = out - raw.data();
  }
  void emit(Index a, Index b) {
    if (std::min(a, b) >= n_first) return;
    if (raw.size() == n_raw) raw.resize(2 * n_raw + 16);
    raw[n_raw++] = {std::min(a, b), std::max(a, b)};
  }
};

/// Where octaves begin, 0..7: so that cells are on average the least larger than their
/// boxes, which is what the number of tests goes with (as the cube).
int BroadPhase::Impl::best_offset() const {
  std::array<double, 8> count{};
  for (std::size_t i = 0; i < size.size(); ++i) {
    if (level_of[i] >= 0) count[level_of[i] % 8] += 1.0;
  }
  int best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int offset = 0; offset < 8; ++offset) {
    double cost = 0.0;
    for (int c = 0; c < 8; ++c) {
      const int below = (offset - c + 8) % 8;  // classes between the box and its cell
      cost += count[c] * std::exp2(3.0 * below / 8.0);
    }
    if (cost < least) least = cost, best = offset;
  }
  return best;
}

void BroadPhase::Impl::sort_into_levels() {
  const std::size_t n = boxes.size();
  size.resize(n);
  level_of.resize(n);
  unbounded.clear();
  for (std::size_t i = 0; i < n; ++i) {
    level_of[i] = -1;
    if (!(boxes[i].lo.array() <= boxes[i].hi.array()).all()) continue;  // empty, or not a number
    size[i] = (boxes[i].hi - boxes[i].lo).maxCoeff();
    if (size[i] < kUnbounded) {
      level_of[i] = size_class(size[i]);
    } else {
      unbounded.push_back(to_index(i));
    }
  }
  const int offset = best_offset();
  level_begin.assign(2050, 0);
  for (int& level : level_of) {
    if (level < 0) continue;
    level = (level - offset + 7 + 8) / 8;  // + 8: never negative
    ++level_begin[level + 1];
  }
  for (std::size_t l = 1; l < level_begin.size(); ++l) level_begin[l] += level_begin[l - 1];
  order.resize(level_begin.back());
  for (std::size_t i = 0; i < n; ++i) {
    if (level_of[i] < 0) continue;
    order[level_begin[level_of[i]]++] = to_index(i);
  }
  // each begin has moved on to the next one's: level l is [begin[l - 1], begin[l])
  n_levels = 0;
  for (std::size_t l = 0; l + 1 < level_begin.size(); ++l) {
    const std::size_t begin = l == 0 ? 0 : level_begin[l - 1];
    const std::size_t end = level_begin[l];
    if (begin == end) continue;
    if (levels.size() == n_levels) levels.emplace_back();
    fill_level(levels[n_levels++], std::span(order).subspan(begin, end - begin));
  }
}

/// Cell width and origin. A few boxes far away must not spoil the grid of the many, so
/// both follow from quantiles of a sample.
void BroadPhase::Impl::choose_cells(Level& level, std::span<const Index> members) {
  double largest = 0.0, farthest = 0.0, spread = 0.0;
  for (const Index i : members) {
    const Aabb& box = boxes[i];
    largest = std::max(largest, size[i]);
    farthest = std::max({farthest, box.lo.cwiseAbs().maxCoeff(), box.hi.cwiseAbs().maxCoeff()});
  }
  const std::size_t stride = std::max<std::size_t>(1, members.size() / 256);
  for (int axis = 0; axis < 3; ++axis) {
    sample.clear();
    for (std::size_t k = 0; k < members.size(); k += stride) {
      sample.push_back(boxes[members[k]].lo[axis]);
    }
    std::sort(sample.begin(), sample.end());
    const std::size_t tenth = sample.size() / 10;
    level.origin[axis] = sample[sample.size() / 2];
    spread = std::max(spread, sample[sample.size() - 1 - tenth] - sample[tenth]);
  }
  // wider than the largest by what the rounding of coordinates may add; and wide enough
  // that the bulk fits into the key even if all boxes are points
  const double width = std::max(largest, 4.0 * spread / static_cast<double>(kMaxCells));
  farthest = std::min(
      farthest, level.origin.cwiseAbs().maxCoeff() + 2.0 * static_cast<double>(kMaxCells) * width);
  const double rounding = 16.0 * std::numeric_limits<double>::epsilon() * farthest;
  level.width = std::max(width * (1.0 + 1e-9) + rounding, 1e-300);
}

void BroadPhase::Impl::fill_level(Level& level, std::span<const Index> members) {
  choose_cells(level, members);
  const std::size_t n = members.size();
  level.first.fill(std::numeric_limits<std::int64_t>::max());
  level.last.fill(std::numeric_limits<std::int64_t>::min());
  coordinates.resize(n);
  for (std::size_t k = 0; k < n; ++k) {
    const Vec3& lo = boxes[members[k]].lo;
    for (std::size_t a = 0; a < 3; ++a) {
      const std::int64_t c = level.coordinate(lo[a], narrow<int>(a));
      coordinates[k].c[a] = narrow<std::int32_t>(c);
      level.first[a] = std::min(level.first[a], c);
      level.last[a] = std::max(level.last[a], c);
    }
  }
  int bits = 0;
  for (std::size_t a = 0; a < 3; ++a) {
    // one cell to spare on either side, so that neighbours' keys do not run over
    const auto n_cells = static_cast<std::uint64_t>(level.last[a] - level.first[a] + 3);
    level.shift[a] = bits;
    level.mask[a] = (std::uint64_t{1} << std::bit_width(n_cells)) - 1;
    bits += narrow<int>(std::bit_width(n_cells));
  }
  keys.resize(n);
  bodies.resize(n);
  for (std::size_t k = 0; k < n; ++k) {
    const auto& c = coordinates[k].c;
    keys[k] = level.key(c[0], c[1], c[2]);
    bodies[k] = members[k];
  }
  sort_keys(bits);
  level.items.resize(n);
  level.cells.clear();
  for (std::size_t k = 0; k < n; ++k) {
    level.items[k] = {boxes[bodies[k]], bodies[k]};
    if (k == 0 || keys[k] != keys[k - 1]) {
      level.cells.push_back({keys[k], to_index(k), to_index(k)});
    }
    ++level.cells.back().end;
  }
}

/// Radix sort of (keys, bodies), stable.
void BroadPhase::Impl::sort_keys(int bits) {
  constexpr int kDigit = 10;
  std::array<std::uint32_t, (1 << kDigit) + 1> count;
  keys_other.resize(keys.size());
  bodies_other.resize(bodies.size());
  if (keys.size() < 64) {  // a handful: passes over the counters would cost more
    for (std::size_t k = 1; k < keys.size(); ++k) {
      for (std::size_t j = k; j > 0 && keys[j] < keys[j - 1]; --j) {
        std::swap(keys[j], keys[j - 1]);
        std::swap(bodies[j], bodies[j - 1]);
      }
    }
    return;
  }
  for (int shift = 0; shift < bits; shift += kDigit) {
    count.fill(0);
    const auto digit = [shift](std::uint64_t key) { return (key >> shift) & ((1U << kDigit) - 1); };
    for (const std::uint64_t key : keys) ++count[digit(key) + 1];
    for (std::size_t d = 1; d < count.size(); ++d) count[d] += count[d - 1];
    for (std::size_t k = 0; k < keys.size(); ++k) {
      const std::uint32_t to = count[digit(keys[k])]++;
      keys_other[to] = keys[k];
      bodies_other[to] = bodies[k];
    }
    keys.swap(keys_other);
    bodies.swap(bodies_other);
  }
}

/// Pairs of a level: each cell with itself and with the half of its neighbours whose keys
/// are larger. Neighbours that follow each other in x are one run of keys, and the runs'
/// begins only move forward as the cells do.
void BroadPhase::Impl::pairs_within(const Level& level) {
  const std::span<const Cell> cells(level.cells);
  const std::uint64_t dx = std::uint64_t{1} << level.shift[0];
  const std::uint64_t dy = std::uint64_t{1} << level.shift[1];
  const std::uint64_t dz = std::uint64_t{1} << level.shift[2];
  const std::array<std::uint64_t, 4> runs = {dy, dz - dy, dz, dz + dy};
  std::array<std::size_t, 4> at{};
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const Cell& cell = cells[c];
    Index end = cell.end;
    if (c + 1 < cells.size() && cells[c + 1].key == cell.key + dx) end = cells[c + 1].end;
    for (Index k = cell.begin; k < cell.end; ++k) {
      test(level.items[k], level, k + 1, end);
    }
    for (std::size_t r = 0; r < runs.size(); ++r) {
      const std::uint64_t centre = cell.key + runs[r];
      std::size_t& from = at[r];
      while (from < cells.size() && cells[from].key < centre - dx) ++from;
      std::size_t to = from;
      while (to < cells.size() && cells[to].key <= centre + dx) ++to;
      if (from == to) continue;
      const Index begin = cells[from].begin, stop = cells[to - 1].end;
      for (Index k = cell.begin; k < cell.end; ++k) {
        test(level.items[k], level, begin, stop);
      }
    }
  }
}

/// Pairs of a larger box with the boxes of a finer level: a walk over the occupied cells
/// in its range, which skips to the next row or layer by a search from where it stands.
void BroadPhase::Impl::pairs_across(const Level& fine, const Item& item) {
  std::array<std::int64_t, 3> lo, hi;
  for (std::size_t a = 0; a < 3; ++a) {
    const int axis = narrow<int>(a);
    // one more cell below than the lower corner's: boxes reach up from there
    lo[a] = std::max(fine.coordinate(item.box.lo[axis], axis) - 1, fine.first[a]);
    hi[a] = std::min(fine.coordinate(item.box.hi[axis], axis), fine.last[a]);
    if (lo[a] > hi[a]) return;
  }
  const auto seek = [&](std::size_t from, std::uint64_t key) {
    std::size_t jump = 1;
    while (from + jump < fine.cells.size() && fine.cells[from + jump].key < key) jump *= 2;
    const auto begin = fine.cells.begin() + (from + jump / 2);
    const auto end = fine.cells.begin() + std::min(from + jump, fine.cells.size());
    return std::lower_bound(begin, end, key,
                            [](const Cell& cell, std::uint64_t k) { return cell.key < k; }) -
           fine.cells.begin();
  };
  std::size_t at = seek(0, fine.key(lo[0], lo[1], lo[2]));
  while (at < fine.cells.size()) {
    const Cell& cell = fine.cells[at];
    const std::int64_t x = fine.from_key(cell.key, 0), y = fine.from_key(cell.key, 1),
                       z = fine.from_key(cell.key, 2);
    if (z > hi[2]) return;
    if (y < lo[1]) {
      at = seek(at, fine.key(lo[0], lo[1], z));
    } else if (y > hi[1]) {
      at = seek(at, fine.key(lo[0], lo[1], z + 1));
    } else if (x < lo[0]) {
      at = seek(at, fine.key(lo[0], y, z));
    } else if (x > hi[0]) {
      at = seek(at, fine.key(lo[0], y + 1, z));
    } else {
      test(item, fine, cell.begin, cell.end);
      ++at;
    }
  }
}

void BroadPhase::Impl::pairs_of_unbounded() {
  for (std::size_t u = 0; u < unbounded.size(); ++u) {
    const Index i = unbounded[u];
    const Aabb& box = boxes[i];
    for (const Index j : order) {
      if (box.overlaps(boxes[j])) emit(i, j);
    }
    for (std::size_t v = u + 1; v < unbounded.size(); ++v) {
      if (box.overlaps(boxes[unbounded[v]])) emit(i, unbounded[v]);
    }
  }
}

/// Counting sort by the first of the pair, then each bucket by the second.
void BroadPhase::Impl::sort_pairs(std::size_t n) {
  const std::span<const Pair> found(raw.data(), n_raw);
  assign_with_room(bucket, n + 1, 0);
  for (const Pair& pair : found) ++bucket[pair.first + 1];
  for (std::size_t i = 1; i < bucket.size(); ++i) bucket[i] += bucket[i - 1];
  make_room(sorted, n_raw);
  sorted.resize(n_raw);
  for (const Pair& pair : found) {
    sorted[bucket[pair.first]++] = pair;
  }
  Index begin = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Index end = bucket[i];
    std::sort(sorted.begin() + begin, sorted.begin() + end);
    begin = end;
  }
}

BroadPhase::BroadPhase() : impl_(std::make_unique<Impl>()) {}
BroadPhase::~BroadPhase() = default;
BroadPhase::BroadPhase(BroadPhase&&) noexcept = default;
BroadPhase& BroadPhase::operator=(BroadPhase&&) noexcept = default;

void BroadPhase::release() { *impl_ = {}; }

std::span<const std::pair<Index, Index>> BroadPhase::find(std::span<const Aabb> boxes,
                                                          Index n_first) {
  find_unsorted(boxes, n_first);
  impl_->sort_pairs(boxes.size());
  return impl_->sorted;
}

std::span<const std::pair<Index, Index>> BroadPhase::find_unsorted(std::span<const Aabb> boxes,
                                                                   Index n_first) {
  Impl& m = *impl_;
  m.boxes = boxes;
  m.n_first = n_first;
  make_room(m.raw, m.n_raw);  // as many as there were
  m.n_raw = 0;
  m.sort_into_levels();
  for (std::size_t coarse = 0; coarse < m.n_levels; ++coarse) {
    m.pairs_within(m.levels[coarse]);
    for (std::size_t fine = 0; fine < coarse; ++fine) {
      for (const Item& item : m.levels[coarse].items) m.pairs_across(m.levels[fine], item);
    }
  }
  m.pairs_of_unbounded();
  m.boxes = {};
  return {m.raw.data(), m.n_raw};
}

}  // namespace catena
