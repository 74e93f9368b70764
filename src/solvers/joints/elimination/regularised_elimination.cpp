#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "catena/base/error.hpp"
#include "catena/base/random.hpp"
#include "catena/comm/sums.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "solvers/joints/elimination/guests.hpp"
#include "solvers/joints/elimination/row_products.hpp"
#include "solvers/joints/elimination/tree_factor.hpp"

namespace catena {
namespace {

/// The second regularisation with which redundant rows are found that are too many for null
/// vectors, and the largest one.
constexpr double kLargeRegularisation = 1e-9;
/// That of every row once they have been found, in misfits of the joints (MechanismRows::misfit).
constexpr double kRegularisationOfMisfit = 1e-3;
/// Rows with pivots (over the diagonal) below this may be redundant.
constexpr double kSuspicious = 1e-7;
/// A null vector with little on the rows that come last leaves these a pivot far above its own
/// value: where some rows are suspicious, so are a few more with pivots below this.
constexpr double kDoubtful = 1e-3;
constexpr std::size_t kMostDoubtful = 4;
/// n^T A n of unit vectors, a sum of squares and therefore known far below round-off of A: null.
/// Bodies that miss their places by a part m of a length, though, turn a null vector's into some
/// m^2: taken for genuine, such rows lock the mechanism, and their reactions have no bound. How
/// many m^2 depends on the mechanism (a ring of 12 hinges on a bump: more than 100), so up to
/// kNullOfMisfit m^2 the widest gap in the spectrum decides (count_null). Above kSoftest nothing is
/// null whatever the misfit: a direction that is taken for null holds nothing together, one that is
/// taken for genuine stops the mechanism for a step.
constexpr double kNull = 1e-18;
constexpr double kNullOfMisfit = 1e4;
constexpr double kSoftest = 1e-4;
/// Least ratio that is a gap: the softest values of a chain of N hinges, all of them genuine,
/// follow each other as 1, 16, 81, 256, ...
constexpr double kGap = 30.0;
/// candidates^2 rows up to which null vectors are sought anew at every factorisation: some 10 ms.
constexpr double kMaxWork = 1e6;
/// More candidates than these, each of which takes ten solves, are projected out without null
/// vectors (solve_damped) where what the regularisation takes for null is null (is_distinct).
constexpr std::size_t kFewCandidates = 5;
/// Pivots of such rows are below this, of epsilon: 1/n_r^2 of their null vectors.
constexpr double kSmallPivot = 300.0;
constexpr std::uint64_t kSeed = 7;
/// A redundant row's pivot is proportional to epsilon, any other's is not: geometric mean of no
/// growth and all of it between the two epsilons.
const double kGrowth = std::sqrt(kLargeRegularisation / kJointRegularisation);
constexpr double kDriveWeight = 1e3;
/// Naming redundant rows may cost a factorisation in a poor order up to this size.
constexpr Index kMaxRowsNamed = 20000;
constexpr int kRefinements = 8;
constexpr std::size_t kNamed = 100;

/// How many of the values of n^T A n, ascending, are null where joints miss their places by
/// `misfit`: all up to kNull, and beyond, up to what the misfit allows, those below the widest gap
/// (as a ratio), if there is one; `above` is the value that bounds the last gap. Values are over
/// the diagonal and misfits over arms, so that units do not count.
Eigen::Index count_null(const Eigen::VectorXd& values, double misfit, double above) {
  const double expected = std::max(kNull, misfit * misfit);
  const double most = std::max(kNull, std::min(kNullOfMisfit * misfit * misfit, kSoftest));
  Eigen::Index least = 0;
  while (least < values.size() && values[least] <= kNull) ++least;
  // beyond that a misfit says nothing of which values are null
  if (least == values.size() || expected > kSoftest) return least;
  Eigen::Index null = least;
  double widest = std::max(kGap, values[least] / expected);
  for (Eigen::Index n = least + 1; n <= values.size() && values[n - 1] <= most; ++n) {
    const double gap = (n < values.size() ? values[n] : above) / std::max(values[n - 1], expected);
    if (!(gap > widest)) continue;
    widest = gap;
    null = n;
  }
  return null;
}

class RegularisedElimination final : public JointElimination {
 public:
  /// Collective where there are guests; these are not among the rows here.
  RegularisedElimination(const MechanismRows& structure, std::unique_ptr<CholeskyFactor> factor,
                         Guests* guests)
      : factor_(std::move(factor)),
        guests_(guests),
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
    tree_held_once_ = trees_held_once(structure, mechanism_, n_mechanisms_, guests);
    all_rows_ = static_cast<double>(n);
    if (guests) all_rows_ = guests->comm().sum(all_rows_);
    for (auto* v : {&diagonal_, &added_, &pivot_, &second_pivot_, &change_}) v->resize(n, 1.0);
    sum_.resize(n_mechanisms_);
    genuine_.assign(n_mechanisms_, kSuspicious);
  }

