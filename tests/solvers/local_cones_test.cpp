// No local solve and no kernel leaves the cone, wherever it starts from: random contacts in great
// numbers, many of them without friction.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "catena/base/random.hpp"
#include "solvers/batches/local/local_solve.hpp"
#include "solvers/batches/local/rolling_contact.hpp"
#include "solvers/kernel_paths.hpp"
#include "support/cone_distance.hpp"
#include "support/sanitized.hpp"

namespace catena {
namespace {

using test::add_contact_rows;
using test::Outside;

/// Of the largest impulse of a contact.
constexpr double kRoundOff = 1e-14;

/// `full` with CATENA_LONG_TESTS in the environment.
std::uint64_t samples(std::uint64_t usual, std::uint64_t full) {
  if (std::getenv("CATENA_LONG_TESTS") != nullptr) return full;
  return test::kSanitized ? usual / 20 : usual;
}

constexpr std::array<ContactLaw, 4> kLaws = {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::box,
                                             ContactLaw::frictionless};

std::string name_of(ContactLaw law, LocalSolve local, double omega) {
  return "law " + std::to_string(static_cast<int>(law)) + " local " +
         std::to_string(static_cast<int>(local)) + " omega " + std::to_string(omega);
}

/// The local solves that fit a law.
std::vector<LocalSolve> locals_of(ContactLaw law) {
  if (law == ContactLaw::coulomb)
    return {LocalSolve::exact, LocalSolve::project, LocalSolve::sliding, LocalSolve::scalar};
  if (law == ContactLaw::ccp) return {LocalSolve::exact, LocalSolve::cone};
  return {LocalSolve::exact};
}

/// Random numbers of sample i.
class Draw {
 public:
  explicit Draw(std::uint64_t i) : i_(i) {}
  double pm1() { return uniform_pm1(7, i_, next_++); }
  bool one_in(int n) { return uniform01(7, i_, next_++) * n < 1.0; }
  /// A third of all coefficients is 0; the others span what materials have and beyond.
  double friction() { return one_in(3) ? 0.0 : std::pow(10.0, 2.0 * pm1()); }
  double size() { return std::pow(10.0, 3.0 * pm1()); }
  /// Inside the cone, on it, outside, on the polar cone or on its axis: mu t = -n.
  Vec3 impulse(double mu) {
    const double n = pm1();
    Vec3 x(n, pm1(), pm1());
    if (one_in(3)) x.tail<2>().setZero();
    if (one_in(4)) x.tail<2>() *= mu * std::abs(n) / std::max(x.tail<2>().norm(), 1e-300);
    if (one_in(4) && mu > 0.0)
      x.tail<2>() *= std::abs(n) / (mu * std::max(x.tail<2>().norm(), 1e-300));
    return size() * x;
  }

