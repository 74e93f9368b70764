// One step of first-order methods: beside dense algebra, and by every instruction set.
#include <gtest/gtest.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "catena/base/random.hpp"
#include "catena/constraints/contact_cone.hpp"
#include "catena/constraints/delassus.hpp"
#include "solvers/first_order/iterates.hpp"
#include "solvers/first_order/row_layout.hpp"
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
    RowLayout layout = lay_out(problem, true);
    scale_rows(problem, kSplitting, layout);
    by_ = Eigen::VectorXd::Zero(dense_.N.rows());
    for (const Place& place : layout.places)
      for (std::size_t r = 0; r < place.rows; ++r)
        by_[block_view(problem, place.block).row + static_cast<Index>(r)] =
            layout.by_scale[place.first + r * place.stride];
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
    const Eigen::VectorXd y = weights.keep * now_ + weights.take * before_;
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
  const std::unique_ptr<Iterates> iterates =
      problem.assembled ? make_assembled_iterates(problem, kSplitting)
                        : make_body_iterates(problem, op, nullptr, kSplitting);
  std::vector<double> impulses(static_cast<std::size_t>(problem.n_rows()));
  for (std::size_t i = 0; i < impulses.size(); ++i) impulses[i] = 0.01 * uniform_pm1(3, i, 0);
  iterates->start(impulses);
  iterates->store(impulses);
  DenseSteps dense(problem);
  dense.start(impulses);
  const bool shifted = law_form(problem.law).shifted;
  for (int k = 0; k < 6; ++k) {
    const StepWeights weights{1.0 + 0.1 * k, -0.1 * k, 1.0 / (1.0 + k), shifted && k % 2 == 0};
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

/// Numbers of the groups' lanes; their bodies are few, so that lanes share them.
template <class Group>
void fill_group(Group& group, std::uint64_t seed) {
  std::uint64_t next = 0;
  const auto draw = [&] { return uniform_pm1(seed, next++, 5); };
  for (int lane = 0; lane < kLanes; ++lane) {
    group.a[lane] = 6 * static_cast<std::int32_t>(2.0 + 2.0 * draw());
    group.b[lane] = 6 * static_cast<std::int32_t>(7.0 + 2.0 * draw());
    group.mu[lane] = 0.5 + 0.4 * draw();
    group.shift[lane] = std::abs(draw());
    for (int slot = 0; slot < 3; ++slot)
      for (int r = 0; r < 3; ++r) group.x[slot][r][lane] = draw();
    if constexpr (requires { group.g; }) {
      for (auto& body : group.g)
        for (auto& velocity : body)
          for (auto& row : velocity) row[lane] = draw();
      for (int r = 0; r < 3; ++r) {
        group.offset[r][lane] = draw();
        group.sigma[r][lane] = std::abs(draw());
      }
    } else {
      const Vec3 n = Vec3(draw(), draw(), draw()).normalized();
      for (int r = 0; r < 3; ++r) group.n[r][lane] = n[r];
      group.by_normal[lane] = 1.0 + 0.5 * draw();
      group.by_tangent[lane] = 1.0 + 0.5 * draw();
      group.sigma_n[lane] = std::abs(draw());
      group.sigma_t[lane] = std::abs(draw());
    }
    if constexpr (requires { group.t; }) {
      for (int r = 0; r < 3; ++r) {
        group.t[r][lane] = draw();
        group.arm_a[r][lane] = draw();
        group.arm_b[r][lane] = draw();
        group.offset[r][lane] = draw();
      }
    }
    if constexpr (requires { group.offset_n; }) {
      group.arm_a[lane] = draw();
      group.arm_b[lane] = draw();
      group.offset_n[lane] = draw();
      for (int r = 0; r < 3; ++r) group.offset_t[r][lane] = draw();
    }
  }
}

/// All that a pass leaves behind.
template <class Group>
std::vector<double> trace(StepSums (*kernel)(Group*, std::size_t, const StepPass&), bool renew,
                          bool box) {
  std::vector<Group> groups(20);
  for (std::size_t k = 0; k < groups.size(); ++k) fill_group(groups[k], k + 1);
  std::vector<double> velocities(60), forces(60, 0.0), out;
  for (std::size_t i = 0; i < velocities.size(); ++i) velocities[i] = uniform_pm1(9, i, 1);
  const StepSums sums =
      kernel(groups.data(), groups.size(),
             {velocities.data(), forces.data(), {1.4, -0.4, 0.7, renew}, {}, box});
  out = {sums.moved, sums.along, sums.size, sums.curved};
  out.insert(out.end(), forces.begin(), forces.end());
  for (const Group& group : groups) {
    out.insert(out.end(), group.shift, group.shift + kLanes);
    for (int r = 0; r < 3; ++r) out.insert(out.end(), group.x[2][r], group.x[2][r] + kLanes);
  }
  return out;
}

TEST(FirstOrderSteps, EveryInstructionSetGivesTheSame) {
#ifdef __FMA__
  constexpr double kTolerance = 0.0;  // all paths round alike
#else
  constexpr double kTolerance = 1e-12;
#endif
  const auto expect_same = [&](const std::vector<double>& a, const std::vector<double>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
      EXPECT_LE(std::abs(a[i] - b[i]), kTolerance * std::abs(a[i])) << i;
  };
  const StepKernels plain = plain_step_kernels();
  for (const StepKernels& kernels : available_step_kernels())
    for (const bool renew : {false, true}) {
      SCOPED_TRACE(kernels.name);
      expect_same(trace(plain.spheres, renew, false), trace(kernels.spheres, renew, false));
      for (const bool box : {false, true}) {
        expect_same(trace(plain.contacts, renew, box), trace(kernels.contacts, renew, box));
        expect_same(trace(plain.rows, renew, box), trace(kernels.rows, renew, box));
      }
    }
}

}  // namespace
}  // namespace catena
