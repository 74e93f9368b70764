#include "solvers/batches/anderson.hpp"

#include <algorithm>
#include <cmath>

#include "catena/base/release.hpp"
#include "catena/comm/sums.hpp"
#include "catena/math/sum.hpp"

namespace catena {

void Anderson::note(std::span<const MixProducts> pieces) {
  Sum ff(exact_), fd(exact_), dd(exact_);
  for (const MixProducts& p : pieces) {
    ff += p.ff;
    fd += p.fd;
    dd += p.dd;
  }
  SumWords words(exact_);
  for (const Sum* sum : {&ff, &fd, &dd}) words.add(*sum);
  comm_.sum(words.words());
  const double now = words[0], gamma = kShare * words[1] / words[2];
  // the first sweep has no difference, and where |f| grows it says nothing
  const bool mixes = sweeps_ > 0 && sweeps_ % kCycle < kMixed;
  gamma_ = mixes && now <= last_ && std::isfinite(gamma) ? gamma : 0.0;
  last_ = now;
  ++sweeps_;
}

MixedNumbers::MixedNumbers(double* first, std::size_t items, std::size_t stride, std::size_t width,
                           std::span<const double> weight) {
  start(first, items, stride, width, weight);
}

void MixedNumbers::start(double* first, std::size_t items, std::size_t stride, std::size_t width,
                         std::span<const double> weight) {
  first_ = first;
  items_ = items;
  stride_ = stride;
  width_ = width;
  weight_ = weight;
  assign_with_room(before_, items * width, 0.0);
  assign_with_room(start_, weight.size(), 0.0);
  assign_with_room(change_, weight.size(), 0.0);
  for (std::size_t i = 0; i < items_; ++i)
    std::copy_n(first_ + i * stride_, width_, before_.begin() + i * width_);
}

void MixedNumbers::rest() {
  for (std::vector<double>* list : {&before_, &start_, &change_}) clear_large(*list);
}

void MixedNumbers::mix(double gamma) {
  double* before = before_.data();
  const auto mix = [gamma](double* x, double* last, std::size_t n) {
    for (std::size_t j = 0; j < n; ++j) {
      const double now = x[j];
      x[j] = now - gamma * (now - last[j]);
      last[j] = now;
    }
  };
  if (width_ == stride_)
    mix(first_, before, items_ * width_);
  else
    for (std::size_t i = 0; i < items_; ++i) mix(first_ + i * stride_, before + i * width_, width_);
  std::copy_n(first_, weight_.size(), start_.begin());
}

MixProducts MixedNumbers::products() {
  MixProducts sum;
  for (std::size_t i = 0; i < weight_.size(); ++i) {
    const double f = first_[i] - start_[i], d = f - change_[i];
    change_[i] = f;
    sum.ff += weight_[i] * f * f;
    sum.fd += weight_[i] * f * d;
    sum.dd += weight_[i] * d * d;
  }
  return sum;
}

}  // namespace catena
