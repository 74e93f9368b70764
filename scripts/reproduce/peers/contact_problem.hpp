// One step's contact problem, as scripts/reproduce/contacts_to_tolerance.py writes it to stdin:
//   problem BODIES CONTACTS STEP
//   a line per body: mass, principal moments, their axes (quaternion w, x, y, z), place, velocity,
//   angular velocity without contacts
//   a line per contact: bodies a and b (-1: fixed), normal from a to b, tangent, arms on a and b,
//   bias, friction; after the step b leaves a by u_n + bias >= 0
// For each number of sweeps, in the order asked, CPU time in s and an impulse on b per contact
// (world frame, N s) go to stdout.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <string>
#include <vector>

struct ProblemBody {
  double mass, moments[3], q[4], x[3], v[3], w[3];
};
struct ProblemContact {
  int a, b;
  double n[3], t[3], arm_a[3], arm_b[3], bias, friction;
};
struct ContactProblem {
  double step = 0;
  std::vector<ProblemBody> bodies;
  std::vector<ProblemContact> contacts;
};

inline ContactProblem read_problem() {
  std::ios::sync_with_stdio(false);
  ContactProblem p;
  std::string word;
  std::size_t bodies = 0, contacts = 0;
  std::cin >> word >> bodies >> contacts >> p.step;
  const auto take = [](auto&... numbers) {
    const auto each = [](auto& x) {
      for (double& y : x) std::cin >> y;
    };
    (each(numbers), ...);
  };
  p.bodies.resize(bodies);
  p.contacts.resize(contacts);
  for (ProblemBody& b : p.bodies) {
    std::cin >> b.mass;
    take(b.moments, b.q, b.x, b.v, b.w);
  }
  for (ProblemContact& c : p.contacts) {
    std::cin >> c.a >> c.b;
    take(c.n, c.t, c.arm_a, c.arm_b);
    std::cin >> c.bias >> c.friction;
  }
  if (!std::cin) std::cerr << "cannot read the problem\n", std::exit(1);
  return p;
}

// CPU time of the process, s
inline double cpu() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

inline void write_impulses(double seconds, const std::vector<double>& impulses) {
  std::fwrite(&seconds, sizeof seconds, 1, stdout);
  std::fwrite(impulses.data(), sizeof(double), impulses.size(), stdout);
  std::fflush(stdout);
}