 private:
  std::uint64_t i_, next_ = 0;
};

/// `size` of the impulses from which z was made: what cancels leaves their round-off.
double relative(ContactLaw law, const Vec3& z, double mu, double size = 0.0) {
  Outside out;
  out.largest = size;
  add_contact_rows(law, std::array<double, 6>{z[0], z[1], z[2], 0, 0, 0}, {mu, 0, 0}, 0.0, out);
  return out.relative();
}

/// Symmetric positive definite, many nearly singular.
Mat3 random_block(Draw& draw) {
  Mat3 a;
  for (int i = 0; i < 9; ++i) a.data()[i] = draw.pm1();
  Mat3 d = a * a.transpose() + std::pow(10.0, 4.0 * draw.pm1() - 4.0) * Mat3::Identity();
  if (draw.one_in(4)) d = Vec3(d(0, 0), d(1, 1), d(1, 1)).asDiagonal();
  return draw.size() * d;
}

TEST(LocalCones, NoLocalSolveLeavesTheCone) {
  const std::uint64_t n = samples(60000, 1000000);
  for (const ContactLaw law : kLaws)
    for (const LocalSolve local : locals_of(law))
      for (const double omega : {1.0, 1.4}) {
        double worst = 0.0;
        for (std::uint64_t i = 0; i < n; ++i) {
          Draw draw(i);
          const ContactBlock block = make_contact_block(random_block(draw));
          const double mu = draw.friction();
          const Vec3 lambda = admissible_contact(law, draw.impulse(mu), mu);
          const Vec3 w = block.largest * draw.impulse(mu);
          const double off =
              std::max(relative(law, lambda, mu),
                       relative(law, solve_contact({law, local, omega}, block, w, lambda, mu), mu));
          worst = std::max(worst, off);
          ASSERT_LE(off, kRoundOff)
              << name_of(law, local, omega) << " sample " << i << " mu " << mu;
        }
        std::printf("%s: within %.1e of the largest impulse\n", name_of(law, local, omega).c_str(),
                    worst);
      }
}

constexpr std::array<ContactLaw, 3> kBatchLaws = {ContactLaw::coulomb, ContactLaw::ccp,
                                                  ContactLaw::frictionless};
BatchLaw batch_law(ContactLaw law) {
  return law == ContactLaw::coulomb ? BatchLaw::coulomb
         : law == ContactLaw::ccp   ? BatchLaw::ccp
                                    : BatchLaw::frictionless;
}

void put(const Vec3& x, double (&to)[3][kLanes], int lane) {
  for (int i = 0; i < 3; ++i) to[i][lane] = x[i];
}
Vec3 get(const double (&from)[3][kLanes], int lane) {
  return {from[0][lane], from[1][lane], from[2][lane]};
}

struct Frame {
  explicit Frame(Draw& draw)
      : normal(Vec3(draw.pm1(), draw.pm1(), draw.pm1() + 1e-9).normalized()),
        tangent(normal.unitOrthogonal()),
        second(normal.cross(tangent)) {}
  Vec3 normal, tangent, second;
};

/// A batch of contacts between two bodies each, and the bodies with their velocities.
struct Spheres {
  explicit Spheres(std::uint64_t batch) {
    for (int lane = 0; lane < kLanes; ++lane) {
      Draw draw(kLanes * batch + static_cast<std::uint64_t>(lane));
      const Frame frame(draw);
      c.a[lane] = 2 * lane + 1;
      c.b[lane] = 2 * lane + 2;
      const double mass = draw.size();
      for (int b = 1; b <= 2; ++b) {
        double* line = lines[static_cast<std::size_t>(2 * lane + b)].x;
        for (int i = 0; i < 6; ++i) line[i] = draw.pm1() * (draw.one_in(4) ? 100.0 : 1.0);
        line[kInverseMass] = b == 1 && draw.one_in(3) ? 0.0 : (1.2 + draw.pm1()) / mass;
        line[kInverseInertia] = 2.5 * line[kInverseMass];
      }
      put(frame.normal, c.n, lane);
      c.arm_a[lane] = draw.pm1();
      c.arm_b[lane] = draw.pm1();
      c.bias[lane] = 10.0 * draw.pm1();
      const double mu = c.friction[lane] = draw.friction();
      const Vec3 x = mass * draw.impulse(mu);
      // a third without any slip, so that the tangent of the trial is 0
      if (draw.one_in(3))
        for (int b = 1; b <= 2; ++b) {
          double* line = lines[static_cast<std::size_t>(2 * lane + b)].x;
          for (int i = 0; i < 6; ++i) line[i] = i < 3 ? b * frame.normal[i] : 0.0;
        }
      put(x[0] * frame.normal + x[1] * frame.tangent + x[2] * frame.second, c.p, lane);
      tangent[lane] = frame.tangent;
      second[lane] = frame.second;
      const auto part = [&](int b, int i) {
        return lines[static_cast<std::size_t>(2 * lane + b)].x[i];
      };
      const double d_n = part(1, kInverseMass) + part(2, kInverseMass);
      const double d_t = d_n + c.arm_a[lane] * c.arm_a[lane] * part(1, kInverseInertia) +
                         c.arm_b[lane] * c.arm_b[lane] * part(2, kInverseInertia);
      c.inverse_d_n[lane] = 1.0 / d_n;
      c.inverse_d_t[lane] = 1.0 / d_t;
    }
  }
  SphereBatch c{};
  std::array<BodyLine, 2 * kLanes + 1> lines{};
  Vec3 tangent[kLanes], second[kLanes];
};

TEST(LocalCones, NoKernelOfSpheresLeavesTheCone) {
  const std::uint64_t batches = samples(200000, 1000000) / kLanes;
  for (std::uint64_t batch = 0; batch < batches; ++batch) {
    const Spheres start(batch);
    for (const KernelPath path : test::kernel_paths()) {
      const BatchKernels kernels = choose_kernels(path);
      for (const ContactLaw law : kBatchLaws)
        for (const double omega : {1.0, 1.4}) {
          Spheres s = start;
          kernels.sphere(&s.c, 1, s.lines.data(), {batch_law(law), omega, nullptr, nullptr, false},
                         true, nullptr);
          for (int lane = 0; lane < kLanes; ++lane) {
            const Vec3 p = get(s.c.p, lane), n = get(s.c.n, lane);
            const Vec3 z(n.dot(p), s.tangent[lane].dot(p), s.second[lane].dot(p));
            const double size = get(start.c.p, lane).norm();
            ASSERT_LE(relative(law, z, s.c.friction[lane], size), kRoundOff)
                << kernels.name << " law " << static_cast<int>(law) << " omega " << omega
                << " batch " << batch << " lane " << lane << ": " << z.transpose() << " mu "
                << s.c.friction[lane];
          }
        }
    }
  }
}

/// What an GeneralContactBatch asks for where it does not solve a contact itself.
void solve_one(const void* context, const double* d, const double* w, const double* lambda,
               double friction, double* z) {
  Mat3 full;
  full << d[0], d[1], d[2], d[1], d[3], d[4], d[2], d[4], d[5];
  const Vec3 solved =
      solve_contact(*static_cast<const LocalSolveOptions*>(context), make_contact_block(full),
                    {w[0], w[1], w[2]}, {lambda[0], lambda[1], lambda[2]}, friction);
  std::copy_n(solved.data(), 3, z);
}

struct Arms {
  explicit Arms(std::uint64_t batch) {
    for (int lane = 0; lane < kLanes; ++lane) {
      Draw draw(kLanes * batch + static_cast<std::uint64_t>(lane));
      const Frame frame(draw);
      c.a[lane] = 2 * lane + 1;
      c.b[lane] = 2 * lane + 2;
      for (int b = 1; b <= 2; ++b)
        for (int i = 0; i < 6; ++i)
          lines[static_cast<std::size_t>(2 * lane + b)].x[i] = draw.size() * draw.pm1();
      put(frame.normal, c.n, lane);
      put(frame.tangent, c.t, lane);
      put({draw.pm1(), draw.pm1(), draw.pm1()}, c.arm_a, lane);
      put({draw.pm1(), draw.pm1(), draw.pm1()}, c.arm_b, lane);
      put({draw.pm1(), draw.pm1(), draw.pm1()}, c.bias, lane);
      const double mu = c.friction[lane] = draw.friction();
      put(draw.impulse(mu), c.lambda, lane);
      const Mat3 d = make_contact_block(random_block(draw)).d;
      const double packed[6] = {d(0, 0), d(0, 1), d(0, 2), d(1, 1), d(1, 2), d(2, 2)};
      for (int i = 0; i < 6; ++i) c.d[i][lane] = packed[i];
    }
  }
  GeneralContactBatch c{};
  std::array<BodyLine, 2 * kLanes + 1> lines{};
  std::array<InertiaLine, 2 * kLanes + 1> inertia{};
};

TEST(LocalCones, NoKernelOfArmsLeavesTheCone) {
  const std::uint64_t batches = samples(80000, 1000000) / kLanes;
  const LocalSolveOptions rules;
  for (std::uint64_t batch = 0; batch < batches; ++batch) {
    const Arms start(batch);
    for (const KernelPath path : test::kernel_paths()) {
      const BatchKernels kernels = choose_kernels(path);
      Arms s = start;
      kernels.arm(&s.c, 1, s.lines.data(), s.inertia.data(),
                  {BatchLaw::coulomb, 1.0, solve_one, &rules, true}, true, nullptr);
      for (int lane = 0; lane < kLanes; ++lane)
        ASSERT_LE(relative(rules.law, get(s.c.lambda, lane), s.c.friction[lane]), kRoundOff)
            << kernels.name << " batch " << batch << " lane " << lane;
    }
  }
}

TEST(LocalCones, NoStepOfFirstOrderMethodsLeavesTheCone) {
  const std::uint64_t n_batches = samples(400000, 1000000) / kLanes;
  std::array<BodyLine, 2> velocities{}, forces{};
  for (std::uint64_t k = 0; k < n_batches; ++k) {
    SphereBatch spheres{};
    GeneralContactBatch arms{};
    StepBatch sphere_iterates{}, arm_iterates{};
    for (int lane = 0; lane < kLanes; ++lane) {
      Draw draw(kLanes * k + static_cast<std::uint64_t>(lane));
      const double mu = spheres.friction[lane] = arms.friction[lane] = draw.friction();
      const Vec3 bias = draw.impulse(mu);
      spheres.b[lane] = arms.b[lane] = 1;
      // in the frame of the unit vectors rows are components
      spheres.n[0][lane] = arms.n[0][lane] = arms.t[1][lane] = 1.0;
      spheres.bias[lane] = bias[0];
      for (int r = 0; r < 3; ++r) arms.bias[r][lane] = bias[r];
      for (int r = 1; r < 3; ++r) spheres.slip_bias[r][lane] = bias[r];
      for (StepBatch* iterates : {&sphere_iterates, &arm_iterates}) {
        iterates->h_n[lane] = 1.0;
        iterates->h_t[lane] = 0.6;
        for (int slot = 0; slot < 2; ++slot) {
          const Vec3 x = draw.impulse(mu);
          for (int r = 0; r < 3; ++r) iterates->x[slot][r][lane] = x[r];
        }
      }
    }
    for (const KernelPath path : test::kernel_paths())
      for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::box}) {
        const BatchKernels kernels = choose_kernels(path);
        const bool box = law == ContactLaw::box;
        const StepPass pass{.velocities = velocities.data(),
                            .forces = forces.data(),
                            .weights = {{1.3, -0.3}, 0.8, law == ContactLaw::coulomb},
                            .slots = {},
                            .box = box};
        kernels.arm_steps(&arms, &arm_iterates, 1, pass);
        if (!box) kernels.sphere_steps(&spheres, &sphere_iterates, 1, pass);
        for (int lane = 0; lane < kLanes; ++lane) {
          ASSERT_LE(relative(law, get(arm_iterates.x[2], lane), arms.friction[lane]), kRoundOff)
              << kernels.name << " law " << static_cast<int>(law) << " batch " << k;
          if (!box) {
            ASSERT_LE(relative(law, get(sphere_iterates.x[2], lane), spheres.friction[lane]),
                      kRoundOff)
                << kernels.name << " law " << static_cast<int>(law) << " batch " << k;
          }
        }
      }
  }
}

