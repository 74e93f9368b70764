// What a case says of probes (docs/probes.md).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "catena/base/settings.hpp"
#include "catena/math/types.hpp"
#include "catena/scenarios/region_settings.hpp"

namespace catena {

/// What a probe measures.
enum class ProbeType { force, flux, joint, body, region, profile, pair, energy, cell };

/// The plane, disc or rectangle of a flux.
struct ThroughSettings {
  Vec3 point = Vec3::Constant(kNone);           ///< of the plane; centre of disc and rectangle, m
  Vec3 normal = Vec3::Constant(kNone);          ///< bodies that go along it count positive
  double radius = kNone;                        ///< disc, m
  Vec3 side = Vec3::Constant(kNone);            ///< direction of the rectangle's first edge
  std::array<double, 2> size = {kNone, kNone};  ///< its edges, m
};

/// One of `probes:`; SI units, world frame.
struct ProbeSettings {
  std::string name, place;  ///< place: file, line, column and path, for errors
  ProbeType type = ProbeType::force;
  double interval = 0.0;             ///< s; 0: every step
  std::vector<std::string> on;       ///< names of bodies and generators
  std::vector<std::string> from;     ///< force: what the forces come from; empty: anything
  Vec3 about = Vec3::Zero();         ///< force: point of the torque, m
  ThroughSettings through;           ///< flux
  bool by_material = false;          ///< flux
  std::string joint;                 ///< joint
  std::string body;                  ///< body
  Vec3 at = Vec3::Zero();            ///< body: the point, from its position on its shape's axes, m
  RegionSettings region;             ///< region, profile (boxes only)
  int axis = 2;                      ///< profile: x, y or z
  int bins = 0;                      ///< profile, pair
  double largest = kNone;            ///< pair: upper end of the last bin, N
  std::vector<std::string> between;  ///< pair: two names, or none for all contacts
};

/// The key `probes`. `step`: of the case, s.
void describe_probes(SettingsVisitor& visit, std::vector<ProbeSettings>& probes, double step,
                     double end);

}  // namespace catena
