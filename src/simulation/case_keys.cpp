#include "simulation/case_keys.hpp"

#include <cmath>

namespace catena {

namespace {

const BodySettings* listed(const CaseSettings& settings, GlobalId body) {
  const std::size_t i = body;
  return body >= 0 && i < settings.bodies.size() ? &settings.bodies[i] : nullptr;
}

/// The generator that made a body, and what it is called in paths.
const GeneratorSettings* generator_of(const CaseSettings& settings, const Model& model,
                                      GlobalId body, std::string& path) {
  const std::string name = model.names.name_of(body);
  const std::string stem = name.substr(0, name.rfind('-'));
  for (std::size_t i = 0; i < settings.generators.size(); ++i) {
    const std::string& given = settings.generators[i].name();
    if (stem != (given.empty() ? "generator" + std::to_string(i) : given)) continue;
    path = given.empty() ? std::to_string(i) : given;
    return &settings.generators[i];
  }
  return nullptr;
}

/// The key under a generator that says where its bodies stand.
const char* place_of(const ContainerSettings&) { return ".origin"; }
const char* place_of(const LatticeSettings&) { return ".spacing"; }
const char* place_of(const WallSettings&) { return ".gap"; }
const char* place_of(const TableSettings&) { return ".file"; }
const char* place_of(const PackSettings&) { return ".region"; }
template <class Kind>
const char* place_of(const Kind&) {
  return "";
}

}  // namespace

std::string body_key(const CaseSettings& settings, const Model& model, GlobalId body) {
  if (const BodySettings* s = listed(settings, body)) return "bodies." + s->name;
  std::string path;
  if (generator_of(settings, model, body, path) != nullptr) return "generators." + path;
  return model.names.name_of(body);
}

std::string place_key(const CaseSettings& settings, const Model& model, GlobalId body) {
  std::string path;
  if (listed(settings, body) != nullptr) return body_key(settings, model, body) + ".position";
  const GeneratorSettings* generator = generator_of(settings, model, body, path);
  return body_key(settings, model, body) +
         (generator == nullptr
              ? ""
              : std::visit([](const auto& s) { return place_of(s); }, generator->kind));
}

std::string place_keys(const CaseSettings& settings, const Model& model, GlobalId a, GlobalId b) {
  const std::string first = place_key(settings, model, a), second = place_key(settings, model, b);
  return first == second ? first : first + " and " + second;
}

std::string mass_key(const CaseSettings& settings, const Model& model, GlobalId body) {
  const BodySettings* s = listed(settings, body);
  if (s != nullptr && !std::isnan(s->mass)) return "bodies." + s->name + ".mass";
  std::string path;
  const GeneratorSettings* generator =
      s != nullptr ? nullptr : generator_of(settings, model, body, path);
  const std::string material =
      s != nullptr ? s->material : (generator != nullptr ? generator->material() : "");
  return material.empty() ? body_key(settings, model, body) : "materials." + material + ".density";
}

}  // namespace catena
