// Boxes that bodies stay in for some steps.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "search/probes.hpp"

namespace catena::search {

/// What follows from which boxes overlap, pairs that may touch and bodies that other ranks may
/// need, holds for several steps if the boxes are wider than a step needs: as long as every body's
/// box of the step lies within its wide one. A step then looks among these pairs, with its own
/// boxes, and finds what it would find among all. Not in periodic boxes, and not where bodies leave
/// their wide boxes too soon.
class WideBoxes {
 public:
  /// What a step's pairs follow from: its own boxes, wide boxes that it makes, or kept ones.
  enum class Use { own, made, kept };

  /// Collective. Decides, the same on all ranks; the owned bodies' probes are there.
  void choose(const Communicator& comm, const Probes& probes);
  /// Whether bodies are offered to other ranks by the last offers.
  bool keeps_offers() const { return use_ == Use::kept; }
  /// Local. The same for this rank's pairs, once the other ranks' bodies are there, too: where
  /// these are others than before (joints need them), the step has its own boxes.
  void complete(const Probes& probes);
  Use use() const { return use_; }
  /// Of all bodies with boxes: the wide ones where this step makes them, else its own.
  std::span<const Aabb> boxes(const Probes& probes) const {
    return use_ == Use::made ? std::span<const Aabb>(wide_) : probes.boxes();
  }
  void release();

 private:
  struct Kept {
    GlobalId id;
    Index body;
    std::array<float, 3> lo, hi;  ///< rounded outwards
  };

  void add(const Probe& probe, const Aabb& box, double step);
  /// Whether the probes from place `first` on are those kept, within their wide boxes.
  bool hold(const Probes& probes, std::size_t first, std::size_t n) const;
  /// Makes wide boxes of the probes from the last one on.
  void add_rest(const Probes& probes);
  bool is_narrow(const Probes& probes) const;
  void wait_longer();

  static constexpr int kFirstWait = 4;

  Use use_ = Use::own;
  std::vector<Kept> kept_;
  std::vector<Aabb> wide_;  ///< the same in the step that makes them
  std::size_t n_owned_ = 0;
  bool valid_ = false;  ///< kept_ stands for the last step
  int age_ = 0;         ///< steps since they were made
  int wait_ = 1;        ///< steps until they are made: a search for one step alone makes none
  int next_wait_ = kFirstWait;  ///< after the next failure
};

}  // namespace catena::search
