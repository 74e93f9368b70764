#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "catena/comm/typed_exchange.hpp"
#include "catena/math/types.hpp"

namespace catena {
namespace {

TEST(Packer, ValuesComeBackInTheirOrder) {
  const std::vector<std::int32_t> list = {3, 1, 2};
  const std::array<double, 2> rest = {0.5, -0.5};
  Packer out;
  out.put(Vec3(1.0, 2.0, 3.0));
  out.put_list(list);
  out.put_list(std::string("text"));
  out.put_list(std::vector<double>{});
  out.put_values(rest);
  const std::vector<std::byte> bytes = out.take();
  EXPECT_TRUE(out.bytes().empty());
  // three doubles, three lists each with its number, two doubles
  EXPECT_EQ(bytes.size(), 24u + (8u + 12u) + (8u + 4u) + 8u + 16u);

  Unpacker in(bytes);
  EXPECT_EQ(in.get<Vec3>(), Vec3(1.0, 2.0, 3.0));
  std::vector<std::int32_t> behind = {7};
  in.append_to(behind, static_cast<std::size_t>(in.get<std::int64_t>()));
  EXPECT_EQ(behind, (std::vector<std::int32_t>{7, 3, 1, 2}));
  const std::vector<char> text = in.get_list<char>();
  EXPECT_EQ(std::string(text.begin(), text.end()), "text");
  EXPECT_TRUE(in.get_list<double>().empty());
  EXPECT_FALSE(in.empty());
  EXPECT_EQ(in.get_rest<double>(), std::vector<double>(rest.begin(), rest.end()));
  EXPECT_TRUE(in.empty());
}

TEST(Unpacker, TooShortAParcelIsRefused) {
  const std::vector<std::byte> five(5);
  EXPECT_THROW(Unpacker(five).get<double>(), std::logic_error);
  EXPECT_THROW(from_bytes<std::int32_t>(five), std::logic_error);
  // a list that announces more than follows
  Packer out;
  out.put(std::int64_t{1000});
  out.put(1.0);
  EXPECT_THROW(Unpacker(out.bytes()).get_list<double>(), std::logic_error);
}

class Ranks : public testing::Test {
 protected:
  Communicator comm_ = Communicator::world();
  int rank_ = comm_.rank(), size_ = comm_.size();

  /// What rank `from` has for rank `to`: to + 1 numbers, none from the last rank to rank 0.
  std::vector<int> letter(int from, int to) const {
    if (from == size_ - 1 && to == 0 && size_ > 1) return {};
    std::vector<int> numbers(static_cast<std::size_t>(to + 1));
    std::iota(numbers.begin(), numbers.end(), 100 * from + 10 * to);
    return numbers;
  }
};

TEST_F(Ranks, ListsComeFromTheRankThatSentThem) {
  RankLists<int> out;
  for (int r = 0; r < size_; ++r) out.push_back(letter(rank_, r));

  const RankLists<int> in = all_to_all(comm_, out);

  std::vector<int> all;
  EXPECT_EQ(std::ssize(in), size_);
  for (int r = 0; r < size_; ++r) {
    EXPECT_EQ(in[r], letter(r, rank_)) << "from rank " << r;
    all.insert(all.end(), in[r].begin(), in[r].end());
  }
  EXPECT_EQ(joined(in), all);
}

TEST_F(Ranks, WhatStaysOrIsEmptySendsNothing) {
  RankLists<int> out(static_cast<std::size_t>(size_));
  out[rank_] = {4, 5};
  const std::int64_t before = comm_.traffic().messages;

  const RankLists<int> in = all_to_all(comm_, std::move(out));

  EXPECT_EQ(in[rank_], (std::vector<int>{4, 5}));
  EXPECT_EQ(comm_.traffic().messages, before);
}

TEST_F(Ranks, ParcelsOfValuesArriveEvenEmpty) {
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  std::vector<ValueParcel<Vec3>> out = {{next, {}}};
  if (rank_ % 2 == 0) out[0].values = {Vec3(rank_, 0.0, 1.0)};

  const auto in = exchange_values(comm_, std::move(out));

  EXPECT_EQ(in.size(), 1u);
  if (in.size() != 1) return;
  EXPECT_EQ(in[0].rank, previous);
  EXPECT_EQ(in[0].values,
            previous % 2 == 0 ? std::vector<Vec3>{Vec3(previous, 0.0, 1.0)} : std::vector<Vec3>{});
}

TEST_F(Ranks, AnswersStandInTheOrderOfTheQuestions) {
  // to all ranks in turn, descending, twice
  std::vector<int> rank, question;
  for (int i = 0; i < 2 * size_; ++i) {
    rank.push_back((2 * size_ - 1 - i) % size_);
    question.push_back(1000 * rank_ + i);
  }

  const auto answer =
      request_reply<std::int64_t>(comm_, rank, question, [&](const RankLists<int>& asked) {
        return reply_each<std::int64_t>(asked,
                                        [&](int q) { return std::int64_t{1000000} * rank_ + q; });
      });

  EXPECT_EQ(answer.size(), question.size());
  if (answer.size() != question.size()) return;
  for (std::size_t i = 0; i < answer.size(); ++i)
    EXPECT_EQ(answer[i], std::int64_t{1000000} * rank[i] + question[i]);
}

TEST_F(Ranks, GatheredValuesFollowTheRanks) {
  const std::vector<int> own(static_cast<std::size_t>(rank_), rank_);  // none on rank 0
  std::vector<int> expected;
  for (int r = 0; r < size_; ++r) expected.insert(expected.end(), static_cast<std::size_t>(r), r);
  const int root = size_ - 1;

  EXPECT_EQ(all_gather_values(comm_, own), expected);
  EXPECT_EQ(gather_values(comm_, root, own), rank_ == root ? expected : std::vector<int>{});
  std::vector<int> told = own;
  broadcast_values(comm_, root, told);
  EXPECT_EQ(told, std::vector<int>(static_cast<std::size_t>(root), root));
}

}  // namespace
}  // namespace catena
