// Values between ranks of one program: as bytes in parcels, to all that need them, as questions
// and answers. What travels is the values' object representation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "catena/base/error.hpp"
#include "catena/base/index.hpp"
#include "catena/comm/communicator.hpp"

namespace catena {

/// What may travel. Eigen's fixed-size types have user-written copies, so they are not trivially
/// copyable to the compiler; their object representation may be copied all the same.
template <class T>
concept PlainBytes = std::is_trivially_destructible_v<T> && !std::is_pointer_v<T>;

/// A vector, array or span of such values.
template <class Values>
concept PlainValues =
    std::ranges::contiguous_range<Values> && PlainBytes<std::ranges::range_value_t<Values>>;

/// Makes bytes of values, one after the other.
class Packer {
 public:
  /// With room for so many bytes.
  explicit Packer(std::size_t room = 0) { bytes_.reserve(room); }

  template <PlainBytes T>
  void put(const T& value) {
    put_values(std::span<const T>(&value, 1));
  }
  /// All values, without their number.
  template <PlainValues Values>
  void put_values(const Values& values) {
    const auto more = std::as_bytes(std::span(values));
    bytes_.insert(bytes_.end(), more.begin(), more.end());
  }
  /// Their number (64 bits), then the values.
  template <PlainValues Values>
  void put_list(const Values& values) {
    put(static_cast<std::int64_t>(std::ranges::size(values)));
    put_values(values);
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }
  /// Hands the bytes over; nothing is left here.
  std::vector<std::byte> take() { return std::exchange(bytes_, {}); }

 private:
  std::vector<std::byte> bytes_;
};

/// Takes values out of bytes, in the order in which a Packer put them in. Checks that so many are
/// there. The bytes must outlive it.
class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool empty() const { return bytes_.empty(); }
  template <PlainBytes T>
  T get() {
    T value;
    get_values(std::span<T>(&value, 1));
    return value;
  }
  /// As many values as there is room for.
  template <PlainBytes T>
  void get_values(std::span<T> values) {
    CATENA_CHECK(bytes_.size() / sizeof(T) >= values.size(), "parcel shorter than announced");
    if (values.empty()) return;
    std::memcpy(static_cast<void*>(values.data()), bytes_.data(), values.size_bytes());
    bytes_ = bytes_.subspan(values.size_bytes());
  }
  /// Appends `n` values to a vector.
  template <class Vector>
  void append_to(Vector& values, std::size_t n) {
    CATENA_CHECK(bytes_.size() / sizeof(values[0]) >= n, "parcel shorter than announced");
    values.resize(values.size() + n);
    get_values(std::span(values).last(n));
  }
  /// What put_list wrote.
  template <PlainBytes T>
  std::vector<T> get_list() {
    std::vector<T> values;
    append_to(values, get<std::int64_t>());
    return values;
  }
  /// All that is left.
  template <PlainBytes T>
  std::vector<T> get_rest() {
    CATENA_CHECK(bytes_.size() % sizeof(T) == 0, "parcel is no whole number of values");
    std::vector<T> values;
    append_to(values, bytes_.size() / sizeof(T));
    return values;
  }

 private:
  std::span<const std::byte> bytes_;
};

