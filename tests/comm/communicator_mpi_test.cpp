#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "catena/base/error.hpp"
#include "catena/base/index.hpp"
#include "catena/comm/collective_count.hpp"
#include "catena/comm/communicator.hpp"
#include "catena/comm/split.hpp"

namespace catena {
namespace {

std::vector<std::byte> bytes_of(std::size_t count, int value) {
  return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

TEST(Communicator, SelfIsOneRank) {
  const Communicator self = Communicator::self();
  EXPECT_EQ(self.size(), 1);
  EXPECT_EQ(self.rank(), 0);
  EXPECT_EQ(self.sum(3.5), 3.5);
  EXPECT_EQ(self.exclusive_sum(std::int64_t{4}), 0);
}

TEST(Communicator, DuplicateOfAForeignHandleHasTheSameRanks) {
  const Communicator comm = Communicator::world();
  const Communicator copy = Communicator::from_fortran(comm.fortran_handle());
  EXPECT_EQ(copy.rank(), comm.rank());
  EXPECT_EQ(copy.size(), comm.size());
}

TEST(Communicator, MpiErrorsBecomeErrorsThatNameTheCall) {
  const Communicator self = Communicator::self();
  std::string text = "x";
  try {
    self.broadcast(5, text);  // there is no rank 5
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::runtime_error);
    EXPECT_NE(std::string(error.what()).find("MPI_Bcast"), std::string::npos) << error.what();
  }
}

TEST(Communicator, GathersConcatenateInRankOrderAndKeepEmptyShares) {
  const Communicator comm = Communicator::world();
  // rank r gives r bytes of value r: rank 0 none
  const std::vector<std::byte> mine = bytes_of(static_cast<std::size_t>(comm.rank()), comm.rank());
  std::vector<std::byte> expected;
  for (int r = 0; r < comm.size(); ++r)
    for (int i = 0; i < r; ++i) expected.push_back(static_cast<std::byte>(r));

  std::vector<std::size_t> counts;
  EXPECT_EQ(comm.all_gather_bytes(mine, &counts), expected);
  EXPECT_EQ(counts.size(), static_cast<std::size_t>(comm.size()));
  for (std::size_t r = 0; r < counts.size(); ++r) EXPECT_EQ(counts[r], r);

  const int root = comm.size() - 1;
  const std::vector<std::byte> gathered = comm.gather_bytes(root, mine, &counts);
  EXPECT_EQ(gathered, comm.rank() == root ? expected : std::vector<std::byte>{});

  const std::int64_t pair[] = {comm.rank(), -comm.rank()};
  const std::vector<std::int64_t> all = comm.all_gather(std::span<const std::int64_t>(pair));
  for (int r = 0; r < comm.size(); ++r) {
    EXPECT_EQ(all[static_cast<std::size_t>(2 * r)], r);
    EXPECT_EQ(all[static_cast<std::size_t>(2 * r + 1)], -r);
  }
}

TEST(Communicator, BroadcastReplacesWhatOthersHeld) {
  const Communicator comm = Communicator::world();
  const int root = comm.size() - 1;
  std::string text = comm.rank() == root ? "from the last rank" : "longer text that must disappear";
  comm.broadcast(root, text);
  EXPECT_EQ(text, "from the last rank");
  std::vector<std::byte> bytes = comm.rank() == 0 ? bytes_of(0, 0) : bytes_of(7, 1);
  comm.broadcast(0, bytes);
  EXPECT_TRUE(bytes.empty());
}

TEST(Exchange, EachParcelArrivesOnceSortedBySource) {
  const Communicator comm = Communicator::world();
  // everyone to everyone, itself included; as many bytes as the target's rank
  std::vector<Parcel> outgoing;
  for (int r = comm.size() - 1; r >= 0; --r)
    outgoing.push_back({r, bytes_of(static_cast<std::size_t>(r), comm.rank())});

  const std::vector<Parcel> incoming = comm.exchange(std::move(outgoing));

  EXPECT_EQ(incoming.size(), static_cast<std::size_t>(comm.size()));
  for (std::size_t i = 0; i < incoming.size(); ++i) {
    EXPECT_EQ(incoming[i].rank, static_cast<int>(i));
    EXPECT_EQ(incoming[i].bytes,
              bytes_of(static_cast<std::size_t>(comm.rank()), static_cast<int>(i)));
  }
}

TEST(Exchange, NothingSentIsNothingReceived) {
  const Communicator comm = Communicator::world();
  EXPECT_TRUE(comm.exchange({}).empty());
  // only rank 0 speaks, only the last rank hears
  std::vector<Parcel> outgoing;
  if (comm.rank() == 0) outgoing.push_back({comm.size() - 1, bytes_of(3, 9)});
  const std::vector<Parcel> incoming = comm.exchange(std::move(outgoing));
  EXPECT_EQ(incoming.size(), comm.rank() == comm.size() - 1 ? 1u : 0u);
}

TEST(Exchange, RoundsInARowDoNotMix) {
  const Communicator comm = Communicator::world();
  for (int round = 0; round < 3000; ++round) {
    std::vector<Parcel> outgoing;
    const int target = (comm.rank() + round) % comm.size();
    if ((comm.rank() + round) % 3 != 0)  // some are silent
      outgoing.push_back({target, bytes_of(static_cast<std::size_t>(1 + round % 5), round % 256)});

    const std::vector<Parcel> incoming = comm.exchange(std::move(outgoing));

    const int source = ((comm.rank() - round) % comm.size() + comm.size()) % comm.size();
    const bool expected = (source + round) % 3 != 0;
    EXPECT_EQ(incoming.size(), expected ? 1u : 0u) << round;
    for (const Parcel& parcel : incoming) {
      EXPECT_EQ(parcel.rank, source);
      EXPECT_EQ(parcel.bytes, bytes_of(static_cast<std::size_t>(1 + round % 5), round % 256));
    }
  }
}

TEST(Exchange, LargeParcelsArriveWhole) {
  const Communicator comm = Communicator::world();
  const std::size_t size = 3u << 20;
  const int next = (comm.rank() + 1) % comm.size();
  const std::vector<Parcel> incoming = comm.exchange({{next, bytes_of(size, comm.rank())}});
  const int previous = (comm.rank() + comm.size() - 1) % comm.size();
  EXPECT_EQ(incoming.size(), 1u);
  for (const Parcel& parcel : incoming) EXPECT_EQ(parcel.bytes, bytes_of(size, previous));
}

TEST(Exchange, CountsMessagesToOthersOnly) {
  const Communicator comm = Communicator::world();
  const int next = (comm.rank() + 1) % comm.size();
  comm.exchange({{next, bytes_of(10, 1)}});
  EXPECT_EQ(comm.traffic().messages, comm.size() > 1 ? 1 : 0);
  EXPECT_EQ(comm.traffic().bytes, comm.size() > 1 ? 10 : 0);
}

TEST(Communicator, CountsOperationsOfAllRanksAndWhatTheyGather) {
  const Communicator comm = Communicator::world();
  comm.barrier();
  comm.sum(1.0);
  comm.min(std::int64_t{1});
  comm.exchange({});
  EXPECT_EQ(collective_count(comm).blocking, 4);
  EXPECT_EQ(collective_count(comm).gathered_bytes, 0);

  comm.all_gather(std::vector<double>{1.0, 2.0});
  EXPECT_EQ(collective_count(comm).blocking, 5);
  EXPECT_EQ(collective_count(comm).gathered_bytes, 16 * comm.size());

  // a byte of each rank more than of the one before it, and the four bytes of its length
  comm.all_gather_bytes(bytes_of(static_cast<std::size_t>(comm.rank()), 1));
  const int others = comm.size() * (comm.size() - 1) / 2;
  EXPECT_EQ(collective_count(comm).blocking, 7);
  EXPECT_EQ(collective_count(comm).gathered_bytes, 20 * comm.size() + others);

  // the sum of the lengths, the lengths and the items; no rank but one receives of all others
  comm.gather_bytes(0, bytes_of(3, 1));
  EXPECT_EQ(collective_count(comm).blocking, 10);
  EXPECT_EQ(collective_count(comm).gathered_bytes, 20 * comm.size() + others);

  PendingReduction posted(comm);
  double sum = 1.0;
  posted.begin({&sum, 1}, {});
  posted.end({&sum, 1}, {});
  EXPECT_EQ(collective_count(comm).posted, 1);
  EXPECT_EQ(collective_count(comm).blocking, 10);
}

TEST(Communicator, TheRankThatComesLastWaitsLeast) {
  const Communicator comm = Communicator::world();
  const auto waited_for_first = [&] {
    comm.barrier();
    const double before = comm.traffic().waited_s;
    if (comm.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    comm.sum(1.0);
    comm.exchange({});
    return comm.all_gather(std::vector<double>{comm.traffic().waited_s - before});
  };
  const auto others_wait = [](const std::vector<double>& waited) {
    return std::all_of(waited.begin() + 1, waited.end(),
                       [&](double w) { return w >= 0.2 && waited[0] <= w - 0.1; });
  };

  // on a machine that is busy elsewhere another rank may come last
  std::vector<double> waited = waited_for_first();
  for (int tries = 1; tries < 5 && !others_wait(waited); ++tries) waited = waited_for_first();

  EXPECT_TRUE(others_wait(waited)) << testing::PrintToString(waited);
}

TEST(Exchange, TwoParcelsToOneRankAreRefusedBeforeAnythingIsSent) {
  const Communicator comm = Communicator::world();
  EXPECT_THROW(comm.exchange({{0, {}}, {0, {}}}), std::logic_error);
  EXPECT_THROW(comm.exchange({{comm.size(), {}}}), std::logic_error);
  EXPECT_TRUE(comm.exchange({}).empty());
}

TEST(AllOrNone, ReturnsWhereNobodyFails) {
  const Communicator comm = Communicator::world();
  int ran = 0;
  EXPECT_NO_THROW(all_or_none(comm, [&] { ++ran; }));
  EXPECT_EQ(ran, 1);
}

TEST(AllOrNone, EveryRankThrowsTheErrorOfTheLowestFailingRank) {
  const Communicator comm = Communicator::world();
  const int lowest = comm.size() / 2;
  try {
    all_or_none(comm, [&] {
      if (comm.rank() >= lowest)
        throw Error("found " + std::to_string(comm.rank()), "case.yaml:3:5", "mend it",
                    ExitCode::input_output);
    });
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.found(), "found " + std::to_string(lowest));
    EXPECT_EQ(error.where(), "case.yaml:3:5");
    EXPECT_EQ(error.fix(), "mend it");
    EXPECT_EQ(error.code(), ExitCode::input_output);
    EXPECT_EQ(std::string(error.what()),
              "case.yaml:3:5: found " + std::to_string(lowest) + "; mend it");
  }
}

TEST(Split, APartHasItsRanksInOrderAndCountsWithTheWhole) {
  const Communicator comm = Communicator::world();
  const int part = comm.rank() % 2;
  const Communicator some = split(comm, part);
  EXPECT_EQ(some.size(), (comm.size() + 1 - part) / 2);
  EXPECT_EQ(some.rank(), comm.rank() / 2);

  const std::vector<double> ranks =
      some.all_gather(std::vector<double>{static_cast<double>(comm.rank())});
  for (std::size_t k = 0; k < ranks.size(); ++k) EXPECT_EQ(ranks[k], 2 * to_index(k) + part);
  EXPECT_EQ(collective_count(comm).blocking, 1);
  EXPECT_EQ(collective_count(comm).gathered_bytes, 8 * some.size());

  const int next = (some.rank() + 1) % some.size();
  some.exchange({{next, bytes_of(10, 1)}});
  comm.exchange({});
  EXPECT_EQ(collective_count(some).blocking, 3);
  EXPECT_EQ(comm.traffic().messages, some.size() > 1 ? 1 : 0);
  EXPECT_EQ(comm.traffic().bytes, some.size() > 1 ? 10 : 0);
  EXPECT_EQ(comm.traffic().waited_s, some.traffic().waited_s);
}

TEST(AllOrNone, OtherExceptionsBecomeRuntimeErrorsEverywhere) {
  const Communicator comm = Communicator::world();
  try {
    all_or_none(comm, [&] {
      if (comm.rank() == comm.size() - 1) throw std::length_error("too long");
    });
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.found(), "too long");
    EXPECT_EQ(error.code(), ExitCode::runtime_error);
  }
}

TEST(MpiVersion, IsOneNonEmptyText) {
  EXPECT_FALSE(mpi_version().empty());
  EXPECT_EQ(mpi_version().find('\0'), std::string::npos);
}

}  // namespace
}  // namespace catena
