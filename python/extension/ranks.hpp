// Ranks that run the same Python program: that they agree on what they call.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "catena/comm/communicator.hpp"

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
  explicit Ranks(Communicator comm) : comm_(std::move(comm)) {}

  const Communicator& communicator() const { return comm_; }

  /// Collective. Throws Error on every rank where not all are at the same call with the same
  /// arguments, or where one has failed in together().
  void enter(std::string_view call, const CallHash& arguments = {});

  /// Collective. Calls `work` on every rank, which may itself call what is collective. Where it
  /// raises on one rank, that rank throws its exception and all others an Error that tells of it,
  /// as soon as they come to their next collective call.
  py::object together(std::string_view what, const py::function& work);

 private:
  enum class At { call, failure };
  /// Collective. Ranks tell where they are; `text`: what others are told of this one.
  void agree(At at, const CallHash& hash, const std::string& text);
  [[noreturn]] void refuse(const std::string& found, const std::string& fix);

  Communicator comm_;
  bool inside_ = false;  ///< together() runs Python code
  bool broken_ = false;  ///< every rank knows that this is over
  std::string found_, fix_;
};

/// One line that tells of a Python exception: "ValueError: no such thing".
std::string text_of(const py::error_already_set& error);

}  // namespace catena::python
