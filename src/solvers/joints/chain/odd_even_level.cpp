#include "solvers/joints/chain/odd_even_level.hpp"

#include <algorithm>

namespace catena {

struct ChainLevels::Level::MixedSize {
  const Level* level;
  int operator()(Index i) const { return level->rows(i); }
};

template <class Visit>
void ChainLevels::Level::with_sizes(Visit&& visit) {
  switch (uniform) {
    case 3:
      return visit(FixedSize<3>());
    case 5:
      return visit(FixedSize<5>());
    default:
      return visit(MixedSize{this});
  }
}

void ChainLevels::Level::make_messages(const Communicator& comm, const Level& next,
                                       std::size_t number) {
  const Index n = size();
  MessagePath left{left_rank}, right{right_rank};
  // a block that is eliminated couples its neighbours: both need the new coupling
  if (sends_left()) {
    const Index l = rows(-1);
    left.send = l * l + (coupled(0) ? l * rows(1) : 0);
  }
  if (sends_right()) {
    const Index r = rows(n);
    right.send = r * r + (coupled(n - 2) ? rows(n - 2) * r : 0);
  }
  if (receives_left()) left.receive = rows(0) * (rows(0) + next.rows(-1));
  if (receives_right()) right.receive = rows(n - 1) * (rows(n - 1) + next.rows(next.size()));
  factor_messages.emplace(comm, std::vector{left, right}, chain_level_tag(number, 0));

  left.send = sends_left() ? rows(-1) : 0;
  right.send = sends_right() ? rows(n) : 0;
  left.receive = receives_left() ? rows(0) : 0;
  right.receive = receives_right() ? rows(n - 1) : 0;
  forward_messages.emplace(comm, std::vector{left, right}, chain_level_tag(number, 1));
  backward_messages.emplace(comm, reversed({left, right}), chain_level_tag(number, 2));
}

void ChainLevels::Level::count(ChainCost& cost) const {
  for (Index i = parity; i < size(); i += 2) {
    const std::int64_t m = rows(i);
    const std::int64_t l = coupled(i - 1) ? rows(i - 1) : 0;
    const std::int64_t r = coupled(i) ? rows(i + 1) : 0;
    cost.factor_flops += elimination_flops(m, l, r);
    cost.solve_flops += substitution_flops(m, l, r);
  }
  cost.messages += factor_messages->sent_messages() + forward_messages->sent_messages() +
                   backward_messages->sent_messages();
}

void ChainLevels::Level::eliminate(PivotGuard& guard) {
  const ChainPart& part = blocks.part;
  with_sizes([&](auto rows_of) {
    for (Index i = parity; i < size(); i += 2) {
      const auto m = rows_of(i);
      cholesky(m, diagonal(i), blocks.scale.data() + part.row_begin[i], part.name[i], guard);
      if (coupled(i - 1)) {
        const auto l = rows_of(i - 1);
        double from[kMaxBlockRows * kMaxBlockRows];
        std::copy_n(coupling(i - 1), m * l, from);
        lower_solve_transposed(m, l, diagonal(i), from, coupling(i - 1));
      }
      if (coupled(i)) lower_solve(m, rows_of(i + 1), diagonal(i), coupling(i));
    }
  });
}

void ChainLevels::Level::send_updates() {
  const Index n = size();
  // -W^T W for the neighbour of r rows, then -W_l^T W_r
  const auto write = [this](Index i, Index r, const double* w, double* out) {
    std::fill_n(out, r * r, 0.0);
    subtract_square(rows(i), r, w, out);
    if (!coupled(i - 1) || !coupled(i)) return;
    std::fill_n(out + r * r, rows(i - 1) * rows(i + 1), 0.0);
    subtract_product(rows(i), rows(i - 1), rows(i + 1), coupling(i - 1), coupling(i), out + r * r);
  };
  if (sends_left()) write(0, rows(-1), coupling(-1), factor_messages->out(0));
  if (sends_right()) write(n - 1, rows(n), coupling(n - 1), factor_messages->out(1));
  factor_messages->begin();
}

void ChainLevels::Level::update(Level& next) {
  with_sizes([&](auto rows_of) {
    Index k = 0;
    for (Index i = 1 - parity; i < size(); i += 2, ++k) {
      const auto m = rows_of(i);
      double* to = next.diagonal(k);
      std::copy_n(diagonal(i), m * m, to);
      std::copy_n(blocks.scale.data() + blocks.part.row_begin[i], int{m},
                  next.blocks.scale.data() + next.blocks.part.row_begin[k]);
      if (i > 0 && coupled(i - 1)) subtract_square(rows_of(i - 1), m, coupling(i - 1), to);
      if (i + 1 < size() && coupled(i)) subtract_square(rows_of(i + 1), m, coupling(i), to);
    }
    // the new couplings, made by each eliminated block whose left neighbour stays here or is the
    // left one of the next level
    k = parity == 0 ? -1 : 0;
    for (Index i = parity; i < size(); i += 2, ++k) {
      if (!coupled(i - 1) || !coupled(i) || (k < 0 && next.size() == 0)) continue;
      const auto l = rows_of(i - 1);
      const auto r = rows_of(i + 1);
      double* to = next.coupling(k);
      std::fill_n(to, l * r, 0.0);
      subtract_product(rows_of(i), l, r, coupling(i - 1), coupling(i), to);
    }
  });
}

void ChainLevels::Level::receive_updates(Level& next) {
  factor_messages->end();
  const auto add = [&](Index k, const double* in) {
    const Index m = next.rows(k);
    double* to = next.diagonal(k);
    for (Index j = 0; j < m * m; ++j) to[j] += in[j];
  };
  if (receives_left()) {
    const double* in = factor_messages->in(0);
    add(0, in);
    const Index m = rows(0);
    std::copy_n(in + m * m, next.rows(-1) * m, next.coupling(-1));
  }
  if (receives_right()) {
    const double* in = factor_messages->in(1);
    const Index last = next.size() - 1;
    add(last, in);
    const Index m = next.rows(last);
    std::copy_n(in + m * m, m * next.rows(last + 1), next.coupling(last));
  }
}

void ChainLevels::Level::forward() {
  const Index n = size();
  double* out_left = forward_messages->out(0);
  double* out_right = forward_messages->out(1);
  if (sends_left()) std::fill_n(out_left, rows(-1), 0.0);
  if (sends_right()) std::fill_n(out_right, rows(n), 0.0);
  with_sizes([&](auto rows_of) {
    for (Index i = parity; i < n; i += 2) {
      const auto m = rows_of(i);
      double* y = rhs_of(i);
      lower_solve_vector(m, diagonal(i), y);
      if (coupled(i - 1))
        subtract_transposed(m, rows_of(i - 1), coupling(i - 1), y,
                            i > 0 ? rhs_of(i - 1) : out_left);
      if (coupled(i))
        subtract_transposed(m, rows_of(i + 1), coupling(i), y,
                            i + 1 < n ? rhs_of(i + 1) : out_right);
    }
  });
  forward_messages->begin();
}

void ChainLevels::Level::hand_down(Level& next) {
  forward_messages->end();
  const auto add = [this](Index i, const double* in) {
    for (Index j = 0; j < rows(i); ++j) rhs_of(i)[j] += in[j];
  };
  if (receives_left()) add(0, forward_messages->in(0));
  if (receives_right()) add(size() - 1, forward_messages->in(1));
  for (Index i = 1 - parity, k = 0; i < size(); i += 2, ++k)
    std::copy_n(rhs_of(i), rows(i), next.rhs_of(k));
}

void ChainLevels::Level::take_back(const Level& next) {
  const Index n = size();
  for (Index i = 1 - parity, k = 0; i < n; i += 2, ++k)
    std::copy_n(next.rhs.data() + next.blocks.part.row_begin[k], rows(i), rhs_of(i));
  if (receives_left()) std::copy_n(rhs_of(0), rows(0), backward_messages->out(0));
  if (receives_right()) std::copy_n(rhs_of(n - 1), rows(n - 1), backward_messages->out(1));
  backward_messages->begin();
}

void ChainLevels::Level::backward() {
  backward_messages->end();
  const Index n = size();
  with_sizes([&](auto rows_of) {
    for (Index i = parity; i < n; i += 2) {
      const auto m = rows_of(i);
      double* x = rhs_of(i);
      if (coupled(i - 1))
        subtract_times(m, rows_of(i - 1), coupling(i - 1),
                       i > 0 ? rhs_of(i - 1) : backward_messages->in(0), x);
      if (coupled(i))
        subtract_times(m, rows_of(i + 1), coupling(i),
                       i + 1 < n ? rhs_of(i + 1) : backward_messages->in(1), x);
      upper_solve_vector(m, diagonal(i), x);
    }
  });
}

}  // namespace catena
