// Contacts of a step over all ranks: ghosts, the halo plan, and each contact once.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "catena/collision/contact.hpp"
#include "catena/comm/communicator.hpp"
#include "catena/comm/halo_exchange.hpp"
#include "catena/model/state.hpp"

namespace catena {

/// One column of a rank's local bodies: the owned ones where their owner keeps them, which must
/// outlive their use, and copies of the others.
template <class T>
class LocalColumn {
 public:
  /// Starts anew with the owned ones.
  void refer_to(std::span<const T> owned) {
    owned_ = owned;
    others_.clear();
  }
  void push_back(const T& value) { others_.push_back(value); }
  /// Drops all from place n on; n is not below the number of owned ones.
  void resize(std::size_t n) { others_.resize(n - owned_.size()); }
  const T& operator[](std::size_t i) const {
    return i < owned_.size() ? owned_[i] : others_[i - owned_.size()];
  }
  /// The item of a body that is not owned.
  T& other(std::size_t i) { return others_[i - owned_.size()]; }
  std::size_t size() const { return owned_.size() + others_.size(); }

 private:
  std::span<const T> owned_;
  std::vector<T> others_;
};

/// The local bodies of a rank in a step: owned, then ghosts (ascending in owner rank,
/// then in the owner's order), then the model's unbounded bodies. Owned bodies are those of
/// Bodies and State themselves; poses and twists of the others are those of the step's start, until
/// the step moves them where it needs them, and twists of prescribed ones the mean over the step.
struct LocalBodies {
  LocalColumn<BodyConstants> constants;
  LocalColumn<BodyMotionState> state;
  std::vector<int> owner;  ///< rank of each
  /// Mean twists over the step of owned bodies with a prescribed motion, ascending in index.
  std::vector<std::pair<Index, Twist>> moving;
  std::vector<BodyMotion> ghost_motions;  ///< of kinematic ghosts, ascending in body
  Index n_owned = 0;
  Index n_ghost = 0;
  Index size() const { return to_index(constants.size()); }
  /// The twist that body i starts the step with: of a prescribed one the mean over the step.
  const Twist& twist(Index i) const {
    return moving.empty() ? state[i].twist : twist_among_moving(i);
  }

 private:
  const Twist& twist_among_moving(Index i) const;
};

/// What a rank knows of a step's contacts and joints: its local bodies, to which all indices refer,
/// and the contacts and joints that it holds; over all ranks each stands once. Its own bodies are
/// seen through those of Bodies and State: not to be used once these change.
struct ContactSet {
  LocalBodies bodies;
  std::vector<Contact> contacts;  ///< held by this rank, ascending in key
  HaloPlan ghosts;                ///< owned dynamic bodies to their ghosts (prescribed left out)
  /// Per joint of Bodies::joints its bodies among the local ones; kNoIndex: the world.
  std::vector<std::array<Index, kJointBodies>> joint_bodies;
};

/// Finds ghosts and contacts. Memory O(own bodies + ghosts), and of one rank in 64 O(ranks / 64).
class ContactSearch {
 public:
  ContactSearch(const Communicator& comm, const Model& model);
  ~ContactSearch();
  ContactSearch(ContactSearch&&) noexcept;

  /// Collective. Ranks exchange boxes with those near them, then bodies whose box, grown by the
  /// contact margin and by the way it goes in `step`, overlaps; a ghost is kept where a pair with
  /// an owned body has its home (home_of) on this rank. Contacts with gap below the margin, or
  /// closing fast enough to touch within `step` (dynamic bodies with v + h g), are made, ascending
  /// in key; the latter, but for planes, surfaces and hollow cylinders, only where the two come
  /// nearer than the margin on their ways in the step. The margin is the model's, or, if that is
  /// NaN, the pair's own: 1.1 times the ways that the surfaces of both go in the step,
  /// h (|v + h g| + |w| r), but at least 0.5 % and at most half of the smaller size (radius of the
  /// sphere of equal volume), and at least the range of cohesion. Contacts are made of bodies that
  /// may collide (may_collide) and of which one is dynamic.
  ///
  /// Other ranks' bodies that joints of this rank act on are ghosts, too; pairs that a joint holds
  /// apart make no contacts.
  ///
  /// In a periodic box a pair touches in every image of b in which it does (ContactKey::part);
  /// points and normals are those of a where it is, ghosts stay where they are. In planar motion
  /// contacts are projected onto the plane: a normal more than 45 degrees out of it makes no
  /// contact, and points of a pair that then coincide are one, the deepest.
  ///
  /// Throws Error on every rank, naming the body, where a dynamic body is longer than half the
  /// periodic box (another one: than the box) or lies outside of it, and where planar motion is
  /// impossible: a dynamic body that moves out of the plane, or whose y axis is not principal.
  void find(const Bodies& bodies, const State& state, double step, ContactSet& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace catena
