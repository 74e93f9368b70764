// Values to other ranks and answers back, for the analysis of mechanisms.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "catena/base/index.hpp"
#include "catena/comm/bytes.hpp"
#include "catena/comm/communicator.hpp"

namespace catena::partition_detail {

/// Values for, or from, each rank.
template <PlainBytes T>
using Mail = std::vector<std::vector<T>>;

template <PlainBytes T>
Mail<T> empty_mail(const Communicator& comm) {
  return Mail<T>(comm.size());
}

/// Collective. What every rank has for this one.
template <PlainBytes T>
Mail<T> deliver(const Communicator& comm, Mail<T> out) {
  const std::size_t own = comm.rank();
  Mail<T> in = empty_mail<T>(comm);
  in[own] = std::move(out[own]);
  out[own].clear();
  if (comm.size() == 1) return in;
  std::vector<Parcel> parcels;
  for (std::size_t r = 0; r < out.size(); ++r)
    if (!out[r].empty()) parcels.push_back({narrow<int>(r), to_bytes(out[r])});
  out.clear();
  for (const Parcel& parcel : comm.exchange(std::move(parcels)))
    in[parcel.rank] = from_bytes<T>(parcel.bytes);
  return in;
}

/// Collective. Question i goes to rank[i]; the answers in the order of the questions. `reply`
/// makes of all questions of all ranks (Mail<Question>) as many answers (Mail<Answer>); it must
/// not communicate.
template <PlainBytes Answer, PlainBytes Question, class Reply>
std::vector<Answer> ask(const Communicator& comm, std::span<const int> rank,
                        std::span<const Question> questions, Reply reply) {
  Mail<Question> out = empty_mail<Question>(comm);
  for (std::size_t i = 0; i < rank.size(); ++i) out[rank[i]].push_back(questions[i]);
  const Mail<Answer> in = deliver(comm, Mail<Answer>(reply(deliver(comm, std::move(out)))));
  std::vector<std::size_t> taken(in.size(), 0);
  std::vector<Answer> answers;
  answers.reserve(rank.size());
  for (const int r : rank) {
    const std::size_t from = r;
    answers.push_back(in[from][taken[from]++]);
  }
  return answers;
}

/// Answers of one question after the other.
template <PlainBytes Answer, PlainBytes Question, class Reply>
Mail<Answer> each(const Mail<Question>& questions, Reply reply) {
  Mail<Answer> answers(questions.size());
  for (std::size_t r = 0; r < questions.size(); ++r) {
    answers[r].reserve(questions[r].size());
    for (const Question& q : questions[r]) answers[r].push_back(reply(q));
  }
  return answers;
}

/// A place in an array of some rank, in one number.
using Address = std::int64_t;
inline constexpr Address kNowhere = -1;
inline constexpr int kPlaceBits = 40;

inline Address address_of(int rank, std::size_t place) {
  return (static_cast<Address>(rank) << kPlaceBits) | static_cast<Address>(place);
}
inline int rank_of(Address a) { return narrow<int>(a >> kPlaceBits); }
inline std::size_t place_of(Address a) { return a & ((Address{1} << kPlaceBits) - 1); }

/// The rank that keeps what belongs to an id: spread evenly whatever the ids' sign.
inline int directory_rank(const Communicator& comm, std::int64_t id) {
  return static_cast<int>(static_cast<std::uint64_t>(id) % static_cast<std::uint64_t>(comm.size()));
}

}  // namespace catena::partition_detail
