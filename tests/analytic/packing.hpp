// A packing of spheres pressed together by a central force field, and what is measured in
// its inside: solid fraction and coordination.
#pragma once

#include <cstdint>
#include <memory>

#include "catena/stepper/semi_implicit_stepper.hpp"

namespace catena::test {

struct PackingSettings {
  int n = 2000;
  double friction = 0.0;
  double radius_jitter = 0.1;   ///< fraction, uniform +-; keeps crystals away
  double start_fraction = 0.3;  ///< solid fraction of the first, random state
  std::uint64_t seed = 1;
};

struct PackingMeasures {
  double fraction = 0.0;      ///< solid fraction of the inside
  double coordination = 0.0;  ///< contacts per sphere of the inside, without rattlers
  double rattlers = 0.0;      ///< fraction of the spheres of the inside
  double max_overlap = 0.0;   ///< of the contacts that press, over the diameter
  int spheres = 0;            ///< of the inside that are no rattlers
};

/// Spheres of mean diameter 1 m in free space (no gravity, no walls, so no layers along
/// walls), each pulled to the origin by the acceleration -k x. The pull is given as a change
/// of velocity before each step; all else is the library's own time step. Velocities are
/// damped, so that the packing forms slowly, without impacts.
class Packing {
 public:
  explicit Packing(const PackingSettings& settings);
  ~Packing();

  /// `steps` steps in which a body keeps `carry` of its velocity, with at most
  /// `sweeps` sweeps each; spheres nearer to the origin than `free_radius` feel no pull.
  /// `convex` takes law ccp in place of coulomb: at rest, where no contact slides, both laws
  /// say the same, but under large friction only the convex one is sure to converge.
  void press(int steps, double carry, int sweeps, double free_radius = 0.0, bool convex = false);

  /// Radius of the inside: what lies deeper than 2.5 diameters below the surface.
  double inner_radius() const;
  /// Rattlers: spheres with fewer contacts than balance needs, found by repeated removal
  /// (4 without friction, 2 with). A contact presses above 1e-3 of the mean impulse.
  PackingMeasures measure() const;
  const StepReport& report() const { return stepper_->report(); }
  /// Solid fraction of the inside by quasi-random points, beside measure()'s exact volumes.
  double sampled_fraction(int points) const;

 private:
  void place_spheres();
  double solid_fraction() const;
  void count_contacts(PackingMeasures& m) const;

  PackingSettings settings_;
  Model model_;
  Bodies bodies_;
  State state_;
  std::unique_ptr<SemiImplicitStepper> stepper_;
};

/// Volume of the intersection of two balls with radii R and r whose centres are d apart.
double lens_volume(double big_radius, double small_radius, double distance);

}  // namespace catena::test
