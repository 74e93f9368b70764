#include "catena/model/geometry.hpp"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <map>
#include <numbers>

#include "catena/base/random.hpp"
#include "catena/math/rotation.hpp"

namespace catena {
namespace {

constexpr double kPi = std::numbers::pi;

using Triangles = std::vector<std::array<std::int32_t, 3>>;

Quat some_rotation(std::uint64_t n) {
  return Quat(uniform_pm1(3, n, 0), uniform_pm1(3, n, 1), uniform_pm1(3, n, 2),
              uniform_pm1(3, n, 3))
      .normalized();
}

Vec3 some_vector(std::uint64_t n) {
  return {uniform_pm1(4, n, 0), uniform_pm1(4, n, 1), uniform_pm1(4, n, 2)};
}

/// A box with the given half edges and its faces as quadrilaterals, seen from outside.
Geometry box_hull(const Vec3& half) {
  Geometry g;
  g.type = ShapeType::hull;
  for (int k = 0; k < 8; ++k) {
    const Vec3 sign((k & 1) != 0 ? 1 : -1, (k & 2) != 0 ? 1 : -1, (k & 4) != 0 ? 1 : -1);
    g.vertices.push_back(sign.cwiseProduct(half));
  }
  g.face_corners = {0, 4, 6, 2, 1, 3, 7, 5, 0, 1, 5, 4, 2, 6, 7, 3, 0, 2, 3, 1, 4, 5, 7, 6};
  for (int f = 0; f < 6; ++f) {
    g.face_begin.push_back(4 * f + 4);
    g.face_normals.emplace_back((f % 2 == 0 ? -1.0 : 1.0) * Vec3::Unit(f / 2));
    g.face_offsets.push_back(half[f / 2]);
  }
  return g;
}

/// Points of a closed star-shaped surface about the origin: an octahedron cut up twice, its
/// radius disturbed at random.
void bumpy_ball(std::uint64_t seed, std::vector<Vec3>& vertices, Triangles& triangles) {
  vertices = {Vec3::UnitX(),  -Vec3::UnitX(), Vec3::UnitY(),
              -Vec3::UnitY(), Vec3::UnitZ(),  -Vec3::UnitZ()};
  triangles = {{0, 2, 4}, {2, 1, 4}, {1, 3, 4}, {3, 0, 4},
               {2, 0, 5}, {1, 2, 5}, {3, 1, 5}, {0, 3, 5}};
  for (int level = 0; level < 2; ++level) {
    Triangles finer;
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> middles;
    const auto middle = [&](std::int32_t a, std::int32_t b) {
      const auto [at, is_new] = middles.try_emplace({std::min(a, b), std::max(a, b)},
                                                    static_cast<std::int32_t>(vertices.size()));
      if (is_new) {
        vertices.push_back(
            (vertices[static_cast<std::size_t>(a)] + vertices[static_cast<std::size_t>(b)])
                .normalized());
      }
      return at->second;
    };
    for (const auto& [a, b, c] : triangles) {
      const std::int32_t ab = middle(a, b), bc = middle(b, c), ca = middle(c, a);
      finer.insert(finer.end(), {{a, ab, ca}, {ab, b, bc}, {ca, bc, c}, {ab, bc, ca}});
    }
    triangles = finer;
  }
  for (std::size_t i = 0; i < vertices.size(); ++i)
    vertices[i] *= 1.0 + 0.3 * uniform_pm1(seed, i, 0);
}

TEST(MassProperties, OfATetrahedronAreTheClosedForm) {
  // the corner of a cube: V = 1/6, centre 1/4, integral of x^2 = 1/60, of x y = 1/120
  const std::vector<Vec3> vertices = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const Triangles triangles = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};

  const MassProperties m = mass_properties(vertices, triangles);

