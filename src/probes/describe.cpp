// The description of `probes:` and what its types do not use.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

#include "catena/base/key_use.hpp"
#include "catena/base/text.hpp"
#include "catena/probes/probe_settings.hpp"

namespace catena {

namespace {

constexpr std::string_view kTypes[] = {"force",   "flux", "joint",  "body", "region",
                                       "profile", "pair", "energy", "cell"};
constexpr std::string_view kAxes[] = {"x", "y", "z"};

using enum ProbeType;

std::span<double> numbers(Vec3& v) { return {v.data(), 3}; }
bool is_set(const Vec3& v) { return !v.hasNaN(); }

void describe_through(SettingsVisitor& visit, ThroughSettings& s, bool& present) {
  visit.optional_section(
      "through", present,
      {.help = "flux: a disc (`radius`), a rectangle (`side`, `size`), or the whole plane"}, [&] {
        visit.visit("point", numbers(s.point),
                    {.unit = "m", .required = true, .help = "of the plane: the centre"});
        visit.visit("normal", numbers(s.normal),
                    {.required = true, .help = "bodies that go along it count positive"});
        visit.visit("radius", s.radius,
                    {.unit = "m", .min = 0, .min_open = true, .help = "of a disc"});
        visit.visit("side", numbers(s.side), {.help = "direction of a rectangle's first edge"});
        visit.visit("size", s.size,
                    {.unit = "m", .min = 0, .min_open = true, .help = "a rectangle's edges"});
        if (is_set(s.normal) && !(s.normal.norm() > 0.0))
          visit.reject("normal", "has no direction", "for example [0, 0, -1]");
        const bool sized = !std::isnan(s.size[0]);
        if (sized != is_set(s.side))
          visit.reject(sized ? "size" : "side", "stands without the other of side and size",
                       "a rectangle needs both");
        if (sized && !std::isnan(s.radius))
          visit.reject("radius", "stands beside a rectangle's size", "give one of the two");
        if (sized && is_set(s.side) && is_set(s.normal) &&
            !(s.side.cross(s.normal).norm() > 1e-6 * s.side.norm() * s.normal.norm()))
          visit.reject("side", "is parallel to the normal", "an edge lies in the plane");
      });
}

void check_region_of(SettingsVisitor& visit, ProbeType type, const RegionSettings& s) {
  if (type != region && type != profile) {
    for (const auto& [key, given] : {std::pair<std::string_view, bool>{"lower", is_set(s.lower)},
                                     {"upper", is_set(s.upper)},
                                     {"cylinder", s.cylinder},
                                     {"sphere", s.sphere}})
      check_use<ProbeType>(visit, kTypes, type, {key, given, {region, profile}, false});
    return;
  }
  if (type == profile && (s.cylinder || s.sphere))
    visit.reject(s.cylinder ? "cylinder" : "sphere", "a profile has bins of a box",
                 "give lower and upper");
  check_region(visit, s, false,
               type == profile ? "lower and upper" : "lower and upper, a cylinder or a sphere");
}

void check_keys(SettingsVisitor& visit, const ProbeSettings& s, bool through) {
  const KeyUse<ProbeType> uses[] = {
      {"on", !s.on.empty(), {force, region, profile, energy}, s.type == force},
      {"from", !s.from.empty(), {force}, false},
      {"about", !s.about.isZero(0.0), {force}, false},
      {"through", through, {flux}, true},
      {"by_material", s.by_material, {flux}, false},
      {"joint", !s.joint.empty(), {joint}, true},
      {"body", !s.body.empty(), {body}, true},
      {"at", !s.at.isZero(0.0), {body}, false},
      {"bins", s.bins > 0, {profile, pair}, s.type == profile},
      {"largest", !std::isnan(s.largest), {pair}, false},
      {"between", !s.between.empty(), {pair}, false}};
  for (const auto& use : uses) check_use<ProbeType>(visit, kTypes, s.type, use);
  check_region_of(visit, s.type, s.region);
  if (s.type == pair && !s.between.empty() && s.between.size() != 2)
    visit.reject("between", "needs two names, found " + std::to_string(s.between.size()),
                 "for example [grains, bin]");
  if (s.type == pair && (s.bins > 0) == std::isnan(s.largest))
    visit.reject(s.bins > 0 ? "largest" : "bins", "missing",
                 "a histogram needs bins and the largest force");
}

/// Names become columns of files and parts of paths.
void check_name(SettingsVisitor& visit, const std::string& name) {
  const bool fits = std::ranges::all_of(
      name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; });
  if (!fits || (!name.empty() && std::isalpha(static_cast<unsigned char>(name[0])) == 0))
    visit.reject("name", "'" + name + "' is no name of a file and of columns",
                 "use letters, digits and _, a letter first");
}

void describe_probe(SettingsVisitor& visit, ProbeSettings& s, double step, double end) {
  visit.visit("name", s.name, {.required = true, .help = "unique among probes"});
  check_name(visit, s.name);
  visit.choose("type", s.type, kTypes,
               {.required = true, .help = "what is measured (docs/probes.md)"});
  visit.visit("interval", s.interval,
              {.unit = "s",
               .min = 0,
               .word = "step",
               .word_value = 0.0,
               .help = "of simulated time, between rows; `step`: a row for every step"});
  visit.visit("on", s.on,
              {.row_alone = true,
               .help = "force: bodies and generators on which it acts; region, profile, energy: "
                       "those that count, else all that move freely"});
  visit.visit("from", s.from,
              {.row_alone = true,
               .help = "force: bodies, generators or `world` that it comes from, else all others"});
  visit.visit("about", numbers(s.about), {.unit = "m", .help = "force: point of the torque"});
  bool through = is_set(s.through.point);
  describe_through(visit, s.through, through);
  visit.visit("by_material", s.by_material, {.help = "flux: also for each material by itself"});
  visit.visit("joint", s.joint, {.help = "joint: its name, NAME-3 of a generator"});
  visit.visit("body", s.body, {.help = "body: its name, NAME-12 of a generator"});
  visit.visit("at", numbers(s.at),
              {.unit = "m", .help = "body: the point, from its position on the axes of its shape"});
  describe_region(visit, "region, profile: ", "region: ", s.region);
  visit.choice("axis", s.axis, kAxes, {.help = "profile: along which the box is cut into bins"});
  visit.visit("bins", s.bins,
              {.min = 0, .max = 1000, .help = "profile: slices; pair: of the histogram"});
  visit.visit("largest", s.largest,
              {.unit = "N", .min = 0, .min_open = true, .help = "pair: upper end of the last bin"});
  visit.visit("between", s.between,
              {.help = "pair: two names of bodies or generators, else all contacts"});
  s.place = visit.where("");
  check_keys(visit, s, through);
  if (s.interval > (1.0 + 1e-9) * end)
    visit.reject("interval", "is longer than the run: there would be no row",
                 "make it shorter than time.end");
  const double steps = s.interval / step;
  if (std::abs(steps - std::round(steps)) > 1e-9 * std::max(1.0, steps))
    visit.hint("interval", "is no multiple of time.step (" + short_text(step) +
                               " s): rows come with the first step at or after each multiple");
}

}  // namespace

void describe_probes(SettingsVisitor& visit, std::vector<ProbeSettings>& probes, double step,
                     double end) {
  visit.list(
      "probes", probes.size(), {.help = "what is measured at every step (docs/probes.md)"},
      [&](std::size_t n) { probes.assign(n, {}); },
      [&](std::size_t i) {
        describe_probe(visit, probes[i], step, end);
        for (std::size_t k = 0; k < i; ++k)
          if (!probes[i].name.empty() && probes[k].name == probes[i].name)
            visit.reject("name", "the name '" + probes[i].name + "' is taken", "choose another");
      });
}

}  // namespace catena
