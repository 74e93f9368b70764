// Totals over all ranks of sums that may be exact.
#pragma once

#include <span>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/math/sum.hpp"

namespace catena {

/// Several sums on their way over all ranks, as the numbers that travel. All plain or all exact.
class SumWords {
 public:
  explicit SumWords(bool exact) : exact_(exact) {}

  void add(const Sum& sum) {
    words_.resize(words_.size() + Sum::n_words(exact_));
    sum.write(words_.data() + words_.size() - Sum::n_words(exact_));
  }
  void clear() { words_.clear(); }
  /// To be added up over ranks in place.
  std::span<double> words() { return words_; }
  /// Value of the i-th sum.
  double operator[](std::size_t i) const {
    return Sum::value_of(exact_, words_.data() + i * Sum::n_words(exact_));
  }

 private:
  bool exact_;
  std::vector<double> words_;
};

/// Collective. Total of one sum.
inline double total(const Communicator& comm, const Sum& sum, bool exact) {
  SumWords words(exact);
  words.add(sum);
  comm.sum(words.words());
  return words[0];
}

}  // namespace catena
