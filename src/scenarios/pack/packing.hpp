// Bodies of packs: how many there are, how large they are, where they stand.
#pragma once

#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/scenarios/scene.hpp"
#include "scenarios/pack/region.hpp"

namespace catena::scenarios {

/// What is known of one pack without its places. All of a body but its place follows from its
/// number and the seed.
class Pack {
 public:
  /// `one`: the shape at factor 1. `surface`: of a region that is a mesh, else nullptr. Settings
  /// and model must outlive it.
  Pack(const PackSettings& settings, const Shape& one, const Geometry* surface, const Model& model,
       std::uint64_t seed);

  GlobalId count() const { return count_; }
  /// Factor of body k on all lengths: the middle of its part of the distribution, of `count` equal
  /// ones.
  double factor(GlobalId k) const;
  /// Radius at factor 1 of the ball about a body, m.
  double ball() const { return ball_; }
  /// What the balls about the bodies fill of the region.
  double ball_fraction() const;
  /// Solid fraction of so many whole bodies.
  double fraction() const { return static_cast<double>(count_) * body_volume_ / region_.volume(); }
  const PackRegion& region() const { return region_; }
  const PackSettings& settings() const { return settings_; }
  double largest_ball() const { return sizes_.largest() * ball_; }
  double typical_ball() const { return mean_factor_ * ball_; }
  /// A random place of body k inside the region. Throws Error if none is found.
  Vec3 first_place(GlobalId k) const;

 private:
  const PackSettings& settings_;
  PackRegion region_;
  Sizes sizes_;
  std::uint64_t seed_;
  double ball_;
  double mean_factor_ = 0.0, mean_cube_ = 0.0;  ///< of the factor
  double body_volume_ = 0.0;                    ///< mean, m^3
  GlobalId count_ = 0;
};

/// Throws Error, with its place, for a pack that cannot be; remarks on one whose bodies are so few
/// that they miss the fraction. `place`: of the generator.
void check_pack(const Pack& pack, const Model& model, const std::string& place,
                std::vector<std::string>& warnings);

/// Collective. Centres of the pack's bodies of numbers from .. to-1, which each rank chooses; the
/// rank that chooses a number holds it alone. Balls about the bodies do not overlap, and lie in the
/// region whole; the same bits on any number of ranks. Throws Error at `place` on every rank where
/// so much does not fit. Never more on a rank than its part of the bodies, and ghosts.
std::vector<Vec3> pack_places(const Communicator& comm, const Pack& pack, GlobalId from,
                              GlobalId to, const std::string& place);

}  // namespace catena::scenarios
