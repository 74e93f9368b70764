// Pieces of the description and making of motions and insertions.
#pragma once

#include <string>
#include <string_view>

#include "catena/scenarios/scene.hpp"

namespace catena::flow_parts {

/// The key `motion` of a body.
void describe_motion(SettingsVisitor& visit, BodySettings& s);

/// The keys of an insertion beside name, material and shape.
void describe_inflow(SettingsVisitor& visit, const SceneSettings& scene, InflowSettings& s);

/// A table of a motion from CSV text with a header: t, x, y, z and optionally rx, ry, rz, SI.
/// Throws Error(bad_input) naming `source` and line.
MotionTable parse_motion_table(std::string_view text, const std::string& source);

/// Collective. The motion of a body, with its table from the file, which rank 0 reads.
Motion motion_of(const BodySettings& s, const Communicator& comm);

PeriodicBox periodic_box(const PeriodicSettings& s);

/// State of a body that is not kinematic, moved by whole periods into the box.
BodyMotionState wrapped(const PeriodicBox& box, const BodyRecord& body);

/// Seed of a generator: its own, or one that follows from the case's and its place.
std::uint64_t seed_of(const SceneSettings& scene, std::size_t generator);

/// Collective. First id of each generator's bodies.
std::vector<GlobalId> first_ids(const SceneSettings& scene, const Communicator& comm);

}  // namespace catena::flow_parts
