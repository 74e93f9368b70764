// Short forms of the granular cases in configs/validation: silo, flow through a hole, repose.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "analytic/case_runner.hpp"
#include "support/gravity.hpp"

namespace catena::test {
namespace {

std::unique_ptr<Simulation> validation_case(const std::string& name,
                                            std::vector<std::string> sets) {
  if (contacts_give()) sets.push_back("contact.stiffness=auto");
  const Communicator comm = Communicator::self();
  return std::make_unique<Simulation>(
      comm, read_case(comm, std::string(CATENA_CONFIGS) + "/validation/" + name + ".yaml", sets));
}

TEST(Janssen, SinkingFloorOfASiloCarriesWhatTheWallLeaves) {
  const double width = 0.12, wall_friction = 0.5;
  const auto sim = validation_case("janssen", {"time.end=1.1"});
  double load = 0.0;
  int samples = 0;
  const double h = sim->settings().time.step;
  while (sim->state().step < sim->n_steps()) {
    sim->step();
    if (sim->state().time < 0.7) continue;
    for (const KeyedImpulse& k : sim->state().impulses) {
      if (k.key.a == 0) load += k.impulse.z() / h;
      if (k.key.a != 1) continue;
      // Coulomb's law on the wall, whose normals are radial
      const Vec3 p = body_of(*sim, k.key.b).pose.p;
      const Vec3 radial = Vec3(p.x(), p.y(), 0.0).normalized();
      const double normal = std::abs(k.impulse.dot(radial));
      const double shear = (k.impulse - k.impulse.dot(radial) * radial).norm();
      // the grain has moved since the contact was made, by up to 1 % of the radius
      EXPECT_LE(shear, wall_friction * normal * 1.05 + 1e-9);
    }
    ++samples;
  }
  load /= samples;

  double weight = 0.0, moment = 0.0;
  const double floor = -0.05 * sim->state().time;  // where it has sunk to
  for (const BodyConstants& body : sim->bodies().constants) {
    if (body.kind != BodyKind::dynamic) continue;
    const double z = body_of(*sim, body.id).pose.p.z() - floor;
    weight += kG * body.mass;
    moment += kG * body.mass * z;
  }
  const double height = 2.0 * moment / weight;  // of a uniform fill
  const auto part = [&](double k) {
    const double length = width / (4.0 * wall_friction * k);
    return length / height * (1.0 - std::exp(-height / length));
  };
  std::printf("silo filled to %.2f widths: floor carries %.3f of the weight, band %.3f .. %.3f\n",
              height / width, load / weight, part(1.1), part(0.5));
  // the load scatters by a quarter from step to step, and the effective K is close to 0.5 here
  EXPECT_GT(load / weight, part(1.1));
  EXPECT_LT(load / weight, 1.05 * part(0.5));
}

/// Mass flow through a hole of `width` disks between two times, kg/s.
double flow_through(double width, double from, double until) {
  const std::string x = text_of(0.2 + 0.5 * width * 0.01);
  const auto sim = validation_case("beverloo_2d", {"generators.grains.count=[53,1,70]",
                                                   "bodies.left.position=[-" + x + ",0,-0.01]",
                                                   "bodies.right.position=[" + x + ",0,-0.01]"});
  run_until(*sim, from);
  const double before = sim->state().flow.removed_mass;
  run_until(*sim, until);
  return (sim->state().flow.removed_mass - before) / (until - from);
}

TEST(Beverloo, FlowOfDisksGrowsWithThePowerThreeHalvesOfTheHole) {
  const double narrow = flow_through(8.0, 0.9, 1.9), wide = flow_through(14.0, 0.9, 1.5);

  const double exponent = std::log(wide / narrow) / std::log((14.0 - 1.4) / (8.0 - 1.4));
  std::printf("flow through 8 disks %.3f kg/s, through 14 %.3f kg/s: exponent %.2f\n", narrow, wide,
              exponent);
  // the published band 1.4 .. 1.6, and 5 % for the scatter of a thousand disks
  EXPECT_NEAR(exponent, 1.5, 0.1 + 0.05 / std::log(12.6 / 6.6));
}

double angle_of_repose(const std::string& friction) {
  const auto sim = validation_case(
      "repose", {"materials.grain.friction=" + friction, "generators.grains.count=[30,6,15]"});
  run_until(*sim, 2.0);
  std::vector<std::vector<double>> strips(18);
  for (const BodyConstants& body : sim->bodies().constants) {
    if (body.kind != BodyKind::dynamic) continue;
    const Vec3 p = body_of(*sim, body.id).pose.p;
    const int strip = static_cast<int>(std::floor(p.x() / 0.02));
    if (strip >= 0 && strip < 18) strips[static_cast<std::size_t>(strip)].push_back(p.z());
  }
  std::vector<Vec3> surface;  // x, mean height of the four highest
  double highest = 0.0;
  for (std::size_t s = 0; s < strips.size(); ++s) {
    if (strips[s].size() < 4) continue;
    std::sort(strips[s].rbegin(), strips[s].rend());
    double z = 0.0;
    for (std::size_t k = 0; k < 4; ++k) z += strips[s][k] / 4.0;
    surface.emplace_back(0.02 * (static_cast<double>(s) + 0.5), 0.0, z);
    highest = std::max(highest, z);
  }
  double n = 0, sx = 0, sz = 0, sxx = 0, sxz = 0;
  for (const Vec3& p : surface) {
    if (p.z() < 0.15 * highest || p.z() > 0.8 * highest) continue;
    n += 1, sx += p.x(), sz += p.z(), sxx += p.x() * p.x(), sxz += p.x() * p.z();
  }
  return -std::atan((n * sxz - sx * sz) / (n * sxx - sx * sx)) * 180.0 / std::numbers::pi;
}

TEST(AngleOfRepose, LiesInTheBandsAndGrowsWithFriction) {
  const double smooth = angle_of_repose("0.1"), rough = angle_of_repose("0.5");

  std::printf("angle of repose: %.1f degrees at friction 0.1, %.1f at 0.5\n", smooth, rough);
  EXPECT_GT(smooth, 9.0);
  EXPECT_LT(smooth, 19.0);
  EXPECT_GT(rough, 18.0);
  EXPECT_LT(rough, 28.0);
  EXPECT_GT(rough, smooth + 2.0);  // more than the scatter of one bed
}

}  // namespace
}  // namespace catena::test
