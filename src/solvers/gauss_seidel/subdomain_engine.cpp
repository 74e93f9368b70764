#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "catena/base/release.hpp"
#include "solvers/gauss_seidel/shared_bodies.hpp"
#include "solvers/gauss_seidel/sweep_engine.hpp"
#include "solvers/joints/drives/joint_drives.hpp"

namespace catena {
namespace {

class SubdomainEngine final : public HybridEngine {
 public:
  void start(const ConstraintProblem& problem, DelassusOperator& op, const SweepOptions& rules,
             JointSystem* joints, std::span<const double> impulses) override {
    problem_ = &problem;
    joints_ = joints;
    carries_velocities_ = rules.carried == nullptr;
    drives_.reset();
    if (joints != nullptr) drives_.emplace(problem, op, *joints, driven_, rules.accelerated);
    map_subdomains(problem, joints == nullptr, drives_ ? &*drives_ : nullptr, map_);
    shared_.set_up(problem, map_, joints == nullptr ? std::span<const char>() : joints->touched());
    subdomains_.resize(map_.blocks.size());
    for (std::size_t i = 0; i < subdomains_.size(); ++i) {
      find_roles(i);
      subdomains_[i].start(problem, map_.blocks[i], map_.touched[i], shared_.multiplicity(), roles_,
                           rules, impulses);
    }
    knows_errors_ = applies_ = false;
    at_zero_.reset();
    anderson_.reset();
    joint_impulses_.clear();
    if (joints_ == nullptr && rules.carried == nullptr) find_what_batches_know();
    if (applies_) {
      start_from_batches(op);
    } else {
      start_from_problem(op, rules, impulses);
    }
    accelerated_ = rules.accelerated;
  }

  bool holds(const ConstraintProblem& problem) const override {
    return problem_ == &problem && carries_velocities_;
  }

  Subdomain* packed(const ConstraintProblem& problem) override {
    const bool whole = holds(problem) && subdomains_.size() == 1;
    return whole ? subdomains_.data() : nullptr;
  }

  void rest() override {
    problem_ = nullptr;
    map_.rest();
    clear_large(roles_);
    shared_.rest();
    for (Subdomain& subdomain : subdomains_) subdomain.rest();
    clear_large(joint_impulses_);
    clear_large(velocities_);
    for (MixedNumbers& numbers : mixed_) numbers.rest();
  }

  double sweep(bool forward) override {
    if (accelerated_ && !anderson_) accelerate();  // many a solve ends with its guess
    // what is judged between sweeps is a sweep's result, not a mix
    if (anderson_) mix();
    // Backward, the interior's halves change places too: without shared bodies the sweep
    // is then exactly the forward one's reverse.
    const std::array<SweepPart, 2> interior =
        forward ? std::array{SweepPart::first_interior, SweepPart::second_interior}
                : std::array{SweepPart::second_interior, SweepPart::first_interior};
    double residual = 0.0;
    in_turn(interior, [&](SweepPart part, Subdomain& subdomain) {
      residual += subdomain.sweep(part, forward);
    });
    if (joints_ != nullptr) {
      shared_.read(*problem_, velocities_);
      if (!drives_->meets_joints()) solve_joints();
      drives_->solve(joint_impulses_, velocities_);
      shared_.write(*problem_, velocities_, subdomains_);
    }
    if (anderson_) note_mix();
    return residual;
  }

  void load(DelassusOperator& op, std::span<const double> impulses) override {
    CATENA_CHECK(joints_ == nullptr, "this engine goes on from its own iterate");
    accelerated_ = false;
    anderson_.reset();
    for (Subdomain& subdomain : subdomains_) {
      subdomain.end_mixing();
      subdomain.load_impulses(*problem_, impulses);
    }
    std::vector<double> velocities(problem_->bodies.n_dofs());
    op.velocities(impulses, velocities);
    for (Subdomain& subdomain : subdomains_) subdomain.load_velocities(*problem_, velocities);
    shared_.start(*problem_, velocities);
  }

