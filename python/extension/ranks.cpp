#include "ranks.hpp"

#include <array>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "catena/base/error.hpp"
#include "catena/base/index.hpp"

namespace catena::python {

std::string text_of(const py::error_already_set& error) try {
  const auto name = py::str(error.type().attr("__name__")).cast<std::string>();
  return name + ": " + py::str(error.value()).cast<std::string>();
} catch (const std::exception&) {
  // its text cannot be made; the other ranks are told all the same
  return "an exception";
}

void Ranks::refuse(const std::string& found, const std::string& fix) {
  // every rank leaves what it is in, and must not wait for others on its way
  broken_ = inside_;
  found_ = found;
  fix_ = fix;
  throw Error(found, "", fix, ExitCode::runtime_error);
}

void Ranks::agree(At at, const CallHash& hash, const std::string& text) {
  // 52 bits, which a double holds
  const auto number = static_cast<double>(hash.value() & ((std::uint64_t{1} << 52U) - 1));
  const int none = comm_.size();
  std::array<double, 3> largest = {number, -number,
                                   -static_cast<double>(at == At::failure ? comm_.rank() : none)};
  comm_.max(largest);
  if (const int failed = narrow<int>(static_cast<std::int64_t>(-largest[2])); failed != none) {
    std::string what = text;
    comm_.broadcast(failed, what);
    refuse(what + " (rank " + std::to_string(failed) + ")", "see what that rank says of it");
  }
  if (largest[0] == -largest[1]) return;
  const std::string line = "\nrank " + std::to_string(comm_.rank()) + ": " + text;
  std::string all;
  for (const std::byte c : comm_.all_gather_bytes(std::as_bytes(std::span(line))))
    all += static_cast<char>(c);
  refuse("the ranks call different functions, or one with different arguments:" + all,
         "call the same on all ranks, with arguments that are the same to the last bit");
}

void Ranks::enter(std::string_view call, const CallHash& arguments) {
  if (broken_) refuse(found_, fix_);
  if (comm_.size() == 1) return;
  CallHash hash = arguments;
  agree(At::call, hash.add(call), std::string(call));
}

py::object Ranks::together(std::string_view what, const py::function& work) {
  py::object result;
  std::optional<py::error_already_set> own;
  inside_ = true;
  try {
    result = work();
  } catch (const py::error_already_set& error) {
    own = error;
  }
  const bool known = std::exchange(broken_, false);
  inside_ = false;
  if (!known && comm_.size() > 1) {
    const At at = own ? At::failure : At::call;
    try {
      agree(at, CallHash().add("end of ").add(what),
            own ? std::string(what) + " raised " + text_of(*own) : "end of " + std::string(what));
    } catch (const Error&) {
      if (!own) throw;
    }
  }
  if (own) throw *own;
  if (known) refuse(found_, fix_);
  return result;
}

}  // namespace catena::python
