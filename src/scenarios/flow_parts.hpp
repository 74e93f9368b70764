// Pieces of the description and making of motions, insertions and packs.
#pragma once

#include <string>
#include <string_view>

#include "catena/scenarios/scene.hpp"
#include "scenarios/scene_parts.hpp"

namespace catena::scenarios {

/// The key `interpolation` of a table.
void describe_interpolation(SettingsVisitor& visit, Interpolation& interpolation);

/// The key `motion` of a body, or, where that is nullptr, of a generator's bodies.
void describe_motion(SettingsVisitor& visit, MotionSettings& s, const BodySettings* body);

/// The keys `fixed` and `motion` of a generator.
void describe_fixture(SettingsVisitor& visit, GeneratorSettings& g);

/// The key `sizes`.
void describe_sizes(SettingsVisitor& visit, SizeSettings& s);

/// The keys of an insertion beside name, material and shape.
void describe_inflow(SettingsVisitor& visit, const SceneSettings& scene, InsertionSettings& s);

/// The keys of a pack beside name, material and shape.
void describe_pack(SettingsVisitor& visit, const SceneSettings& scene, PackSettings& s);

/// A table of a motion from CSV text with a header: t, x, y, z and optionally rx, ry, rz, SI.
/// Throws Error(bad_input) naming `source` and line.
MotionTable parse_motion_table(std::string_view text, const std::string& source);

/// Collective. The motion, with its table from the file, which rank 0 reads; `place` is that of the
/// body or generator, for errors.
Motion motion_of(const MotionSettings& s, const std::string& place, const Communicator& comm);

/// Why the region cannot hold the largest body; empty if it can.
std::string region_shortfall(const InsertionSettings& s, const Shape& shape,
                             const Quat& orientation, const Model& model);
inline constexpr const char* kRegionRemedy = "make the region larger, or the bodies smaller";

PeriodicBox periodic_box(const PeriodicSettings& s);

/// Seed of a generator: its `own`, or, where that is negative, one that follows from the case's and
/// its place.
std::uint64_t seed_of(const SceneSettings& scene, std::size_t generator, std::int64_t own);

/// Collective. First id of each generator's bodies.
std::vector<GlobalId> first_ids(const SceneSettings& scene, const Communicator& comm,
                                const Model& model);

}  // namespace catena::scenarios