  double change() const override { return anderson_ ? anderson_->change() : kNotGiven; }

  bool knows_errors() const override { return knows_errors_; }

  ErrorParts errors() const override { return errors(false); }

  const ErrorParts* errors_at_zero() const override { return at_zero_ ? &*at_zero_ : nullptr; }

  void keep() override {
    for (Subdomain& subdomain : subdomains_) subdomain.keep();
  }

  void store_kept(std::span<double> impulses) override {
    for (Subdomain& subdomain : subdomains_) subdomain.swap_kept();
    store_impulses(impulses);
    for (Subdomain& subdomain : subdomains_) subdomain.swap_kept();
  }

  void store_impulses(std::span<double> impulses) const override {
    for (const Subdomain& subdomain : subdomains_) subdomain.store_impulses(*problem_, impulses);
    if (joints_ == nullptr) return;
    drives_->store(joint_impulses_, impulses);
    for_joint_rows([&](std::size_t row) { impulses[row] = joint_impulses_[row]; });
  }

 private:
  /// Collective. Batches know their errors where there are no other blocks, and those of zero
  /// impulses and what the guess does to bodies without cohesion, which they add to impulses.
  void find_what_batches_know() {
    const bool batched = std::all_of(subdomains_.begin(), subdomains_.end(),
                                     [](const Subdomain& s) { return s.batched(); });
    const bool cohesive = std::any_of(subdomains_.begin(), subdomains_.end(),
                                      [](const Subdomain& s) { return s.cohesive(); });
    const std::int64_t missing = problem_->comm.max(std::int64_t{!batched ? 2 : cohesive ? 1 : 0});
    knows_errors_ = missing < 2;
    applies_ = missing == 0;
  }

  /// Neighbours. V of the guess as it was made admissible, by the batches: the first change of
  /// velocities is that by the guess.
  void start_from_batches(DelassusOperator& op) {
    const std::span<const double> free = op.free_velocities();
    for (Subdomain& subdomain : subdomains_) subdomain.load_velocities(*problem_, free);
    shared_.start(*problem_, free);
    at_zero_ = errors(true);
    in_turn({SweepPart::first_interior, SweepPart::second_interior},
            [](SweepPart part, Subdomain& subdomain) { subdomain.apply_impulses(part); });
  }

  /// Neighbours. Calls visit(part, subdomain) for the parts of a sweep, with the exchanges between
  /// them: the crossing blocks of all subdomains, then those at bodies that these have changed.
  template <class Visit>
  void in_turn(const std::array<SweepPart, 2>& interior, Visit&& visit) {
    const auto all = [&](SweepPart part) {
      for (Subdomain& subdomain : subdomains_) visit(part, subdomain);
    };
    all(SweepPart::crossing);
    shared_.post_changes(subdomains_);
    all(interior[0]);
    shared_.add_changes(subdomains_);
    all(SweepPart::border);
    shared_.post_velocities(subdomains_);
    all(interior[1]);
    shared_.finish(subdomains_);
  }

  /// Writes what the bodies of the i-th subdomain are to it.
  void find_roles(std::size_t i) {
    make_room(roles_, problem_->bodies.size());
    roles_.resize(problem_->bodies.size());
    for (const Index b : map_.touched[i]) {
      roles_[b] = !belongs_to(*problem_, b, map_.number[i]) ? BodyRole::foreign
                  : shared_.shared()[b] != 0                ? BodyRole::kept
                                                            : BodyRole::own;
    }
  }

