// Times the pivoting solver on dropped spheres, a step as ODE takes it: normals without friction,
// then friction within mu times those (law box, one pass).
//
//   bench_dantzig [SCENE ...] [Google Benchmark options]
//
// Without scenes: lattices of 20 to 300 jittered spheres (radius 45 to 55 mm, 2500 kg/m^3, mu 0.5,
// steps of 5 ms) dropped into an open box and settled for 600 steps of Gauss-Seidel. A SCENE is a
// text file of such spheres: a line of comment, `N W mu rho g h`, then per sphere
// `r x y z qw qx qy qz vx vy vz wx wy wz`, in the box |x|, |y| <= W/2, z >= 0. Overlaps are taken
// back by 0.2 a step. Counters: rows (3 a contact), contacts. CPU time, one rank.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <numbers>
#include <string>
#include <vector>

#include "catena/base/random.hpp"
#include "catena/solvers/solver_factory.hpp"

namespace {

using namespace catena;

constexpr double kErrorReduction = 0.2;  // of the overlap, a step

struct Sphere {
  double radius = 0.0, mass = 0.0;
  Vec3 p = Vec3::Zero();
  Twist twist;
};

struct Spheres {
  double width = 0.0, friction = 0.5, density = 2500.0, gravity = 9.81, step = 0.005;
  std::vector<Sphere> all;

