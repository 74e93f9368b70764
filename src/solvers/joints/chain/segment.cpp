#include "solvers/joints/chain/segment.hpp"

#include <algorithm>

#include "catena/base/error.hpp"

namespace catena {

void PivotGuard::finish() {
  report_.smallest_pivot = std::min(
      report_.smallest_pivot, smallest_scale_ > 0.0 ? smallest_pivot_ / smallest_scale_ : 0.0);
  const auto earlier = [](const RedundantRow& a, const RedundantRow& b) {
    return a.name != b.name ? a.name < b.name : a.row < b.row;
  };
  std::sort(report_.redundant.begin(), report_.redundant.end(), earlier);
}

double PivotGuard::judge(double pivot, double scale, std::int64_t name, int row) {
  const bool raise = pivot <= kRoundOff * scale;
  if ((raise || suspects_) && report_.redundant.size() < 100)
    report_.redundant.push_back({name, row});
  if (!raise) return pivot;
  ++report_.raised;
  if (!(scale > 0.0)) return 0.0;
  const double raised = kJointRegularisation * scale;
  report_.regularisation =
      std::max(report_.regularisation, kJointRegularisation + (raised - pivot) / scale);
  return raised;
}

struct ChainSegment::MixedSize {
  const ChainPart* shape;
  Index left;
  int operator()(Index i) const {
    return i < 0 ? left : shape->row_begin[i + 1] - shape->row_begin[i];
  }
};

template <class Visit>
void ChainSegment::with_sizes(Visit&& visit) const {
  switch (uniform_) {
    case 3:
      return visit(FixedSize<3>());
    case 5:
      return visit(FixedSize<5>());
    default:
      return visit(MixedSize{&shape_, left_});
  }
}

ChainSegment::ChainSegment(const ChainPart& structure, Index left, bool right) : left_(left) {
  shape_.row_begin = structure.row_begin;
  shape_.diagonal_begin = structure.diagonal_begin;
  shape_.coupling_begin = structure.coupling_begin;
  shape_.name = structure.name;
  const Index n = shape_.size();
  CATENA_CHECK(n > 0 || (left == 0 && !right), "segment without blocks has neighbours");
  const MixedSize size{&shape_, left};
  uniform_ = n > 0 ? size(0) : 0;
  for (Index i = 0; i < n; ++i) {
    CATENA_CHECK(size(i) >= 1 && size(i) <= kMaxBlockRows, "chain block not of 1 to 6 rows");
    if (size(i) != uniform_) uniform_ = 0;
  }
  if (left > 0 && left != uniform_) uniform_ = 0;

  rightward_end_ = right ? n - 1 : n;
  if (left > 0) {
    Index end = 1;  // of the first chain
    while (end < n && coupled(end - 1)) ++end;
    fill_ = right && end == n;
    if (!fill_) inward_end_ = end;
  }
  lower_.resize(shape_.diagonal_begin.back());
  // the last coupling leads to another rank, which has no use for its W here
  side_.resize(n > 0 ? shape_.coupling_begin[n - 1] : 0);
  left_update_.resize(left * left);
  if (inward_end_ > 0) first_.resize(size(0) * left);
  if (fill_) {
    fill_begin_.assign(1, 0);
    for (Index i = 0; i < n; ++i) fill_begin_.push_back(fill_begin_.back() + size(i) * left);
    fill_side_.resize(fill_begin_.back());
    reduced_.resize(left * size(n - 1));
  }
  count();
}

void ChainSegment::count() {
  const MixedSize size{&shape_, left_};
  const auto add = [this](std::int64_t m, std::int64_t l, std::int64_t r) {
    factor_flops_ += elimination_flops(m, l, r);
    solve_flops_ += substitution_flops(m, l, r);
  };
  for (Index i = 0; i < inward_end_; ++i) add(size(i), size(i - 1), 0);
  for (Index i = inward_end_; i < rightward_end_; ++i) {
    const bool next = i + 1 < shape_.size() && coupled(i);
    add(size(i), fill_ ? left_ : 0, next ? size(i + 1) : 0);
  }
}

template <class M>
const double* ChainSegment::load(M m, Index i, const ChainPart& a, std::span<const double> scale,
                                 double epsilon, double* own_scale) {
  const double* from = a.diagonal.data() + shape_.diagonal_begin[i];
  double* to = lower(i);
  std::copy_n(from, m * m, to);
  for (int k = 0; k < m; ++k) to[k * m + k] *= 1.0 + epsilon;
  if (!scale.empty()) return scale.data() + shape_.row_begin[i];
  for (int k = 0; k < m; ++k) own_scale[k] = to[k * m + k];
  return own_scale;
}

template <class Size>
void ChainSegment::factor_rightward(Size size, const ChainPart& a, std::span<const double> scale,
                                    double epsilon, PivotGuard& guard) {
  const Index n = shape_.size();
  double own_scale[kMaxBlockRows];
  bool before = false;  // the block before this one couples to it
  for (Index i = inward_end_; i < n; ++i) {
    const auto m = size(i);
    const double* row_scale = load(m, i, a, scale, epsilon, own_scale);
    if (before) subtract_square(size(i - 1), m, side(i - 1), lower(i));
    if (i == rightward_end_) return;
    cholesky(m, lower(i), row_scale, shape_.name[i], guard);
    before = i + 1 < n && coupled(i);
    if (!before) continue;
    const auto r = size(i + 1);
    std::copy_n(a.coupling.data() + shape_.coupling_begin[i], m * r, side(i));
    lower_solve(m, r, lower(i), side(i));
  }
}

template <class Size>
void ChainSegment::factor_inward(Size size, const ChainPart& a, std::span<const double> scale,
                                 double epsilon, const double* coupling, PivotGuard& guard) {
  double own_scale[kMaxBlockRows];
  for (Index i = inward_end_ - 1; i >= 0; --i) {
    const auto m = size(i);
    const double* row_scale = load(m, i, a, scale, epsilon, own_scale);
    if (i + 1 < inward_end_) subtract_square(size(i + 1), m, side(i), lower(i));
    cholesky(m, lower(i), row_scale, shape_.name[i], guard);
    const auto l = size(i - 1);
    const double* from = i > 0 ? a.coupling.data() + shape_.coupling_begin[i - 1] : coupling;
    double* w = i > 0 ? side(i - 1) : first_.data();
    lower_solve_transposed(m, l, lower(i), from, w);
  }
  subtract_square(size(0), size(-1), first_.data(), left_update_.data());
}

/// A second pass over the factors: the columns of the left neighbour go through the elimination
/// as right-hand sides do.
template <class Size>
void ChainSegment::fill(Size size, const double* coupling) {
  const auto l = size(-1);
  transpose(size(0), l, coupling, fill_side_.data());
  for (Index i = 0; i < rightward_end_; ++i) {
    const auto m = size(i);
    const auto r = size(i + 1);
    double* w = fill_side_.data() + fill_begin_[i];
    double* next = fill_side_.data() + fill_begin_[i + 1];
    lower_solve(m, l, lower(i), w);
    subtract_square(m, l, w, left_update_.data());
    std::fill_n(next, r * l, 0.0);
    subtract_product(m, r, l, side(i), w, next);
  }
  const auto m = size(rightward_end_);
  transpose(l, m, fill_side_.data() + fill_begin_[rightward_end_], reduced_.data());
}

void ChainSegment::factor(const ChainPart& a, std::span<const double> scale, double epsilon,
                          const double* coupling, PivotGuard& guard) {
  CATENA_CHECK(a.size() == shape_.size() && a.diagonal.size() == lower_.size() &&
                   std::ssize(a.coupling) == shape_.coupling_begin.back(),
               "chain's numbers do not fit the structure");
  std::fill(left_update_.begin(), left_update_.end(), 0.0);
  guard.name_suspects(!fill_ && scale.empty());
  with_sizes([&](auto size) {
    if (inward_end_ > 0) factor_inward(size, a, scale, epsilon, coupling, guard);
    factor_rightward(size, a, scale, epsilon, guard);
    if (fill_) fill(size, coupling);
  });
  guard.name_suspects(false);
}

const double* ChainSegment::separator_block() const { return lower(rightward_end_); }

void ChainSegment::forward(std::span<double> x, double* left_update) const {
  CATENA_CHECK(x.size() == static_cast<std::size_t>(shape_.row_begin.back()),
               "right-hand side does not fit the chain");
  std::fill_n(left_update, left_, 0.0);
  with_sizes([&](auto size) {
    const auto rows = [&](Index i) { return x.data() + shape_.row_begin[i]; };
    for (Index i = inward_end_ - 1; i >= 0; --i) {
      lower_solve_vector(size(i), lower(i), rows(i));
      subtract_transposed(size(i), size(i - 1), i > 0 ? side(i - 1) : first_.data(), rows(i),
                          i > 0 ? rows(i - 1) : left_update);
    }
    const Index n = shape_.size();
    for (Index i = inward_end_; i < rightward_end_; ++i) {
      lower_solve_vector(size(i), lower(i), rows(i));
      if (i + 1 < n && coupled(i))
        subtract_transposed(size(i), size(i + 1), side(i), rows(i), rows(i + 1));
      if (fill_)
        subtract_transposed(size(i), size(-1), fill_side_.data() + fill_begin_[i], rows(i),
                            left_update);
    }
  });
}

void ChainSegment::backward(std::span<double> x, const double* x_left) const {
  with_sizes([&](auto size) {
    const auto rows = [&](Index i) { return x.data() + shape_.row_begin[i]; };
    const Index n = shape_.size();
    for (Index i = rightward_end_ - 1; i >= inward_end_; --i) {
      if (i + 1 < n && coupled(i))
        subtract_times(size(i), size(i + 1), side(i), rows(i + 1), rows(i));
      if (fill_)
        subtract_times(size(i), size(-1), fill_side_.data() + fill_begin_[i], x_left, rows(i));
      upper_solve_vector(size(i), lower(i), rows(i));
    }
    for (Index i = 0; i < inward_end_; ++i) {
      subtract_times(size(i), size(i - 1), i > 0 ? side(i - 1) : first_.data(),
                     i > 0 ? rows(i - 1) : x_left, rows(i));
      upper_solve_vector(size(i), lower(i), rows(i));
    }
  });
}

}  // namespace catena
