// The description of the key `initial`.
#include <algorithm>

#include "catena/base/suggest.hpp"
#include "scenarios/joint_parts.hpp"

namespace catena {

namespace {

constexpr std::string_view kTimes[] = {"reset", "keep"};
constexpr std::string_view kVelocities[] = {"keep", "zero"};
constexpr const char* kAll = "all";

/// Each name is `all`, alone, or that of a body or generator of the case.
void check_bodies(SettingsVisitor& visit, const SceneSettings& scene, const InitialSettings& s) {
  std::vector<std::string> known;
  for (const BodySettings& body : scene.bodies) known.push_back(body.name);
  for (std::size_t i = 0; i < scene.generators.size(); ++i)
    known.push_back(scenarios::stem_of(scene.generators[i], i));
  if (s.bodies.empty())
    visit.reject("bodies", "is empty: nothing would go on",
                 "name bodies or generators, or leave it out for all");
  for (const std::string& name : s.bodies) {
    if (name == kAll && s.bodies.size() > 1)
      visit.reject("bodies", "`all` stands beside other names", "write [all] or the names");
    if (name == kAll || std::ranges::find(known, name) != known.end()) continue;
    const std::string near = nearest_word(name, known);
    visit.reject(
        "bodies", "there is no body or generator '" + name + "'",
        near.empty() ? "name bodies or generators of this case" : "did you mean " + near + "?");
  }
}

}  // namespace

void describe_initial(SettingsVisitor& visit, SceneSettings& scene) {
  InitialSettings& s = scene.initial;
  visit.optional_section(
      "initial", s.present, {.help = "the run whose end this one begins with (docs/going-on.md)"},
      [&] {
        visit.visit("from", s.from,
                    {.required = true,
                     .help = "result directory, whose newest checkpoint that is whole is taken, or "
                             "a checkpoint; also `catena run --from`"});
        s.place = visit.where("from");
        visit.choose("time", s.keeps_time, kTimes,
                     {.help = "`reset`: time, step, sums of the audit and of the flow start at 0; "
                              "`keep`: they go on, and time.end counts from the earlier run's "
                              "start"});
        visit.visit("bodies", s.bodies,
                    {.help = "names of bodies and generators that go on; others start as this "
                             "case says. `all`: those that both cases name"});
        bool zero = !s.keeps_velocities;
        visit.choose("velocities", zero, kVelocities,
                     {.help = "of dynamic bodies that go on; `zero` brings them to rest"});
        s.keeps_velocities = !zero;
        check_bodies(visit, scene, s);
      });
}

}  // namespace catena
