#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "catena/base/error.hpp"
#include "catena/io/fclib.hpp"
#include "io/hdf5/file.hpp"

namespace catena {
namespace {

/// Rows of a file that are of one kind, and where their first guess stands.
class GuessRows {
 public:
  /// `wanted` numbers of `dataset`; zeros where it is missing.
  GuessRows(const hdf5::File& file, const std::string& dataset, std::int64_t wanted)
      : values_(wanted, 0.0) {
    if (!file.exists(dataset)) return;
    values_ = file.read_doubles(dataset);
    const std::string where = file.path() + ": " + dataset;
    if (std::ssize(values_) != wanted)
      throw Error("has " + std::to_string(values_.size()) + " entries where " +
                      std::to_string(wanted) + " are wanted",
                  where);
    if (!std::all_of(values_.begin(), values_.end(), [](double x) { return std::isfinite(x); }))
      throw Error("is not finite", where, "start from zero: --cold");
  }
  double operator[](std::int64_t i) const { return values_.at(i); }

 private:
  std::vector<double> values_;
};

std::int64_t name_of(const ConstraintProblem& problem, Index block) {
  return problem.assembled ? problem.assembled->name[block] : problem.blocks.name[block];
}

/// Rows of the whole file by kind: of contacts (3 each), beyond those, bilateral, boxed.
struct RowCounts {
  std::int64_t contact = 0, couple = 0, bilateral = 0, boxed = 0;
};

bool is_contact(BlockKind kind) {
  return kind == BlockKind::contact || kind == BlockKind::unilateral;
}

/// Collective. `begin` receives the first of each contact's rows beyond three among all of them.
RowCounts count_rows(const ConstraintProblem& problem, std::vector<std::int64_t>& begin) {
  std::array<std::int64_t, 4> sums{};
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    const BlockView view = block_view(problem, k);
    if (is_contact(view.kind)) {
      sums[0] += 3;
      sums[1] += std::max<Index>(0, view.rows - 3);
    } else {
      sums[view.kind == BlockKind::bilateral ? 2 : 3] += view.rows;
    }
  }
  problem.comm.sum(sums);
  // the file is read by every rank as a whole: what comes before a contact may be elsewhere
  std::vector<std::int64_t> beyond(sums[0] / 3, 0);
  for (Index k = 0; sums[1] > 0 && k < problem.n_blocks(); ++k) {
    const BlockView view = block_view(problem, k);
    if (is_contact(view.kind)) beyond[name_of(problem, k)] = std::max<Index>(0, view.rows - 3);
  }
  if (sums[1] > 0) problem.comm.sum(beyond);
  begin.assign(beyond.size() + 1, 0);
  std::partial_sum(beyond.begin(), beyond.end(), begin.begin() + 1);
  return {sums[0], sums[1], sums[2], sums[3]};
}

}  // namespace

std::vector<double> read_fclib_guess(const std::string& path, const ConstraintProblem& problem) {
  CATENA_CHECK(problem.contacts.empty(), "a guess belongs to a problem read from its file");
  std::vector<double> guess(problem.n_rows(), 0.0);
  std::vector<std::int64_t> couple_begin;
  const RowCounts counts = count_rows(problem, couple_begin);
  all_or_none(problem.comm, [&] {
    const hdf5::File file = hdf5::File::open(path);
    const GuessRows contacts(file, "/guesses/1/r", counts.contact);
    const GuessRows couples(file, "/catena/couples/guess", counts.couple);
    const GuessRows bilateral(file, "/catena/bilateral_guess", counts.bilateral);
    const GuessRows boxed(file, "/catena/boxed/guess", counts.boxed);
    for (Index k = 0; k < problem.n_blocks(); ++k) {
      const BlockView view = block_view(problem, k);
      const std::int64_t name = name_of(problem, k);
      for (Index i = 0; i < view.rows; ++i) {
        double& x = guess[view.row + i];
        if (is_contact(view.kind))
          x = i < 3 ? contacts[3 * name + i] : couples[couple_begin[name] + i - 3];
        else
          x = view.kind == BlockKind::bilateral ? bilateral[name + i] : boxed[name + i];
      }
    }
  });
  return guess;
}

}  // namespace catena