  void factor(const MechanismRows& joints) override;
  void solve(std::span<const double> b, std::span<double> lambda) override;
  const FactorReport& report() const override { return report_; }
  double contradiction() const override { return contradiction_; }

 private:
  /// What was found of a row: no candidate, one that is none of the redundant rows, or one of them.
  enum class Searched : char { no, genuine, redundant };
  bool any(bool here) const { return largest(here ? 1.0 : 0.0) > 0.0; }
  double largest(double here) const { return guests_ ? guests_->comm().max(here) : here; }
  std::vector<double> totals(std::span<const Sum> here) const;
  template <class Term>
  double total(const Term& term) const;
  void gather_candidates(std::size_t suspicious);
  /// For null vectors to be sought.
  bool are_too_many() const {
    const auto k = static_cast<double>(most_candidates_);
    return k * k * all_rows_ > kMaxWork;
  }
  /// Misfits contradict each other on redundant rows by about their size, which 1/epsilon
  /// magnifies.
  double regularisation_by_misfit() const {
    return std::clamp(kRegularisationOfMisfit * misfit_, kJointRegularisation,
                      kLargeRegularisation);
  }
  void forget();
  void factor_with(const MechanismRows& joints, double epsilon);
  void read_pivots();
  void find_candidates(const MechanismRows& joints);
  void note_genuine(std::span<const char> but);
  void pass_independent(const MechanismRows& joints);
  void find_null_vectors(const MechanismRows& joints);
  void iterate_towards_null(std::size_t most);
  std::vector<Products> products_of(const MechanismRows& joints,
                                    const std::vector<std::vector<double>>& x) const;
  void separate_null(const MechanismRows& joints);
  bool need_no_null_vectors(const MechanismRows& joints);
  bool have_small_pivots() const;
  bool is_distinct(const MechanismRows& joints);
  void keep_growing_candidates(const MechanismRows& joints);
  bool have_changed();
  void name_redundant_rows();
  void make_report();
  void sums(std::span<const double> a, std::span<const double> b);
  void add(std::span<const double> n, bool weighted, std::span<double> x);
  void remove_reactions_at_rest(std::span<double> x);
  void find_yielding_drives();
  void yield_drives(std::span<double> b);
  void take_out_contradictions(std::span<double> b);
  void keep_contradiction(double energy);
  double energy_of(std::span<const double> b) const;
  double square_of(std::span<const double> x) const;
  void damp(std::span<double> x);
  void solve_damped(std::span<double> x);