/// The bytes of plain values, one after another.
template <PlainValues Values>
std::vector<std::byte> to_bytes(const Values& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

/// Checks that the bytes are a whole number of values.
template <PlainBytes T>
std::vector<T> from_bytes(std::span<const std::byte> bytes) {
  return Unpacker(bytes).get_rest<T>();
}

/// Collective. Every rank's values, of any number, in the order of ranks: O(total) memory.
template <PlainBytes T>
std::vector<T> all_gather_values(const Communicator& comm, const std::vector<T>& own) {
  return from_bytes<T>(comm.all_gather_bytes(std::as_bytes(std::span(own))));
}

/// Collective. The same on rank `root` only; empty elsewhere.
template <PlainBytes T>
std::vector<T> gather_values(const Communicator& comm, int root, const std::vector<T>& own) {
  return from_bytes<T>(comm.gather_bytes(root, std::as_bytes(std::span(own))));
}

/// Collective. Rank `root`'s values, of any number, on every rank.
template <PlainBytes T>
void broadcast_values(const Communicator& comm, int root, std::vector<T>& values) {
  std::vector<std::byte> bytes = to_bytes(values);
  comm.broadcast(root, bytes);
  values = from_bytes<T>(bytes);
}

/// Values for, or from, one rank.
template <PlainBytes T>
struct ValueParcel {
  int rank = 0;
  std::vector<T> values;
};

/// Collective. Communicator::exchange of values: what came, by source rank; empty lists arrive,
/// too. At most one list per target.
template <PlainBytes T>
std::vector<ValueParcel<T>> exchange_values(const Communicator& comm,
                                            std::vector<ValueParcel<T>> outgoing) {
  std::vector<Parcel> parcels;
  parcels.reserve(outgoing.size());
  for (auto& [rank, values] : outgoing)
    parcels.push_back({rank, to_bytes(std::exchange(values, {}))});
  std::vector<ValueParcel<T>> incoming;
  for (const Parcel& parcel : comm.exchange(std::move(parcels)))
    incoming.push_back({parcel.rank, from_bytes<T>(parcel.bytes)});
  return incoming;
}

/// Values for, or from, each rank: a list per rank.
template <PlainBytes T>
using RankLists = std::vector<std::vector<T>>;

/// Collective. `out[r]` goes to rank r; the result's list r came from rank r. Empty lists send
/// nothing, and what is this rank's own stays here.
template <PlainBytes T>
RankLists<T> all_to_all(const Communicator& comm, RankLists<T> out) {
  CATENA_CHECK(std::ssize(out) == comm.size(), "a list for each rank");
  RankLists<T> in(comm.size());
  in[comm.rank()] = std::exchange(out[comm.rank()], {});
  if (comm.size() == 1) return in;
  std::vector<Parcel> parcels;
  for (int r = 0; r < comm.size(); ++r)
    if (!out[r].empty()) parcels.push_back({r, to_bytes(std::exchange(out[r], {}))});
  for (const Parcel& parcel : comm.exchange(std::move(parcels)))
    in[parcel.rank] = from_bytes<T>(parcel.bytes);
  return in;
}

/// All lists, one after the other.
template <PlainBytes T>
std::vector<T> joined(const RankLists<T>& lists) {
  std::vector<T> all;
  for (const std::vector<T>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

/// Collective. Question i goes to rank[i]; the answers in the order of the questions. `reply`
/// makes of the questions of all ranks, RankLists<Question>, as many answers, RankLists<Answer>; it
/// must not communicate.
template <PlainBytes Answer, PlainValues Questions, class Reply>
std::vector<Answer> request_reply(const Communicator& comm, std::span<const int> rank,
                                  const Questions& questions, Reply reply) {
  RankLists<std::ranges::range_value_t<Questions>> out(comm.size());
  for (std::size_t i = 0; i < rank.size(); ++i) out[rank[i]].push_back(questions[i]);
  RankLists<Answer> made = reply(all_to_all(comm, std::move(out)));
  const RankLists<Answer> in = all_to_all(comm, std::move(made));
  std::vector<std::size_t> taken(in.size(), 0);
  std::vector<Answer> answers;
  answers.reserve(rank.size());
  for (const int r : rank) {
    CATENA_CHECK(taken[r] < in[r].size(), "an answer to each question");
    answers.push_back(in[r][taken[r]++]);
  }
  return answers;
}

/// Answers of one question after the other.
template <PlainBytes Answer, PlainBytes Question, class Reply>
RankLists<Answer> reply_each(const RankLists<Question>& questions, Reply reply) {
  RankLists<Answer> answers(questions.size());
  for (std::size_t r = 0; r < questions.size(); ++r) {
    answers[r].reserve(questions[r].size());
    for (const Question& q : questions[r]) answers[r].push_back(reply(q));
  }
  return answers;
}

}  // namespace catena
