#include "catena/constraints/ordered_sums.hpp"

#include <algorithm>
#include <compare>
#include <utility>

#include "catena/base/error.hpp"
#include "catena/comm/typed_exchange.hpp"

namespace catena {
namespace {

/// Place of a block among those of all ranks: rigid contacts, other contacts, then joints. Blocks
/// of one joint share a place; one rank holds them, in their order.
struct BlockOrder {
  std::int64_t kind = 0;
  ContactKey key;
  std::int64_t joint = 0;
  auto operator<=>(const BlockOrder&) const = default;
};

BlockOrder order_of(const ConstraintProblem& problem, Index block) {
  const auto n_contacts = to_index(problem.contacts.size());
  if (block < n_contacts) return {0, problem.contacts[block].key, 0};
  const std::size_t k = block - n_contacts;
  if (problem.blocks.kind[k] == BlockKind::contact) return {1, problem.blocks.key[k], 0};
  return {2, {}, problem.blocks.name[k]};
}

/// A term as its body's owner hears of it.
struct Announced {
  std::int64_t place = 0;  ///< of the body in the plan's list between the two ranks
  BlockOrder order;
};

/// The terms of a problem's blocks.
struct BlockTerms {
  const ConstraintProblem& problem;
  bool bilateral_only;

  BlockOrder order(const OrderedTerm& term) const { return order_of(problem, term.block); }
  /// Calls visit(term) for the terms of all blocks that count, in order.
  template <class Visit>
  void each_term(const Visit& visit) const {
    const auto n_contacts = to_index(problem.contacts.size());
    for (Index k = 0; k < n_contacts && !bilateral_only; ++k) {
      visit(OrderedTerm{k, problem.contacts[k].body_a, 0});
      visit(OrderedTerm{k, problem.contacts[k].body_b, 1});
    }
    const GeneralBlocks& blocks = problem.blocks;
    for (Index k = 0; k < blocks.size(); ++k) {
      if (bilateral_only && blocks.kind[k] != BlockKind::bilateral) continue;
      for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j)
        visit(OrderedTerm{n_contacts + k, blocks.body[j], j});
    }
  }
};

/// Terms that a caller names.
struct NamedTerms {
  std::span<const OrderedTerm> terms;
  std::span<const std::int64_t> name;

  BlockOrder order(const OrderedTerm& term) const { return {0, {}, name[&term - terms.data()]}; }
  template <class Visit>
  void each_term(const Visit& visit) const {
    for (const OrderedTerm& term : terms) visit(term);
  }
};

}  // namespace

template <std::size_t kWidth>
OrderedSumsOf<kWidth>::OrderedSumsOf(const ConstraintProblem& problem, Blocks which, Tag tag) {
  set_up(problem.comm, problem.ghosts, problem.bodies.size(),
         BlockTerms{problem, which == Blocks::bilateral}, tag);
}

template <std::size_t kWidth>
OrderedSumsOf<kWidth>::OrderedSumsOf(const Communicator& comm, const HaloPlan& ghosts,
                                     std::size_t n_bodies, std::span<const Term> terms,
                                     std::span<const std::int64_t> name, Tag tag) {
  set_up(comm, ghosts, n_bodies, NamedTerms{terms, name}, tag);
}