  std::unique_ptr<CholeskyFactor> factor_;
  Guests* guests_;         ///< where other ranks have rows of the same mechanism: then the only one
  double all_rows_ = 0.0;  ///< of all ranks
  std::vector<std::int64_t> name_;
  std::vector<Index> row_begin_;
  std::vector<char> drive_;  ///< per row: MechanismRows::drive; empty: there are none
  bool has_drives_ = false;  ///< any rank
  Index n_mechanisms_ = 0;
  std::vector<Index> mechanism_;      ///< per row
  std::vector<char> tree_held_once_;  ///< per mechanism
  FactorReport report_;
  double epsilon_ = 0.0;
  double smallest_pivot_ = 1.0;  ///< when pivots were last checked
  double misfit_ = 0.0;          ///< MechanismRows::misfit
  /// Per mechanism its smallest pivot, when they were last checked, and the one below which pivots
  /// have not been seen to be genuine.
  std::vector<double> smallest_, genuine_;
  bool looked_ = false;   ///< pivots were checked; costly ones are once, and after a stall
  bool grown_ = false;    ///< redundant rows were found by their growing pivots
  bool damped_ = false;   ///< solves do without null vectors
  bool stalled_ = false;  ///< such a solve has not settled: null vectors are sought from then on
  std::vector<Searched> searched_;  ///< per row, when they were
  std::vector<Index> redundant_;    ///< rows, ascending
  /// Per mechanism the rows that may be redundant, those with the smallest pivots first; kNoIndex:
  /// another rank's.
  std::vector<std::vector<Index>> candidates_;
  std::size_t most_candidates_ = 0;  ///< of a mechanism, of all ranks
  /// N: null vectors of A, D-orthonormal within each mechanism; vector i of all mechanisms in one.
  std::vector<std::vector<double>> null_;
  /// Per mechanism the compliance of its drives, D^(1/2) b of its drives' rows, for N^T b = 1.
  std::vector<Eigen::MatrixXd> yield_;
  std::vector<std::vector<Index>> drives_;  ///< per mechanism: rows
  std::vector<double> diagonal_, added_, pivot_, second_pivot_, change_, sum_;
  double contradiction_ = 0.0;  ///< of the last solve
};

/// Collective where there are guests. Sums over the rows of all ranks.
std::vector<double> RegularisedElimination::totals(std::span<const Sum> here) const {
  std::vector<double> sums(here.size());
  if (!guests_) {
    for (std::size_t i = 0; i < here.size(); ++i) sums[i] = here[i].value();
    return sums;
  }
  const std::size_t width = Sum::n_words(guests_->exact());
  std::vector<double> words(here.size() * width);
  for (std::size_t i = 0; i < here.size(); ++i) here[i].write(words.data() + i * width);
  guests_->comm().sum(words);
  for (std::size_t i = 0; i < here.size(); ++i)
    sums[i] = Sum::value_of(guests_->exact(), words.data() + i * width);
  return sums;
}

/// The same of term(row).
template <class Term>
double RegularisedElimination::total(const Term& term) const {
  if (guests_ && guests_->exact()) {
    Sum sum(true);
    for (std::size_t i = 0; i < mechanism_.size(); ++i) sum += term(i);
    return totals({&sum, 1})[0];
  }
  double sum = 0.0;
  for (std::size_t i = 0; i < mechanism_.size(); ++i) sum += term(i);
  return guests_ ? guests_->comm().sum(sum) : sum;
}

void RegularisedElimination::factor_with(const MechanismRows& joints, double epsilon) {
  epsilon_ = epsilon;
  for (std::size_t i = 0; i < added_.size(); ++i) added_[i] = epsilon * diagonal_[i];
  // without null vectors what contradicts is shared by these weights, for the most part by drives
  for (std::size_t i = 0; grown_ && i < drive_.size(); ++i)
    if (drive_[i] != 0) added_[i] *= kDriveWeight;
  if (factor_->factor(joints, added_)) return;
  if (epsilon < kLargeRegularisation) return factor_with(joints, kLargeRegularisation);
  throw Error("the matrix of " + std::to_string(added_.size()) +
                  " joint rows is not positive definite, though regularised",
              "joints", "look for joints with very different masses or lengths",
              ExitCode::runtime_error);
}

/// Collective where there are guests. pivot_ = those of the last factor over the diagonal.
void RegularisedElimination::read_pivots() {
  factor_->pivots(pivot_);
  smallest_.assign(n_mechanisms_, 1.0);
  for (std::size_t i = 0; i < pivot_.size(); ++i) {
    pivot_[i] /= diagonal_[i];
    smallest_[mechanism_[i]] = std::min(smallest_[mechanism_[i]], pivot_[i]);
  }
  smallest_pivot_ = 1.0;
  for (double& smallest : smallest_) {
    smallest = -largest(-smallest);
    smallest_pivot_ = std::min(smallest_pivot_, smallest);
  }
}

/// Collective where there are guests. No candidates of mechanisms whose rows are independent,
/// however small their pivots: the arms of a tree may be so long, and what hangs on them so heavy,
/// that pivots are as small against the diagonal as the regularisation.
void RegularisedElimination::pass_independent(const MechanismRows& joints) {
  std::vector<char> independent(n_mechanisms_);
  for (std::size_t m = 0; m < independent.size(); ++m)
    independent[m] = tree_held_once_[m] != 0 && any(!candidates_[m].empty()) ? 1 : 0;
  if (std::ranges::count(independent, 1) == 0) return;
  for (std::size_t k = 0; k + 1 < row_begin_.size(); ++k) {
    char& all = independent[mechanism_[row_begin_[k]]];
    if (all != 0 && !moves_each_body(joints, to_index(k))) all = 0;
  }
  for (std::size_t m = 0; m < independent.size(); ++m)
    if (!any(independent[m] == 0)) candidates_[m].clear();
}

/// Collective where there are guests.
void RegularisedElimination::find_candidates(const MechanismRows& joints) {
  read_pivots();
  candidates_.assign(n_mechanisms_, {});
  most_candidates_ = 0;
  const double suspicious =
      std::max(kSuspicious, 10.0 * std::min(kNullOfMisfit * misfit_ * misfit_, kSoftest));
  if (std::ranges::equal(smallest_, genuine_, std::greater_equal())) return;
  for (std::size_t i = 0; i < pivot_.size(); ++i) {
    const Index m = mechanism_[i];
    if (smallest_[m] < genuine_[m] && pivot_[i] < std::max(suspicious, kDoubtful))
      candidates_[m].push_back(to_index(i));
  }
  pass_independent(joints);
  for (std::vector<Index>& rows : candidates_) {
    std::ranges::stable_sort(rows, [this](Index a, Index b) { return pivot_[a] < pivot_[b]; });
    const auto end = std::find_if(rows.begin(), rows.end(),
                                  [&](Index row) { return !(pivot_[row] < suspicious); });
    const std::size_t n = end - rows.begin();
    if (guests_) {
      gather_candidates(n);
      continue;
    }
    rows.resize(n == 0 ? 0 : std::min(rows.size(), n + kMostDoubtful));
    most_candidates_ = std::max(most_candidates_, rows.size());
  }
  std::vector<char> asked(n_mechanisms_);
  for (std::size_t m = 0; m < asked.size(); ++m) asked[m] = !candidates_[m].empty();
  note_genuine(asked);
}

/// Collective where there are guests. All mechanisms but those with a mark on any rank are looked
/// at again only below a third of their smallest pivot.
void RegularisedElimination::note_genuine(std::span<const char> but) {
  for (std::size_t m = 0; m < but.size(); ++m)
    if (!any(but[m] != 0) && smallest_[m] < genuine_[m]) genuine_[m] = 0.3 * smallest_[m];
}

/// Collective. Candidates of all ranks in one order, unless they are too many for null vectors; the
/// first `suspicious` of those here are more than doubtful.
void RegularisedElimination::gather_candidates(std::size_t suspicious) {
  std::vector<Index>& rows = candidates_[0];
  const std::size_t all = guests_->comm().sum(narrow<std::int64_t>(suspicious));
  most_candidates_ = all == 0 ? 0 : all + kMostDoubtful;
  if (all == 0 || are_too_many()) {
    rows.resize(suspicious);
    return;
  }
  rows.resize(std::min(rows.size(), suspicious + kMostDoubtful));
  struct Candidate {
    double pivot;
    std::int64_t name;
    Index row_of_block;
    int rank;
    Index row;
  };
  std::vector<Candidate> own;
  for (const Index row : rows) {
    const auto k = std::ranges::upper_bound(row_begin_, row) - row_begin_.begin() - 1;
    own.push_back({pivot_[row], name_[k], row - row_begin_[k], guests_->comm().rank(), row});
  }
  own = all_gather_values(guests_->comm(), own);
  std::ranges::sort(own, {},
                    [](const Candidate& c) { return std::tuple(c.pivot, c.name, c.row_of_block); });
  if (own.size() > most_candidates_) own.resize(most_candidates_);
  most_candidates_ = own.size();
  rows.clear();
  for (const Candidate& c : own)
    rows.push_back(c.rank == guests_->comm().rank() ? c.row : kNoIndex);
}

/// What earlier factorisations met.
void RegularisedElimination::forget() {
  std::ranges::fill(genuine_, kSuspicious);
  looked_ = grown_ = false;
}

void RegularisedElimination::factor(const MechanismRows& joints) {
  // joints are laid out anew at other steps on other ranks, and where a run goes on
  if (joints.ordered) forget();
  report_ = {};
  misfit_ = joints.misfit;
  diagonal(joints, diagonal_);
  if (grown_) {
    factor_with(joints, regularisation_by_misfit());
    if (!have_changed()) {
      make_report();
      return;
    }
    grown_ = false;
  }
  factor_with(joints, kJointRegularisation);
  if (!factor_->costly_pivots() || (!looked_ && row_begin_.back() <= kMaxRowsNamed)) {
    looked_ = true;
    find_candidates(joints);
  }
  find_null_vectors(joints);
  make_report();
}

void RegularisedElimination::make_report() {
  report_.smallest_pivot = smallest_pivot_;
  report_.regularisation = epsilon_;
  report_.raised = factor_->raised();
  report_.flops = factor_->flops();
  name_redundant_rows();
}

/// Collective where there are guests. Of rows that were found by their growing pivots: whether one
/// that was no candidate has a pivot that makes it one, or one of them has a pivot out of doubt.
bool RegularisedElimination::have_changed() {
  if (factor_->costly_pivots()) return false;
  read_pivots();
  bool changed = false;
  for (std::size_t i = 0; i < pivot_.size(); ++i) {
    changed |= searched_[i] == Searched::no
                   ? pivot_[i] < kSuspicious
                   : searched_[i] == Searched::redundant && pivot_[i] > kDoubtful;
  }
  return any(changed);
}

/// Too many candidates for null vectors: those are redundant whose pivots grow with epsilon, looked
/// for again when pivots ask for it. Reactions are of least norm as far as velocities do not
/// contradict each other.
void RegularisedElimination::keep_growing_candidates(const MechanismRows& joints) {
  grown_ = true;
  factor_with(joints, kLargeRegularisation);
  factor_->pivots(second_pivot_);
  // no larger than it must be: what holds a mechanism together may be as soft as that
  factor_with(joints, regularisation_by_misfit());
  searched_.assign(pivot_.size(), Searched::no);
  // of mechanisms that were not asked, or passed
  for (std::size_t i = 0; i < pivot_.size(); ++i)
    if (candidates_[mechanism_[i]].empty() && pivot_[i] < kSuspicious)
      searched_[i] = Searched::genuine;
  for (const std::vector<Index>& rows : candidates_) {
    for (const Index row : rows) {
      if (row == kNoIndex) continue;
      searched_[row] = Searched::genuine;
      // round-off may have taken the first pivot
      const double first = std::max(pivot_[row], kPivotFloor * kJointRegularisation);
      if (!(second_pivot_[row] > kGrowth * first * diagonal_[row])) continue;
      searched_[row] = Searched::redundant;
      redundant_.push_back(row);
    }
  }
}

void RegularisedElimination::name_redundant_rows() {
  for (const Index row : redundant_) {
    if (report_.redundant.size() == kNamed) return;
    const auto above = std::upper_bound(row_begin_.begin(), row_begin_.end(), row);
    const auto k = (above - row_begin_.begin()) - 1;
    report_.redundant.push_back({name_[k], narrow<int>(row - row_begin_[k])});
  }
}

/// sum_[m] = a . b over the rows of mechanism m.
void RegularisedElimination::sums(std::span<const double> a, std::span<const double> b) {
  if (guests_) {
    sum_[0] = total([&](std::size_t i) { return a[i] * b[i]; });
    return;
  }
  std::fill(sum_.begin(), sum_.end(), 0.0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum_[mechanism_[i]] += a[i] * b[i];
  }
}

/// x <- x - [D] n sum_, mechanism by mechanism.
void RegularisedElimination::add(std::span<const double> n, bool weighted, std::span<double> x) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] -= (weighted ? diagonal_[i] : 1.0) * n[i] * sum_[mechanism_[i]];
  }
}

