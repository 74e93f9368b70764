#include "catena/constraints/delassus_matrix.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "catena/base/error.hpp"
#include "catena/base/sort_unique.hpp"
#include "catena/comm/halo_exchange.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/constraints/block_diagonal.hpp"
#include "catena/constraints/block_rows.hpp"

namespace catena {
namespace {

/// Rows of a block and their scaled Jacobian (rows x velocities) for one body.
struct Touch {
  Index body;
  std::int64_t row;  ///< over all ranks
  Index rows;
  std::size_t jacobian;  ///< place of the first number
};

std::vector<std::int64_t> ascending(std::vector<std::int64_t> rows) {
  sort_unique(rows);
  return rows;
}

/// Which rows touch which body: this rank's, then those of other ranks.
class Touches {
 public:
  Touches(const ConstraintProblem& problem, std::span<const double> scale, std::int64_t first_row)
      : problem_(problem), first_row_(first_row) {
    gather(scale);
    if (problem.comm.size() > 1) {
      send_to_owners();
      send_back();
    }
    find_products();
    sort();
  }

  std::span<const Touch> own() const { return {own_.data(), own_.size()}; }
  /// All touches of a body, ascending in row.
  std::span<const Touch> of(Index body) const {
    return {list_.data() + begin_[body], begin_[body + 1] - begin_[body]};
  }
  /// First rows of all blocks that are own or touch a body here, ascending.
  std::vector<std::int64_t> first_rows() const {
    std::vector<std::int64_t> rows;
    for (const Touch& t : list_) rows.push_back(t.row);
    for (Index k = 0; k < problem_.n_blocks(); ++k)
      rows.push_back(first_row_ + block_view(problem_, k).row);
    return ascending(std::move(rows));
  }
  const double* jacobian(const Touch& t) const { return number_.data() + t.jacobian; }
  /// Jacobian times M^-1.
  const double* product(const Touch& t) const { return product_.data() + t.jacobian; }
  std::size_t dofs(Index body) const { return problem_.bodies.dofs(body); }

 private:
  void gather(std::span<const double> scale) {
    for (Index k = 0; k < problem_.n_blocks(); ++k) {
      const BlockView view = block_view(problem_, k);
      for_each_body(problem_, k, [&](Index body, const double* g) {
        if (problem_.bodies.is_prescribed(body)) return;
        list_.push_back({body, first_row_ + view.row, view.rows, number_.size()});
        for (Index r = 0; r < view.rows; ++r)
          for (std::size_t d = 0; d < dofs(body); ++d, ++g)
            number_.push_back(scale.empty() ? *g : scale[view.row + r] * *g);
      });
    }
    own_ = list_;
  }

  void find_products() {
    product_.resize(number_.size());
    for (const Touch& t : list_) {
      const std::size_t n = dofs(t.body);
      for (Index r = 0; r < t.rows; ++r)
        apply_inverse_mass(problem_.bodies, t.body, {jacobian(t) + r * n, n},
                           std::span(product_).subspan(t.jacobian + r * n, n));
    }
  }

  /// Touches of bodies as (place of the body in the halo's list, row, rows, Jacobian), in doubles.
  void write(std::vector<double>& out, std::size_t place, const Touch& t) const {
    out.insert(out.end(), {static_cast<double>(place), static_cast<double>(t.row),
                           static_cast<double>(t.rows)});
    out.insert(out.end(), jacobian(t), jacobian(t) + Offset{t.rows} * dofs(t.body));
  }

  /// Collective. Parcels of doubles; what comes is read with the list of bodies of its sender.
  template <class BodiesFrom>
  void exchange(std::vector<ValueParcel<double>> outgoing, const BodiesFrom& bodies_from) {
    for (const auto& [rank, numbers] : exchange_values(problem_.comm, std::move(outgoing)))
      read(numbers, bodies_from(rank));
  }

  void read(const std::vector<double>& numbers, const std::vector<Index>& bodies) {
    for (std::size_t i = 0; i < numbers.size();) {
      const Index body = bodies[static_cast<std::size_t>(numbers[i])];
      const Touch t{body, static_cast<std::int64_t>(numbers[i + 1]),
                    static_cast<Index>(numbers[i + 2]), number_.size()};
      const auto from = numbers.begin() + (i + 3);
      const std::size_t count = Offset{t.rows} * dofs(body);
      number_.insert(number_.end(), from, from + count);
      list_.push_back(t);
      i += 3 + count;
    }
  }

