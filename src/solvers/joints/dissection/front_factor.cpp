#include "solvers/joints/dissection/front_factor.hpp"

#include <algorithm>
#include <utility>

namespace catena {

FrontFactor::FrontFactor(FrontTree tree) : tree_(std::move(tree)) {
  const std::size_t n = tree_.front.size();
  leaf_.assign(n, 1);
  opens_parent_.assign(n, 0);
  Offset panels = 0, most_updates = 0, widest = 0;
  for (std::size_t f = 0; f < n; ++f) {
    const Front& front = tree_.front[f];
    const FrontShape shape(front.pivots, front.rows());
    shape_.push_back(shape);
    panel_begin_.push_back(panels);
    panels += shape.panel_size();
    widest = std::max(widest, shape.stride);
    if (front.parent != kNoIndex) opens_parent_[f] = std::exchange(leaf_[front.parent], 0);
  }
  // updates of a front and of those above it live at the same time
  update_begin_.resize(n);
  for (std::size_t f = n; f-- > 0;) {
    const Index parent = tree_.front[f].parent;
    update_begin_[f] =
        parent == kNoIndex ? 0 : update_begin_[parent] + shape_[parent].update_size();
    most_updates = std::max(most_updates, update_begin_[f] + shape_[f].update_size());
  }
  panels_.resize(panels);
  updates_.resize(most_updates);
  spare_.resize(widest);
}

Offset FrontFactor::place(Index f, Index column, Index row) const {
  const Front& front = tree_.front[f];
  Index among = row - front.first;
  if (among >= front.pivots) {
    const auto begin = tree_.row.begin() + front.begin;
    among = front.pivots + to_index(std::lower_bound(begin, begin + front.below, row) - begin);
  }
  return panel_begin_[f] + shape_[f].stride * (column - front.first) + among;
}

void FrontFactor::clear(Index f) {
  std::fill_n(panel(f), shape_[f].panel_size(), 0.0);
  std::fill_n(update(f), shape_[f].update_size(), 0.0);
}

void FrontFactor::open(Index f) {
  if (leaf_[f] != 0) clear(f);
}

std::int64_t FrontFactor::eliminate(Index f, FrontPivots pivots) {
  pivots.added += tree_.front[f].first;
  pivots.found += tree_.front[f].first;
  const std::int64_t raised =
      kernels_.factor(shape_[f], panel(f), update(f), pivots, spare_.data());
  if (tree_.front[f].parent != kNoIndex) add_to_parent(f);
  return raised;
}

void FrontFactor::add_below(Index f, Index column, std::span<const Index> into,
                            const double* numbers) {
  double* to = shape_[f].column(into[column], panel(f), update(f));
  for (std::size_t i = column; i < into.size(); ++i) to[into[i]] += numbers[i];
}

const double* FrontFactor::left(Index column) {
  const Index last = to_index(shape_.size()) - 1;
  const Index pivots = tree_.front[last].pivots;
  return shape_[last].column(pivots + column, panel(last), update(last)) + pivots;
}

void FrontFactor::add_to_parent(Index f) {
  const Front& front = tree_.front[f];
  const Index p = front.parent;
  if (opens_parent_[f] != 0) clear(p);
  const auto into = std::span(tree_.into).subspan(front.begin, front.below);
  for (Index j = 0; j < front.below; ++j)
    add_below(p, j, into, shape_[f].column(front.pivots + j, panel(f), update(f)) + front.pivots);
}

void FrontFactor::forward(std::span<double> x) {
  double* part = spare_.data();
  for (Index f = 0; f < std::ssize(shape_); ++f) {
    const Front& front = tree_.front[f];
    double* own = x.data() + front.first;
    const Index* row = tree_.row.data() + front.begin;
    std::copy_n(own, front.pivots, part);
    std::fill_n(part + front.pivots, shape_[f].stride - front.pivots, 0.0);
    kernels_.forward(shape_[f], panel(f), part);
    std::copy_n(part, front.pivots, own);
    for (Index i = 0; i < front.below; ++i) x[row[i]] += part[front.pivots + i];
  }
}

void FrontFactor::backward(std::span<double> x) {
  double* part = spare_.data();
  for (Index f = to_index(shape_.size()) - 1; f >= 0; --f) {
    const Front& front = tree_.front[f];
    double* own = x.data() + front.first;
    const Index* row = tree_.row.data() + front.begin;
    std::copy_n(own, front.pivots, part);
    for (Index i = 0; i < front.below; ++i) part[front.pivots + i] = x[row[i]];
    std::fill_n(part + front.rows(), shape_[f].stride - front.rows(), 0.0);
    kernels_.backward(shape_[f], panel(f), part);
    std::copy_n(part, front.pivots, own);
  }
}

std::int64_t FrontFactor::flops() const {
  std::int64_t sum = 0;
  for (const Front& front : tree_.front) {
    const std::int64_t n = front.pivots, m = front.below;
    sum += n * n * n / 6 + n * n * (m + 1) / 2 + n * m * (m + 1) / 2;
  }
  return sum;
}

}  // namespace catena
