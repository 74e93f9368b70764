// Bodies of a case by their names.
#include <algorithm>
#include <charconv>

#include "catena/base/index.hpp"
#include "catena/base/suggest.hpp"
#include "scenarios/joint_parts.hpp"
#include "scenarios/scene_parts.hpp"

namespace catena::scenarios {

std::string stem_of(const GeneratorSettings& generator, std::size_t place) {
  const std::string& name = generator.name();
  return name.empty() ? "generator" + std::to_string(place) : name;
}

GlobalId number_in(const std::string& name, const std::string& stem) {
  const std::size_t dash = stem.size();
  if (name.size() < dash + 2 || !name.starts_with(stem) || name[dash] != '-') return -1;
  if (name[dash + 1] == '0' && name.size() > dash + 2) return -1;  // 01 is no number here
  GlobalId number = -1;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + dash + 1, end, number);
  return error == std::errc() && stop == end ? number : -1;
}

BodyNames::BodyNames(const SceneSettings& scene) : scene_(scene) {
  for (std::size_t i = 0; i < scene.bodies.size(); ++i) bodies_.emplace(scene.bodies[i].name, i);
  for (std::size_t i = 0; i < scene.generators.size(); ++i) {
    generators_.emplace(stem_of(scene.generators[i], i), i);
  }
}

NamedBody BodyNames::find(const std::string& name) const {
  using Kind = NamedBody::Kind;
  if (const auto at = bodies_.find(name); at != bodies_.end()) return {Kind::body, at->second, 0};
  if (name == kWorld) return {Kind::world, 0, 0};
  const std::size_t dash = name.rfind('-');
  if (dash == std::string::npos) return {};
  const auto generator = generators_.find(name.substr(0, dash));
  if (generator == generators_.end()) return {};
  const GlobalId number = number_in(name, generator->first);
  if (number < 0) return {};
  const GlobalId count = count_of(scene_.generators[generator->second]);
  if (count >= 0 && number >= count) return {};
  return {Kind::generated, generator->second, number};
}

std::string BodyNames::nearest(const std::string& name) const {
  std::vector<std::string> known;
  for (const auto& [body, index] : bodies_) known.push_back(body);
  for (const auto& [generator, index] : generators_) known.push_back(generator + "-0");
  std::sort(known.begin(), known.end());
  return nearest_word(name, known);
}

bool BodyNames::dynamic(const NamedBody& body) const {
  if (body.kind == NamedBody::Kind::body)
    return scenarios::kind_of(scene_.bodies[body.index]) == BodyKind::dynamic;
  return body.kind == NamedBody::Kind::generated &&
         !scene_.generators[body.index].is<ContainerSettings>() &&
         !scene_.generators[body.index].held();
}

bool BodyNames::comes_later(const NamedBody& body) const {
  return body.kind == NamedBody::Kind::generated &&
         scene_.generators[body.index].is<InsertionSettings>();
}

bool BodyNames::packed(const NamedBody& body) const {
  return body.kind == NamedBody::Kind::generated &&
         scene_.generators[body.index].is<PackSettings>();
}

void check_body_name(SettingsVisitor& visit, const BodyNames& names, std::string_view key,
                     const std::string& name, bool world_too) {
  const NamedBody body = names.find(name);
  if (body.kind == NamedBody::Kind::world && !world_too) {
    visit.reject(key, "the world does not move", "name a body");
  } else if (body.kind == NamedBody::Kind::unknown) {
    const std::string near = names.nearest(name);
    visit.reject(key, "there is no body '" + name + "'",
                 !near.empty() ? "did you mean " + near + "?"
                 : world_too   ? "name a body, NAME-12 of a generator, or world"
                               : "name a body, or NAME-12 of a generator");
  } else if (body.kind == NamedBody::Kind::generated && names.comes_later(body)) {
    visit.reject(key, "'" + name + "' comes in after the start",
                 "joints and forces are for bodies that are there at the start");
  } else if (body.kind == NamedBody::Kind::generated && names.packed(body)) {
    visit.reject(key, "'" + name + "' has no place yet: a pack finds them when the run begins",
                 "list the body under bodies");
  }
}

void check_between(SettingsVisitor& visit, const BodyNames& names, bool more,
                   const std::vector<std::string>& between) {
  if (between.empty())
    return visit.reject("between", "missing or empty", "give two bodies, for example [world, arm]");
  if (between.size() < 2 || (between.size() > 2 && !more)) {
    visit.reject("between", "needs two bodies, found " + std::to_string(between.size()),
                 "for example [world, arm]");
    return;
  }
  std::size_t held = 0;
  for (std::size_t k = 0; k < between.size(); ++k) {
    check_body_name(visit, names, "between", between[k], true);
    if (std::find(between.begin(), between.begin() + narrow<std::ptrdiff_t>(k), between[k]) !=
        between.begin() + narrow<std::ptrdiff_t>(k)) {
      visit.reject("between", "names '" + between[k] + "' twice",
                   more ? "name each body once" : "name two bodies");
      return;
    }
    if (!names.dynamic(names.find(between[k]))) ++held;
  }
  if (held < 2) return;
  visit.reject(
      "between",
      between.size() == 2 ? "neither of both can move freely" : "more than one cannot move freely",
      between.size() == 2
          ? "one of them must be neither the world, nor fixed, nor given a motion"
          : "all but one of them must be neither the world, nor fixed, nor given a motion");
}

}  // namespace catena::scenarios
