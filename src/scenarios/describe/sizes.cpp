// The description of `sizes`.
#include <cmath>

#include "scenarios/flow_parts.hpp"

namespace catena::scenarios {

namespace {

constexpr std::string_view kMeasures[] = {"number", "mass"};
const SettingInfo kFactor{.min = 0, .min_open = true, .required = true};

SettingInfo factor_info(std::string_view help) {
  SettingInfo info = kFactor;
  info.help = help;
  return info;
}

void describe_ends(SettingsVisitor& visit, SizeSettings& s) {
  visit.visit("min", s.min, factor_info("smallest factor"));
  visit.visit("max", s.max, factor_info("largest factor"));
  if (s.min > s.max) visit.reject("max", "is below min", "give the smaller factor as min");
}

void describe_measure(SettingsVisitor& visit, SizeSettings& s) {
  visit.choose("by", s.by, kMeasures,
               {.help = "what the distribution counts: `number` of bodies, or their `mass`"});
}

/// A distribution cut off so far from its middle that it is its tail alone.
void check_reach(SettingsVisitor& visit, std::string_view key, double from, double to,
                 double reach) {
  if (from > reach || to < -reach)
    visit.reject(key,
                 "lies more than " + std::to_string(static_cast<int>(reach)) +
                     " deviations beside min .. max",
                 "move the range");
}

void describe_normal(SettingsVisitor& visit, SizeSettings& s) {
  constexpr double kReach = 5.0;
  visit.visit("mean", s.mean, {.min = 0, .min_open = true, .help = "before it is cut off"});
  visit.visit("deviation", s.deviation, factor_info("standard deviation"));
  describe_ends(visit, s);
  check_reach(visit, "mean", (s.min - s.mean) / s.deviation, (s.max - s.mean) / s.deviation,
              kReach);
}

void describe_log_normal(SettingsVisitor& visit, SizeSettings& s) {
  constexpr double kReach = 30.0;
  visit.visit("median", s.median, {.min = 0, .min_open = true, .help = "before it is cut off"});
  visit.visit("deviation", s.deviation, factor_info("standard deviation of ln(factor)"));
  describe_ends(visit, s);
  describe_measure(visit, s);
  const auto reach = [&](double x) { return std::log(x / s.median) / s.deviation; };
  check_reach(visit, "median", reach(s.min), reach(s.max), kReach);
}

void describe_power(SettingsVisitor& visit, SizeSettings& s) {
  visit.visit("exponent", s.exponent,
              {.min = -100,
               .max = 100,
               .required = true,
               .help = "density ~ factor^exponent; a fractal dimension D is -1 - D by number"});
  describe_ends(visit, s);
  describe_measure(visit, s);
}

void check_curve(SettingsVisitor& visit, const std::vector<double>& rows) {
  const auto text = [](double x) { return std::to_string(x); };
  if (rows.size() < 4)
    return visit.reject("rows", "needs two rows at least", "for example [[5 mm, 0], [10 mm, 1]]");
  for (std::size_t i = 0; i < rows.size(); i += 2) {
    if (!(rows[i] > 0.0))
      return visit.reject("rows", "a sieve's opening is " + text(rows[i]) + " m", "");
    if (i == 0) continue;
    if (!(rows[i] > rows[i - 2]))
      return visit.reject("rows", "openings do not ascend", "sort the rows by opening");
    if (rows[i + 1] < rows[i - 1])
      return visit.reject("rows",
                          "the part that passes falls from " + text(rows[i - 1]) + " to " +
                              text(rows[i + 1]) + " at " + text(rows[i]) + " m",
                          "each row is the part of all that is smaller than the opening");
  }
  if (rows[1] != 0.0)
    return visit.reject("rows", "the smallest sieve passes " + text(rows[1]),
                        "begin with an opening that nothing passes: [SIZE, 0]");
  if (rows.back() != 1.0)
    visit.reject("rows", "the largest sieve passes " + text(rows.back()),
                 "end with an opening that all passes: [SIZE, 1]");
}

void describe_table(SettingsVisitor& visit, SizeSettings& s) {
  visit.list(
      "table", s.table.size(), {.help = "a few sizes; weights are shares of the number"},
      [&](std::size_t n) { s.table.assign(n, {}); },
      [&](std::size_t i) {
        visit.visit("factor", s.table[i].factor, factor_info("on all lengths"));
        visit.visit("weight", s.table[i].weight, {.min = 0, .min_open = true, .help = "share"});
      });
}

}  // namespace

void describe_sizes(SettingsVisitor& visit, SizeSettings& s) {
  using Kind = SizeSettings::Kind;
  visit.section(
      "sizes",
      {.help = "factor on all lengths of a body, drawn for each (of a pack: its quantiles, dealt "
               "at random); else 1"},
      [&] {
        std::vector<Kind> given;
        visit.visit("uniform", s.uniform, {.min = 0, .min_open = true, .help = "from, to"});
        if (!std::isnan(s.uniform[0]) && !std::isnan(s.uniform[1])) given.push_back(Kind::uniform);
        if (s.uniform[0] > s.uniform[1]) visit.reject("uniform", "does not ascend", "");
        const auto kind = [&](const char* key, Kind value, const char* help, auto describe) {
          bool present = s.kind == value;
          visit.optional_section(key, present, {.help = help}, [&] { describe(visit, s); });
          if (present) given.push_back(value);
        };
        kind("normal", Kind::normal, "cut off at min and max", describe_normal);
        kind("log_normal", Kind::log_normal, "cut off at min and max", describe_log_normal);
        kind("power", Kind::power, "between min and max", describe_power);
        kind("sieve", Kind::sieve, "a sieve curve", [](SettingsVisitor& v, SizeSettings& of) {
          std::size_t width = 2;
          v.rows("rows", of.sieve, width,
                 {.required = true,
                  .first_unit = "m",
                  .help = "opening, and the part that passes it, from 0 to 1; a body's size is the "
                          "diameter of the sphere of its volume; between rows even in log size"});
          describe_measure(v, of);
          check_curve(v, of.sieve);
        });
        describe_table(visit, s);
        if (!s.table.empty()) given.push_back(Kind::table);
        if (given.size() > 1)
          visit.reject("", "more than one distribution is given", "keep one of them");
        s.kind = given.empty() ? Kind::none : given.front();
      });
}

}  // namespace catena::scenarios
