#include "bench_problems.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "catena/base/random.hpp"
#include "catena/base/timer.hpp"
#include "catena/math/rotation.hpp"
#include "catena/partition/balance.hpp"
#include "solvers/joints/across/tree_node.hpp"
#include "solvers/joints/chain/chain_factor.hpp"

namespace catena {
namespace {

constexpr double kRadius = 0.01;  // m
constexpr double kStep = 5e-3;    // s

/// Close-packed spheres: even sites of a cubic grid of cells, along the Hilbert curve.
struct Lattice {
  std::vector<std::array<int, 3>> cell;
  std::vector<Index> body_at;  ///< per cell of the grid; kNoIndex: none
  int n = 0;                   ///< cells along an edge

  explicit Lattice(std::int64_t bodies) {
    n = static_cast<int>(std::ceil(std::cbrt(2.0 * static_cast<double>(bodies))));
    Aabb box;
    box.lo = Vec3::Zero();
    box.hi = Vec3::Constant(n);
    std::vector<std::pair<std::uint64_t, std::array<int, 3>>> keyed;
    for (int z = 0; z < n; ++z)
      for (int y = 0; y < n; ++y)
        for (int x = 0; x < n; ++x)
          if ((x + y + z) % 2 == 0) keyed.push_back({curve_key(Vec3(x, y, z), box), {x, y, z}});
    std::sort(keyed.begin(), keyed.end());
    body_at.assign(Offset{n} * Offset{n} * Offset{n}, kNoIndex);
    for (const auto& [key, c] : keyed) {
      body_at[place(c)] = to_index(cell.size());
      cell.push_back(c);
    }
  }
  std::size_t place(const std::array<int, 3>& c) const {
    const auto at = [&](int i) { return c[i]; };
    const std::size_t edge = n;
    return (at(2) * edge + at(1)) * edge + at(0);
  }
  /// The neighbour of a body in a direction, or kNoIndex.
  Index neighbour(std::size_t body, const std::array<int, 3>& d) const {
    std::array<int, 3> c = cell[body];
    for (std::size_t i = 0; i < 3; ++i) {
      c[i] += d[i];
      if (c[i] < 0 || c[i] >= n) return kNoIndex;
    }
    return body_at[place(c)];
  }
};

void add_bodies(const Lattice& lattice, bool arms, ConstraintProblem& problem) {
  const std::size_t n = lattice.cell.size();
  problem.bodies.reserve(n);
  const double mass = 2500.0 * 4.0 / 3.0 * 3.14159 * kRadius * kRadius * kRadius;
  const double moment = 0.4 * mass * kRadius * kRadius;
  for (std::size_t i = 0; i < n; ++i) {
    Twist twist;
    for (int k = 0; k < 3; ++k) {
      twist.v[k] = 0.1 * uniform_pm1(1, i, static_cast<std::uint64_t>(k));
      twist.w[k] = 0.1 * uniform_pm1(1, i, static_cast<std::uint64_t>(k) + 3) / kRadius;
    }
    twist.v[2] -= 9.81 * kStep;
    const Quat q(Eigen::AngleAxisd(uniform_pm1(2, i, 0), Vec3(1.0, 2.0, 3.0).normalized()));
    const Vec3 inverse = (arms ? Vec3(1.0, 1.4, 0.7) : Vec3(1.0, 1.0, 1.0)) / moment;
    const Mat3 inverse_inertia = arms ? rotate_diagonal(q, inverse) : Mat3(inverse.asDiagonal());
    problem.bodies.add_rigid(static_cast<GlobalId>(i), 1.0 / mass, inverse_inertia, twist);
  }
  problem.bodies.n_owned = to_index(n);
}

void add_contacts(const Lattice& lattice, bool arms, ConstraintProblem& problem) {
  constexpr std::array<std::array<int, 3>, 6> kDirections = {
      {{1, 1, 0}, {1, -1, 0}, {1, 0, 1}, {1, 0, -1}, {0, 1, 1}, {0, 1, -1}}};
  problem.contacts.reserve(6 * lattice.cell.size());
  for (std::size_t i = 0; i < lattice.cell.size(); ++i) {
    for (std::size_t d = 0; d < kDirections.size(); ++d) {
      for (const int sign : {1, -1}) {
        std::array<int, 3> step = kDirections[d];
        for (int& s : step) s *= sign;
        const Index j = lattice.neighbour(i, step);
        if (j <= to_index(i)) continue;
        RigidContact c;
        c.body_a = to_index(i);
        c.body_b = j;
        c.key = {static_cast<GlobalId>(i), j, 0, 0};
        c.normal = Vec3(step[0], step[1], step[2]).normalized();
        Vec3 second;
        tangents_of(c.normal, c.tangent, second);
        c.arm_a = kRadius * c.normal;
        c.arm_b = -kRadius * c.normal;
        if (arms) {
          const std::uint64_t k = 6 * i + d;
          const Vec3 off =
              0.4 * kRadius * (uniform_pm1(3, k, 0) * c.tangent + uniform_pm1(3, k, 1) * second);
          c.arm_a += off;
          c.arm_b += off;
        }
        c.friction = 0.5;
        problem.contacts.push_back(c);
      }
    }
  }
}

/// A well-conditioned chain's blocks [begin, end); how long elimination takes does not depend on
/// the numbers.
ChainPart chain_part(std::int64_t begin, std::int64_t end, std::int64_t all) {
  constexpr int kRows = 3;
  ChainPart part;
  for (std::int64_t j = begin; j < end; ++j) {
    for (int p = 0; p < kRows; ++p)
      for (int q = 0; q < kRows; ++q) part.diagonal.push_back(p == q ? 4.0 : 0.5);
    for (int p = 0; p < kRows && j + 1 < all; ++p)
      for (int q = 0; q < kRows; ++q) part.coupling.push_back(p == q ? -1.0 : 0.1);
    part.row_begin.push_back(part.row_begin.back() + kRows);
    part.diagonal_begin.push_back(std::ssize(part.diagonal));
    part.coupling_begin.push_back(std::ssize(part.coupling));
    part.name.push_back(j);
  }
  return part;
}

}  // namespace

ConstraintProblem packed_lattice(std::int64_t bodies, bool arms) {
  ConstraintProblem problem(Communicator::self());
  const Lattice lattice(bodies);
  add_bodies(lattice, arms, problem);
  add_contacts(lattice, arms, problem);
  return problem;
}

SweepCounts sweep_counts(int more) {
  int power = 1;
  while (power - 2 < more) power *= 2;
  return {power + 1, 2 * power - 1};
}

std::vector<ChainSeconds> time_chain(const Communicator& comm, std::int64_t joints, int repeats) {
  const std::int64_t first = joints * comm.rank();
  const ChainPart part = chain_part(first, first + joints, joints * comm.size());
  ChainFactor factor(comm, part, {});
  std::vector<double> x(part.row_begin.back());
  std::vector<ChainSeconds> all;
  for (int k = 0; k <= repeats; ++k) {
    std::fill(x.begin(), x.end(), 1.0);
    ChainSeconds times;
    times.rows = part.row_begin.back();
    comm.barrier();
    double start = wall_seconds();
    factor.part().diagonal = part.diagonal;
    factor.part().coupling = part.coupling;
    factor.factor();
    times.factor = comm.max(wall_seconds() - start);
    start = wall_seconds();
    factor.solve(x);
    times.solve = comm.max(wall_seconds() - start);
    times.flops = factor.cost().factor_flops + factor.cost().solve_flops;
    if (k > 0) all.push_back(times);
  }
  return all;
}

FrontSeconds time_front(int pivots, int repeats) {
  FrontFactor front(front_of_separator(pivots, pivots));
  const std::vector<double> added(pivots, 0.0);
  std::vector<double> found(pivots);
  FrontSeconds times;
  times.flops = front.flops();
  for (int k = 0; k <= repeats; ++k) {
    const double start = wall_seconds();
    front.open(0);
    for (Index i = 0; i < pivots; ++i) front.values()[front.place(0, i, i)] = 4.0;
    front.eliminate(0, {added.data(), 0.01, found.data()});
    if (k > 0) times.seconds.push_back(wall_seconds() - start);
  }
  return times;
}

}  // namespace catena