template <std::size_t kWidth>
template <class Setup>
void OrderedSumsOf<kWidth>::set_up(const Communicator& comm, const HaloPlan& ghosts,
                                   std::size_t n_bodies, const Setup& setup, Tag tag) {
  const std::vector<HaloPlan::Neighbour>& neighbours = ghosts.neighbours;
  // where each ghost stands: its owner among the neighbours, and its place in their list
  std::vector<std::pair<Index, Index>> ghost(n_bodies, {kNoIndex, kNoIndex});
  for (std::size_t n = 0; n < neighbours.size(); ++n)
    for (std::size_t p = 0; p < neighbours[n].receive.size(); ++p)
      ghost[neighbours[n].receive[p]] = {to_index(n), to_index(p)};

  std::vector<std::vector<Term>> terms(neighbours.size());
  std::vector<ValueParcel<Announced>> announced(neighbours.size());
  setup.each_term([&](const Term& term) {
    const auto [n, place] = ghost[term.body];
    if (n == kNoIndex) return;
    terms[n].push_back(term);
    announced[n].values.push_back({place, setup.order(term)});
  });
  HaloPlan plan;
  for (std::size_t n = 0; n < neighbours.size(); ++n) {
    plan.neighbours.push_back({neighbours[n].rank, {}, {}});
    for (std::size_t i = 0; i < terms[n].size(); ++i)
      plan.neighbours[n].send.push_back(to_index(outgoing_.size() + i));
    outgoing_.insert(outgoing_.end(), terms[n].begin(), terms[n].end());
    announced[n].rank = neighbours[n].rank;
  }
  std::erase_if(announced, [](const auto& parcel) { return parcel.values.empty(); });

  struct Sorted {
    Index body;
    BlockOrder order;
    Entry entry;
  };
  std::vector<Sorted> all;
  std::vector<char> heard_of(n_bodies, 0);
  for (const auto& [rank, list] : exchange_values(comm, std::move(announced))) {
    const std::size_t n =
        std::find_if(neighbours.begin(), neighbours.end(),
                     [from = rank](const auto& neighbour) { return neighbour.rank == from; }) -
        neighbours.begin();
    CATENA_CHECK(n < neighbours.size(), "terms come from a neighbour");
    for (const Announced& a : list) {
      const Index body = neighbours[n].send[a.place];
      const auto slot = to_index(received_.size());
      received_.emplace_back();
      plan.neighbours[n].receive.push_back(slot);
      heard_of[body] = 1;
      all.push_back({body, a.order, {slot, false}});
    }
  }
  setup.each_term([&](const Term& term) {
    if (heard_of[term.body] == 0) return;
    all.push_back({term.body, setup.order(term), {to_index(local_.size()), true}});
    local_.push_back(term);
  });
  std::stable_sort(all.begin(), all.end(), [](const Sorted& x, const Sorted& y) {
    return x.body != y.body ? x.body < y.body : x.order < y.order;
  });
  for (const Sorted& s : all) {
    if (bodies_.empty() || bodies_.back().body != s.body)
      bodies_.push_back({s.body, entries_.size()});
    entries_.push_back(s.entry);
  }
  bodies_.push_back({kNoIndex, entries_.size()});
  sent_.resize(outgoing_.size());
  own_.resize(local_.size());
  exchange_ = std::make_unique<HaloExchange>(comm, std::move(plan), narrow<int>(kWidth), tag);
}

template <std::size_t kWidth>
OrderedSumsOf<kWidth>::~OrderedSumsOf() = default;
template <std::size_t kWidth>
OrderedSumsOf<kWidth>::OrderedSumsOf(OrderedSumsOf&&) noexcept = default;

template <std::size_t kWidth>
void OrderedSumsOf<kWidth>::begin() {
  exchange_->begin({reinterpret_cast<const double*>(sent_.data()), kWidth * sent_.size()});
}

template <std::size_t kWidth>
void OrderedSumsOf<kWidth>::end(std::span<double> values) {
  exchange_->end({reinterpret_cast<double*>(received_.data()), kWidth * received_.size()});
  for (std::size_t b = 0; b + 1 < bodies_.size(); ++b) {
    Numbers sum{};
    for (std::size_t e = bodies_[b].first; e < bodies_[b + 1].first; ++e) {
      const Numbers& term = (entries_[e].own ? own_ : received_)[entries_[e].place];
      for (std::size_t d = 0; d < kWidth; ++d) sum[d] += term[d];
    }
    std::copy(sum.begin(), sum.end(), values.begin() + kWidth * bodies_[b].body);
  }
}

template class OrderedSumsOf<6>;
template class OrderedSumsOf<24>;

}  // namespace catena