  const HaloPlan::Neighbour& neighbour(int rank) const {
    const auto& all = problem_.ghosts.neighbours;
    const auto n =
        std::find_if(all.begin(), all.end(), [&](const auto& x) { return x.rank == rank; });
    CATENA_CHECK(n != all.end(), "bodies are shared with neighbours only");
    return *n;
  }

  /// Positions in list_ of the touches of each body so far.
  std::vector<std::vector<std::size_t>> by_body() const {
    std::vector<std::vector<std::size_t>> result(problem_.bodies.size());
    for (std::size_t i = 0; i < list_.size(); ++i) result[list_[i].body].push_back(i);
    return result;
  }

  void send_to_owners() {
    const auto touches = by_body();
    std::vector<ValueParcel<double>> outgoing;
    for (const HaloPlan::Neighbour& n : problem_.ghosts.neighbours) {
      outgoing.push_back({n.rank, {}});
      for (std::size_t p = 0; p < n.receive.size(); ++p)
        for (const std::size_t t : touches[n.receive[p]])
          write(outgoing.back().values, p, list_[t]);
    }
    exchange(std::move(outgoing),
             [&](int rank) -> const std::vector<Index>& { return neighbour(rank).send; });
  }

  /// To every rank that has a ghost of a body all touches but its own.
  void send_back() {
    const auto touches = by_body();
    const std::vector<std::int64_t> mine = {first_row_, first_row_ + problem_.n_rows()};
    const std::vector<std::int64_t> rows = problem_.comm.all_gather(mine);
    std::vector<ValueParcel<double>> outgoing;
    for (const HaloPlan::Neighbour& n : problem_.ghosts.neighbours) {
      const std::size_t rank = n.rank;
      outgoing.push_back({n.rank, {}});
      for (std::size_t p = 0; p < n.send.size(); ++p)
        for (const std::size_t t : touches[n.send[p]])
          if (list_[t].row < rows[2 * rank] || list_[t].row >= rows[2 * rank + 1])
            write(outgoing.back().values, p, list_[t]);
    }
    exchange(std::move(outgoing),
             [&](int rank) -> const std::vector<Index>& { return neighbour(rank).receive; });
  }

  void sort() {
    std::stable_sort(list_.begin(), list_.end(), [](const Touch& a, const Touch& b) {
      return a.body != b.body ? a.body < b.body : a.row < b.row;
    });
    begin_.assign(problem_.bodies.size() + 1, 0);
    for (const Touch& t : list_) ++begin_[t.body + 1];
    for (std::size_t b = 1; b < begin_.size(); ++b) begin_[b] += begin_[b - 1];
  }

  const ConstraintProblem& problem_;
  std::int64_t first_row_;
  std::vector<double> number_, product_;  ///< all Jacobians G, and G M^-1
  std::vector<Touch> list_, own_;
  std::vector<std::size_t> begin_;  ///< of a body's touches in list_
};

/// Adds up the rows of one block of N after the other, block by block.
class BlockRow {
 public:
  /// `first_row`: of all blocks that have columns here, ascending, over all ranks.
  explicit BlockRow(std::vector<std::int64_t> first_row)
      : first_row_(std::move(first_row)), place_(first_row_.size(), kNoIndex) {}

  void begin(Index rows) {
    for (const Block& b : blocks_) place_[b.name] = kNoIndex;
    blocks_.clear();
    value_.clear();
    rows_ = rows;
  }
  /// The block of N whose columns begin with `row`, rows x `columns` numbers, zero at first.
  double* block(std::int64_t row, Index columns) {
    const auto name =
        to_index(std::lower_bound(first_row_.begin(), first_row_.end(), row) - first_row_.begin());
    if (place_[name] == kNoIndex) {
      place_[name] = to_index(blocks_.size());
      blocks_.push_back({name, columns, value_.size()});
      value_.resize(value_.size() + Offset{rows_} * columns, 0.0);
    }
    return value_.data() + blocks_[place_[name]].value;
  }
  void append_to(DelassusMatrix& out) {
    std::vector<Block> sorted = blocks_;
    std::ranges::sort(sorted, [](const Block& a, const Block& b) { return a.name < b.name; });
    for (Index r = 0; r < rows_; ++r) {
      for (const Block& b : sorted)
        for (Index c = 0; c < b.columns; ++c) {
          out.column.push_back(to_index(first_row_[b.name] + c));
          out.value.push_back(value_[b.value + Offset{r} * b.columns + c]);
        }
      out.row_begin.push_back(std::ssize(out.value));
    }
  }