/// x <- x - N N^T D x: what is left is of least norm in the metric of D.
void RegularisedElimination::remove_reactions_at_rest(std::span<double> x) {
  for (const std::vector<double>& n : null_) {
    for (std::size_t i = 0; i < x.size(); ++i) change_[i] = diagonal_[i] * x[i];
    sums(n, change_);
    add(n, false, x);
  }
}

void RegularisedElimination::find_null_vectors(const MechanismRows& joints) {
  null_.clear();
  yield_.clear();
  redundant_.clear();
  damped_ = false;
  if (most_candidates_ == 0) return;
  if (are_too_many()) {
    keep_growing_candidates(joints);
  } else if (need_no_null_vectors(joints)) {
    damped_ = true;
    for (const std::vector<Index>& rows : candidates_)
      std::ranges::copy_if(rows, std::back_inserter(redundant_),
                           [](Index row) { return row != kNoIndex; });
  } else {
    iterate_towards_null(most_candidates_);
    separate_null(joints);
    find_yielding_drives();
  }
  std::sort(redundant_.begin(), redundant_.end());
  std::vector<char> has_redundant(n_mechanisms_);
  for (const Index row : redundant_) has_redundant[mechanism_[row]] = 1;
  note_genuine(has_redundant);
}

/// Inverse iteration from the candidates: (A + epsilon D)^-1 D multiplies null vectors by
/// 1/epsilon and others by 1/(epsilon + sigma).
void RegularisedElimination::iterate_towards_null(std::size_t most) {
  std::vector<double> x(diagonal_.size());
  for (std::size_t i = 0; i < most; ++i) {
    std::fill(x.begin(), x.end(), 0.0);
    for (const std::vector<Index>& rows : candidates_) {
      if (i < rows.size() && rows[i] != kNoIndex) x[rows[i]] = 1.0;
    }
    for (int round = 0; round < 4; ++round) {
      for (std::size_t r = 0; r < x.size(); ++r) x[r] *= added_[r];
      factor_->solve(x);
      remove_reactions_at_rest(x);
      remove_reactions_at_rest(x);
      for (std::size_t r = 0; r < x.size(); ++r) change_[r] = x[r] * diagonal_[r];
      sums(x, change_);
      for (std::size_t r = 0; r < x.size(); ++r) {
        const double square = sum_[mechanism_[r]];
        if (square > 0.0) x[r] /= std::sqrt(square);
      }
    }
    null_.push_back(x);
  }
}

