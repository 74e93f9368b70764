// A scene of scripts/reproduce/benchmark_scene.py, read from stdin, and what is written after every
// step.
#pragma once
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

struct SceneBody {
  std::string kind;  // sphere, box or plane
  double size[3] = {0, 0, 0}, mass = 0, friction = 0, x[3], q[4], v[3], w[3], force[3];
};
struct SceneJoint {
  int a, b;
  double at[3];
};
struct Scene {
  double step = 0, gravity = 0, restitution = 0;
  int steps = 0, moving = 0, collide = 1;  // bodies with a mass come first
  std::vector<SceneBody> bodies;
  std::vector<SceneJoint> joints;
};

inline Scene read_scene() {
  Scene scene;
  for (std::string line, kind; std::getline(std::cin, line);) {
    std::istringstream in(line);
    in >> kind;
    if (kind == "scene") {
      in >> scene.step >> scene.steps >> scene.gravity >> scene.restitution >> scene.collide;
    } else if (kind == "joint") {
      SceneJoint j;
      in >> j.a >> j.b >> j.at[0] >> j.at[1] >> j.at[2];
      scene.joints.push_back(j);
    } else {
      SceneBody b;
      b.kind = kind;
      for (int k = 0; k < (kind == "box" ? 3 : kind == "sphere" ? 1 : 0); ++k) in >> b.size[k];
      in >> b.mass >> b.friction;
      for (double& x : b.x) in >> x;
      for (double& q : b.q) in >> q;
      for (double& v : b.v) in >> v;
      for (double& w : b.w) in >> w;
      for (double& f : b.force) in >> f;
      scene.moving += b.mass > 0 ? 1 : 0;
      scene.bodies.push_back(b);
    }
    if (!in) std::cerr << "cannot read: " << line << "\n", std::exit(1);
  }
  return scene;
}

// CPU time of the process, s
inline double cpu() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

// position, orientation (w, x, y, z), velocity, angular velocity
using BodyState = std::array<double, 13>;
// bodies (numbers in the scene), point, normal from first to second, gap, impulse on the second
using ContactState = std::array<double, 12>;

inline void write_states(double seconds, const std::vector<BodyState>& bodies,
                         const std::vector<ContactState>& contacts) {
  const double head[2] = {seconds, double(contacts.size())};
  std::fwrite(head, sizeof head, 1, stdout);
  std::fwrite(bodies.data(), sizeof(BodyState), bodies.size(), stdout);
  std::fwrite(contacts.data(), sizeof(ContactState), contacts.size(), stdout);
  std::fflush(stdout);
}
