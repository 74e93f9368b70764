#include <array>
#include <cmath>
#include <vector>

#include "catena/constraints/block_diagonal.hpp"
#include "catena/constraints/contact_cone.hpp"
#include "solvers/gauss_seidel/sweep_engine.hpp"

namespace catena {
namespace {

constexpr int kMaxPasses = 20;  ///< over a slightly unsymmetric block; 2 or 3 are usual

class AssembledEngine final : public SweepEngine {
 public:
  AssembledEngine(const ConstraintProblem& problem, const LocalSolveOptions& rules,
                  std::span<const double> impulses)
      : problem_(problem),
        n_(*problem.assembled),
        rules_(rules),
        several_(problem.comm.size() > 1),
        lambda_(n_.n_rows() + n_.n_halo_rows, 0.0),
        halo_(problem.comm, n_.halo, 3, Tag::assembled_impulses) {
    const Index n_contacts = n_.n_rows() / 3;
    blocks_.reserve(n_contacts);
    for (Index k = 0; k < n_contacts; ++k) {
      const Mat3 d = diagonal(k);
      blocks_.push_back(make_contact_block(0.5 * (d + d.transpose())));
      const Mat3 skew = 0.5 * (d - d.transpose());
      const bool symmetric = skew.norm() <= 1e-14 * d.norm() || rules.omega != 1.0;
      skew_.push_back(symmetric ? Mat3(Mat3::Zero()) : skew);
      const Vec3 guess(impulses[3 * k], impulses[3 * k + 1], impulses[3 * k + 2]);
      const Vec3 z = admissible_contact(rules.law, guess, n_.friction[k]);
      for (int i = 0; i < 3; ++i) lambda_[3 * k + i] = z[i];
    }
    exchange();
  }

  double sweep(bool forward) override {
    double residual = 0.0;
    const Index n_contacts = n_.n_rows() / 3;
    for (Index step = 0; step < n_contacts; ++step) {
      const Index k = forward ? step : n_contacts - 1 - step;
      const Vec3 old(lambda_[3 * k], lambda_[3 * k + 1], lambda_[3 * k + 2]);
      const Vec3 z = solve(k, residual_velocity(k), old);
      for (int i = 0; i < 3; ++i) lambda_[3 * k + i] = z[i];
      residual += (blocks_[k].d * (z - old)).squaredNorm();
    }
    exchange();
    return residual;
  }

  void store_impulses(std::span<double> impulses) const override {
    std::copy_n(lambda_.begin(), impulses.size(), impulses.begin());
  }

  std::string remark() const override {
    return several_ ? "block-Jacobi between ranks with a safe diagonal (row sums of the off-rank "
                      "part of the assembled operator)"
                    : std::string();
  }

 private:
  /// N_kk with the row sums of the off-rank part on its diagonal.
  Mat3 diagonal(Index k) const {
    Eigen::Matrix<double, 3, 3, Eigen::RowMajor> d;
    block_diagonal(problem_, k, {d.data(), 9});
    for (Index i = 0; i < 3; ++i)
      for (std::int64_t e = n_.row_begin[3 * k + i]; e < n_.row_begin[(3 * k + i) + 1]; ++e)
        if (n_.column[e] >= n_.n_rows()) d(i, i) += std::abs(n_.value[e]);
    return d;
  }

  /// New impulse of contact k. Gyroscopic terms can make a block slightly unsymmetric:
  /// the local solve, which needs symmetry, is then repeated with the true w until it
  /// settles.
  Vec3 solve(Index k, const Vec3& w, const Vec3& old) const {
    Vec3 z = solve_contact(rules_, blocks_[k], w, old, n_.friction[k]);
    for (int pass = 1; pass < kMaxPasses && !skew_[k].isZero(0.0); ++pass) {
      const Vec3 true_w = w + (blocks_[k].d + skew_[k]) * (z - old);
      const Vec3 next = solve_contact(rules_, blocks_[k], true_w, z, n_.friction[k]);
      const bool settled = !((next - z).norm() > 1e-15 * next.norm());
      z = next;
      if (settled) break;
    }
    return z;
  }

  /// w_k = (N lambda + r)_k, halo impulses as of the last exchange.
  Vec3 residual_velocity(Index k) const {
    Vec3 w;
    for (Index i = 0; i < 3; ++i) w[i] = n_.r[3 * k + i] + row_product(3 * k + i);
    return w;
  }

  /// (N lambda) of a row. Four sums at once: one alone would wait for each of its additions.
  double row_product(Index row) const {
    const std::int64_t end = n_.row_begin[row + 1];
    std::array<double, 4> sums{};
    std::int64_t e = n_.row_begin[row];
    for (; e + 4 <= end; e += 4)
      for (std::int64_t j = 0; j < 4; ++j) sums[j] += n_.value[e + j] * lambda_[n_.column[e + j]];
    for (; e < end; ++e) sums[0] += n_.value[e] * lambda_[n_.column[e]];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  void exchange() {
    halo_.begin(lambda_);
    halo_.end(lambda_);
  }

  const ConstraintProblem& problem_;
  const AssembledOperator& n_;
  LocalSolveOptions rules_;
  bool several_;
  std::vector<double> lambda_;  ///< local rows, then halo rows
  std::vector<ContactBlock> blocks_;
  std::vector<Mat3> skew_;  ///< antisymmetric part of each diagonal block
  HaloExchange halo_;
};

}  // namespace

std::unique_ptr<SweepEngine> make_assembled_engine(const ConstraintProblem& problem,
                                                   const LocalSolveOptions& rules,
                                                   std::span<const double> impulses) {
  require_kernels(problem, "gauss_seidel on an assembled operator");
  return std::make_unique<AssembledEngine>(problem, rules, impulses);
}

}  // namespace catena
