// Sums at bodies that do not depend on which rank holds which block.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "catena/comm/halo_exchange.hpp"
#include "catena/constraints/constraint_problem.hpp"

namespace catena {

/// A block's term at one of its bodies.
struct OrderedTerm {
  Index block;   ///< number in the problem
  Index body;    ///< local
  Index member;  ///< rigid contact: 0 for body a, 1 for b; else the place in GeneralBlocks::body
};

/// For ordered problems: sums of kWidth numbers at each body over the blocks that touch it, of all
/// ranks, in the blocks' order over all ranks. What one rank adds up block by block and what
/// several ranks add up here are the same bits.
template <std::size_t kWidth>
class OrderedSumsOf {
 public:
  enum class Blocks { all, bilateral };
  using Term = OrderedTerm;
  using Numbers = std::array<double, kWidth>;

  /// Collective. `tag` keeps those under way at once apart.
  OrderedSumsOf(const ConstraintProblem& problem, Blocks which, Tag tag);
  /// Collective. The same of terms that the caller names, in the order of `name` (Term::block is
  /// the caller's own), at bodies with these ghosts.
  OrderedSumsOf(const Communicator& comm, const HaloPlan& ghosts, std::size_t n_bodies,
                std::span<const Term> terms, std::span<const std::int64_t> name, Tag tag);
  ~OrderedSumsOf();
  OrderedSumsOf(OrderedSumsOf&&) noexcept;

  /// Neighbours. `values` (kWidth a body) hold the sums of this rank's terms. Those of owned bodies
  /// that blocks of other ranks touch become the sums over all ranks; `term(t, numbers)` gives the
  /// terms again.
  template <class GiveTerm>
  void complete(std::span<double> values, const GiveTerm& term) {
    for (std::size_t i = 0; i < outgoing_.size(); ++i) term(outgoing_[i], sent_[i]);
    begin();
    for (std::size_t i = 0; i < local_.size(); ++i) term(local_[i], own_[i]);
    end(values);
  }

 private:
  struct Entry {
    Index place;  ///< among own_, or among received_
    bool own;
  };
  struct Body {
    Index body;
    std::size_t first;  ///< of its entries; the next body's first is their end
  };
  template <class Setup>
  void set_up(const Communicator& comm, const HaloPlan& ghosts, std::size_t n_bodies,
              const Setup& setup, Tag tag);
  void begin();
  void end(std::span<double> values);

  std::vector<Term> outgoing_, local_;
  std::vector<Numbers> sent_, own_, received_;
  std::vector<Body> bodies_;  ///< and one past the last
  std::vector<Entry> entries_;
  std::unique_ptr<HaloExchange> exchange_;
};

/// Of forces and velocities.
using OrderedSums = OrderedSumsOf<6>;
extern template class OrderedSumsOf<6>;
extern template class OrderedSumsOf<24>;

}  // namespace catena
