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

namespace {

constexpr const char* kEndTogether = "let all ranks leave at the same place, or one by sys.exit(1)";

/// Exit status of a SystemExit as Python has it; 0 of other exceptions.
int status_of(const py::error_already_set& error) {
  if (!error.matches(PyExc_SystemExit)) return 0;
  const py::object code = error.value().attr("code");
  if (code.is_none()) return 0;
  return py::isinstance<py::int_>(code) ? code.cast<int>() : 1;
}

}  // namespace

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

void Ranks::agree(At at, const CallHash& hash, const std::string& text, int status) {
  // 52 bits, which a double holds
  const auto number = static_cast<double>(hash.value() & ((std::uint64_t{1} << 52U) - 1));
  const Communicator& comm = voice_->comm;
  const int none = comm.size();
  const auto own_if = [&](At which) {
    return -static_cast<double>(at == which ? comm.rank() : none);
  };
  std::array<double, 4> largest = {number, -number, own_if(At::failure), own_if(At::end)};
  comm.max(largest);
  const bool all_alike = largest[0] == -largest[1];
  if (const int left = narrow<int>(static_cast<std::int64_t>(-largest[3]));
      left != none && !all_alike) {
    voice_->left = "rank " + std::to_string(left) + " has ended its program, while others go on";
    refuse(voice_->left, kEndTogether);
  }
  if (const int failed = narrow<int>(static_cast<std::int64_t>(-largest[2])); failed != none) {
    std::string what = text, code = std::to_string(status);
    comm.broadcast(failed, what);
    comm.broadcast(failed, code);
    voice_->status = std::stoi(code);
    refuse(what + " (rank " + std::to_string(failed) + ")", "see what that rank says of it");
  }
  if (all_alike) return;
  const std::string line = "\nrank " + std::to_string(comm.rank()) + ": " + text;
  std::string all;
  for (const std::byte c : comm.all_gather_bytes(std::as_bytes(std::span(line))))
    all += static_cast<char>(c);
  refuse("the ranks call different functions, or one with different arguments:" + all,
         "call the same on all ranks, with arguments that are the same to the last bit");
}

void Ranks::enter(std::string_view call, const CallHash& arguments) {
  if (broken_) refuse(found_, fix_);
  if (comm_.size() == 1) return;
  voice_->status = 0;
  if (!voice_->left.empty()) refuse(voice_->left, kEndTogether);
  CallHash hash = arguments;
  agree(At::call, hash.add(call), std::string(call));
}

py::object Ranks::together(std::string_view what, const py::function& work) {
  py::object result;
  std::optional<py::error_already_set> own;
  const bool outer = std::exchange(inside_, true);  // of a callback, in which this is called
  try {
    result = work();
  } catch (const py::error_already_set& error) {
    own = error;
  }
  const bool known = std::exchange(broken_, false);
  inside_ = outer;
  if (!known && comm_.size() > 1 && voice_->left.empty()) {
    const At at = own ? At::failure : At::call;
    try {
      agree(at, CallHash().add("end of ").add(what),
            own ? std::string(what) + " raised " + text_of(*own) : "end of " + std::string(what),
            own ? status_of(*own) : 0);
    } catch (const Error&) {
      if (!own) throw;
    }
  }
  if (own) throw *own;
  if (known) refuse(found_, fix_);
  return result;
}

void Ranks::leave() {
  if (comm_.size() == 1 || !voice_->left.empty() || !mpi_is_running()) return;
  agree(At::end, CallHash().add("end of the program"), "end of the program");
}

}  // namespace catena::python
