#include <algorithm>
#include <cmath>
#include <utility>

#include "solvers/joints/elimination/redundant/damped_solve.hpp"
#include "solvers/joints/elimination/redundant/growing_pivots.hpp"
#include "solvers/joints/elimination/redundant/null_vectors.hpp"

namespace catena {
namespace {

/// Naming redundant rows may cost a factorisation in a poor order up to this size.
constexpr Index kMaxRowsNamed = 20000;
constexpr int kRefinements = 8;
constexpr std::size_t kNamed = 100;

/// Where no row may be redundant, A is factored as it is. Else suspicious rows go one of three
/// ways: where they are too many for null vectors, by their growing pivots; where what the
/// regularisation takes for null can be seen to be null, by damped solves; else by null vectors.
class RegularisedElimination final : public JointElimination {
 public:
  /// Collective where there are guests; these are not among the rows here.
  RegularisedElimination(const MechanismRows& structure, std::unique_ptr<CholeskyFactor> factor,
                         Guests* guests)
      : rows_(structure, guests),
        factor_(std::move(factor), rows_),
        suspicious_(structure, rows_),
        null_(rows_, factor_),
        damped_(rows_, factor_),
        growing_(rows_, factor_),
        delta_(rows_.size()) {}

  void factor(const MechanismRows& joints) override;
  void solve(std::span<const double> b, std::span<double> lambda) override;
  const FactorReport& report() const override { return report_; }
  double contradiction() const override { return contradiction_; }

 private:
  void factor_anew(const MechanismRows& joints);
  bool factor_as_it_is(const MechanismRows& joints);
  void factor_regularised(const MechanismRows& joints);
  void treat_redundant_rows(const MechanismRows& joints);
  void make_report();
  void name_redundant_rows();
  void refine(std::span<double> lambda);

  OwnRows rows_;
  RegularisedFactor factor_;
  SuspiciousRows suspicious_;
  NullVectors null_;
  DampedSolve damped_;
  GrowingPivots growing_;
  FactorReport report_;
  bool clear_ = true;             ///< the last matrix was factored as it is
  bool looked_ = false;           ///< pivots were checked; costly ones are once, and after a stall
  bool is_damped_ = false;        ///< solves do without null vectors
  std::vector<Index> redundant_;  ///< rows, ascending
  std::vector<double> delta_;
  double contradiction_ = 0.0;  ///< of the last solve
};

void RegularisedElimination::factor(const MechanismRows& joints) {
  // joints are laid out anew at other steps on other ranks, and where a run goes on
  if (joints.ordered) {
    suspicious_.forget();
    growing_.forget();
    looked_ = false;
  }
  report_ = {};
  rows_.read(joints);
  if (!growing_.were_found() || !growing_.factor_again(joints, suspicious_)) factor_anew(joints);
  make_report();
}

void RegularisedElimination::factor_anew(const MechanismRows& joints) {
  const bool expected = clear_ || joints.ordered;
  if (expected && factor_as_it_is(joints)) return;
  factor_regularised(joints);
  // no pivot is smaller than it would be without the regularisation
  if (expected || rows_.any(!redundant_.empty()) || !suspicious_.may_be_clear(joints) ||
      factor_as_it_is(joints))
    return;
  factor_regularised(joints);
}

/// Collective where there are guests. Whether no row may be redundant.
bool RegularisedElimination::factor_as_it_is(const MechanismRows& joints) {
  if (factor_.cholesky().costly_pivots()) return false;
  factor_.factor(joints, kRoundOffAlone);
  clear_ = factor_.epsilon() <= kRoundOffAlone && suspicious_.find_none(joints, factor_);
  if (clear_) treat_redundant_rows(joints);
  return clear_;
}

void RegularisedElimination::factor_regularised(const MechanismRows& joints) {
  factor_.factor(joints, kJointRegularisation);
  if (!factor_.cholesky().costly_pivots() ||
      (!looked_ && rows_.row_begin().back() <= kMaxRowsNamed)) {
    looked_ = true;
    suspicious_.find(joints, factor_);
  }
  treat_redundant_rows(joints);
}

void RegularisedElimination::treat_redundant_rows(const MechanismRows& joints) {
  null_.clear();
  redundant_.clear();
  is_damped_ = false;
  if (suspicious_.most() == 0) return;
  if (suspicious_.are_too_many()) {
    growing_.find(joints, suspicious_, redundant_);
  } else if (damped_.is_possible(joints, suspicious_)) {
    is_damped_ = true;
    for (const std::vector<Index>& rows : suspicious_.candidates())
      std::ranges::copy_if(rows, std::back_inserter(redundant_),
                           [](Index row) { return row != kNoIndex; });
  } else {
    null_.find(joints, suspicious_, redundant_);
  }
  std::sort(redundant_.begin(), redundant_.end());
  std::vector<char> has_redundant(rows_.n_mechanisms());
  for (const Index row : redundant_) has_redundant[rows_.mechanism()[row]] = 1;
  suspicious_.note_genuine(has_redundant);
}

void RegularisedElimination::make_report() {
  report_.smallest_pivot = suspicious_.smallest_pivot();
  report_.regularisation = factor_.epsilon();
  report_.raised = factor_.cholesky().raised();
  report_.flops = factor_.cholesky().flops();
  name_redundant_rows();
}

void RegularisedElimination::name_redundant_rows() {
  const std::span<const Index> row_begin = rows_.row_begin();
  for (const Index row : redundant_) {
    if (report_.redundant.size() == kNamed) return;
    const auto k = std::ranges::upper_bound(row_begin, row) - row_begin.begin() - 1;
    report_.redundant.push_back({rows_.name()[k], narrow<int>(row - row_begin[k])});
  }
}

/// A x = b - [what N makes contradictory], of least norm.
void RegularisedElimination::solve(std::span<const double> b, std::span<double> lambda) {
  if (lambda.data() != b.data()) std::copy(b.begin(), b.end(), lambda.begin());
  if (is_damped_) {
    contradiction_ = rows_.told_once(damped_.solve(lambda));
    return;
  }
  contradiction_ = rows_.told_once(null_.take_out_contradictions(lambda));
  factor_.solve(lambda);
  if (factor_.epsilon() <= kRoundOffAlone) return;
  null_.remove_reactions_at_rest(lambda);
  refine(lambda);
}

/// Adds what E x, the residual of the regularised system's solution, asks for, and so on.
void RegularisedElimination::refine(std::span<double> lambda) {
  std::copy(lambda.begin(), lambda.end(), delta_.begin());
  double before = 0.0;
  for (int round = 0; round < kRefinements; ++round) {
    factor_.damp(delta_);
    null_.remove_reactions_at_rest(delta_);
    const double change = rows_.square_of(delta_);
    const double size = rows_.square_of(lambda);
    // contradictory rows that were not found: their reactions would grow without end; costly pivots
    // are checked again, unless rows were found by their growth
    if (round > 0 && !(change < 0.81 * before)) {
      looked_ = false;
      return;
    }
    for (std::size_t i = 0; i < delta_.size(); ++i) lambda[i] += delta_[i];
    before = change;
    if (factor_.epsilon() * std::sqrt(change) <= 1e-16 * std::sqrt(size)) return;
  }
}

}  // namespace

std::unique_ptr<JointElimination> make_regularised(const MechanismRows& structure,
                                                   std::unique_ptr<CholeskyFactor> factor,
                                                   Guests* guests) {
  return std::make_unique<RegularisedElimination>(structure, std::move(factor), guests);
}

}  // namespace catena
