#include "stepper/natural_four_bars.hpp"

#include <cmath>
#include <cstdio>

namespace catena::test {

std::string four_bars(int n, double size) {
  const auto number = [](double x) {
    char out[32];
    std::snprintf(out, sizeof out, "%.17g", x);
    return std::string(out);
  };
  const std::string i = number(size * size / 12.0),
                    inertia = "inertia: [" + i + ", " + i + ", " + i + "]";
  const double rate = 1.0 / std::sqrt(size);
  const auto place = [&](double x, double y) {
    return "[" + number(size * x) + ", " + number(size * y) + ", 0]";
  };
  std::string text = "gravity: [0, -9.81, 0]\nbodies:\n", joints = "joints:\n";
  const auto hinge = [&](const std::string& name, const std::string& a, const std::string& b, int x,
                         int y) {
    joints += "  - {name: " + name + ", type: revolute, between: [" + a + ", " + b +
              "], at: " + place(x, y) + ", axis: [0, 0, 1]}\n";
  };
  for (int k = 0; k <= n; ++k) {
    const std::string crank = "crank" + std::to_string(k);
    text += "  - {name: " + crank + ", mass: 1, " + inertia + ", position: " + place(k, 0.5) +
            ", velocity: [" + number(0.5 * size * rate) + ", 0, 0], angular_velocity: [0, 0, " +
            number(-rate) + "]}\n";
    hinge("base" + std::to_string(k), "world", crank, k, 0);
  }
  for (int k = 0; k < n; ++k) {
    const std::string bar = "bar" + std::to_string(k);
    text += "  - {name: " + bar + ", mass: 1, " + inertia + ", position: " + place(k + 0.5, 1) +
            ", velocity: [" + number(size * rate) + ", 0, 0]}\n";
    hinge("left" + std::to_string(k), "crank" + std::to_string(k), bar, k, 1);
    hinge("right" + std::to_string(k), bar, "crank" + std::to_string(k + 1), k + 1, 1);
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
