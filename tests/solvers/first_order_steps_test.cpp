// One step of first-order methods: beside dense algebra, and by every instruction set.
#include <gtest/gtest.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "catena/base/huge_pages.hpp"
#include "catena/base/random.hpp"
#include "catena/constraints/contact_cone.hpp"
#include "catena/constraints/delassus.hpp"
#include "solvers/first_order/iterates.hpp"
#include "solvers/first_order/row_scales.hpp"
#include "solvers/kernel_paths.hpp"
#include "support/assembled.hpp"
#include "support/dense_reference.hpp"
#include "support/fclib_problem.hpp"
#include "support/hand_problems.hpp"
#include "support/scene.hpp"

namespace catena {
namespace {

using namespace first_order;

constexpr double kSplitting = 0.5;

/// x_k+1 and the sums of a step, all dense.
class DenseSteps {
 public:
  explicit DenseSteps(const ConstraintProblem& problem)
      : problem_(problem), dense_(test::dense_problem(problem)) {
    std::vector<double> by_scale;
    scale_rows(problem, true, kSplitting, by_scale);
    by_ = Eigen::Map<Eigen::VectorXd>(by_scale.data(), dense_.N.rows());
    shift_ = Eigen::VectorXd::Zero(problem.n_blocks());
    cohesion_ = Eigen::VectorXd::Zero(dense_.N.rows());
    for (Index k = 0; k < problem.n_blocks(); ++k)
      cohesion_[block_view(problem, k).row] = block_view(problem, k).cohesion;
  }

  void start(const std::vector<double>& impulses) { now_ = before_ = scaled(impulses); }
  void accept() {
    before_ = now_;
    now_ = next_;
  }
  Eigen::VectorXd impulses() const { return next_.cwiseProduct(by_) - cohesion_; }

  StepSums step(const StepWeights& weights) {
    const Eigen::VectorXd y = weights.y.keep * now_ + weights.y.take * before_;
    Eigen::VectorXd g = by_.cwiseProduct(dense_.N * (y.cwiseProduct(by_) - cohesion_) + dense_.r);
    for (Index k = 0; k < problem_.n_blocks(); ++k) {
      const BlockView view = block_view(problem_, k);
      if (view.kind != BlockKind::contact) continue;
      if (weights.renew) shift_[k] = cone(k).shift(full(k, g));
      g[view.row] += shift_[k];
    }
    next_ = y - weights.inverse_l * g;
    for (Index k = 0; k < problem_.n_blocks(); ++k) project(k);
    for (Eigen::Index i = 0; i < by_.size(); ++i)
      if (by_[i] == 0.0) next_[i] = 0.0;
    const Eigen::VectorXd change = next_ - y;
    const Eigen::VectorXd impulse = change.cwiseProduct(by_);
    return {change.squaredNorm(), g.dot(next_ - now_), next_.squaredNorm(),
            impulse.dot(dense_.N * impulse)};
  }

 private:
  Eigen::VectorXd scaled(const std::vector<double>& impulses) const {
    Eigen::VectorXd x = Eigen::Map<const Eigen::VectorXd>(impulses.data(), by_.size()) + cohesion_;
    for (Eigen::Index i = 0; i < x.size(); ++i) x[i] = by_[i] > 0.0 ? x[i] / by_[i] : 0.0;
    return x;
  }
  Vec6 full(Index k, const Eigen::VectorXd& rows) const {
    const ContactCone own = contact_cone(problem_, k);
    Vec6 out = Vec6::Zero();
    for (std::size_t i = 0; i < 6; ++i)
      if (own.row[i] >= 0)
        out[static_cast<Eigen::Index>(i)] = rows[block_view(problem_, k).row + own.row[i]];
    return out;
  }
  DiscCone cone(Index k) const {
    const ContactCone own = contact_cone(problem_, k);
    const Index row = block_view(problem_, k).row;
    DiscCone out;
    for (std::size_t i = 0; i < 3; ++i) {
      if (!own.has(i)) continue;
      const double by = by_[row + own.row[static_cast<std::size_t>(kDiscBegin[i])]];
      out.bound[i] = by > 0.0 ? own.discs.bound[i] * by_[row] / by : 0.0;
    }
    return out;
  }
  void project(Index k) {
    const BlockView view = block_view(problem_, k);
    if (view.kind == BlockKind::contact) {
      const Vec6 y = full(k, next_);
      const Vec6 z =
          problem_.law == ContactLaw::box ? clamp_rows(cone(k), y) : project_disc_cone(cone(k), y);
      const ContactCone own = contact_cone(problem_, k);
      for (std::size_t i = 0; i < 6; ++i)
        if (own.row[i] >= 0) next_[view.row + own.row[i]] = z[static_cast<Eigen::Index>(i)];
      return;
    }
    for (Index row = view.row; row < view.row + view.rows; ++row) {
      const auto general = static_cast<std::size_t>(row - problem_.first_general_row());
      if (view.kind == BlockKind::unilateral) next_[row] = std::max(0.0, next_[row]);
      if (view.kind == BlockKind::boxed)
        next_[row] = std::clamp(next_[row], problem_.blocks.lower[general] / by_[row],
                                problem_.blocks.upper[general] / by_[row]);
    }
  }

