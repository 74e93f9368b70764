// What METIS balances where joints are a part of the work.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "partition/graph/cell_graph.hpp"

namespace catena::partition {
namespace {

constexpr std::int64_t kSide = 20;
constexpr std::int64_t kContacts = 100, kJoints = 400;  // work of a vertex

/// A square bed of grains that touch their neighbours.
std::vector<CellEdge> bed() {
  std::vector<CellEdge> edges;
  for (std::int64_t v = 0; v < kSide * kSide; ++v) {
    if (v % kSide + 1 < kSide) edges.push_back({v, v + 1, 6});
    if (v + kSide < kSide * kSide) edges.push_back({v, v + kSide, 6});
  }
  return edges;
}

/// Joints from each of these vertices to the next.
void join(const std::vector<std::int64_t>& bodies, std::vector<CellEdge>& edges,
          std::vector<PartWork>& work) {
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    work[static_cast<std::size_t>(bodies[i])].joints += kJoints;
    if (i > 0) edges.push_back({bodies[i - 1], bodies[i], 80});
  }
}

/// Largest part's contacts over the mean.
double unevenness_of_contacts(const std::vector<PartWork>& work,
                              const std::vector<std::int32_t>& part, int n_parts) {
  std::vector<double> sum(static_cast<std::size_t>(n_parts), 0.0);
  for (std::size_t i = 0; i < work.size(); ++i)
    sum[static_cast<std::size_t>(part[i])] += static_cast<double>(work[i].contacts);
  return *std::ranges::max_element(sum) * n_parts / (kContacts * kSide * kSide);
}

TEST(MetisParts, OneMechanismThatNoPartsShareStaysWholeAndContactsAreEven) {
  for (const int n_parts : {2, 4}) {
    // 25 bodies in a corner, a fifth of the work, which one part has in any case
    std::vector<PartWork> work(kSide * kSide, {kContacts, 0});
    std::vector<CellEdge> edges = bed();
    std::vector<std::int64_t> machine;
    for (std::int64_t y = 0; y < 5; ++y)
      for (std::int64_t x = 0; x < 5; ++x) machine.push_back(y * kSide + (y % 2 == 0 ? x : 4 - x));
    join(machine, edges, work);
    merge_edges(edges);

    const std::vector<std::int32_t> part = metis_parts(work, edges, n_parts, 25 * kJoints);

    ASSERT_EQ(part.size(), work.size());
    std::set<std::int32_t> parts;
    for (const std::int64_t v : machine) parts.insert(part[static_cast<std::size_t>(v)]);
    EXPECT_EQ(parts.size(), 1) << n_parts;
    EXPECT_LE(unevenness_of_contacts(work, part, n_parts), 1.04) << n_parts;
  }
}

TEST(MetisParts, MechanismsOfOneSideAreSharedAndContactsAreEven) {
  // in the left half 40 mechanisms of five bodies, one above another in a column of the bed
  std::vector<PartWork> work(kSide * kSide, {kContacts, 0});
  std::vector<CellEdge> edges = bed();
  for (std::int64_t k = 0; k < 40; ++k) {
    std::vector<std::int64_t> bodies;
    for (std::int64_t i = 0; i < 5; ++i) bodies.push_back((k / 10 * 5 + i) * kSide + k % 10);
    join(bodies, edges, work);
  }
  merge_edges(edges);

  const std::vector<std::int32_t> part = metis_parts(work, edges, 2, 5 * kJoints);

  ASSERT_EQ(part.size(), work.size());
  double first = 0.0;
  for (std::size_t i = 0; i < work.size(); ++i)
    if (part[i] == 0) first += static_cast<double>(work[i].joints);
  const double half = 100.0 * kJoints;
  EXPECT_LE(std::max(first, 2.0 * half - first), 1.15 * half);
  EXPECT_LE(unevenness_of_contacts(work, part, 2), 1.04);
}

TEST(MetisParts, FewJointsAreEvenInTheSumAlone) {
  // joints are 2 % of the work: below a fifth of one of two parts', which is 10 %
  std::vector<PartWork> work(kSide * kSide, {kContacts, 0});
  std::vector<CellEdge> edges = bed();
  join({0, kSide}, edges, work);
  merge_edges(edges);

  const std::vector<std::int32_t> part = metis_parts(work, edges, 2, 2 * kJoints);

  ASSERT_EQ(part.size(), work.size());
  double first = 0.0, all = 0.0;
  for (std::size_t i = 0; i < work.size(); ++i) {
    all += static_cast<double>(work[i].all());
    if (part[i] == 0) first += static_cast<double>(work[i].all());
  }
  EXPECT_LE(std::max(first, all - first), 1.02 * all / 2.0);
}

}  // namespace
}  // namespace catena::partition