/// Collective where there are guests. Of one mechanism alone, since norms over several would hide a
/// light one's; pivots must be those of this factorisation, none of them raised. An ordered problem
/// remembers nothing, and could not change over where such solves do not settle.
bool RegularisedElimination::need_no_null_vectors(const MechanismRows& joints) {
  return n_mechanisms_ == 1 && most_candidates_ > kFewCandidates && !has_drives_ && !stalled_ &&
         !joints.ordered && !factor_->costly_pivots() && !any(factor_->raised() > 0) &&
         have_small_pivots() && is_distinct(joints);
}

/// Collective where there are guests. Whether all candidates have pivots of the regularisation's
/// size, so that they are the redundant rows: none is small for another reason, which the spectrum
/// would have to tell.
bool RegularisedElimination::have_small_pivots() const {
  return !any(!std::ranges::all_of(candidates_[0], [this](Index row) {
    return row == kNoIndex || pivot_[row] < kSmallPivot * epsilon_;
  }));
}

/// Collective where there are guests. Whether what the regularisation takes for null is null,
/// whichever vectors those are. Asked of two combinations of them, theta of random vectors that are
/// the same on any ranks: a direction of the value sigma adds sigma theta^2 times the square of its
/// part, 1 in the mean as of each null vector, and shows between kNull and epsilon^2/kNull.
bool RegularisedElimination::is_distinct(const MechanismRows& joints) {
  std::vector<std::vector<double>> x(2, std::vector<double>(diagonal_.size()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t k = 0; k + 1 < row_begin_.size(); ++k)
      for (Index r = row_begin_[k]; r < row_begin_[k + 1]; ++r)
        x[i][r] = uniform_pm1(kSeed + i, static_cast<std::uint64_t>(name_[k]),
                              static_cast<std::uint64_t>(r - row_begin_[k])) /
                  std::sqrt(diagonal_[r]);
    damp(x[i]);
  }
  const std::vector<double> product = totals(products_of(joints, x)[0].sums());
  const auto null = static_cast<double>(most_candidates_);
  bool all = true;
  for (std::size_t i = 0; i < x.size(); ++i)
    all &= product[i * (x.size() + 1)] <= kNull * square_of(x[i]) / null;
  return all;
}