  EXPECT_NEAR(m.volume, 1.0 / 6.0, 1e-16);
  EXPECT_LT((m.centre - Vec3::Constant(0.25)).norm(), 1e-15);
  const double square = 6.0 / 60.0 - 1.0 / 16.0, product = 6.0 / 120.0 - 1.0 / 16.0;
  Mat3 expected = Mat3::Constant(-product);
  expected.diagonal().setConstant(2.0 * square);
  EXPECT_LT((m.inertia_per_mass - expected).norm(), 1e-15);
}

TEST(MassProperties, OfABoxOffCentreAndTurnedAreThoseOfTheBoxMovedThere) {
  const Vec3 half(0.5, 0.2, 0.1);
  const Pose pose{{3, -2, 1}, some_rotation(1)};
  Geometry box = box_hull(half);
  move_geometry(box, pose);
  complete_geometry(box, GeometryFrame::principal);

  const Shape shape{ShapeType::box, half};
  EXPECT_NEAR(box.volume, volume_of(shape), 1e-15);
  // the frame W of the numbers is the world here: the centre of mass lies at pose.p in it
  const Vec3 centre = box.written.q.conjugate() * Vec3(-box.written.p);
  EXPECT_LT((centre - pose.p).norm(), 1e-14);
  const Vec3 expected = inertia_per_mass(shape);
  const Mat3 in_w = rotate_diagonal(box.written.q.conjugate(), box.inertia_per_mass);
  EXPECT_LT((in_w - rotate_diagonal(pose.q, expected)).norm(), 1e-14);
  Vec3 sorted = box.inertia_per_mass;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_LT((sorted - Vec3(expected.x(), expected.y(), expected.z())).norm(), 1e-14);
}

TEST(MassProperties, OfABumpyBallAgreeWithSamplingAndDoNotDependOnTheOrigin) {
  std::vector<Vec3> vertices;
  Triangles triangles;
  bumpy_ball(5, vertices, triangles);
  const MassProperties m = mass_properties(vertices, triangles);

  // inside: below the triangle that the ray from the origin meets
  const auto inside = [&](const Vec3& p) {
    for (const auto& t : triangles) {
      Mat3 corners;
      for (int k = 0; k < 3; ++k)
        corners.col(k) = vertices[static_cast<std::size_t>(t[static_cast<std::size_t>(k)])];
      const Vec3 s = corners.inverse() * p;
      if (s.minCoeff() >= 0.0) return s.sum() <= 1.0;
    }
    return false;
  };
  const int n = 200000;
  double count = 0.0;
  Vec3 first = Vec3::Zero();
  Mat3 second = Mat3::Zero();
  for (int i = 0; i < n; ++i) {
    const Vec3 p = 1.3 * some_vector(static_cast<std::uint64_t>(i) + 100);
    if (!inside(p)) continue;
    count += 1.0;
    first += p;
    second += p * p.transpose();
  }
  const double error = 4.0 / std::sqrt(count);  // of the mean of numbers of size 1, 4 sigma
  EXPECT_NEAR(m.volume, 2.6 * 2.6 * 2.6 * count / n, m.volume * error);
  EXPECT_LT((m.centre - first / count).norm(), error);
  const Mat3 about = second / count - m.centre * m.centre.transpose();
  EXPECT_LT((m.inertia_per_mass - (about.trace() * Mat3::Identity() - about)).norm(), error);

  for (Vec3& v : vertices) v += Vec3(10, -20, 5);
  const MassProperties far = mass_properties(vertices, triangles);
  EXPECT_NEAR(far.volume, m.volume, 1e-12);
  EXPECT_LT((far.centre - m.centre - Vec3(10, -20, 5)).norm(), 1e-12);
  EXPECT_LT((far.inertia_per_mass - m.inertia_per_mass).norm(), 1e-12);
}

TEST(MassProperties, OfAPrismTendToThoseOfTheCylinder) {
  const double radius = 0.7, half = 0.4;
  const int n = 2000;
  std::vector<Vec3> vertices = {{0, 0, -half}, {0, 0, half}};
  Triangles triangles;
  for (int i = 0; i < n; ++i) {
    const double a = 2.0 * kPi * i / n;
    for (const double z : {-half, half})
      vertices.emplace_back(radius * std::cos(a), radius * std::sin(a), z);
    const std::int32_t low = 2 + 2 * i, next = 2 + 2 * ((i + 1) % n);
    triangles.insert(
        triangles.end(),
        {{0, next, low}, {1, low + 1, next + 1}, {low, next, next + 1}, {low, next + 1, low + 1}});
  }
  const MassProperties m = mass_properties(vertices, triangles);
  const Shape cylinder{ShapeType::cylinder, {radius, half, 0}};

  // a polygon's area falls short by (2 pi / n)^2 / 6
  EXPECT_NEAR(m.volume / volume_of(cylinder), 1.0, 2e-6);
  EXPECT_LT((m.inertia_per_mass.diagonal() - inertia_per_mass(cylinder)).norm(), 2e-6);
  EXPECT_LT((m.inertia_per_mass - Mat3(m.inertia_per_mass.diagonal().asDiagonal())).norm(), 1e-13);
}

TEST(MassProperties, OfACapsuleAndAHollowCylinderAreTheSumsOfDiscs) {
  // integrals along the axis of discs (rings) of radius R(z) (and hole r(z)), midpoint rule
  const auto integrate = [](double lo, double hi, auto outer, auto inner, double& volume,
                            double& centre, Vec3& inertia) {
    const int n = 200000;
    double across = 0.0, about = 0.0, moment = 0.0;
    volume = 0.0;
    for (int i = 0; i < n; ++i) {
      const double z = lo + (hi - lo) * (i + 0.5) / n, dz = (hi - lo) / n;
      const double a = outer(z), b = inner(z);
      const double slice = kPi * (a * a - b * b) * dz,
                   square = kPi * (a * a * a * a - b * b * b * b);
      volume += slice;
      moment += slice * z;
      about += square / 2.0 * dz;
      across += square / 4.0 * dz + slice * z * z;
    }
    centre = moment / volume;
    inertia.setConstant(across / volume - centre * centre);
    inertia.z() = about / volume;
  };
  double volume = 0.0, centre = 0.0;
  Vec3 inertia;

  const Shape capsule{ShapeType::capsule, {0.3, 0.5, 0}};
  integrate(
      -0.8, 0.8,
      [](double z) {
        const double over = std::max(std::abs(z) - 0.5, 0.0);
        return std::sqrt(0.09 - over * over);
      },
      [](double) { return 0.0; }, volume, centre, inertia);
  EXPECT_NEAR(volume_of(capsule), volume, 1e-9);
  EXPECT_LT((inertia_per_mass(capsule) - inertia).norm(), 1e-9);

  for (std::uint8_t ends = 0; ends < 4; ++ends) {
    Shape drum{ShapeType::hollow_cylinder, {0.5, 0.4, 0.1}};
    drum.closed_ends = ends;
    integrate((ends & kLowerEnd) != 0 ? -0.5 : -0.4, (ends & kUpperEnd) != 0 ? 0.5 : 0.4,
              [](double) { return 0.6; }, [](double z) { return std::abs(z) < 0.4 ? 0.5 : 0.0; },
              volume, centre, inertia);
    EXPECT_NEAR(volume_of(drum), volume, 1e-5) << int{ends};
    EXPECT_NEAR(centre_of_mass(drum).z(), centre, 1e-5) << int{ends};
    EXPECT_LT((inertia_per_mass(drum) - inertia).norm(), 1e-5) << int{ends};
  }
}

TEST(MassProperties, OfTwoSpheresAreTheClosedForm) {
  // two spheres of radius r at distance d: I_along = 2/5 r^2, across 2/5 r^2 + d^2 / 4
  const Shape sphere{ShapeType::sphere, {0.1, 0, 0}};
  Geometry clump;
  clump.type = ShapeType::compound;
  const Vec3 along = Vec3(1, 2, 3).normalized();
  clump.parts = {{sphere, {{1, 1, 1}, Quat::Identity()}},
                 {sphere, {Vec3(1, 1, 1) + 0.3 * along, Quat::Identity()}}};
  complete_geometry(clump, GeometryFrame::principal);

  EXPECT_NEAR(clump.volume, 2.0 * volume_of(sphere), 1e-17);
  EXPECT_NEAR(clump.radius, 0.25, 1e-15);
  EXPECT_LT((clump.inertia_per_mass - Vec3(0.0265, 0.0265, 0.004)).norm(), 1e-16);
  // z is the given axis next to the line of centres, and turns onto it
  EXPECT_LT((clump.parts[1].pose.p - Vec3(0, 0, 0.15)).norm(), 1e-15);
  EXPECT_LT((clump.parts[0].pose.p + Vec3(0, 0, 0.15)).norm(), 1e-15);
}

/// A sphere, a capsule, a box and a hollow cylinder in each other.
std::vector<CompoundPart> tangled() {
  CompoundPart ball{{ShapeType::sphere, Vec3(0.5, 0, 0)}, {Vec3(0.2, 0, 0.1), Quat::Identity()}};
  CompoundPart rod{{ShapeType::capsule, Vec3(0.2, 0.6, 0)},
                   {Vec3(0.1, 0.2, 0), Quat(Eigen::AngleAxisd(0.7, Vec3(1, 2, 0).normalized()))}};
  CompoundPart box{
      {ShapeType::box, Vec3(0.3, 0.4, 0.2)},
      {Vec3(-0.2, 0.1, 0.2), Quat(Eigen::AngleAxisd(0.3, Vec3(0, 1, 1).normalized()))}};
  CompoundPart cup{{ShapeType::hollow_cylinder, Vec3(0.3, 0.4, 0.1)},
                   {Vec3(0.3, -0.3, 0), Quat(Eigen::AngleAxisd(1.1, Vec3::UnitX()))}};
  cup.shape.closed_ends = kLowerEnd;
  return {ball, rod, box, cup};
}

bool inside(const CompoundPart& part, const Vec3& world) {
  const Vec3 x = part.pose.q.conjugate() * (world - part.pose.p);
  const Vec3& s = part.shape.size;
  const double across = x.head<2>().norm();
  switch (part.shape.type) {
    case ShapeType::sphere:
      return x.norm() < s[0];
    case ShapeType::capsule:
      return (x - std::clamp(x[2], -s[1], s[1]) * Vec3::UnitZ()).norm() < s[0];
    case ShapeType::box:
      return (x.cwiseAbs().array() < s.array()).all();
    default:  // with its lower end closed
      return across < s[0] + s[2] && x[2] > -s[1] - s[2] && x[2] < s[1] &&
             !(across < s[0] && x[2] > -s[1]);
  }
}

TEST(MassProperties, OfPartsThatOverlapAreThoseOfTheirUnionByMonteCarlo) {
  const std::vector<CompoundPart> parts = tangled();
  const MassProperties found = mass_properties(parts, {});
  constexpr int kPoints = 2000000;
  const double edge = 2.6;
  double n = 0.0;
  Vec3 first = Vec3::Zero();
  Mat3 second = Mat3::Zero();
  for (int i = 0; i < kPoints; ++i) {
    Vec3 x;
    for (int k = 0; k < 3; ++k) x[k] = 0.5 * edge * uniform_pm1(3, i, k);
    if (std::ranges::none_of(parts, [&](const CompoundPart& p) { return inside(p, x); })) continue;
    n += 1.0;
    first += x;
    second += x * x.transpose();
  }
  const Vec3 centre = first / n;
  const Mat3 spread = second / n - centre * centre.transpose();
  const Mat3 inertia = spread.trace() * Mat3::Identity() - spread;

  // four standard deviations
  const double share = n / kPoints, error = 4.0 / std::sqrt(n);
  EXPECT_NEAR(found.volume, share * edge * edge * edge,
              found.volume * error * std::sqrt(1.0 - share));
  EXPECT_LT((found.centre - centre).norm(), error * std::sqrt(spread.trace()));
  EXPECT_LT((found.inertia_per_mass - inertia).norm(), 2.0 * error * inertia.norm());
  // and far from their sum
  double sum = 0.0;
  for (const CompoundPart& part : parts) sum += volume_of(part.shape);
  EXPECT_GT(sum, 1.2 * found.volume);
}

TEST(MassProperties, OfTwoSpheresInEachOtherAreThoseWithoutTheirLens) {
  // equal ones at the distance of their radius: the lens has 5 pi r^3 / 12
  const double r = 0.7;
  const CompoundPart a{{ShapeType::sphere, Vec3(r, 0, 0)}, {Vec3(0, 0, 0), Quat::Identity()}};
  CompoundPart b{{ShapeType::sphere, Vec3(r, 0, 0)}, {Vec3(0, r, 0), Quat::Identity()}};
  const std::vector<CompoundPart> twins = {a, b};
  const MassProperties found = mass_properties(twins, {});
  EXPECT_NEAR(found.volume, (8.0 / 3.0 - 5.0 / 12.0) * M_PI * r * r * r, 1e-14);
  EXPECT_LT((found.centre - Vec3(0, 0.5 * r, 0)).norm(), 1e-15);
  // about the line of centres: discs of radius rho(y), pi/2 rho^4 each, by Simpson's rule
  double turning = 0.0;
  const int n = 2000;
  for (int i = 0; i <= n; ++i) {
    const double y = -r + 1.5 * r * i / n;  // half of it, to the plane of symmetry
    const double rho2 = r * r - y * y;
    turning += (i == 0 || i == n ? 1.0 : i % 2 == 1 ? 4.0 : 2.0) * 0.5 * M_PI * rho2 * rho2;
  }
  turning *= 2.0 * 1.5 * r / n / 3.0;
  EXPECT_NEAR(found.inertia_per_mass(1, 1), turning / found.volume, 1e-12);

  // one wholly inside is not there
  b.shape.size[0] = 0.2;
  b.pose.p = Vec3(0.1, 0.2, 0.3);
  const std::vector<CompoundPart> shell = {a, b};
  EXPECT_NEAR(mass_properties(shell, {}).volume, 4.0 / 3.0 * M_PI * r * r * r, 1e-14);
  EXPECT_LT(mass_properties(shell, {}).centre.norm(), 1e-15);
}

TEST(MassProperties, OfABoxOfTwoThatOverlapAreTheBoxs) {
  // [-1, 1] and [0, 2] along x
  const CompoundPart a{{ShapeType::box, Vec3(1, 0.5, 0.25)}, {Vec3(0, 0, 0), Quat::Identity()}};
  const CompoundPart b{{ShapeType::box, Vec3(1, 0.5, 0.25)}, {Vec3(1, 0, 0), Quat::Identity()}};
  const std::vector<CompoundPart> parts = {a, b};
  const MassProperties found = mass_properties(parts, {});

  EXPECT_NEAR(found.volume, 3.0 * 1.0 * 0.5, 1e-12);
  EXPECT_LT((found.centre - Vec3(0.5, 0, 0)).norm(), 1e-12);
  EXPECT_NEAR(found.inertia_per_mass(2, 2), (9.0 + 1.0) / 12.0, 1e-4);
}

TEST(MassProperties, OfACompoundDoNotDependOnHowItsPartsAreMade) {
  // a box as two halves, and a hull among the parts
  const Shape half_box{ShapeType::box, {0.5, 0.2, 0.1}};
  std::vector<Geometry> geometries = {box_hull({0.5, 0.2, 0.1})};
  complete_geometry(geometries[0], GeometryFrame::principal);
  Geometry whole;
  whole.type = ShapeType::compound;
  const Quat q = some_rotation(2);
  whole.parts = {{half_box, {q * Vec3(0.5, 0, 0), q}},
                 {shape_of_geometry(geometries[0], 0), {q * Vec3(-0.5, 0, 0), q}}};
  complete_geometry(whole, GeometryFrame::principal, geometries);

  const Shape box{ShapeType::box, {1.0, 0.2, 0.1}};
  Vec3 sorted = whole.inertia_per_mass, expected = inertia_per_mass(box);
  std::sort(sorted.begin(), sorted.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_LT((sorted - expected).norm(), 1e-15);
  EXPECT_NEAR(whole.volume, volume_of(box), 1e-16);
  const Shape shape = scaled(shape_of_geometry(whole, 1), 2.0);
  geometries.push_back(whole);
  EXPECT_NEAR(volume_of(shape, geometries), 8.0 * volume_of(box), 1e-15);
  EXPECT_LT((inertia_per_mass(shape, geometries) - 4.0 * whole.inertia_per_mass).norm(), 1e-15);
}

TEST(PrincipalAxes, DiagonaliseAndTurnNothingInVain) {
  for (std::uint64_t n = 0; n < 500; ++n) {
    // positive, with two equal moments in every third case and all equal in some
    Vec3 principal(0.5 + uniform01(9, n, 0), 0.5 + uniform01(9, n, 1), 0.5 + uniform01(9, n, 2));
    if (n % 3 == 0) principal[1] = principal[n % 2 == 0 ? 0 : 2];
    if (n % 50 == 0) principal.setConstant(0.7);
    const Mat3 inertia = rotate_diagonal(some_rotation(n), principal);
    Vec3 moments;
    const Mat3 r = principal_axes(inertia, moments).toRotationMatrix();
    EXPECT_LT((r.transpose() * inertia * r - Mat3(moments.asDiagonal())).norm(), 1e-11) << n;
    EXPECT_NEAR(r.determinant(), 1.0, 1e-14);
    Vec3 a = moments, b = principal;
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    EXPECT_LT((a - b).norm(), 1e-11) << n;
  }
  Vec3 moments;
  // a body of revolution: only its axis is turned, onto the nearest of the given ones
  for (std::uint64_t n = 0; n < 100; ++n) {
    const Vec3 axis = some_vector(n).normalized();
    const Mat3 inertia =
        2.0 * Mat3::Identity() + (n % 2 == 0 ? 1.0 : -1.0) * axis * axis.transpose();
    const double least = std::acos(axis.cwiseAbs().maxCoeff());
    EXPECT_NEAR(principal_axes(inertia, moments).angularDistance(Quat::Identity()), least, 1e-7);
  }
  const Mat3 diagonal = Vec3(3, 1, 2).asDiagonal();
  EXPECT_TRUE(principal_axes(diagonal, moments).isApprox(Quat::Identity(), 0.0));
  EXPECT_EQ(moments, Vec3(3, 1, 2));
  // a small turn of distinct axes is answered by that small turn, not by another order
  const Quat small(Eigen::AngleAxisd(0.1, Vec3(1, 2, -1).normalized()));
  const Quat found = principal_axes(rotate_diagonal(small, {3, 1, 2}), moments);
  EXPECT_LT(found.angularDistance(small), 1e-14);
}

/// Support of a shape in direction d by its definition, relative to the body's origin.
double support(const Shape& s, const Vec3& d, std::span<const Geometry> geometries) {
  const double across = std::hypot(d.x(), d.y());
  switch (s.type) {
    case ShapeType::sphere:
      return s.size.x() * d.norm();
    case ShapeType::box:
      return s.size.dot(d.cwiseAbs());
    case ShapeType::capsule:
      return s.size.x() * d.norm() + s.size.y() * std::abs(d.z());
    case ShapeType::cylinder:
      return s.size.x() * across + s.size.y() * std::abs(d.z());
    case ShapeType::hollow_cylinder: {
      const bool closed = (s.closed_ends & (d.z() > 0 ? kUpperEnd : kLowerEnd)) != 0;
      return (s.size.x() + s.size.z()) * across +
             (s.size.y() + (closed ? s.size.z() : 0.0)) * std::abs(d.z());
    }
    default: {
      const Geometry& g = geometries[static_cast<std::size_t>(s.geometry)];
      double most = -1e300;
      for (const Vec3& v : g.vertices) most = std::max(most, s.size.x() * v.dot(d));
      for (const CompoundPart& part : g.parts) {
        const Vec3 local = part.pose.q.conjugate() * d;
        most = std::max(most,
                        s.size.x() * (part.pose.p.dot(d) + support(part.shape, local, geometries)));
      }
      return most;
    }
  }
}

TEST(Shape, BoundsAreTheSupportsAlongTheAxesAndLieWithinTheBoundingRadius) {
  std::vector<Geometry> geometries(2);
  geometries[0] = box_hull({0.3, 0.2, 0.4});
  geometries[0].vertices[3] += Vec3(0.1, 0.05, -0.2);
  complete_geometry(geometries[0], GeometryFrame::as_written);
  geometries[1].type = ShapeType::compound;
  std::vector<Shape> shapes = {{ShapeType::sphere, {0.3, 0.3, 0.3}},
                               {ShapeType::box, {0.3, 0.2, 0.4}},
                               {ShapeType::capsule, {0.1, 0.4, 0}},
                               {ShapeType::cylinder, {0.3, 0.2, 0}},
                               {ShapeType::hollow_cylinder, {0.3, 0.2, 0.05}},
                               {ShapeType::hollow_cylinder, {0.3, 0.2, 0.05}}};
  shapes[4].closed_ends = kUpperEnd;
  shapes[5].closed_ends = kUpperEnd | kLowerEnd;
  shapes.push_back(scaled(shape_of_geometry(geometries[0], 0), 1.5));
  for (std::size_t k = 0; k < shapes.size(); ++k)
    geometries[1].parts.push_back({shapes[k], {some_vector(k), some_rotation(k)}});
  complete_geometry(geometries[1], GeometryFrame::principal, geometries);
  shapes.push_back(scaled(shape_of_geometry(geometries[1], 1), 0.5));

  for (std::uint64_t n = 0; n < 200; ++n) {
    const Pose pose{some_vector(n + 7), some_rotation(n + 31)};
    for (const Shape& shape : shapes) {
      const Aabb box = bounds_of(shape, pose, geometries);
      for (int i = 0; i < 3; ++i) {
        const Vec3 up = pose.q.conjugate() * Vec3::Unit(i);
        EXPECT_NEAR(box.hi[i], pose.p[i] + support(shape, up, geometries), 1e-12);
        EXPECT_NEAR(box.lo[i], pose.p[i] - support(shape, -up, geometries), 1e-12);
      }
      EXPECT_LE(support(shape, some_vector(n).normalized(), geometries),
                bounding_radius(shape) + 1e-12);
    }
  }
}

TEST(BoxTree, FindsWhatAllPairsOfBoxesFind) {
  std::vector<Aabb> boxes;
  for (std::uint64_t i = 0; i < 500; ++i) {
    const Vec3 centre = some_vector(i);
    boxes.push_back({centre - Vec3::Constant(0.05), centre + Vec3::Constant(0.05)});
  }
  const BoxTree tree = build_box_tree(boxes);
  for (std::uint64_t n = 0; n < 100; ++n) {
    const Vec3 at = some_vector(1000 + n);
    const Aabb probe{at - Vec3::Constant(0.2), at + Vec3::Constant(0.2)};
    std::vector<std::int32_t> found, expected;
    for_each_overlap(tree, boxes, probe, [&](std::int32_t i) { found.push_back(i); });
    for (std::size_t i = 0; i < boxes.size(); ++i)
      if (boxes[i].overlaps(probe)) expected.push_back(static_cast<std::int32_t>(i));
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, expected);
  }
  EXPECT_TRUE(build_box_tree({}).nodes.empty());
}

}  // namespace
}  // namespace catena
