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
      return visit(MixedSize{&part_, left_});
  }
}

ChainSegment::ChainSegment(ChainPart structure, Index left, bool right)
    : part_(std::move(structure)), left_(left) {
  const Index n = part_.size();
  CATENA_CHECK(n > 0 || (left == 0 && !right), "segment without blocks has neighbours");
  const MixedSize size{&part_, left};
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
  part_.diagonal.resize(part_.diagonal_begin.back());
  part_.coupling.resize(part_.coupling_begin.back());
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
  const MixedSize size{&part_, left_};
  const auto add = [this](std::int64_t m, std::int64_t l, std::int64_t r) {
    factor_flops_ += elimination_flops(m, l, r);
    solve_flops_ += substitution_flops(m, l, r);
  };
  for (Index i = 0; i < inward_end_; ++i) add(size(i), size(i - 1), 0);
  for (Index i = inward_end_; i < rightward_end_; ++i) {
    const bool next = i + 1 < part_.size() && coupled(i);
    add(size(i), fill_ ? left_ : 0, next ? size(i + 1) : 0);
  }
}

template <class M>
const double* ChainSegment::regularise(M m, Index i, std::span<const double> scale, double epsilon,
                                       double* a, double* own_scale) {
  for (int k = 0; k < m; ++k) a[k * m + k] *= 1.0 + epsilon;
  if (!scale.empty()) return scale.data() + part_.row_begin[i];
  for (int k = 0; k < m; ++k) own_scale[k] = a[k * m + k];
  return own_scale;
}

template <class Size>
void ChainSegment::factor_rightward(Size size, std::span<const double> scale, double epsilon,
                                    PivotGuard& guard) {
  const Index n = part_.size();
  double own_scale[kMaxBlockRows];
  // L_i, D_i and L_i^-1 A_i,i+1 where the next block finds them without a store between
  double l[kMaxBlockRows * kMaxBlockRows], w[kMaxBlockRows * kMaxBlockRows];
  double inverse[kMaxBlockRows], root[kMaxBlockRows];
  bool before = false;  // the block before this one couples to it
  for (Index i = inward_end_; i < n; ++i) {
    const auto m = size(i);
    copy_numbers(m * m, lower(i), l);
    const double* row_scale = regularise(m, i, scale, epsilon, l, own_scale);
    if (before) subtract_weighted_square(size(i - 1), m, w, inverse, l);
    if (i == rightward_end_) {
      copy_numbers(m * m, l, lower(i));
      return;
    }
    unit_cholesky(m, l, inverse, row_scale, part_.name[i], guard);
    before = i + 1 < n && coupled(i);
    if (before) {
      copy_numbers(m * size(i + 1), side(i), w);
      unit_lower_solve(m, size(i + 1), l, w);
    }
    take_roots(m, inverse, l, root);
    copy_numbers(m * m, l, lower(i));
    if (!before) continue;
    const auto r = size(i + 1);
    double* const scaled = side(i);
    for (int k = 0; k < m; ++k)
      for (int c = 0; c < r; ++c) scaled[k * r + c] = root[k] * w[k * r + c];
  }
}

template <class Size>
void ChainSegment::factor_inward(Size size, std::span<const double> scale, double epsilon,
                                 const double* coupling, PivotGuard& guard) {
  double own_scale[kMaxBlockRows], from[kMaxBlockRows * kMaxBlockRows];
  for (Index i = inward_end_ - 1; i >= 0; --i) {
    const auto m = size(i);
    const double* row_scale = regularise(m, i, scale, epsilon, lower(i), own_scale);
    if (i + 1 < inward_end_) subtract_square(size(i + 1), m, side(i), lower(i));
    cholesky(m, lower(i), row_scale, part_.name[i], guard);
    const auto l = size(i - 1);
    double* w = i > 0 ? side(i - 1) : first_.data();
    std::copy_n(i > 0 ? w : coupling, l * m, from);
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

void ChainSegment::factor(std::span<const double> scale, double epsilon, const double* coupling,
                          PivotGuard& guard) {
  std::fill(left_update_.begin(), left_update_.end(), 0.0);
  guard.name_suspects(!fill_ && scale.empty());
  with_sizes([&](auto size) {
    if (inward_end_ > 0) factor_inward(size, scale, epsilon, coupling, guard);
    factor_rightward(size, scale, epsilon, guard);
    if (fill_) fill(size, coupling);
  });
  guard.name_suspects(false);
}

const double* ChainSegment::separator_block() const { return lower(rightward_end_); }

void ChainSegment::forward(std::span<double> x, double* left_update) const {
  CATENA_CHECK(x.size() == static_cast<std::size_t>(part_.row_begin.back()),
               "right-hand side does not fit the chain");
  std::fill_n(left_update, left_, 0.0);
  with_sizes([&](auto size) {
    const auto rows = [&](Index i) { return x.data() + part_.row_begin[i]; };
    for (Index i = inward_end_ - 1; i >= 0; --i) {
      lower_solve_vector(size(i), lower(i), rows(i));
      subtract_transposed(size(i), size(i - 1), i > 0 ? side(i - 1) : first_.data(), rows(i),
                          i > 0 ? rows(i - 1) : left_update);
    }
    const Index n = part_.size();
    double y[kMaxBlockRows], next[kMaxBlockRows];
    if (inward_end_ < n) copy_numbers(size(inward_end_), rows(inward_end_), next);
    for (Index i = inward_end_; i < rightward_end_; ++i) {
      const auto m = size(i);
      copy_numbers(m, next, y);
      lower_solve_vector(m, lower(i), y);
      copy_numbers(m, y, rows(i));
      if (fill_)
        subtract_transposed(m, size(-1), fill_side_.data() + fill_begin_[i], y, left_update);
      if (i + 1 == n) continue;
      const auto r = size(i + 1);
      copy_numbers(r, rows(i + 1), next);
      if (coupled(i)) subtract_transposed(m, r, side(i), y, next);
    }
    // what is left for the separator
    if (rightward_end_ < n) copy_numbers(size(rightward_end_), next, rows(rightward_end_));
  });
}

void ChainSegment::backward(std::span<double> x, const double* x_left) const {
  with_sizes([&](auto size) {
    const auto rows = [&](Index i) { return x.data() + part_.row_begin[i]; };
    const Index n = part_.size();
    double y[kMaxBlockRows], next[kMaxBlockRows];
    if (rightward_end_ < n) copy_numbers(size(rightward_end_), rows(rightward_end_), next);
    for (Index i = rightward_end_ - 1; i >= inward_end_; --i) {
      const auto m = size(i);
      copy_numbers(m, rows(i), y);
      if (i + 1 < n && coupled(i)) subtract_times(m, size(i + 1), side(i), next, y);
      if (fill_) subtract_times(m, size(-1), fill_side_.data() + fill_begin_[i], x_left, y);
      upper_solve_vector(m, lower(i), y);
      copy_numbers(m, y, rows(i));
      copy_numbers(m, y, next);
    }
    for (Index i = 0; i < inward_end_; ++i) {
      subtract_times(size(i), size(i - 1), i > 0 ? side(i - 1) : first_.data(),
                     i > 0 ? rows(i - 1) : x_left, rows(i));
      upper_solve_vector(size(i), lower(i), rows(i));
    }
  });
}

}  // namespace catena
