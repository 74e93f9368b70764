// Totals over all ranks of sums that may be exact.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "catena/base/error.hpp"
#include "catena/comm/communicator.hpp"
#include "catena/math/sum.hpp"

namespace catena {

/// A few sums on their way over all ranks, as the numbers that travel. All plain or all exact.
class SumWords {
 public:
  explicit SumWords(bool exact) : exact_(exact) {}

  void add(const Sum& sum) {
    const std::size_t n = Sum::n_words(exact_);
    CATENA_CHECK(n_words_ + n <= words_.size(), "more sums than travel together");
    sum.write(words_.data() + n_words_);
    n_words_ += n;
  }
  void clear() { n_words_ = 0; }
  /// To be added up over ranks in place.
  std::span<double> words() { return {words_.data(), n_words_}; }
  /// Value of the i-th sum.
  double operator[](std::size_t i) const {
    return Sum::value_of(exact_, words_.data() + i * Sum::n_words(exact_));
  }

 private:
  static constexpr std::size_t kMostSums = 24;

  bool exact_;
  std::size_t n_words_ = 0;
  std::array<double, kMostSums * Sum::n_words(true)> words_;  ///< the first n_words_ are in use
};

/// Collective. Total of one sum.
inline double total(const Communicator& comm, const Sum& sum, bool exact) {
  SumWords words(exact);
  words.add(sum);
  comm.sum(words.words());
  return words[0];
}

}  // namespace catena