  void add(double radius, const Vec3& p, const Twist& twist) {
    const double mass = density * 4.0 / 3.0 * std::numbers::pi * radius * radius * radius;
    all.push_back({radius, mass, p, twist});
  }
};

Spheres lattice(int n) {
  constexpr double kSpacing = 0.115;
  const int edge = static_cast<int>(std::ceil(std::cbrt(n) - 1e-9));
  Spheres out;
  out.width = edge * kSpacing;
  for (int i = 0; i < n; ++i) {
    const auto jitter = [&](std::uint64_t k) {
      return uniform01(12345, static_cast<std::uint64_t>(i), k);
    };
    const Vec3 cell(i % edge, i / edge % edge, i / (edge * edge));
    const Vec3 moved(jitter(1) - 0.5, jitter(2) - 0.5, jitter(3) - 0.5);
    Vec3 p = kSpacing * (cell + Vec3::Constant(0.5)) + 0.004 * moved;
    p[0] -= 0.5 * out.width;
    p[1] -= 0.5 * out.width;
    out.add(0.045 + 0.01 * jitter(0), p, {});
  }
  return out;
}

Spheres read_scene(const std::string& path) {
  std::ifstream in(path);
  std::string comment;
  std::getline(in, comment);
  std::size_t n = 0;
  Spheres out;
  in >> n >> out.width >> out.friction >> out.density >> out.gravity >> out.step;
  for (std::size_t i = 0; i < n; ++i) {
    double radius, turn;
    Vec3 p;
    Twist t;
    in >> radius >> p[0] >> p[1] >> p[2] >> turn >> turn >> turn >> turn;
    in >> t.v[0] >> t.v[1] >> t.v[2] >> t.w[0] >> t.w[1] >> t.w[2];
    out.add(radius, p, t);
  }
  if (!in) throw std::runtime_error("cannot read " + path);
  return out;
}

void add_contact(const Spheres& s, Index a, Index b, const Vec3& normal, const Vec3& arm_a,
                 double gap, ConstraintProblem& problem) {
  if (gap >= 0.0) return;
  RigidContact c;
  c.body_a = a;
  c.body_b = b;
  c.normal = normal;
  // as ODE's dPlaneSpace
  c.tangent = (std::abs(normal[2]) > std::sqrt(0.5) ? Vec3(0.0, -normal[2], normal[1])
                                                    : Vec3(-normal[1], normal[0], 0.0))
                  .normalized();
  c.arm_a = arm_a;
  c.arm_b = -s.all[b - 1].radius * normal;
  c.bias = kErrorReduction / s.step * gap;
  c.friction = s.friction;
  problem.contacts.push_back(c);
}

ConstraintProblem problem_of(const Spheres& s) {
  ConstraintProblem problem(Communicator::self());
  problem.law = ContactLaw::box;
  problem.bodies.add_prescribed(0, {});
  const auto n = to_index(s.all.size());
  const std::array<Vec3, 5> walls = {Vec3::UnitZ(), Vec3::UnitX(), Vec3(-Vec3::UnitX()),
                                     Vec3::UnitY(), Vec3(-Vec3::UnitY())};
  for (Index i = 0; i < n; ++i) {
    const Sphere& a = s.all[i];
    Twist free = a.twist;
    free.v[2] -= s.gravity * s.step;
    problem.bodies.add_rigid(i + 1, 1.0 / a.mass, 1.0 / (0.4 * a.mass * a.radius * a.radius), free);
    for (const Vec3& wall : walls) {
      const double gap = wall.dot(a.p) + (wall[2] == 0.0 ? 0.5 * s.width : 0.0) - a.radius;
      add_contact(s, 0, i + 1, wall, a.p - a.radius * wall, gap, problem);
    }
  }
  for (Index i = 0; i < n; ++i)
    for (Index j = i + 1; j < n; ++j) {
      const Sphere& a = s.all[i];
      const Sphere& b = s.all[j];
      const Vec3 apart = b.p - a.p;
      const double distance = apart.norm();
      const Vec3 normal = apart / distance;
      add_contact(s, i + 1, j + 1, normal, a.radius * normal, distance - a.radius - b.radius,
                  problem);
    }
  problem.bodies.n_owned = problem.bodies.size();
  return problem;
}

void settle(Spheres& s) {
  constexpr int kSteps = 600;
  SolverSettings settings;
  settings.stop.max_iterations = 100;
  const std::unique_ptr<Solver> solver = make_solver(settings);
  for (int step = 0; step < kSteps; ++step) {
    const ConstraintProblem problem = problem_of(s);
    std::vector<double> impulses(problem.n_rows(), 0.0);
    std::vector<double> v(problem.bodies.n_dofs());
    solver->solve(problem, impulses, v);
    for (std::size_t i = 0; i < s.all.size(); ++i) {
      const double* own = v.data() + problem.bodies.dof_begin[i + 1];
      s.all[i].twist = {Vec3(own[0], own[1], own[2]), Vec3(own[3], own[4], own[5])};
      s.all[i].p += s.step * s.all[i].twist.v;
    }
  }
}

void one_pass(benchmark::State& state, const ConstraintProblem& problem) {
  SolverSettings settings{.method = SolverMethod::dantzig};
  settings.stop.max_iterations = 1;
  settings.stop.relative_tolerance = settings.stop.absolute_tolerance = 0.0;
  settings.stop.history_set = settings.stop.report_set = ErrorSet::energy;
  const std::unique_ptr<Solver> solver = make_solver(settings);
  std::vector<double> impulses(problem.n_rows());
  std::vector<double> velocities(problem.bodies.n_dofs());
  for (auto _ : state) {
    std::fill(impulses.begin(), impulses.end(), 0.0);
    solver->solve(problem, impulses, velocities);
  }
  state.counters["rows"] = problem.n_rows();
  state.counters["contacts"] = static_cast<double>(problem.contacts.size());
}

void add_benchmark(const Spheres& spheres) {
  const ConstraintProblem problem = problem_of(spheres);
  benchmark::RegisterBenchmark(("pass/" + std::to_string(spheres.all.size())).c_str(),
                               [problem](benchmark::State& state) { one_pass(state, problem); })
      ->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  const Communicator world = Communicator::world();
  benchmark::Initialize(&argc, argv);
  try {
    for (int i = 1; i < argc; ++i) add_benchmark(read_scene(argv[i]));
    for (const int n : {20, 40, 60, 80, 120, 150, 200, 300}) {
      if (argc > 1) break;
      Spheres spheres = lattice(n);
      settle(spheres);
      add_benchmark(spheres);
    }
    benchmark::RunSpecifiedBenchmarks();
  } catch (const std::exception& error) {
    std::cerr << "bench_dantzig: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
