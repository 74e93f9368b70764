// Inputs that Catena reads from others, each kind with what is done with an input of it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace catena::fuzz {

/// What became of an input.
enum class Outcome { accepted, refused };

/// What mutations may change.
enum class Form {
  text,    ///< lines of words and numbers
  bytes,   ///< anything
  numbers  ///< of HDF5 without checksums only what datasets hold: damaged structures crash
           ///< HDF5 1.10 itself
};

/// A kind of input.
struct Kind {
  std::string name;  ///< of its folder in the corpus
  Form form = Form::text;
  /// Sound inputs, where mutations begin.
  std::vector<std::filesystem::path> seeds;
  /// Reads the input as a run or a command would, on one rank. Throws catena::Error for what is
  /// refused and anything else for what must not happen.
  std::function<void(std::string_view)> take;
};

/// Kinds and the folder in which their files lie; removes it at the end of life. After MPI_Init, on
/// one rank.
class Inputs {
 public:
  /// `sources` is the folder of Catena's sources, `corpus` that with a folder for each kind.
  Inputs(const std::filesystem::path& sources, const std::filesystem::path& corpus);
  ~Inputs();
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;

  const std::vector<Kind>& kinds() const { return kinds_; }

 private:
  std::filesystem::path write(const std::string& name, std::string_view content) const;
  void rehearse_case(const std::string& text) const;
  void take_case(const std::string& text) const;
  void make_results() const;

  std::filesystem::path folder_;
  std::vector<Kind> kinds_;
};

/// Places and lengths of the datasets' bytes in an HDF5 file.
std::vector<std::pair<std::size_t, std::size_t>> stored_numbers(const std::filesystem::path& file);

/// Gives an input to its kind. Throws std::logic_error for an error of another kind than inputs may
/// be refused by or without what was found or where, and whatever else the kind throws.
Outcome try_input(const Kind& kind, std::string_view input);

}  // namespace catena::fuzz
