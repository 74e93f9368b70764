// Cases from short YAML texts, the pieces that such texts are made of, and what tests read from
// their simulations.
#pragma once

#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "catena/simulation/simulation.hpp"
#include "support/contacts_under_test.hpp"

namespace catena::test {

/// Reads back as the same double.
inline std::string text_of(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

inline std::string text_of(const Vec3& v) {
  return "[" + text_of(v[0]) + ", " + text_of(v[1]) + ", " + text_of(v[2]) + "]";
}

inline std::string text_of(const Quat& q) {
  return "{quaternion: [" + text_of(q.w()) + ", " + text_of(q.x()) + ", " + text_of(q.y()) + ", " +
         text_of(q.z()) + "]}";
}

/// An entry of `bodies`: a sphere of radius 0.1 m at (x, 0, z); `keys` stand behind a comma.
inline std::string sphere_text(const std::string& name, double x, double z,
                               const std::string& keys = "") {
  return "  - {name: " + name +
         ", material: m, shape: {sphere: {radius: 0.1}}, position: " + text_of(Vec3(x, 0.0, z)) +
         keys + "}\n";
}

/// The entry of a floor, z = 0.
inline constexpr const char* kFloorText = "  - {name: floor, material: m, shape: {plane: {}}}\n";

/// A case of `yaml`, which lacks the lines `catena: 1` and `name`; `set` as --set takes them.
inline CaseSettings case_of(const std::string& yaml, const std::vector<std::string>& set = {}) {
  return parse_case("catena: 1\nname: test\n" + yaml, "test.yaml", ".", set);
}

/// The text with contacts as they were before they gave, rigid and made below 1 mm, unless it says
/// how stiff they are: for what is known of rigid bodies.
inline std::string with_rigid_contacts(std::string yaml) {
  if (yaml.find("stiffness:") != std::string::npos) return yaml;
  const std::string margin = yaml.find("margin:") == std::string::npos ? ", margin: 1 mm" : "";
  const std::string flow = "contact: {";
  if (const std::size_t at = yaml.find(flow); at != std::string::npos)
    return yaml.insert(at + flow.size(), "stiffness: rigid" + margin + ", ");
  return "contact: {stiffness: rigid" + margin + "}\n" + yaml;
}

/// The text with the contacts under test: rigid ones, or those that cases have by default.
inline std::string with_contacts_under_test(const std::string& yaml) {
  return contacts_give() ? yaml : with_rigid_contacts(yaml);
}

/// A case of all its text.
inline CaseSettings whole_case(const std::string& text, const std::vector<std::string>& set = {}) {
  return parse_case(text, "case.yaml", "/data", set);
}

/// Collective on `comm`. A simulation of case_of(yaml, set).
inline std::unique_ptr<Simulation> simulate(const Communicator& comm, const std::string& yaml,
                                            const std::vector<std::string>& set = {}) {
  return std::make_unique<Simulation>(comm, case_of(yaml, set));
}

/// State of a body that this rank owns; throws if it does not.
inline const BodyMotionState& body_of(const Simulation& sim, GlobalId id) {
  for (std::size_t i = 0; i < sim.bodies().constants.size(); ++i)
    if (sim.bodies().constants[i].id == id) return sim.state().body[i];
  throw std::runtime_error("body " + std::to_string(id) + " is not owned here");
}

/// Collective. Positions of all bodies by id, 3 numbers each, on every rank.
inline std::vector<double> positions_by_id(const Simulation& sim) {
  const Communicator& comm = sim.communicator();
  GlobalId last = 0;
  for (const BodyConstants& body : sim.bodies().constants) last = std::max(last, body.id);
  last = comm.max(last);
  std::vector<double> all(3 * static_cast<std::size_t>(last + 1), 0.0);
  for (std::size_t i = 0; i < sim.bodies().constants.size(); ++i)
    for (int d = 0; d < 3; ++d)
      all[static_cast<std::size_t>(3 * sim.bodies().constants[i].id + d)] =
          sim.state().body[i].pose.p[d];
  comm.sum(all);
  return all;
}

}  // namespace catena::test
