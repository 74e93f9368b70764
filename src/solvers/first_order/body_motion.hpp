// Velocities of a first-order method's iterates, and what forces do to them.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "catena/comm/ghost_sum.hpp"
#include "catena/comm/halo_exchange.hpp"
#include "solvers/batches/subdomain.hpp"

namespace catena::first_order {

/// V of three iterates and of the point y, and forces, a line or more for each local body: those
/// that batches name, then those of bodies that no block here touches. A line of V ends with 1/m
/// and 1/I of a body whose inertia is the same about all axes, one of V at y with m and I.
class BodyMotion {
 public:
  /// Neighbours. Takes a problem whose blocks are packed.
  void start(const ConstraintProblem& problem, const Subdomain& packed);
  /// Gives the memory of large lists back; start() comes next.
  void rest();

  /// Where the first velocity of a body stands among the numbers of all lines.
  Offset place(Index body) const { return Offset{8} * line_[body]; }
  const BodyLine* velocities(int slot) const { return v_[slot].data(); }
  const BodyLine* at_zero() const { return free_.data(); }
  const BodyLine* at_y() const { return y_.data(); }
  BodyLine* forces() { return forces_.data(); }
  std::span<const double> numbers_at_y() const { return numbers(y_); }
  std::span<double> force_numbers() { return numbers(forces_); }

  /// Vectors in the problem's places: V at x = 0; V of an iterate.
  void load_free(std::span<const double> velocities) { load(velocities, free_); }
  void load(std::span<const double> velocities, int slot) { load(velocities, v_[slot]); }
  void store(int slot, std::span<double> velocities) const;

  /// V(y), where advance() did not leave it.
  void make_y(const MomentumPoint& y, const Slots& slots);
  /// Neighbours. V of x_k+1 from the forces of all ranks, which become zero, and V of the next y in
  /// one pass. Returns (V - V(y)).M (V - V(y)) over owned bodies.
  double advance(const MomentumPoint& next_y, const Slots& slots);
  /// The same in parts, so that V can be changed in between. Neighbours: V of owned bodies from
  /// the forces.
  void push(const Slots& slots);
  /// Neighbours. V of ghosts from their owners'.
  void share(int slot);
  /// All but that, given V of all bodies.
  double settle(const MomentumPoint& next_y, const Slots& slots);

 private:
  /// A rigid body with any inertia.
  struct Turning {
    Mat3 inverse, inertia;
    double mass;
  };
  /// A body with dense M; both matrices row by row.
  struct Dense {
    Index dofs;
    std::vector<double> inverse, mass;
  };
  enum class Kind : char { round, turning, dense, not_here };

  static std::span<double> numbers(HugeVector<BodyLine>& lines) {
    return {reinterpret_cast<double*>(lines.data()), 8 * lines.size()};
  }
  static std::span<const double> numbers(const HugeVector<BodyLine>& lines) {
    return {reinterpret_cast<const double*>(lines.data()), 8 * lines.size()};
  }
  void load(std::span<const double> velocities, HugeVector<BodyLine>& lines) const;
  void place_bodies(const Subdomain& packed);
  void note_inverses(Index body);
  void note_mass(Index body);
  HaloPlan line_plan(const HaloPlan& ghosts) const;
  template <bool kForces, bool kSettles>
  double walk(const MomentumPoint& next_y, const Slots& slots);
  template <bool kForces, bool kSettles>
  double walk_other(std::size_t line, const MomentumPoint& next_y, const Slots& slots);
  void renew(std::size_t line, const MomentumPoint& next_y, const Slots& slots);

  const ProblemBodies* bodies_ = nullptr;
  std::vector<Index> line_;    ///< first of each local body
  std::vector<Kind> kind_;     ///< per line; of lines but a body's first, and of ghosts: not_here
  std::vector<Index> other_;   ///< per line: place among those of its kind but round ones
  std::vector<Index> ghosts_;  ///< their lines
  std::vector<Turning> turning_;
  std::vector<Dense> dense_;
  HugeVector<BodyLine> free_, y_, forces_;
  std::array<HugeVector<BodyLine>, 3> v_;  ///< of the three iterates
  std::optional<GhostSum> to_owners_;
  std::optional<HaloExchange> to_ghosts_;
};

}  // namespace catena::first_order
