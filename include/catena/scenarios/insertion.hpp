// Bodies of an insertion as pure functions of their number: what they are, where they may go.
#pragma once

#include <cstdint>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/model/model.hpp"
#include "catena/scenarios/scene.hpp"

namespace catena {

/// One insertion of a case. Everything follows from (seed, number, attempt): nothing from ranks
/// or from what was inserted before.
class Insertion {
 public:
  /// The insertion of generator `generator`, whose ids start at `first`. References must outlive
  /// it. Throws Error if the region cannot hold the largest body.
  Insertion(const SceneSettings& scene, std::size_t generator, GlobalId first, const Model& model);

  const InsertionSettings& settings() const { return settings_; }

  /// Body `number` of 0 .. count-1: id first + number, all lengths times its factor.
  BodyConstants constants(std::int64_t number) const;

  /// Where attempt `attempt` puts body `number`, whole inside the region (its bounding box; along
  /// a periodic direction that the region spans whole: its centre), with the insertion's twist.
  BodyMotionState place(const BodyConstants& body, std::int64_t number, std::int64_t attempt) const;

  /// Largest bounding radius of its bodies, m.
  double largest_radius() const;

 private:
  const InsertionSettings& settings_;
  const Model& model_;
  GlobalId first_;
  std::uint64_t seed_;
  BodyRecord prototype_;  ///< at factor 1
  Sizes sizes_;
};

/// Collective. The insertions of a case in the generators' order.
std::vector<Insertion> make_insertions(const SceneSettings& scene, const Communicator& comm,
                                       const Model& model);

}  // namespace catena
