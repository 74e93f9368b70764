#include "catena/constraints/delassus_matrix.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "catena/base/error.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/constraints/block_rows.hpp"

namespace catena::fang {
namespace {

/// Rows of a block and their scaled Jacobian (rows x velocities) for one body.
struct Touch {
  Index body;
  std::int64_t row;  ///< over all ranks
  Index rows;
  std::size_t jacobian;  ///< place of the first number
};

/// Which rows touch which body: this rank's, then those of other ranks.
class Touches {
 public:
  Touches(const ConstraintProblem& problem, std::span<const double> scale,
          std::span<const std::uint8_t> fixed, std::int64_t first_row)
      : problem_(problem), first_row_(first_row) {
    gather(scale, fixed);
    send_to_owners();
    send_back();
    sort();
  }

  std::span<const Touch> own() const { return {own_.data(), own_.size()}; }
  /// All touches of a body, ascending in row.
  std::span<const Touch> of(Index body) const {
    return {list_.data() + begin_[body], begin_[body + 1] - begin_[body]};
  }
  const double* jacobian(const Touch& t) const { return number_.data() + t.jacobian; }
  std::size_t dofs(Index body) const { return problem_.bodies.dofs(body); }

 private:
  /// With the rows' scale, and zero where fixed.
  void add(Index body, Index row, Index rows, const double* g, std::span<const double> scale,
           std::span<const std::uint8_t> fixed) {
    if (problem_.bodies.is_prescribed(body)) return;
    list_.push_back({body, first_row_ + row, rows, number_.size()});
    for (Index r = 0; r < rows; ++r)
      for (std::size_t d = 0; d < dofs(body); ++d, ++g)
        number_.push_back(fixed[row + r] != 0 ? 0.0 : scale[row + r] * *g);
  }

  void gather(std::span<const double> scale, std::span<const std::uint8_t> fixed) {
    for (Index k = 0; k < problem_.n_blocks(); ++k) {
      const BlockView view = block_view(problem_, k);
      for_each_body(problem_, k, [&](Index body, const double* g) {
        add(body, view.row, view.rows, g, scale, fixed);
      });
    }
    own_ = list_;
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
  std::vector<double> number_;  ///< all Jacobians
  std::vector<Touch> list_, own_;
  std::vector<std::size_t> begin_;  ///< of a body's touches in list_
};

/// Entries G_i M^-1 G_j^T of all rows i of this rank.
void add_products(const ConstraintProblem& problem, const Touches& touches, DelassusEntries& out) {
  std::vector<double> y;
  for (const Touch& i : touches.own()) {
    const std::size_t dofs = touches.dofs(i.body);
    y.resize(Offset{i.rows} * dofs);
    for (Index r = 0; r < i.rows; ++r)
      apply_inverse_mass(problem.bodies, i.body, {touches.jacobian(i) + r * dofs, dofs},
                         {y.data() + r * dofs, dofs});
    for (const Touch& j : touches.of(i.body)) {
      const double* g = touches.jacobian(j);
      for (Index r = 0; r < i.rows; ++r)
        for (Index c = 0; c < j.rows; ++c) {
          double sum = 0.0;
          for (std::size_t d = 0; d < dofs; ++d)
            sum += y[Offset{r} * dofs + d] * g[Offset{c} * dofs + d];
          out.row.push_back(to_index(i.row + r));
          out.column.push_back(to_index(j.row + c));
          out.value.push_back(sum);
        }
    }
  }
}

void add_compliance(const ConstraintProblem& problem, std::span<const double> scale,
                    std::span<const std::uint8_t> fixed, DelassusEntries& out) {
  const auto add = [&](std::size_t i, double sigma) {
    if (sigma == 0.0 || fixed[i] != 0) return;
    const auto row = to_index(out.first + narrow<std::int64_t>(i));
    out.row.push_back(row);
    out.column.push_back(row);
    out.value.push_back(scale[i] * scale[i] * sigma);
  };
  for (std::size_t k = 0; k < problem.contacts.size(); ++k)
    for (std::size_t r = 0; r < 3; ++r)
      add(3 * k + r, compliance_of(problem.contacts[k])[to_index(r)]);
  const std::size_t first = problem.first_general_row();
  for (std::size_t i = 0; i < problem.blocks.compliance.size(); ++i)
    add(first + i, problem.blocks.compliance[i]);
}

/// The rows of an assembled operator; neighbours tell the numbers and scales of halo rows.
void add_assembled(const ConstraintProblem& problem, std::span<const double> scale,
                   std::span<const std::uint8_t> fixed, DelassusEntries& out) {
  const AssembledOperator& op = *problem.assembled;
  // per row: its number over all ranks and its scale, 0 if it is fixed
  std::vector<double> known(Offset{2} * (op.n_rows() + op.n_halo_rows), 0.0);
  for (std::int64_t i = 0; i < op.n_rows(); ++i) {
    known[2 * i] = static_cast<double>(out.first) + static_cast<double>(i);
    known[2 * i + 1] = fixed[i] != 0 ? 0.0 : scale[i];
  }
  HaloExchange halo(problem.comm, op.halo, 6, Tag::delassus_entry_rows);
  halo.begin(known);
  halo.end(known);
  for (std::int64_t i = 0; i < op.n_rows(); ++i) {
    for (std::size_t e = op.row_begin[i]; e < static_cast<std::size_t>(op.row_begin[i + 1]); ++e) {
      const std::size_t column = op.column[e];
      out.row.push_back(static_cast<Index>(known[2 * i]));
      out.column.push_back(static_cast<Index>(known[2 * column]));
      out.value.push_back(known[2 * i + 1] * op.value[e] * known[2 * column + 1]);
    }
  }
}

}  // namespace

DelassusEntries assemble_delassus(const ConstraintProblem& problem, std::span<const double> scale,
                                  std::span<const std::uint8_t> fixed) {
  DelassusEntries out;
  const std::int64_t rows = problem.n_rows();
  out.first = problem.comm.exclusive_sum(rows);
  out.total = problem.comm.sum(rows);
  if (out.total > std::numeric_limits<Index>::max())
    throw Error("the problem has too many rows to be assembled", "solver.interior_point.form",
                "use form: schur_pcg or cone");
  if (problem.assembled) {
    add_assembled(problem, scale, fixed, out);
    return out;
  }
  const Touches touches(problem, scale, fixed, out.first);
  add_products(problem, touches, out);
  add_compliance(problem, scale, fixed, out);
  return out;
}

}  // namespace catena::fang
