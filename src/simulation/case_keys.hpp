// Keys of a case by what they made: what messages name beside bodies and pairs.
#pragma once

#include <string>

#include "catena/simulation/case.hpp"

namespace catena {

/// `bodies.block`, or `generators.grains` of a generated body.
std::string body_key(const CaseSettings& settings, const Model& model, GlobalId body);

/// The key that says where a body stands: `bodies.block.position`, `generators.grains.spacing`.
std::string place_key(const CaseSettings& settings, const Model& model, GlobalId body);

/// The place keys of two bodies, `x and y`, or the one that both have.
std::string place_keys(const CaseSettings& settings, const Model& model, GlobalId a, GlobalId b);

/// The key that a body's mass comes from: `bodies.block.mass` where it is given, else
/// `materials.steel.density`.
std::string mass_key(const CaseSettings& settings, const Model& model, GlobalId body);

}  // namespace catena
