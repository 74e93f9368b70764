// One level of the odd/even elimination of a chain.
#pragma once

#include <optional>
#include <vector>

#include "solvers/joints/chain/odd_even.hpp"

namespace catena {

/// Blocks of this rank at one level. Block i is eliminated where i + parity is even. After
/// elimination the diagonal of such a block holds L_i, its coupling W towards the right, and the
/// coupling before it (of the block before, or `left`) W towards the left.
struct ChainLevels::Level {
  LevelBlocks blocks;
  Index right_rows = 0;  ///< of the block after the last one, if coupled to it; else 0
  int left_rank = -1;    ///< of the block before the first one, if coupled
  int right_rank = -1;
  Index parity = 0;
  int uniform = 0;          ///< rows of all blocks and neighbours; 0: several sizes
  std::vector<double> rhs;  ///< scratch of solve()
  std::optional<PathMessages> factor_messages, forward_messages, backward_messages;

  Index size() const { return blocks.part.size(); }
  bool eliminated(Index i) const { return (i + parity) % 2 == 0; }
  Index rows(Index i) const {
    if (i < 0) return blocks.left_rows;
    if (i >= size()) return right_rows;
    return blocks.part.row_begin[i + 1] - blocks.part.row_begin[i];
  }
  /// Whether i and i + 1 are coupled; i = -1 and size() - 1 lead to other ranks.
  bool coupled(Index i) const {
    if (i < 0) return blocks.left_rows > 0;
    if (i + 1 >= size()) return right_rows > 0;
    return blocks.part.coupling_begin[i] != blocks.part.coupling_begin[i + 1];
  }
  double* diagonal(Index i) { return blocks.part.diagonal.data() + blocks.part.diagonal_begin[i]; }
  /// A_i,i+1 or the W in its place; i = -1: from the left.
  double* coupling(Index i) {
    return i < 0 ? blocks.left.data() : blocks.part.coupling.data() + blocks.part.coupling_begin[i];
  }
  double* rhs_of(Index i) { return rhs.data() + blocks.part.row_begin[i]; }
  bool sends_left() const { return size() > 0 && coupled(-1) && eliminated(0); }
  bool sends_right() const { return size() > 0 && coupled(size() - 1) && eliminated(size() - 1); }
  bool receives_left() const { return size() > 0 && coupled(-1) && !eliminated(0); }
  bool receives_right() const {
    return size() > 0 && coupled(size() - 1) && !eliminated(size() - 1);
  }

  /// Messages to and from the two neighbours; `next`: the level that follows.
  void make_messages(const Communicator& comm, const Level& next, std::size_t number);
  void count(ChainCost& cost) const;

  void eliminate(PivotGuard& guard);
  void send_updates();
  void update(Level& next);
  void receive_updates(Level& next);

  void forward();
  void hand_down(Level& next);
  void take_back(const Level& next);
  void backward();

 private:
  struct MixedSize;
  template <class Visit>
  void with_sizes(Visit&& visit);
};

}  // namespace catena
