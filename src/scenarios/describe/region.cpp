// The description of regions.
#include <numbers>

#include "catena/scenarios/region_settings.hpp"
#include "scenarios/scene_parts.hpp"

namespace catena {

void describe_region(SettingsVisitor& visit, std::string_view of_box, std::string_view of_others,
                     RegionSettings& s) {
  using scenarios::is_set, scenarios::numbers;
  const std::string of_corner = std::string(of_box) + "corner of a box";
  const std::string of_form = std::string(of_others) + "in place of a box";
  const SettingInfo corner{.unit = "m", .help = of_corner}, form{.help = of_form};
  const SettingInfo radius{
      .unit = "m", .min = 0, .min_open = true, .required = true, .help = "of it"};
  visit.visit("lower", numbers(s.lower), corner);
  visit.visit("upper", numbers(s.upper), corner);
  visit.optional_section("cylinder", s.cylinder, form, [&] {
    const SettingInfo end{.unit = "m", .required = true, .help = "an end of its axis"};
    visit.visit("from", numbers(s.from), end);
    visit.visit("to", numbers(s.to), end);
    visit.visit("radius", s.radius, radius);
    if (is_set(s.from) && is_set(s.to) && !((s.to - s.from).norm() > 0.0))
      visit.reject("to", "is the same point as `from`", "give both ends of the axis");
  });
  visit.optional_section("sphere", s.sphere, form, [&] {
    visit.visit("centre", numbers(s.centre), {.unit = "m", .required = true, .help = "of it"});
    visit.visit("radius", s.radius, radius);
  });
}

void check_region(SettingsVisitor& visit, const RegionSettings& s, bool another,
                  std::string_view forms) {
  using scenarios::is_set;
  const bool lower = is_set(s.lower), upper = is_set(s.upper);
  const int given =
      (lower || upper ? 1 : 0) + (s.cylinder ? 1 : 0) + (s.sphere ? 1 : 0) + (another ? 1 : 0);
  if (given != 1)
    visit.reject("", given == 0 ? "has no region" : "has more than one region",
                 "give " + std::string(forms));
  else if (lower != upper)
    visit.reject(lower ? "upper" : "lower", "missing", "a box has two corners");
  else if (lower && !(s.lower.array() < s.upper.array()).all())
    visit.reject("upper", "does not lie above `lower` in all directions",
                 "give the lower corner first");
}

double volume_of(const RegionSettings& s) {
  using std::numbers::pi;
  if (s.sphere) return 4.0 / 3.0 * pi * s.radius * s.radius * s.radius;
  if (s.cylinder) return pi * s.radius * s.radius * (s.to - s.from).norm();
  return (s.upper - s.lower).prod();
}

}  // namespace catena
