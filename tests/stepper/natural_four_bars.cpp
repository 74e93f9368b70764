#include "stepper/natural_four_bars.hpp"

#include <cmath>
#include <cstdio>

namespace catena::test {

std::string four_bars(int n) {
  const std::string inertia =
      "inertia: [0.08333333333333333, 0.08333333333333333, "
      "0.08333333333333333]";
  std::string text = "gravity: [0, -9.81, 0]\nbodies:\n", joints = "joints:\n";
  const auto number = [](double x) {
    char out[32];
    std::snprintf(out, sizeof out, "%.17g", x);
    return std::string(out);
  };
  const auto hinge = [&](const std::string& name, const std::string& a, const std::string& b, int x,
                         int y) {
    joints += "  - {name: " + name + ", type: revolute, between: [" + a + ", " + b + "], at: [" +
              std::to_string(x) + ", " + std::to_string(y) + ", 0], axis: [0, 0, 1]}\n";
  };
  for (int i = 0; i <= n; ++i) {
    const std::string crank = "crank" + std::to_string(i);
    text += "  - {name: " + crank + ", mass: 1, " + inertia + ", position: [" + number(i) +
            ", 0.5, 0], velocity: [0.5, 0, 0], angular_velocity: [0, 0, -1]}\n";
    hinge("base" + std::to_string(i), "world", crank, i, 0);
  }
  for (int i = 0; i < n; ++i) {
    const std::string bar = "bar" + std::to_string(i);
    text += "  - {name: " + bar + ", mass: 1, " + inertia + ", position: [" + number(i + 0.5) +
            ", 1, 0], velocity: [1, 0, 0]}\n";
    hinge("left" + std::to_string(i), "crank" + std::to_string(i), bar, i, 1);
    hinge("right" + std::to_string(i), bar, "crank" + std::to_string(i + 1), i + 1, 1);
  }
  return text + joints;
}

VectorX four_bars_at(int n, const VectorX& y, double t, int steps) {
  const double inertia = (n + 1) / 3.0 + n, moment = kG * (0.5 * (n + 1) + n);
  const auto f = [&](double, const VectorX& x) {
    VectorX d(2);
    d << x[1], moment / inertia * std::sin(x[0]);
    return d;
  };
  return integrated(f, y, t, steps);
}

}  // namespace catena::test