 private:
  struct Block {
    Index name;
    Index columns;
    std::size_t value;  ///< place of the first number
  };

  std::vector<std::int64_t> first_row_;
  std::vector<Index> place_;  ///< in `blocks_`
  std::vector<Block> blocks_;
  std::vector<double> value_;
  Index rows_ = 0;
};

/// Sigma first, then body by body. The block's own part comes with the others, not from
/// block_diagonal, so that a body that a block names twice counts in full.
void add_products(const ConstraintProblem& problem, std::span<const double> scale,
                  DelassusMatrix& out) {
  const Touches touches(problem, scale, out.first);
  BlockRow row(touches.first_rows());
  auto touch = touches.own().begin();
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    const BlockView view = block_view(problem, k);
    const std::int64_t first = out.first + view.row;
    row.begin(view.rows);
    double* own = row.block(first, view.rows);
    for (Index r = 0; r < view.rows; ++r) {
      const double s = scale.empty() ? 1.0 : scale[view.row + r];
      own[r * (view.rows + 1)] = s * s * compliance_of_row(problem, k, r);
    }
    for (; touch != touches.own().end() && touch->row == first; ++touch) {
      const std::size_t dofs = touches.dofs(touch->body);
      const double* const left = touches.jacobian(*touch);
      for (const Touch& other : touches.of(touch->body)) {
        double* to = row.block(other.row, other.rows);
        const double* g = left;
        for (Index r = 0; r < view.rows; ++r, g += dofs) {
          const double* y = touches.product(other);
          for (Index c = 0; c < other.rows; ++c, ++to, y += dofs)
            *to += std::inner_product(g, g + dofs, y, 0.0);
        }
      }
    }
    row.append_to(out);
  }
}

/// The rows of an assembled operator; neighbours send the numbers and scales of halo rows.
void add_assembled(const ConstraintProblem& problem, std::span<const double> scale,
                   DelassusMatrix& out) {
  const AssembledOperator& op = *problem.assembled;
  std::vector<double> known(Offset{2} * (op.n_rows() + op.n_halo_rows), 0.0);
  for (std::int64_t i = 0; i < op.n_rows(); ++i) {
    known[2 * i] = static_cast<double>(out.first + i);
    known[2 * i + 1] = scale.empty() ? 1.0 : scale[i];
  }
  HaloExchange halo(problem.comm, op.halo, 6, Tag::delassus_entry_rows);
  halo.begin(known);
  halo.end(known);
  std::vector<std::int64_t> blocks;
  for (std::size_t i = 0; i < known.size(); i += 6)
    blocks.push_back(static_cast<std::int64_t>(known[i]));
  BlockRow row(ascending(std::move(blocks)));
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    row.begin(3);
    row.block(out.first + 3 * k, 3);
    for (Index i = 3 * k; i < 3 * k + 3; ++i)
      for (std::int64_t e = op.row_begin[i]; e < op.row_begin[i + 1]; ++e) {
        const std::size_t column = op.column[e], in_block = column % 3;
        const auto first = static_cast<std::int64_t>(known[2 * (column - in_block)]);
        row.block(first, 3)[3 * (i % 3) + in_block] +=
            known[2 * i + 1] * op.value[e] * known[2 * column + 1];
      }
    row.append_to(out);
  }
}

}  // namespace

DelassusMatrix assemble_delassus(const ConstraintProblem& problem, std::span<const double> scale) {
  DelassusMatrix out;
  const std::int64_t rows = problem.n_rows();
  out.first = problem.comm.exclusive_sum(rows);
  out.total = problem.comm.sum(rows);
  if (out.total > std::numeric_limits<Index>::max())
    throw Error("the problem has too many rows to be assembled", "solver.method",
                "use a method, or a form of it, that does not assemble the problem's matrix");
  if (problem.assembled)
    add_assembled(problem, scale, out);
  else
    add_products(problem, scale, out);
  return out;
}

}  // namespace catena
