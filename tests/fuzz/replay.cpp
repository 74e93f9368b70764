// Takes in all inputs of the corpus and some thousands made from them by seeded mutations, in one
// process:
//
//   fuzz_inputs [--runs N] [--seed S] [--kind NAME] [--keep DIR] [FILE...]
//
// N mutations are shared out among the kinds; FILEs are taken alone, as inputs of the kind, which
// has to be given. Each input is accepted or refused by a catena::Error that says what and where.
// All else is a finding: other exceptions, reports of sanitizers, more than 2 s of processor time
// (five times as much with sanitizers) or 1 GB more than before it. An input that finds something
// is kept as DIR/KIND-NUMBER (build it again by the same seed). Exit code 1 if there was any, 3 for
// wrong usage.
#include <mpi.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <string>
#include <vector>

#include "catena/io/read_bytes.hpp"
#include "fuzz/inputs.hpp"
#include "fuzz/mutate.hpp"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
extern "C" const char* __asan_default_options() {
  return "max_allocation_size_mb=1024:intercept_tls_get_addr=0";
}
#endif

namespace {

using catena::fuzz::Form;
using catena::fuzz::Inputs;
using catena::fuzz::Kind;
using catena::fuzz::mutated;
using catena::fuzz::mutated_pieces;
using catena::fuzz::Outcome;
using catena::fuzz::stored_numbers;

#ifdef __SANITIZE_ADDRESS__
constexpr int kMostSeconds = 10;
#else
constexpr int kMostSeconds = 2;
#endif
constexpr long kMostMegabytes = 1024;

/// What a handler of signals may use: the input that is being taken.
struct Current {
  const char* data = nullptr;
  std::size_t size = 0;
  char path[4096] = {};
} current;

/// Keeps the input that ends the process.
void keep_current() {
  if (current.data == nullptr) return;
  if (std::FILE* file = std::fopen(current.path, "wb")) {
    std::fwrite(current.data, 1, current.size, file);
    std::fclose(file);
  }
  std::fprintf(stderr, "FINDING: the process ends by %s\n", current.path);
  current.data = nullptr;
}

void on_signal(int number) {
  if (number == SIGPROF) std::fprintf(stderr, "more than %d s\n", kMostSeconds);
  keep_current();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void watch_for_ends() {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_set_death_callback(keep_current);
#else
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(number, on_signal);
#endif
  std::signal(SIGABRT, on_signal);
  std::signal(SIGPROF, on_signal);
}

/// SIGPROF after some processor time; 0: no more.
void set_alarm(int seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = seconds;
  setitimer(ITIMER_PROF, &timer, nullptr);
}

/// Linux takes the peak of memory anew from here on. Where it does not, only what goes beyond all
/// inputs before is seen.
void forget_peak() {
  if (std::FILE* file = std::fopen("/proc/self/clear_refs", "w")) {
    std::fputs("5", file);
    std::fclose(file);
  }
}

long peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

struct Options {
  long runs = 300;
  unsigned long seed = 1;
  std::string kind, keep = ".";
  std::vector<std::string> files;
};

/// Inputs of one kind, and what became of them.
class Tried {
 public:
  Tried(const Kind& kind, const Options& options) : kind_(kind), options_(options) {}

  void take(const std::string& input, const std::string& name) {
    const std::string path = options_.keep + "/" + kind_.name + "-" + std::to_string(n_);
    std::snprintf(current.path, sizeof current.path, "%s", path.c_str());
    current.size = input.size();
    current.data = input.data();
    forget_peak();
    const long before = peak_megabytes();
    const std::clock_t start = std::clock();
    std::string found;
    set_alarm(kMostSeconds);
    try {
      accepted_ += try_input(kind_, input) == Outcome::accepted;
    } catch (const std::exception& e) {
      found = e.what();
    }
    set_alarm(0);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    if (found.empty() && peak_megabytes() > before + kMostMegabytes) found = "more than 1 GB";
    if (!found.empty()) {
      std::fprintf(stderr, "FINDING: %s: %s\n", name.c_str(), found.c_str());
      keep_current();
      ++findings_;
    }
    current.data = nullptr;
    slowest_ = std::max(slowest_, seconds);
    ++n_;
  }
  void report() const {
    std::printf(
        "%-10s %5zu seeds %6ld inputs: %ld accepted, %ld refused, %ld findings; the slowest %.2f "
        "s\n",
        kind_.name.c_str(), kind_.seeds.size(), n_, accepted_, n_ - accepted_ - findings_,
        findings_, slowest_);
  }
  long findings() const { return findings_; }

 private:
  const Kind& kind_;
  const Options& options_;
  long n_ = 0, accepted_ = 0, findings_ = 0;
  double slowest_ = 0.0;
};

std::string changed(const Kind& kind, const std::vector<std::string>& seeds, std::size_t k,
                    std::uint64_t seed) {
  if (kind.form == Form::numbers)
    return mutated_pieces(seeds[k], stored_numbers(kind.seeds[k]), seed);
  return mutated(seeds[k], seeds, kind.form == Form::text, seed);
}

long try_kind(const Kind& kind, const Options& options, long mutations) {
  Tried tried(kind, options);
  for (const std::string& file : options.files) tried.take(catena::read_bytes(file), file);
  if (options.files.empty()) {
    std::vector<std::string> seeds;
    for (const auto& seed : kind.seeds) {
      seeds.push_back(catena::read_bytes(seed.string()));
      tried.take(seeds.back(), seed.string());
    }
    for (long n = 0; n < mutations; ++n) {
      const std::size_t k = static_cast<std::size_t>(n) % seeds.size();
      const std::uint64_t seed = options.seed * 1000003 + static_cast<std::uint64_t>(n);
      tried.take(changed(kind, seeds, k, seed),
                 kind.name + " " + std::to_string(n) + " of " + kind.seeds[k].string());
    }
  }
  tried.report();
  return tried.findings();
}

bool read_options(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("--")) {
      options.files.push_back(word);
      continue;
    }
    if (++i == argc) return false;
    if (word == "--runs")
      options.runs = std::atol(argv[i]);
    else if (word == "--seed")
      options.seed = std::strtoul(argv[i], nullptr, 10);
    else if (word == "--kind")
      options.kind = argv[i];
    else if (word == "--keep")
      options.keep = argv[i];
    else
      return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Options options;
  if (!read_options(argc, argv, options)) {
    std::fprintf(stderr, "usage: %s [--runs N] [--seed S] [--kind NAME] [--keep DIR] [FILE...]\n",
                 argv[0]);
    return 3;
  }
  if (!options.files.empty() && options.kind.empty()) {
    std::fprintf(stderr, "FILEs are inputs of one kind: give --kind\n");
    return 3;
  }
  watch_for_ends();
  long findings = 0, n_tried = 0;
  {
    const Inputs inputs(CATENA_SOURCES, CATENA_FUZZ_CORPUS);
    const long n_kinds = std::ssize(inputs.kinds());
    for (const Kind& kind : inputs.kinds()) {
      if (!options.kind.empty() && options.kind != kind.name) continue;
      findings +=
          try_kind(kind, options, options.kind.empty() ? options.runs / n_kinds : options.runs);
      ++n_tried;
      std::fflush(stdout);
    }
    if (n_tried == 0) {
      std::fprintf(stderr, "no kind is called %s; there are", options.kind.c_str());
      for (const Kind& kind : inputs.kinds()) std::fprintf(stderr, " %s", kind.name.c_str());
      std::fprintf(stderr, "\n");
    }
  }
  MPI_Finalize();
  if (n_tried == 0) return 3;
  return findings > 0 ? 1 : 0;
}
