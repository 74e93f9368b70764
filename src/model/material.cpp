#include "catena/model/material.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "catena/base/error.hpp"

namespace catena {
namespace {

/// E* of Hertz's law, K. L. Johnson, Contact mechanics, 1985, (4.20).
double contact_modulus(const Material& a, const Material& b) {
  const auto part = [](const Material& m) {
    return (1.0 - m.poisson_ratio * m.poisson_ratio) / m.youngs_modulus;
  };
  return 1.0 / (part(a) + part(b));
}

/// 4 G*/E*, 1/G* = sum (2 - nu)/G, ibid. (7.43): 2 (1 - nu)/(2 - nu) of equal materials.
double mindlin_ratio(const Material& a, const Material& b) {
  const auto part = [](const Material& m) {
    return (2.0 - m.poisson_ratio) * 2.0 * (1.0 + m.poisson_ratio) / m.youngs_modulus;
  };
  return 4.0 / ((part(a) + part(b)) * contact_modulus(a, b));
}

}  // namespace

double combined(Combination rule, double x, double y) {
  if (x == y) return x;  // sqrt(x * x) may differ from x in the last bit
  switch (rule) {
    case Combination::geometric:
      return std::sqrt(x * y);
    case Combination::minimum:
      return std::min(x, y);
    case Combination::maximum:
      return std::max(x, y);
    case Combination::mean:
      return 0.5 * (x + y);
    case Combination::harmonic:
      return 2.0 * x * y / (x + y);
  }
  CATENA_CHECK(false, "a rule of combination");
  return 0.0;
}

MaterialTable::MaterialTable(std::vector<Material> materials, const Combinations& rules)
    : materials_(std::move(materials)), pairs_(materials_.size() * materials_.size()) {
  const std::size_t n = materials_.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const Material &a = materials_[i], &b = materials_[j];
      PairMaterial& pair = pairs_[i * n + j];
      pair.friction = combined(rules.friction, a.friction, b.friction);
      pair.restitution = combined(rules.restitution, a.restitution, b.restitution);
      pair.rolling_friction = combined(rules.rolling, a.rolling_friction, b.rolling_friction);
      pair.spinning_friction = combined(rules.spinning, a.spinning_friction, b.spinning_friction);
      pair.rolling_coefficient =
          combined(rules.rolling, a.rolling_coefficient, b.rolling_coefficient);
      pair.spinning_coefficient =
          combined(rules.spinning, a.spinning_coefficient, b.spinning_coefficient);
      pair.cohesion = combined(rules.cohesion, a.cohesion, b.cohesion);
      pair.contact_modulus = contact_modulus(a, b);
      pair.tangential_ratio = mindlin_ratio(a, b);
    }
  }
}

void MaterialTable::set_pair(int a, int b, const PairMaterial& pair) {
  const auto n = narrow<int>(materials_.size());
  CATENA_CHECK(a >= 0 && a < n && b >= 0 && b < n, "material index out of range");
  const auto at = [n](int i, int j) { return Offset{i} * Offset{n} + j; };
  pairs_[at(a, b)] = pair;
  pairs_[at(b, a)] = pair;
}

int MaterialTable::find(const std::string& name) const {
  for (std::size_t i = 0; i < materials_.size(); ++i) {
    if (materials_[i].name == name) return narrow<int>(i);
  }
  return -1;
}

}  // namespace catena