TEST(LocalCones, NoLocalSolveLeavesTheConeOfAWideContact) {
  const std::uint64_t n = samples(1500, 1000000);
  for (const ContactLaw law : kLaws)
    for (const LocalSolve local : locals_of(law))
      for (const double omega : {1.0, 1.4}) {
        for (std::uint64_t i = 0; i < n; ++i) {
          Draw draw(i);
          BlockView view{BlockKind::contact, 0, 6, draw.friction(), -1.0, -1.0, 0.0};
          view.rolling = draw.one_in(4) ? -1.0 : 0.01 * draw.friction();
          view.spinning = view.rolling >= 0.0 && draw.one_in(4) ? -1.0 : 0.01 * draw.friction();
          view.rows = 3 + (view.rolling >= 0.0 ? 2 : 0) + (view.spinning >= 0.0 ? 1 : 0);
          const auto m = static_cast<std::size_t>(view.rows);
          Eigen::MatrixXd a(view.rows, view.rows);
          for (Eigen::Index e = 0; e < a.size(); ++e) a.data()[e] = draw.pm1();
          const Eigen::MatrixXd d =
              a * a.transpose() + 1e-3 * Eigen::MatrixXd::Identity(view.rows, view.rows);
          const RollingContact contact =
              make_wide_contact(contact_cone(law, view), view.rows, {d.data(), m * m});
          const auto relative_of = [&](const std::vector<double>& lambda) {
            Outside out;
            std::array<double, 6> rows{};
            const std::array<int, 6> place = standard_row_slots(view);
            for (std::size_t r = 0; r < 6; ++r)
              if (place[r] >= 0) rows[r] = lambda[static_cast<std::size_t>(place[r])];
            add_contact_rows(law, rows, {view.friction, view.rolling, view.spinning}, 0.0, out);
            return out.relative();
          };
          std::vector<double> lambda(m), w(m);
          for (std::size_t r = 0; r < m; ++r) {
            lambda[r] = draw.pm1() * (r < 3 ? 1.0 : 0.01);
            w[r] = draw.pm1();
          }
          if (draw.one_in(3)) std::fill(lambda.begin() + 1, lambda.end(), 0.0);
          make_admissible(law, contact, lambda);
          ASSERT_LE(relative_of(lambda), kRoundOff) << "guess, sample " << i;

          solve_wide_contact({law, local, omega}, contact, w, lambda);

          ASSERT_LE(relative_of(lambda), kRoundOff)
              << name_of(law, local, omega) << " sample " << i;
        }
      }
}

}  // namespace
}  // namespace catena
