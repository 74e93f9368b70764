// Materials and the pairwise contact parameters that follow from them.
#pragma once

#include <limits>
#include <string>
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
  double cohesion = 0.0;           ///< N
  /// E* of Hertz's law, 1/E* = sum (1 - nu^2)/E, Pa; kNotGiven: a material's modulus is not known.
  double contact_modulus = kNotGiven;
  /// Mindlin's tangential stiffness over Hertz's normal one, 4 G*/E*; kNotGiven: as above.
  double tangential_ratio = kNotGiven;
};

/// All materials and the exceptions for pairs; replicated on every rank.
class MaterialTable {
 public:
  /// Pairs not named get the geometric mean of both materials' numbers.
  explicit MaterialTable(std::vector<Material> materials = {});
  void set_pair(int a, int b, const PairMaterial& pair);

  const std::vector<Material>& materials() const { return materials_; }
  const PairMaterial& pair(int a, int b) const { return pairs_[Offset{a} * materials_.size() + b]; }
  /// Index of the material of that name, or -1.
  int find(const std::string& name) const;

 private:
  std::vector<Material> materials_;
  std::vector<PairMaterial> pairs_;  ///< n x n, symmetric
};

}  // namespace catena
