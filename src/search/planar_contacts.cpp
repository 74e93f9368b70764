#include "search/planar_contacts.hpp"

#include <algorithm>
#include <cmath>

#include "catena/math/rotation.hpp"

namespace catena::search {

namespace {

/// Whether the world's y axis is a principal axis of the body.
bool turns_in_plane(const BodyConstants& body, const Pose& pose) {
  if (body.inertia.x() == body.inertia.y() && body.inertia.y() == body.inertia.z()) return true;
  const Mat3 inertia = rotate_diagonal(pose.q, body.inertia);
  return std::max(std::abs(inertia(0, 1)), std::abs(inertia(1, 2))) <=
         1e-9 * body.inertia.maxCoeff();
}

/// Whether two normals in the plane are the same to a few digits.
bool same_way(const Vec3& a, const Vec3& b) { return a.dot(b) > 1.0 - 1e-6; }

}  // namespace

BodyFault planar_fault(const Model& model, const Bodies& bodies, const State& state) {
  for (std::size_t i = 0; i < bodies.constants.size(); ++i) {
    const BodyConstants& body = bodies.constants[i];
    if (body.kind != BodyKind::dynamic) continue;
    const BodyMotionState& s = state.body[i];
    const auto fault = [&](const char* what) {
      return BodyFault{body.id, "body " + model.names.name_of(body.id) + " " + what};
    };
    // NaN is no business of this check
    if (s.twist.v.y() > 0.0 || s.twist.v.y() < 0.0) return fault("has a velocity along y");
    if (std::abs(s.twist.w.x()) > 0.0 || std::abs(s.twist.w.z()) > 0.0) {
      return fault("turns about another axis than y");
    }
    if (s.pose.q.coeffs().allFinite() && !turns_in_plane(body, s.pose)) {
      return fault("has no principal axis of inertia along y");
    }
  }
  return {};
}

void flatten_contacts(std::vector<Contact>& contacts, std::size_t first, double tolerance) {
  std::size_t kept = first;
  for (std::size_t k = first; k < contacts.size(); ++k) {
    Contact c = contacts[k];
    const double in_plane = std::sqrt(c.normal.x() * c.normal.x() + c.normal.z() * c.normal.z());
    if (!(std::abs(c.normal.y()) <= in_plane)) continue;
    c.normal = Vec3(c.normal.x() / in_plane, 0.0, c.normal.z() / in_plane);
    c.gap /= in_plane;
    bool is_new = true;
    for (std::size_t j = first; j < kept && is_new; ++j) {
      Contact& other = contacts[j];
      const double apart = std::max(std::abs(c.point.x() - other.point.x()),
                                    std::abs(c.point.z() - other.point.z()));
      if (apart > tolerance || !same_way(c.normal, other.normal)) continue;
      is_new = false;
      if (c.gap < other.gap) {
        c.key = other.key;
        other = c;
      }
    }
    if (is_new) contacts[kept++] = c;
  }
  contacts.resize(kept);
}

}  // namespace catena::search
