#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "catena/comm/directory.hpp"

namespace catena {
namespace {

TEST(Directory, AnyIdHasItsRank) {
  const Communicator comm = Communicator::world();
  std::vector<int> kept(static_cast<std::size_t>(comm.size()), 0);
  for (std::int64_t id = 0; id < 12 * comm.size(); ++id) ++kept[directory_rank(comm, id)];
  EXPECT_EQ(kept, std::vector<int>(kept.size(), 12));
  for (const std::int64_t id : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(),
                                std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_GE(directory_rank(comm, id), 0);
    EXPECT_LT(directory_rank(comm, id), comm.size());
  }
}

TEST(Directory, FindsWhatAnyRankRegistered) {
  const Communicator comm = Communicator::world();
  constexpr std::int64_t kIds = 40;
  // id i belongs to rank (i / 3) mod ranks, but every fifth to none
  const auto owner = [&](GlobalId id) {
    return id % 5 == 4 || id >= kIds ? -1 : static_cast<int>(id / 3 % comm.size());
  };
  std::vector<DirectoryEntry<double>> own;
  for (GlobalId id = 0; id < kIds; ++id)
    if (owner(id) == comm.rank()) own.push_back({id, 0.5 + static_cast<double>(id)});
  // ranks ask for different ids, in no order, one twice; the last rank asks for nothing
  std::vector<GlobalId> wanted;
  if (comm.size() == 1 || comm.rank() + 1 < comm.size()) {
    wanted.resize(kIds + 3);
    std::iota(wanted.begin(), wanted.end(), comm.rank());
    std::reverse(wanted.begin() + 5, wanted.end());
    wanted.push_back(wanted.front());
  }

  const std::vector<Registered<double>> found = look_up<double>(comm, own, wanted);

  EXPECT_EQ(found.size(), wanted.size());
  if (found.size() != wanted.size()) return;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(found[i].rank, owner(wanted[i])) << "id " << wanted[i];
    EXPECT_EQ(found[i].value, owner(wanted[i]) < 0 ? 0.0 : 0.5 + static_cast<double>(wanted[i]));
  }
}

}  // namespace
}  // namespace catena
