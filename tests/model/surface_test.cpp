#include <gtest/gtest.h>

#include "catena/model/triangle_mesh.hpp"

namespace catena {
namespace {

/// A closed tetrahedron, each triangle with vertices of its own as an STL has them.
TriangleMesh soup() {
  const Vec3 p[4] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  TriangleMesh s;
  for (const auto& t : {std::array{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}}) {
    const auto n = static_cast<std::int32_t>(s.vertices.size());
    for (const int k : t) s.vertices.push_back(p[k]);
    s.triangles.push_back({n, n + 1, n + 2});
  }
  return s;
}

TEST(Surface, EqualVerticesBecomeOneAndUnusedOnesGo) {
  TriangleMesh s = soup();
  s.vertices.emplace_back(9, 9, 9);

  weld(s);

  EXPECT_EQ(s.vertices.size(), 4U);
  EXPECT_EQ(s.vertices[1], Vec3(0, 1, 0));  // in the order of first use
  EXPECT_EQ(s.triangles[3], (std::array<std::int32_t, 3>{2, 1, 3}));
}

TEST(Surface, AClosedOneHasANeighbourAcrossEveryEdge) {
  TriangleMesh s = soup();
  weld(s);

  const SurfaceEdges edges = edges_of(s);

  EXPECT_EQ(edges.open.count + edges.crowded.count + edges.disagreed.count, 0);
  for (std::size_t t = 0; t < 4; ++t) {
    for (std::size_t k = 0; k < 3; ++k) {
      const std::int32_t other = edges.neighbours[t][k];
      ASSERT_GE(other, 0);
      const auto& back = edges.neighbours[static_cast<std::size_t>(other)];
      EXPECT_EQ(std::count(back.begin(), back.end(), static_cast<std::int32_t>(t)), 1);
    }
  }
}

TEST(Surface, HolesInvertedFacesAndFinsAreCounted) {
  TriangleMesh hole = soup(), inverted = soup(), fin = soup();
  hole.triangles.pop_back();
  std::swap(inverted.triangles[2][0], inverted.triangles[2][1]);
  fin.vertices.emplace_back(5, 5, 5);
  fin.triangles.push_back({0, 1, 12});
  for (TriangleMesh* s : {&hole, &inverted, &fin}) weld(*s);

  EXPECT_EQ(edges_of(hole).open.count, 3);
  EXPECT_EQ(edges_of(inverted).disagreed.count, 3);
  EXPECT_EQ(edges_of(inverted).open.count, 0);
  EXPECT_EQ(edges_of(fin).crowded.count, 1);
  EXPECT_EQ(edges_of(fin).open.count, 2);
  // the first by number of its vertices: (0 0 0) and (0 1 0) are 0 and 1
  EXPECT_EQ(edges_of(fin).crowded.first, (std::array<std::int32_t, 2>{0, 1}));
}

TEST(Surface, TrianglesWithoutAreaAreDroppedAndSliversStay) {
  TriangleMesh s;
  s.vertices = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {1, 1e-9, 0}};
  s.triangles = {{0, 1, 2}, {0, 0, 1}, {0, 3, 2}};

  EXPECT_EQ(drop_flat_triangles(s), 2);

  ASSERT_EQ(s.triangles.size(), 1U);
  EXPECT_EQ(s.triangles[0][1], 3);
}

}  // namespace
}  // namespace catena
