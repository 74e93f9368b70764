#include "solvers/joints/elimination/redundant/own_rows.hpp"

#include <algorithm>
#include <cmath>

#include "catena/base/error.hpp"
#include "catena/base/random.hpp"

namespace catena {

OwnRows::OwnRows(const MechanismRows& structure, Guests* guests)
    : guests_(guests),
      name_(structure.blocks.name),
      row_begin_(structure.blocks.row_begin),
      drive_(structure.drive) {
  has_drives_ = any(std::find(drive_.begin(), drive_.end(), 1) != drive_.end());
  if (!has_drives_) drive_.clear();
  std::size_t n = structure.blocks.n_rows();
  if (guests) {
    n = guests->own_rows();
    row_begin_.resize(guests->own_blocks() + 1);
    mechanism_.assign(n, 0);
    n_mechanisms_ = 1;
  } else {
    mechanism_ = mechanism_of_rows(structure, n_mechanisms_);
  }
  all_ = static_cast<double>(n);
  if (guests) all_ = guests->comm().sum(all_);
  diagonal_.resize(n, 1.0);
  product_.resize(n_mechanisms_);
}

std::vector<double> OwnRows::totals(std::span<const Sum> here) const {
  std::vector<double> sums(here.size());
  if (!guests_) {
    for (std::size_t i = 0; i < here.size(); ++i) sums[i] = here[i].value();
    return sums;
  }
  const std::size_t width = Sum::n_words(exact());
  std::vector<double> words(here.size() * width);
  for (std::size_t i = 0; i < here.size(); ++i) here[i].write(words.data() + i * width);
  guests_->comm().sum(words);
  for (std::size_t i = 0; i < here.size(); ++i)
    sums[i] = Sum::value_of(exact(), words.data() + i * width);
  return sums;
}

std::vector<double> OwnRows::random_direction(std::uint64_t seed) const {
  std::vector<double> x(size());
  for (std::size_t k = 0; k + 1 < row_begin_.size(); ++k)
    for (Index r = row_begin_[k]; r < row_begin_[k + 1]; ++r)
      x[r] = uniform_pm1(seed, static_cast<std::uint64_t>(name_[k]),
                         static_cast<std::uint64_t>(r - row_begin_[k])) /
             std::sqrt(diagonal_[r]);
  return x;
}

std::span<const double> OwnRows::products(std::span<const double> a, std::span<const double> b) {
  if (guests_) {
    product_[0] = total([&](std::size_t i) { return a[i] * b[i]; });
    return product_;
  }
  std::fill(product_.begin(), product_.end(), 0.0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    product_[mechanism_[i]] += a[i] * b[i];
  }
  return product_;
}

std::vector<std::vector<double>> OwnRows::products(const MechanismRows& joints,
                                                   const std::vector<std::vector<double>>& x,
                                                   std::span<const Index> count) const {
  std::vector<Products> product;
  for (const Index n : count) product.emplace_back(n, exact());
  if (guests_) {
    std::vector<std::vector<double>> with_guests = x;
    for (std::vector<double>& n : with_guests) {
      n.resize(joints.blocks.n_rows());
      guests_->bring(n);
    }
    add_products(joints, with_guests, mechanism_, guests_, product);
  } else {
    add_products(joints, x, mechanism_, nullptr, product);
  }
  std::vector<std::vector<double>> sums;
  sums.reserve(product.size());
  for (Products& of_mechanism : product)
    sums.push_back(of_mechanism.size() == 0 ? std::vector<double>() : totals(of_mechanism.sums()));
  return sums;
}

}  // namespace catena
