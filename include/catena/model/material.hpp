// Materials and the pairwise contact parameters that follow from them.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "catena/base/index.hpp"

namespace catena {

/// A number that nobody gave.
inline constexpr double kNotGiven = std::numeric_limits<double>::quiet_NaN();

/// What a body is made of. Numbers of a contact follow from those of both materials
/// (MaterialTable::pair), those of mass from the density of a body without a mass of its own.
struct Material {
  std::string name;          ///< unique in a table
  double density = 1000.0;   ///< kg/m^3
  double friction = 0.5;     ///< Coulomb coefficient
  double restitution = 0.0;  ///< Newton's e
  /// Couple per normal force that resists rolling and spinning, m (Coulomb's law on couples).
  double rolling_friction = 0.0;
  double spinning_friction = 0.0;
  /// The same over the reduced radius of the two bodies; in place of the lengths.
  double rolling_coefficient = 0.0;
  double spinning_coefficient = 0.0;
  double cohesion = 0.0;  ///< largest tension of a contact, N
  /// For Stiffness::material; kNotGiven: not known.
  double youngs_modulus = kNotGiven;  ///< Pa
  double poisson_ratio = kNotGiven;
};

/// Parameters of a contact between two materials.
struct PairMaterial {
  double friction = 0.0;
  double restitution = 0.0;
  double rolling_friction = 0.0;   ///< m
  double spinning_friction = 0.0;  ///< m
  double rolling_coefficient = 0.0, spinning_coefficient = 0.0;
  double cohesion = 0.0;  ///< N
  /// E* of Hertz's law, 1/E* = sum (1 - nu^2)/E, Pa; kNotGiven: a material's modulus is not known.
  double contact_modulus = kNotGiven;
  /// Mindlin's tangential stiffness over Hertz's normal one, 4 G*/E*; kNotGiven: as above.
  double tangential_ratio = kNotGiven;

  bool rolls() const { return rolling_friction > 0.0 || rolling_coefficient > 0.0; }
  bool spins() const { return spinning_friction > 0.0 || spinning_coefficient > 0.0; }
  /// Couple per normal force, m, of bodies of that reduced radius: 1/R = 1/R_a + 1/R_b.
  double rolling_length(double reduced_radius) const {
    return rolling_coefficient > 0.0 ? rolling_coefficient * reduced_radius : rolling_friction;
  }
  double spinning_length(double reduced_radius) const {
    return spinning_coefficient > 0.0 ? spinning_coefficient * reduced_radius : spinning_friction;
  }
};

/// How a number of a pair follows from those of both materials: sqrt(x y), the smaller or the
/// larger one, (x + y)/2, or 2 x y/(x + y).
enum class Combination : std::uint8_t { geometric, minimum, maximum, mean, harmonic };
/// Names of the rules in cases, in the order of Combination.
inline constexpr std::array<std::string_view, 5> kCombinationNames = {
    "geometric", "minimum", "maximum", "mean", "harmonic"};

/// The same number for equal ones; 0 where one is 0 but for `maximum` and `mean`.
double combined(Combination rule, double x, double y);

/// The rule of each property of a pair, keys of `contact.combine`.
struct Combinations {
  Combination friction = Combination::geometric;
  Combination restitution = Combination::geometric;
  Combination rolling = Combination::geometric;   ///< of lengths and coefficients
  Combination spinning = Combination::geometric;  ///< the same
  Combination cohesion = Combination::geometric;
};

/// All materials and the exceptions for pairs; replicated on every rank.
class MaterialTable {
 public:
  /// Numbers of pairs follow by the rules; those of others are set.
  explicit MaterialTable(std::vector<Material> materials = {}, const Combinations& rules = {});
  void set_pair(int a, int b, const PairMaterial& pair);

  const std::vector<Material>& materials() const { return materials_; }
  /// What holds where materials a and b touch.
  const PairMaterial& pair(int a, int b) const { return pairs_[Offset{a} * materials_.size() + b]; }
  /// Index of the material of that name, or -1.
  int find(const std::string& name) const;

 private:
  std::vector<Material> materials_;
  std::vector<PairMaterial> pairs_;  ///< n x n, symmetric
};

}  // namespace catena
