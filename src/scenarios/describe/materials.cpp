// The description of materials, and of how the numbers of two of them combine.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "catena/base/suggest.hpp"
#include "scenarios/scene_parts.hpp"

namespace catena {

namespace scenarios {

void check_material(SettingsVisitor& visit, const SceneSettings& scene, const std::string& material,
                    std::string_view key, bool needed) {
  if (material.empty()) {
    if (needed) visit.reject(key, "missing", "a body with a shape needs a material");
    return;
  }
  std::vector<std::string> known;
  for (const MaterialSettings& m : scene.materials) known.push_back(m.name);
  if (std::count(known.begin(), known.end(), material) > 0) return;
  const std::string near = nearest_word(material, known);
  visit.reject(key, "there is no material '" + material + "'",
               near.empty() ? "list it under materials" : "did you mean " + near + "?");
}

}  // namespace scenarios

namespace {

/// Refuses a couple's length beside its coefficient.
void check_one_of(SettingsVisitor& visit, std::string_view length_key, std::string_view key,
                  bool both) {
  if (both)
    visit.reject(key, "stands beside " + std::string(length_key),
                 "give one of the two: a length, or a part of the reduced radius");
}

void describe_couples(SettingsVisitor& visit, MaterialSettings& m) {
  visit.visit("rolling_friction", m.rolling_friction,
              {.unit = "m", .min = 0, .help = "largest rolling couple per normal force"});
  visit.visit("rolling_coefficient", m.rolling_coefficient,
              {.min = 0,
               .help = "the same over the reduced radius of the pair, r_a r_b/(r_a + r_b), that of "
                       "walls infinite; in place of rolling_friction"});
  check_one_of(visit, "rolling_friction", "rolling_coefficient",
               m.rolling_friction > 0.0 && m.rolling_coefficient > 0.0);
  visit.visit("spinning_friction", m.spinning_friction,
              {.unit = "m", .min = 0, .help = "largest couple about the normal per normal force"});
  visit.visit("spinning_coefficient", m.spinning_coefficient,
              {.min = 0, .help = "the same over the reduced radius of the pair"});
  check_one_of(visit, "spinning_friction", "spinning_coefficient",
               m.spinning_friction > 0.0 && m.spinning_coefficient > 0.0);
}

}  // namespace

void describe_materials(SettingsVisitor& visit, SceneSettings& s) {
  std::vector<std::string> names;
  for (const MaterialSettings& m : s.materials) names.push_back(m.name);
  visit.named(
      "materials", names,
      {.help = "by name; contact.combine says how the numbers of two become those of a pair"},
      [&](std::span<const std::string> found) {
        s.materials.assign(found.size(), {});
        for (std::size_t i = 0; i < found.size(); ++i) s.materials[i].name = found[i];
      },
      [&](std::size_t i) {
        MaterialSettings& m = s.materials[i];
        visit.visit("density", m.density,
                    {.unit = "kg/m^3", .min = 0, .min_open = true, .help = "of uniform bodies"});
        visit.visit("friction", m.friction, {.min = 0, .help = "Coulomb's coefficient"});
        visit.visit("restitution", m.restitution, {.min = 0, .max = 1, .help = "Newton's e"});
        describe_couples(visit, m);
        visit.visit("cohesion", m.cohesion,
                    {.unit = "N", .min = 0, .help = "largest tension of a contact"});
        visit.visit(
            "youngs_modulus", m.youngs_modulus,
            {.unit = "Pa", .min = 0, .min_open = true, .help = "for contact.stiffness: material"});
        visit.visit("poisson_ratio", m.poisson_ratio,
                    {.min = -1,
                     .max = 0.5,
                     .min_open = true,
                     .help = "for contact.stiffness: material; below 0.5"});
        if (m.poisson_ratio == 0.5)
          visit.reject("poisson_ratio", "0.5 is out of range", "must be > -1 and < 0.5");
      });
}

namespace {

void describe_pair(SettingsVisitor& visit, const SceneSettings& s, std::size_t i,
                   PairSettings& pair) {
  visit.visit("between", pair.between, {.required = true, .help = "two materials"});
  visit.visit("friction", pair.friction,
              {.min = 0, .help = "Coulomb's coefficient; else by contact.combine"});
  visit.visit("restitution", pair.restitution,
              {.min = 0, .max = 1, .help = "Newton's e; else by contact.combine"});
  const auto given = [](double x) { return !std::isnan(x); };
  visit.visit("rolling_friction", pair.rolling_friction,
              {.unit = "m", .min = 0, .help = "else by contact.combine"});
  visit.visit("rolling_coefficient", pair.rolling_coefficient,
              {.min = 0, .help = "in place of rolling_friction"});
  check_one_of(visit, "rolling_friction", "rolling_coefficient",
               given(pair.rolling_friction) && given(pair.rolling_coefficient));
  visit.visit("spinning_friction", pair.spinning_friction,
              {.unit = "m", .min = 0, .help = "else by contact.combine"});
  visit.visit("spinning_coefficient", pair.spinning_coefficient,
              {.min = 0, .help = "in place of spinning_friction"});
  check_one_of(visit, "spinning_friction", "spinning_coefficient",
               given(pair.spinning_friction) && given(pair.spinning_coefficient));
  visit.visit("cohesion", pair.cohesion,
              {.unit = "N", .min = 0, .help = "else by contact.combine"});
  if (pair.between.size() != 2) {
    visit.reject("between", "needs two materials, found " + std::to_string(pair.between.size()),
                 "");
    return;
  }
  for (const std::string& material : pair.between) {
    scenarios::check_material(visit, s, material, "between", true);
  }
  for (std::size_t k = 0; k < i; ++k) {
    std::vector<std::string> other = s.pairs[k].between;
    if (other == pair.between || (std::ranges::reverse(other), other == pair.between)) {
      visit.reject("between", "this pair has been given before", "");
    }
  }
}

void describe_combine(SettingsVisitor& visit, Combinations& s) {
  const auto rule = [&](std::string_view key, Combination& of, std::string_view help) {
    visit.choose(key, of, kCombinationNames, {.help = help});
  };
  visit.section("combine",
                {.help = "how a pair's numbers follow from those of its two materials, where "
                         "contact.pairs does not give them"},
                [&] {
                  rule("friction", s.friction, "of Coulomb's coefficients");
                  rule("restitution", s.restitution, "of Newton's e");
                  rule("rolling", s.rolling, "of rolling_friction, and of rolling_coefficient");
                  rule("spinning", s.spinning, "of spinning_friction, and of spinning_coefficient");
                  rule("cohesion", s.cohesion, "of largest tensions");
                });
}

/// Rolling or spinning friction as materials and pairs have it.
struct CoupleKeys {
  std::string_view what, length_key, coefficient_key;
  double MaterialSettings::*length;
  double MaterialSettings::*coefficient;
  double PairSettings::*pair_length;
  double PairSettings::*pair_coefficient;
  Combination Combinations::*rule;
};
constexpr std::array<CoupleKeys, 2> kCouples = {
    {{"rolling", "rolling_friction", "rolling_coefficient", &MaterialSettings::rolling_friction,
      &MaterialSettings::rolling_coefficient, &PairSettings::rolling_friction,
      &PairSettings::rolling_coefficient, &Combinations::rolling},
     {"spinning", "spinning_friction", "spinning_coefficient", &MaterialSettings::spinning_friction,
      &MaterialSettings::spinning_coefficient, &PairSettings::spinning_friction,
      &PairSettings::spinning_coefficient, &Combinations::spinning}}};

bool pair_gives(const SceneSettings& s, const CoupleKeys& keys, const std::string& a,
                const std::string& b) {
  return std::ranges::any_of(s.pairs, [&](const PairSettings& pair) {
    const bool same = pair.between == std::vector{a, b} || pair.between == std::vector{b, a};
    return same && !(std::isnan(pair.*keys.pair_length) && std::isnan(pair.*keys.pair_coefficient));
  });
}

/// Refuses a length that would have to combine with a coefficient, and tells of pairs that do not
/// resist because one material has no number: most often a wall to which nobody gave one.
void check_couples(SettingsVisitor& visit, const SceneSettings& s, const CoupleKeys& keys) {
  const Combination rule = s.combine.*keys.rule;
  const bool vanishes = rule == Combination::geometric || rule == Combination::harmonic;
  std::string without;
  for (std::size_t i = 0; i < s.materials.size(); ++i) {
    for (std::size_t k = i + 1; k < s.materials.size(); ++k) {
      const MaterialSettings *a = &s.materials[i], *b = &s.materials[k];
      if (pair_gives(s, keys, a->name, b->name)) continue;
      const auto number = [&](const MaterialSettings* m) {
        return std::max(m->*keys.length, m->*keys.coefficient);
      };
      const std::string both = "'" + a->name + "' and '" + b->name + "'";
      if (number(a) > 0.0 && number(b) > 0.0 &&
          (a->*keys.length > 0.0) != (b->*keys.length > 0.0)) {
        visit.reject("combine",
                     "of the materials " + both + " one has " + std::string(keys.length_key) +
                         ", the other " + std::string(keys.coefficient_key),
                     "give both the same key, or list the pair in contact.pairs");
      }
      if (vanishes && (number(a) > 0.0) != (number(b) > 0.0))
        without += (without.empty() ? "" : ", ") + both;
    }
  }
  if (without.empty()) return;
  const std::string what(keys.what);
  visit.hint("combine", "no " + what + " friction between the materials " + without +
                            ": one of the two has none, and the " +
                            std::string(kCombinationNames[static_cast<std::size_t>(rule)]) +
                            " mean with 0 is 0; give it " + std::string(keys.length_key) + " or " +
                            std::string(keys.coefficient_key) +
                            ", list the pair in contact.pairs, or set contact.combine." + what +
                            " to maximum");
}

}  // namespace

namespace scenarios {

void describe_pairs(SettingsVisitor& visit, SceneSettings& s) {
  describe_combine(visit, s.combine);
  visit.list(
      "pairs", s.pairs.size(), {.help = "exceptions from contact.combine"},
      [&](std::size_t n) { s.pairs.assign(n, {}); },
      [&](std::size_t i) { describe_pair(visit, s, i, s.pairs[i]); });
  for (const CoupleKeys& keys : kCouples) check_couples(visit, s, keys);
}

}  // namespace scenarios

}  // namespace catena
