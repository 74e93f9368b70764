// The packs of a case and their bodies.
#pragma once

#include <memory>
#include <vector>

#include "scenarios/make/geometry_plan.hpp"
#include "scenarios/pack/packing.hpp"

namespace catena::scenarios {

struct Block;

/// What is known of each generator's pack without its places; nullptr for other generators.
/// Settings and the model, which has its geometries, must outlive them.
std::vector<std::unique_ptr<Pack>> packs_of(const SceneSettings& scene, const GeometryPlan& plan,
                                            const Model& model);

/// Body k of a pack, at `place`.
BodyRecord pack_body(const PackSettings& s, const Pack& pack, const Shape& whole,
                     std::uint64_t seed, GlobalId first, GlobalId k, int material,
                     const Vec3& place, const Model& model);

/// Where the bodies of packs stand that are among this rank's share of ids.
class PackPlaces {
 public:
  /// Collective. Of ids first .. last-1; each id of a pack is on one rank's list. Throws Error on
  /// every rank where bodies do not fit.
  PackPlaces(const Communicator& comm, const SceneSettings& scene,
             const std::vector<std::unique_ptr<Pack>>& packs, const std::vector<Block>& blocks,
             GlobalId first, GlobalId last);
  /// Of body k of a generator.
  const Vec3& of(std::size_t generator, GlobalId k) const;

 private:
  struct Share {
    GlobalId from = 0;
    std::vector<Vec3> places;
  };
  std::vector<Share> shares_;  ///< per generator
};

}  // namespace catena::scenarios
