// Contacts of pairs of bodies, by key.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "catena/math/rotation.hpp"
#include "search/probe_pairs.hpp"

namespace catena::search {

/// Collides the pairs of a step.
class PairContacts {
 public:
  PairContacts(const Model& model, const Probes& probes) : model_(&model), probes_(&probes) {}

  /// Contacts of all pairs, in the order of pairs, so ascending in key. `apart`: pairs that joints
  /// hold apart, ascending.
  void make(std::span<const IdPair> pairs, std::span<const std::pair<GlobalId, GlobalId>> apart,
            const LocalBodies& local, std::vector<Contact>& contacts);

 private:
  /// A body by its velocities of the step's start.
  struct Moving {
    const Shape& shape;
    const Pose& pose;
    Twist twist;

    Pose at(double t) const { return {pose.p + t * twist.v, advance_rotation(pose.q, twist.w, t)}; }
  };

  void collide_pair(const LocalBodies& local, const IdPair& pair, std::vector<Contact>& contacts);
  bool come_near(const Moving& a, const Moving& b, double gap, double margin, double reach);
  bool held_apart(const Probe& a, const Probe& b);
  void finish_pair(const IdPair& pair, std::vector<Contact>& contacts, std::size_t first) const;

  const Model* model_;
  const Probes* probes_;
  std::vector<ContactPoint> points_;
  std::span<const std::pair<GlobalId, GlobalId>> apart_;
  std::size_t next_apart_ = 0;  ///< how far they are passed
};

}  // namespace catena::search