  const ConstraintProblem& problem_;
  test::DenseProblem dense_;
  Eigen::VectorXd by_, shift_, cohesion_, now_, before_, next_;
};

void expect_close(double a, double b, const char* what) {
  EXPECT_NEAR(a, b, 1e-9 * (std::abs(b) + 1e-6)) << what;
}

void compare_steps(const ConstraintProblem& problem) {
  DelassusOperator op(problem);
  std::vector<double> impulses(static_cast<std::size_t>(problem.n_rows()));
  for (std::size_t i = 0; i < impulses.size(); ++i) impulses[i] = 0.01 * uniform_pm1(3, i, 0);
  const std::unique_ptr<BodyIterates> bodies = make_body_iterates();
  std::unique_ptr<Iterates> assembled;
  if (problem.assembled)
    assembled = make_assembled_iterates(problem, kSplitting, impulses);
  else
    bodies->start(problem, op, nullptr, kSplitting, impulses);
  Iterates* const iterates = assembled ? assembled.get() : bodies.get();
  iterates->store(impulses);
  DenseSteps dense(problem);
  dense.start(impulses);
  const bool shifted = law_form(problem.law).shifted;
  for (int k = 0; k < 6; ++k) {
    // every other step is what the one before expected
    const MomentumPoint y = {1.0 + 0.1 * k, -0.1 * k};
    const MomentumPoint next = {k % 2 == 0 ? 1.1 + 0.1 * k : 7.0, -0.1 * (k + 1)};
    const StepWeights weights{y, 1.0 / (1.0 + k), shifted && k % 2 == 0, next};
    // the second trial from the same y takes the place of the first
    for (const double shorter : {1.0, 0.5}) {
      StepWeights trial = weights;
      trial.inverse_l *= shorter;
      const StepSums sums = iterates->step(trial), expected = dense.step(trial);
      expect_close(sums.moved, expected.moved, "moved");
      expect_close(sums.along, expected.along, "along");
      expect_close(sums.size, expected.size, "size");
      expect_close(sums.curved, expected.curved, "curved");
    }
    iterates->accept();
    dense.accept();
    iterates->store(impulses);
    const Eigen::VectorXd expected = dense.impulses();
    for (std::size_t i = 0; i < impulses.size(); ++i)
      EXPECT_NEAR(impulses[i], expected[static_cast<Eigen::Index>(i)], 1e-11) << "row " << i;
  }
}

TEST(FirstOrderSteps, AreThoseOfTheDenseProblem) {
  for (const ContactLaw law :
       {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::box, ContactLaw::frictionless}) {
    std::vector<ConstraintProblem> problems;
    for (test::Scene scene :
         {test::sphere_pile(12, 30, 0.5, 0.005, 3), test::box_stack(3, 0.4, 0.01),
          test::mixed_ring(7, 11),
          test::with_couples(test::sphere_pile(8, 20, 0.5, 0.005, 4), 0.02, 0.01, 1e-3)}) {
      scene.law = law;
      problems.push_back(test::whole(scene));
    }
    problems.push_back(test::assembled_problem(problems.front()));
    problems.push_back(test::fclib_problem("GFC3D_TwoRods1.hdf5", law));
    for (const ConstraintProblem& problem : problems) {
      SCOPED_TRACE(static_cast<int>(law));
      SCOPED_TRACE(problem.n_rows());
      compare_steps(problem);
    }
  }
}

/// A number for every lane of some rows.
template <std::size_t kRows, class Draw>
void fill(double (&rows)[kRows][kLanes], Draw& draw) {
  for (auto& row : rows)
    for (double& x : row) x = draw();
}
template <class Draw>
void fill(double (&row)[kLanes], Draw& draw, double middle, double width) {
  for (double& x : row) x = middle + width * draw();
}

/// Numbers of a batch's lanes and of its iterates. No two lanes share a line, but for line 0.
template <class Batch>
void fill_batch(Batch& batch, StepBatch& iterates, std::uint64_t seed) {
  std::uint64_t next = 0;
  const auto draw = [&] { return uniform_pm1(seed, next++, 5); };
  for (int lane = 0; lane < kLanes; ++lane) {
    batch.a[lane] = 1 + lane;
    batch.b[lane] = lane < 2 ? 0 : kLanes + 1 + (lane + static_cast<int>(seed)) % kLanes;
  }
  fill(iterates.h_n, draw, 1.0, 0.5);
  fill(iterates.h_t, draw, 1.0, 0.5);
  iterates.h_n[kLanes - 1] = iterates.h_t[kLanes - 1] = 0.0;
  fill(iterates.shift, draw, 1.0, 1.0);
  for (auto& x : iterates.x) fill(x, draw);
  fill(batch.friction, draw, 0.5, 0.4);
  if constexpr (requires { batch.g; }) {
    for (auto& body : batch.g)
      for (auto& velocity : body) fill(velocity, draw);
    fill(batch.sigma, draw);
  } else {
    for (int lane = 0; lane < kLanes; ++lane) {
      const Vec3 n = Vec3(draw(), draw(), draw()).normalized();
      for (int r = 0; r < 3; ++r) batch.n[r][lane] = n[r];
    }
    fill(batch.sigma_n, draw, 1.0, 1.0);
    fill(batch.sigma_t, draw, 1.0, 1.0);
  }
  if constexpr (requires { batch.t; }) {
    fill(batch.t, draw);
    fill(batch.arm_a, draw);
    fill(batch.arm_b, draw);
  }
  if constexpr (requires { batch.slip_bias; }) {
    fill(batch.arm_a, draw, 0.0, 1.0);
    fill(batch.arm_b, draw, 0.0, 1.0);
    fill(batch.bias, draw, 0.0, 1.0);
    fill(batch.slip_bias, draw);
  } else {
    fill(batch.bias, draw);
  }
}

/// All that a pass leaves behind.
template <class Batch>
std::vector<double> trace(StepSums (*kernel)(const Batch*, StepBatch*, std::size_t,
                                             const StepPass&),
                          bool renew, bool box) {
  HugeVector<Batch> batches(20);
  HugeVector<StepBatch> iterates(batches.size());
  for (std::size_t k = 0; k < batches.size(); ++k) fill_batch(batches[k], iterates[k], k + 1);
  HugeVector<BodyLine> velocities(2 * kLanes + 1), forces(velocities.size());
  for (std::size_t i = 0; i < velocities.size(); ++i)
    for (std::size_t j = 0; j < 6; ++j) velocities[i].x[j] = uniform_pm1(9, 8 * i + j, 1);
  const StepSums sums = kernel(batches.data(), iterates.data(), batches.size(),
                               {.velocities = velocities.data(),
                                .forces = forces.data(),
                                .weights = {{1.4, -0.4}, 0.7, renew},
                                .slots = {},
                                .box = box});
  std::vector<double> out = {sums.moved, sums.along, sums.size, sums.curved};
  for (const BodyLine& line : std::span(forces).subspan(1))
    out.insert(out.end(), line.x, line.x + 8);
  for (const StepBatch& batch : iterates) {
    out.insert(out.end(), batch.shift, batch.shift + kLanes);
    for (const auto& row : batch.x[2]) out.insert(out.end(), row, row + kLanes);
  }
  return out;
}

TEST(FirstOrderSteps, EveryInstructionSetGivesTheSame) {
  const auto expect_same = [&](const std::vector<double>& a, const std::vector<double>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
      EXPECT_LE(std::abs(a[i] - b[i]), test::kPathTolerance * std::abs(a[i])) << i;
  };
  const BatchKernels plain = plain_kernels();
  for (const KernelPath path : test::kernel_paths())
    for (const bool renew : {false, true}) {
      const BatchKernels kernels = choose_kernels(path);
      SCOPED_TRACE(kernels.name);
      expect_same(trace(plain.sphere_steps, renew, false),
                  trace(kernels.sphere_steps, renew, false));
      for (const bool box : {false, true}) {
        expect_same(trace(plain.arm_steps, renew, box), trace(kernels.arm_steps, renew, box));
        expect_same(trace(plain.explicit_steps, renew, box),
                    trace(kernels.explicit_steps, renew, box));
      }
    }
}

}  // namespace
}  // namespace catena
