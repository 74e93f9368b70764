// The format of checkpoint files: what writer, reader and `catena info` agree on.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "catena/base/error.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/io/result_writer.hpp"
#include "io/checkpoint/records.hpp"
#include "io/hdf5/checksum.hpp"
#include "io/hdf5/file.hpp"

namespace catena::checkpoint_file {

inline constexpr const char* kFormat = "catena-checkpoint";
inline constexpr std::int64_t kVersion = 7;

/// Rows of one rank, or of all ranks before it.
enum Count : std::size_t {
  kBodies,
  kJoints,
  kImpulses,
  kCouples,
  kMotions,
  kLoads,
  kBroken,
  kKeptWords,
  kCounts
};
using Counts = std::array<std::int64_t, kCounts>;

/// Calls visit(name, count, column) for everything that has a row per body, joint, impulse,
/// couple, or body that has something of its own.
template <class Visit, class SomeBodies, class SomeState>
void for_each_column(Visit&& visit, SomeBodies& bodies, SomeState& state) {
  for_each_body_column(
      [&](const char* name, auto& column) {
        visit("/bodies/" + std::string(name), kBodies, column);
      },
      bodies, state);
  for_each_joint_column(
      [&](const char* name, auto& column) {
        visit("/joints/" + std::string(name), kJoints, column);
      },
      bodies, state);
  visit("/impulses", kImpulses, state.impulses);
  visit("/couples", kCouples, state.couples);
  visit("/motions", kMotions, state.motions);
  visit("/loads", kLoads, state.loads);
  visit("/broken", kBroken, state.broken);
}

/// The same for all scalars of a state.
template <class Visit, class SomeState>
void for_each_number(Visit&& visit, SomeState& state) {
  for_each_scalar(visit, state);
  for_each_balance_scalar(visit, state);
}

/// Words that the scalars take.
inline std::size_t scalar_words(const State& state) {
  std::size_t words = 0;
  for_each_number(
      [&](const char*, const auto& value) {
        static_assert(sizeof value % 8 == 0, "scalars are made of whole words");
        words += sizeof value / 8;
      },
      state);
  return words;
}

/// Names and widths of all that a file holds: two builds understand each other where it is equal.
inline std::string layout() {
  static_assert(std::endian::native == std::endian::little);
  Bodies bodies;
  State state;
  state.inflow.resize(1);
  state.outflow.resize(1);
  state.probes.resize(1);
  state.controls.resize(1);
  state.force_factors.resize(1);
  state.plane_motions.resize(1);
  state.cell.resize(1);
  std::string text;
  for_each_column(
      [&](const std::string& name, Count, const auto& column) {
        using Record = typename std::decay_t<decltype(column)>::value_type;
        text += name + " " + std::to_string(records::width_of<Record>()) + "\n";
      },
      bodies, state);
  for_each_number(
      [&](const char* name, const auto& value) {
        text += std::string(name) + " " + std::to_string(sizeof value) + "\n";
      },
      state);
  return text;
}

/// What a Packer holds, filled up to whole words.
inline std::vector<std::byte> take_words(Packer& packer) {
  std::vector<std::byte> bytes = packer.take();
  bytes.resize(records::whole_words(bytes.size()));
  return bytes;
}

/// Takes apart what a Packer made of numbers and lists. A file may be damaged: throws Error where
/// it ends too early.
class WordReader {
 public:
  explicit WordReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::int64_t number() {
    std::int64_t value = 0;
    const std::span<const std::byte> at = next(sizeof value);
    std::memcpy(&value, at.data(), sizeof value);
    return value;
  }
  std::vector<std::byte> bytes() {
    const auto at = next(static_cast<std::uint64_t>(number()));
    return {at.begin(), at.end()};
  }
  std::string text() {
    const auto at = next(static_cast<std::uint64_t>(number()));
    return {reinterpret_cast<const char*>(at.data()), at.size()};
  }

 private:
  std::span<const std::byte> next(std::uint64_t n) {
    if (n > bytes_.size()) throw Error("ends too early", "checkpoint", {}, ExitCode::input_output);
    const auto at = bytes_.first(n);
    bytes_ = bytes_.subspan(n);
    return at;
  }
  std::span<const std::byte> bytes_;
};

/// What stands in the dataset /head.
struct Head {
  std::string layout;
  std::int64_t ranks = 0, n_parts = 0, n_inflow = 0, n_outflow = 0;
  /// Numbers of each.
  std::int64_t n_probes = 0, n_controls = 0, n_force_factors = 0, n_plane_motions = 0, n_cell = 0;
  std::string config;
  Provenance provenance;

  std::vector<std::byte> packed() const {
    Packer out;
    out.put_list(layout);
    for (const std::int64_t n : {ranks, n_parts, n_inflow, n_outflow, n_probes, n_controls,
                                 n_force_factors, n_plane_motions, n_cell})
      out.put(n);
    out.put_list(config);
    out.put(narrow<std::int64_t>(provenance.size()));
    for (const auto& [name, value] : provenance) {
      out.put_list(name);
      out.put_list(value);
    }
    return take_words(out);
  }
  static Head unpacked(std::span<const std::byte> bytes) {
    WordReader in(bytes);
    Head head;
    head.layout = in.text();
    for (std::int64_t* n :
         {&head.ranks, &head.n_parts, &head.n_inflow, &head.n_outflow, &head.n_probes,
          &head.n_controls, &head.n_force_factors, &head.n_plane_motions, &head.n_cell})
      *n = in.number();
    head.config = in.text();
    for (std::int64_t n = in.number(); n > 0; --n) {
      std::string name = in.text();
      head.provenance.emplace_back(std::move(name), in.text());
    }
    return head;
  }
};

}  // namespace catena::checkpoint_file
