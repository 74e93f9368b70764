// Ranks that run the same Python program: that they agree on what they call.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "catena/comm/communicator.hpp"
#include "catena/comm/leave_program.hpp"

namespace catena::python {

namespace py = pybind11;

/// Hash of what a call was given: FNV-1a of the bytes.
class CallHash {
 public:
  CallHash& add(std::string_view text) {
    for (const char c : text) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return *this;
  }
  template <class Number>
  CallHash& add(std::span<const Number> numbers) {
    return add({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()});
  }
  CallHash& add(double number) { return add(std::span<const double>(&number, 1)); }
  CallHash& add(std::int64_t number) { return add(std::span<const std::int64_t>(&number, 1)); }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

/// The ranks of a communicator at their collective calls. Each call is announced, so that a rank
/// that calls something else, or whose Python code has failed, is an error on every rank in place
/// of a program that hangs. On one rank that costs nothing, on more a small reduction a call.
class Ranks {
 public:
  /// `first`: of the program's first simulation on all its ranks, or null: those on as many ranks
  /// announce their calls together, so that a rank which has left is missed by all of them.
  explicit Ranks(Communicator comm, const Ranks* first = nullptr)
      : comm_(std::move(comm)),
        voice_(first != nullptr && all_of_program() ? first->voice_
                                                    : std::make_shared<Voice>(comm_)) {}

  const Communicator& communicator() const { return comm_; }
  /// Local. Whether no rank of the program is missing.
  bool all_of_program() const { return comm_.size() == size_of_program(); }

  /// Collective. Throws Error on every rank where not all are at the same call with the same
  /// arguments, or where one has failed in together().
  void enter(std::string_view call, const CallHash& arguments = {});

  /// Collective. Calls `work` on every rank, which may itself call what is collective. Where it
  /// raises on one rank, that rank throws its exception and all others an Error that tells of it,
  /// as soon as they come to their next collective call.
  py::object together(std::string_view what, const py::function& work);

  /// Collective, the last of all calls: where a rank leaves while others call something else, they
  /// get an Error then and at every later call.
  void leave();

  /// Local. The status by which a rank asked for the program's end in together(); 0: none has.
  int exit_status() const { return voice_->status; }

 private:
  enum class At { call, failure, end };
  /// What calls are announced by.
  struct Voice {
    explicit Voice(Communicator c) : comm(std::move(c)) {}
    Communicator comm;
    std::string left;  ///< that a rank has ended its program; empty: none has
    int status = 0;    ///< exit_status
  };
  /// Collective. Ranks tell where they are; `text`: what others are told of this one, `status`: the
  /// exit status that its failure asks for.
  void agree(At at, const CallHash& hash, const std::string& text, int status = 0);
  [[noreturn]] void refuse(const std::string& found, const std::string& fix);

  Communicator comm_;
  std::shared_ptr<Voice> voice_;
  bool inside_ = false;  ///< together() runs Python code
  bool broken_ = false;  ///< every rank knows that this is over
  std::string found_, fix_;
};

/// One line that tells of a Python exception: "ValueError: no such thing".
std::string text_of(const py::error_already_set& error);

}  // namespace catena::python
