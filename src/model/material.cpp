#include "catena/model/material.hpp"

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

MaterialTable::MaterialTable(std::vector<Material> materials)
    : materials_(std::move(materials)), pairs_(materials_.size() * materials_.size()) {
  const std::size_t n = materials_.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const Material &a = materials_[i], &b = materials_[j];
      // sqrt(x * x) may differ from x in the last bit
      const auto mean = [&](double x, double y) { return i == j ? x : std::sqrt(x * y); };
      pairs_[i * n + j] = {mean(a.friction, b.friction),
                           mean(a.restitution, b.restitution),
                           mean(a.rolling_friction, b.rolling_friction),
                           mean(a.spinning_friction, b.spinning_friction),
                           mean(a.cohesion, b.cohesion),
                           contact_modulus(a, b),
                           mindlin_ratio(a, b)};
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
