// The three kinds of failure: the user's mistake (Error), a broken promise of
// our own (CATENA_CHECK, CATENA_ASSERT), and the numbers' (a status, not here).
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace catena {

/// Exit codes of the command line, the same on every rank (docs/cli.md).
enum class ExitCode : int {
  done = 0,
  runtime_error = 1,
  stopped_early = 2,  ///< with a valid checkpoint
  bad_input = 3,      ///< usage or configuration
  tolerance_missed = 4,
  input_output = 5,
  blow_up = 6,  ///< non-finite or run-away state
};

/// A failure that is reported to the user: what was found, where, what to do.
class Error : public std::runtime_error {
 public:
  /// `where` is a place in the user's terms ("pile.yaml:3:5: solver.step"), `fix`
  /// the remedy; either may be empty. what() is "where: found; fix".
  explicit Error(std::string found, std::string where = {}, std::string fix = {},
                 ExitCode code = ExitCode::bad_input);

  const std::string& found() const { return found_; }  ///< what is wrong
  const std::string& where() const { return where_; }  ///< its place; may be empty
  const std::string& fix() const { return fix_; }      ///< what to do; may be empty
  ExitCode code() const { return code_; }              ///< of a program that ends by it

 private:
  std::string found_, where_, fix_;
  ExitCode code_;
};

/// Throws std::logic_error naming the broken promise and its place.
[[noreturn]] void check_failed(const char* condition, const char* file, int line,
                               std::string_view message);

}  // namespace catena

/// Throws what a broken promise of the program's own is, with file and line, unless `condition`
/// holds; in all builds.
#define CATENA_CHECK(condition, message) \
  ((condition) ? void() : ::catena::check_failed(#condition, __FILE__, __LINE__, (message)))

#ifdef NDEBUG
#define CATENA_ASSERT(condition) ((void)0)
#else
/// CATENA_CHECK in Debug builds, nothing in others: for inner loops.
#define CATENA_ASSERT(condition) CATENA_CHECK(condition, "")
#endif