/// Per mechanism with candidates the products x^T A x' of as many vectors as it has candidates, or
/// of all.
std::vector<Products> RegularisedElimination::products_of(
    const MechanismRows& joints, const std::vector<std::vector<double>>& x) const {
  std::vector<Products> product;
  for (const std::vector<Index>& rows : candidates_)
    product.emplace_back(narrow<Eigen::Index>(std::min(rows.size(), x.size())),
                         guests_ && guests_->exact());
  if (!guests_) {
    add_products(joints, x, mechanism_, nullptr, product);
    return product;
  }
  std::vector<std::vector<double>> with_guests = x;
  for (std::vector<double>& n : with_guests) {
    n.resize(joints.blocks.n_rows());
    guests_->bring(n);
  }
  add_products(joints, with_guests, mechanism_, guests_, product);
  return product;
}

/// Rayleigh and Ritz: the null vectors among the combinations of those in null_, mechanism by
/// mechanism, and how many rows are redundant.
void RegularisedElimination::separate_null(const MechanismRows& joints) {
  const Eigen::Index most = null_.size();
  std::vector<Products> product = products_of(joints, null_);
  std::vector<Eigen::MatrixXd> combination(candidates_.size());
  Eigen::Index kept = 0;
  for (std::size_t m = 0; m < candidates_.size(); ++m) {
    const Eigen::Index k = product[m].size();
    if (k == 0) continue;
    const std::vector<double> sums = totals(product[m].sums());
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(
        Eigen::Map<const Eigen::MatrixXd>(sums.data(), k, k).transpose());
    // what is not among the candidates is stiffer than they are, by 1 at most
    const Eigen::Index null = count_null(eigen.eigenvalues(), misfit_, 1.0);
    combination[m] = eigen.eigenvectors().leftCols(null);
    std::copy_if(candidates_[m].begin(), candidates_[m].begin() + null,
                 std::back_inserter(redundant_), [](Index row) { return row != kNoIndex; });
    kept = std::max(kept, null);
  }
  Eigen::VectorXd old(most);
  for (std::size_t r = 0; r < diagonal_.size(); ++r) {
    const Eigen::MatrixXd& u = combination[mechanism_[r]];
    for (Eigen::Index i = 0; i < most; ++i) old[i] = null_[i][r];
    for (Eigen::Index i = 0; i < kept; ++i) {
      null_[i][r] = i < u.cols() ? u.col(i).dot(old.head(u.rows())) : 0.0;
    }
  }
  null_.resize(kept);
}