  /// Neighbours. The same for any blocks.
  void start_from_problem(DelassusOperator& op, const SweepOptions& rules,
                          std::span<const double> impulses) {
    if (joints_ != nullptr) {
      joint_impulses_.assign(impulses.begin(), impulses.end());
      drives_->admit(joint_impulses_);
      // the first solve finds them whatever they are; of redundant rows it would keep what a guess
      // brings along
      for_joint_rows([&](std::size_t row) { joint_impulses_[row] = 0.0; });
    }
    std::vector<double> guess(problem_->n_rows(), 0.0);
    store_impulses(guess);
    std::vector<double> velocities(problem_->bodies.n_dofs());
    if (rules.carried != nullptr)
      rules.carried->start(op, guess, velocities);
    else
      op.velocities(guess, velocities);
    if (joints_ != nullptr) {
      // twice: what regularisation leaves of the first is taken out by the second
      for (int turn = 0; turn < 2; ++turn) joints_->solve(*problem_, joint_impulses_, velocities);
      drives_->solve(joint_impulses_, velocities);
      velocities_ = velocities;
    }
    for (Subdomain& subdomain : subdomains_) subdomain.load_velocities(*problem_, velocities);
    shared_.start(*problem_, velocities);
  }

  ErrorParts errors(bool at_zero) const {
    ErrorParts sum(problem_->ordered);
    for (const Subdomain& subdomain : subdomains_) {
      const BatchErrors part = subdomain.errors(at_zero);
      sum.normal += part.normal;
      sum.friction += part.friction;
      sum.scale += part.scale;
    }
    return sum;
  }

  /// Neighbours, and what the eliminations say.
  void solve_joints() {
    // what redundant rows share out between them is not determined: mixes may let it grow
    if (anderson_ && !joints_->determined())
      joints_->solve_anew(*problem_, joint_impulses_, velocities_);
    else
      joints_->solve(*problem_, joint_impulses_, velocities_);
  }

  /// Calls visit(row) for the rows of bilateral blocks.
  template <class Visit>
  void for_joint_rows(const Visit& visit) const {
    const GeneralBlocks& blocks = problem_->blocks;
    const std::size_t first = problem_->first_general_row();
    for (std::size_t k = 0; k < blocks.kind.size(); ++k) {
      if (blocks.kind[k] != BlockKind::bilateral) continue;
      for (std::size_t row = first + blocks.row_begin[k]; row < first + blocks.row_begin[k + 1];
           ++row)
        visit(row);
    }
  }

  void accelerate() {
    for (Subdomain& subdomain : subdomains_) subdomain.begin_mixing();
    const std::array<std::span<double>, 2> numbers = {shared_.values(), joint_impulses_};
    for (std::size_t i = 0; i < numbers.size(); ++i)
      mixed_[i].start(numbers[i].data(), numbers[i].size(), 1, 1);
    anderson_.emplace(problem_->comm, problem_->ordered);
  }

  void mix() {
    for (Subdomain& subdomain : subdomains_) subdomain.mix(anderson_->gamma());
    for (MixedNumbers& numbers : mixed_) numbers.mix(anderson_->gamma());
  }

  void note_mix() {
    products_.clear();
    for (Subdomain& subdomain : subdomains_) products_.push_back(subdomain.mix_products());
    anderson_->note(products_);
  }

  const ConstraintProblem* problem_ = nullptr;
  JointSystem* joints_ = nullptr;
  std::optional<JointDrives> drives_;  ///< where there are joints
  std::optional<JointSystem> driven_;  ///< the joints with their drives, where those are many
  SubdomainMap map_;
  std::vector<BodyRole> roles_;  ///< scratch
  SharedBodies shared_;
  std::vector<Subdomain> subdomains_;
  std::vector<double> joint_impulses_;  ///< all rows; those of bilateral blocks are used
  std::vector<double> velocities_;      ///< of jointed bodies, in the problem's places
  bool accelerated_ = false;
  std::optional<Anderson> anderson_;   ///< where sweeps are accelerated, from the first one on
  std::array<MixedNumbers, 2> mixed_;  ///< shared velocities and joints' impulses
  std::vector<MixProducts> products_;  ///< per subdomain
  bool knows_errors_ = false, applies_ = false, carries_velocities_ = true;
  std::optional<ErrorParts> at_zero_;
};

}  // namespace

std::unique_ptr<HybridEngine> make_hybrid_engine() { return std::make_unique<SubdomainEngine>(); }

}  // namespace catena
