// Anderson's acceleration with the memory of several sweeps.
#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "catena/comm/communicator.hpp"

namespace catena {

/// Anderson's acceleration of depth m of y -> g(y) (H. F. Walker, P. Ni, Anderson acceleration for
/// fixed-point iterations, 2011): with f = g(y) - y and the changes dg, df of the last m
/// iterations, the next y is g - sum gamma_i dg_i, gamma = argmin |f - sum gamma_i df_i| in a
/// weighted norm, over this rank's and all other ranks' numbers. Unlike g itself it also approaches
/// fixed points that g moves away from in up to m directions.
class DeepMixing {
 public:
  /// `weights`: of the squares, one per number of this rank.
  DeepMixing(const Communicator& comm, std::vector<double> weights);

  /// Local. Forgets all; `start`: the y of the next sweep.
  void begin(std::span<const double> start);
  /// Collective. Takes g of the y that was handed out last and returns the next one.
  std::span<const double> next(std::span<const double> result);
  /// |f|^2 of the last iteration.
  double change() const { return change_; }

 private:
  static constexpr std::size_t kDepth = 10;
  /// Directions of df that are no more than this part of the longest, each of length one, are
  /// round-off.
  static constexpr double kIndependent = 1e-12;

  void remember(std::span<const double> f, std::span<const double> result);
  Eigen::VectorXd coefficients(std::span<const double> f);

  Communicator comm_;
  std::vector<double> weights_;
  std::vector<double> y_, f_, g_;  ///< of the last iteration
  /// Columns of the last changes, the oldest of which is overwritten next; products of df.
  std::vector<std::vector<double>> df_, dg_;
  Eigen::MatrixXd products_;
  std::size_t taken_ = 0, next_ = 0;
  bool first_ = true;
  double change_ = 0.0;
};

}  // namespace catena