/// Drives that contradict the rest of their mechanism are to be compliant, not the joints of its
/// loop: b is made possible by changing the drives' rows alone as far as they take part. With P the
/// drives' rows of D^(1/2) N, P^T P tells by how much a combination of null vectors is one of
/// drives; as A n = 0, that is also n^T A n of its other rows: where it counts as null for them,
/// the joints are redundant without the drives, which are right then and must stay rigid.
void RegularisedElimination::find_yielding_drives() {
  if (!has_drives_ || null_.empty()) return;
  const std::size_t n_mechanisms = n_mechanisms_;
  drives_.assign(n_mechanisms, {});
  for (std::size_t r = 0; r < drive_.size(); ++r)
    if (drive_[r] != 0) drives_[mechanism_[r]].push_back(to_index(r));
  yield_.resize(n_mechanisms);
  for (std::size_t m = 0; m < n_mechanisms; ++m) {
    const std::vector<Index>& rows = drives_[m];
    Eigen::MatrixXd p(rows.size(), null_.size());
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const std::size_t row = rows[r];
      for (std::size_t i = 0; i < null_.size(); ++i)
        p(r, i) = std::sqrt(diagonal_[row]) * null_[i][row];
    }
    Eigen::MatrixXd square = p.transpose() * p;
    if (guests_) {
      Products sums(square.rows(), guests_->exact());
      for (Eigen::Index r = 0; r < p.rows(); ++r)
        sums.add([&](Eigen::Index i, Eigen::Index k) { return p(r, i) * p(r, k); });
      const std::vector<double> all = totals(sums.sums());
      std::copy(all.begin(), all.end(), square.data());
    } else if (p.size() == 0) {
      continue;
    }
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(square);
    const Eigen::Index null = count_null(eigen.eigenvalues(), misfit_, 1.0);
    const Eigen::Index held = eigen.eigenvalues().size() - null;
    const auto u = eigen.eigenvectors().rightCols(held);
    yield_[m] = p * u * eigen.eigenvalues().tail(held).cwiseInverse().asDiagonal() * u.transpose();
  }
}

/// b of contradictory drives becomes what the joints allow.
void RegularisedElimination::yield_drives(std::span<double> b) {
  if (yield_.empty()) return;
  Eigen::MatrixXd contradiction(null_.size(), n_mechanisms_);
  for (std::size_t i = 0; i < null_.size(); ++i) {
    sums(null_[i], b);
    contradiction.row(i) = Eigen::Map<const Eigen::RowVectorXd>(sum_.data(), n_mechanisms_);
  }
  for (std::size_t m = 0; m < yield_.size(); ++m) {
    if (yield_[m].size() == 0) continue;
    const Eigen::VectorXd change = yield_[m] * contradiction.col(m);
    for (std::size_t r = 0; r < drives_[m].size(); ++r) {
      const std::size_t row = drives_[m][r];
      b[row] -= std::sqrt(diagonal_[row]) * change[r];
    }
  }
}

void RegularisedElimination::take_out_contradictions(std::span<double> b) {
  contradiction_ = 0.0;
  if (null_.empty()) return;
  std::vector<double>& asked = second_pivot_;
  std::copy(b.begin(), b.end(), asked.begin());
  yield_drives(b);
  for (const std::vector<double>& n : null_) {
    sums(n, b);
    add(n, true, b);
  }
  for (std::size_t i = 0; i < b.size(); ++i) asked[i] -= b[i];
  keep_contradiction(energy_of(asked));
}

/// Once, where ranks are asked for their parts.
void RegularisedElimination::keep_contradiction(double energy) {
  contradiction_ = guests_ && guests_->comm().rank() > 0 ? 0.0 : energy;
}

/// Collective where there are guests. Of velocities of rows, J.
double RegularisedElimination::energy_of(std::span<const double> b) const {
  return total([&](std::size_t i) { return 0.5 * b[i] * b[i] / diagonal_[i]; });
}

/// Collective where there are guests. |x|^2 in the metric of D.
double RegularisedElimination::square_of(std::span<const double> x) const {
  return total([&](std::size_t i) { return diagonal_[i] * x[i] * x[i]; });
}

/// x <- theta x, theta = (A + E)^-1 E with E = diag added_: 1 on null vectors, and on a vector of
/// the value sigma = n^T A n, n^T D n = 1, epsilon/(epsilon + sigma).
void RegularisedElimination::damp(std::span<double> x) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= added_[i];
  factor_->solve(x);
}

