#include "catena/partition/cost_model.hpp"

#include <algorithm>
#include <cmath>

namespace catena {

std::int64_t rows_of(JointType type) {
  switch (type) {
    case JointType::tendon:
    case JointType::rope:  // one of its two blocks is at rest
      return 2;
    case JointType::fixed:
    case JointType::bushing:
      return 6;
    case JointType::revolute:
    case JointType::prismatic:
    case JointType::screw:
      return 5;
    case JointType::cylindrical:
    case JointType::universal:
      return 4;
    case JointType::spherical:
    case JointType::planar:
    case JointType::rolling:
      return 3;
    case JointType::point_on_line:
    case JointType::point_on_curve:
      return 2;
    case JointType::distance:
    case JointType::gear:
    case JointType::rack:
    case JointType::cam:
    case JointType::belt:
    case JointType::knife_edge:
    case JointType::spring:
    case JointType::torsion_spring:
      return 1;
  }
  return 0;
}

double counted_work(std::int64_t rows, double sweeps, std::int64_t bodies) {
  return static_cast<double>(rows) * (sweeps + kStepPerRow) +
         static_cast<double>(bodies) * kStepPerBody;
}

double joint_work(std::int64_t rows, double sweeps) {
  return static_cast<double>(rows) * (sweeps * kSweepsPerJointRow + kStepPerJointRow);
}

WorkBalance balance_of(const std::array<double, 2>& largest, const std::array<double, 2>& mean) {
  const auto over = [](double x, double of) { return of > 0.0 ? x / of : 1.0; };
  return {over(largest[0] + largest[1], mean[0] + mean[1]), over(largest[0], mean[0]),
          over(largest[1], mean[1])};
}

int split_tries(std::int64_t vertices) {
  return static_cast<int>(
      std::clamp<std::int64_t>(200000 / std::max<std::int64_t>(vertices, 1), 1, 8));
}

double price_of_split(const WorkSize& size) {
  constexpr double kFind = 90.0;       // contacts of a body
  constexpr double kGraph = 300.0;     // a body's place on the curve, weight and edges
  constexpr double kBisection = 90.0;  // of a vertex, one try
  constexpr double kMessages = 1e5;    // some hundred of them
  const double vertices = static_cast<double>(std::min(size.bodies, size.max_graph));
  const double bisections = std::ceil(std::log2(std::max(size.ranks, 2)));
  // bodies apart leave no graph to split: their curve is cut
  const double split =
      size.rows == 0 ? 0.0 : vertices * split_tries(size.bodies) * bisections * kBisection;
  return kMessages + split + static_cast<double>(size.bodies) / size.ranks * (kFind + kGraph);
}

double price_of_move(const WorkSize& size) {
  constexpr double kMove = 80.0;  // a body, whether it leaves its rank or not
  return static_cast<double>(size.bodies) / size.ranks * kMove;
}

}  // namespace catena