/// A x = b - [what is contradictory], of least norm, without null vectors. 1 - theta takes these
/// out but for round-off over epsilon; it is applied to b where contradictions over epsilon would
/// be large against x, as long as that finds less and less of them, and to x until it changes
/// nothing. The series of (1 - theta)^-(n + 1) gives back what all other vectors have lost by n
/// times of it and by the solve.
void RegularisedElimination::solve_damped(std::span<double> x) {
  constexpr double kSmall = 1e-10, kTaken = 1e-6, kSettled = 1e-3, kFalls = 0.25;
  constexpr int kMostTaken = 4, kLooks = 3;
  std::vector<double>& b = change_;
  std::vector<double>& delta = second_pivot_;
  std::copy(x.begin(), x.end(), b.begin());
  std::vector<double> asked = b;
  int n = 0;
  double least = std::numeric_limits<double>::infinity();
  while (true) {
    factor_->solve(x);
    for (std::size_t i = 0; i < x.size(); ++i) delta[i] = added_[i] * x[i];
    const double found = energy_of(delta);
    // what does not fall is no contradiction: theta of soft directions
    if (n == kMostTaken || found <= kSmall * kSmall * energy_of(b) ||
        !(found < kFalls * kFalls * least))
      break;
    least = found;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = b[i] -= delta[i];
    ++n;
  }
  contradiction_ = 0.0;
  if (n > 0) {
    // soft directions have lost a part theta of theirs, too, which the series gives back; theta
    // leaves round-off over epsilon of null vectors, so what it leaves is looked through again
    for (std::size_t i = 0; i < x.size(); ++i) asked[i] -= b[i];
    std::vector<double> null(asked.size(), 0.0);
    for (int round = 0; round < kLooks; ++round) {
      std::copy(asked.begin(), asked.end(), delta.begin());
      factor_->solve(delta);
      for (std::size_t i = 0; i < delta.size(); ++i) {
        delta[i] *= added_[i];
        null[i] += delta[i];
        asked[i] -= delta[i];
      }
    }
    keep_contradiction(energy_of(null));
  }
  bool large = true;
  for (; large && n < 2 * kMostTaken; ++n) {
    std::copy(x.begin(), x.end(), delta.begin());
    damp(delta);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= delta[i];
    large = square_of(delta) > kTaken * kTaken * square_of(x);
  }
  stalled_ |= large;
  std::copy(x.begin(), x.end(), delta.begin());
  const double size = std::sqrt(square_of(x));
  double before = 0.0, change = 0.0, weight = 1.0;
  for (int round = 1; round <= kRefinements; ++round) {
    damp(delta);
    weight *= static_cast<double>(n + round) / round;
    change = weight * std::sqrt(square_of(delta));
    // what is left of null vectors: round-off
    if (round > 1 && !(change < 0.9 * before)) break;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += weight * delta[i];
    before = change;
    if (epsilon_ * change <= 1e-16 * size) break;
  }
  stalled_ |= change > kSettled * size;
}

/// A x = b - [what N makes contradictory], of least norm. The residual of a solution of the
/// regularised system is epsilon D x, exactly: no product with A is needed to refine.
void RegularisedElimination::solve(std::span<const double> b, std::span<double> lambda) {
  if (lambda.data() != b.data()) std::copy(b.begin(), b.end(), lambda.begin());
  if (damped_) {
    solve_damped(lambda);
    return;
  }
  take_out_contradictions(lambda);
  factor_->solve(lambda);
  remove_reactions_at_rest(lambda);
  std::vector<double>& delta = second_pivot_;
  std::copy(lambda.begin(), lambda.end(), delta.begin());
  double before = 0.0;
  for (int round = 0; round < kRefinements; ++round) {
    for (std::size_t i = 0; i < delta.size(); ++i) delta[i] *= added_[i];
    factor_->solve(delta);
    remove_reactions_at_rest(delta);
    const double change = total([&](std::size_t i) { return diagonal_[i] * delta[i] * delta[i]; });
    const double size = total([&](std::size_t i) { return diagonal_[i] * lambda[i] * lambda[i]; });
    // contradictory rows that were not found: their reactions would grow without end; costly pivots
    // are checked again, unless rows were found by their growth
    if (round > 0 && !(change < 0.81 * before)) {
      looked_ = false;
      return;
    }
    for (std::size_t i = 0; i < delta.size(); ++i) lambda[i] += delta[i];
    before = change;
    if (epsilon_ * std::sqrt(change) <= 1e-16 * std::sqrt(size)) return;
  }
}

}  // namespace

std::unique_ptr<JointElimination> make_regularised(const MechanismRows& structure,
                                                   std::unique_ptr<CholeskyFactor> factor,
                                                   Guests* guests) {
  return std::make_unique<RegularisedElimination>(structure, std::move(factor), guests);
}

}  // namespace catena
