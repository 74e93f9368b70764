#include "analytic/packing.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "catena/base/random.hpp"
#include "catena/solvers/solver_factory.hpp"

namespace catena::test {

namespace {

constexpr double kStep = 1.0;      // s; only k h^2 matters
constexpr double kPull = 1e-3;     // k, 1/s^2
constexpr double kDiameter = 1.0;  // m, mean

double sphere_volume(double r) { return 4.0 / 3.0 * M_PI * r * r * r; }

std::unique_ptr<Solver> solver_with(int sweeps) {
  SolverSettings s;
  s.stop.metric = Metric::natural_map;
  s.stop.relative_tolerance = 1e-9;
  s.stop.absolute_tolerance = 0.0;
  s.stop.max_iterations = sweeps;
  s.stop.check_interval = std::max(10, sweeps / 10);
  s.stop.keep_best = false;
  return make_solver(s);
}

}  // namespace

double lens_volume(double big, double small, double d) {
  if (d >= big + small) return 0.0;
  if (d <= big - small) return sphere_volume(small);
  if (d <= small - big) return sphere_volume(big);
  const double s = big + small - d;
  return M_PI * s * s * (d * d + 2.0 * d * (big + small) - 3.0 * (big - small) * (big - small)) /
         (12.0 * d);
}

Packing::Packing(const PackingSettings& settings) : settings_(settings) {
  model_.gravity = Vec3::Zero();
  model_.materials = MaterialTable({{"m", 1.0, settings.friction, 0.0}});
  model_.contact.law = settings.friction == 0.0 ? ContactLaw::frictionless : ContactLaw::coulomb;
  model_.contact.margin = 0.01 * kDiameter;
  model_.names.add(0, settings.n, "sphere", true);
  place_spheres();
}

Packing::~Packing() = default;

void Packing::place_spheres() {
  double solid = 0.0;
  for (int i = 0; i < settings_.n; ++i) {
    BodyConstants body;
    body.id = i;
    body.shape.type = ShapeType::sphere;
    const double jitter = uniform_pm1(settings_.seed, static_cast<std::uint64_t>(i), 0);
    body.shape.size[0] = 0.5 * kDiameter * (1.0 + settings_.radius_jitter * jitter);
    body.mass = volume_of(body.shape);
    body.inertia = body.mass * inertia_per_mass(body.shape);
    bodies_.constants.push_back(body);
    solid += body.mass;
  }
  const double outer = std::cbrt(solid / settings_.start_fraction * 3.0 / (4.0 * M_PI));
  std::uint64_t draw = 0;
  for (const BodyConstants& body : bodies_.constants) {
    const double r = body.shape.size[0];
    for (bool free = false; !free; ++draw) {
      Vec3 x;
      for (int k = 0; k < 3; ++k) {
        x[k] = outer * uniform_pm1(settings_.seed, draw, 1 + static_cast<std::uint64_t>(k));
      }
      free = x.norm() + r < outer;
      for (std::size_t j = 0; free && j < state_.body.size(); ++j) {
        const double reach = r + bodies_.constants[j].shape.size[0];
        free = (x - state_.body[j].pose.p).squaredNorm() > reach * reach;
      }
      if (!free) continue;
      BodyMotionState state;
      state.pose.p = x;
      state_.body.push_back(state);
    }
  }
  state_.subdomain.assign(state_.body.size(), 0);
}

void Packing::press(int steps, double carry, int sweeps, double free_radius, bool convex) {
  if (convex) model_.contact.law = ContactLaw::ccp;
  stepper_ = std::make_unique<SemiImplicitStepper>(Communicator::self(), model_,
                                                   StepperSettings{StepperKind::spook, kStep, true},
                                                   solver_with(sweeps));
  for (int i = 0; i < steps; ++i) {
    for (BodyMotionState& body : state_.body) {
      const Vec3& x = body.pose.p;
      body.twist.v = carry * body.twist.v;
      body.twist.w = carry * body.twist.w;
      if (x.norm() > free_radius) body.twist.v -= kStep * kPull * x;
    }
    stepper_->step(bodies_, state_);
  }
}

double Packing::inner_radius() const {
  // the surface from the mean square distance: 3/5 R^2 for a uniform ball
  double solid = 0.0, moment = 0.0;
  for (std::size_t i = 0; i < state_.body.size(); ++i) {
    solid += bodies_.constants[i].mass;
    moment += bodies_.constants[i].mass * state_.body[i].pose.p.squaredNorm();
  }
  return std::sqrt(moment / solid * 5.0 / 3.0) - 2.5 * kDiameter;
}

double Packing::solid_fraction() const {
  // a mean over a few radii, as a ball's surface cuts spheres by chance
  const double inner = inner_radius();
  const int n_radii = 9;
  double fraction = 0.0;
  for (int k = 0; k < n_radii; ++k) {
    const double radius = inner - 0.125 * kDiameter * k;
    double solid = 0.0;
    for (std::size_t i = 0; i < state_.body.size(); ++i) {
      solid +=
          lens_volume(radius, bodies_.constants[i].shape.size[0], state_.body[i].pose.p.norm());
    }
    fraction += solid / sphere_volume(radius) / n_radii;
  }
  return fraction;
}

double Packing::sampled_fraction(int points) const {
  // additive recurrence with the powers of the root of g^4 = g + 1
  const double g = 1.2207440846057596;
  const Vec3 stride(1.0 / g, 1.0 / (g * g), 1.0 / (g * g * g));
  const double radius = inner_radius() - 0.5 * kDiameter;
  int inside = 0, solid = 0;
  for (int k = 0; k < points; ++k) {
    Vec3 x;
    for (int i = 0; i < 3; ++i) {
      const double u = (k + 1) * stride[i];
      x[i] = radius * (2.0 * (u - std::floor(u)) - 1.0);
    }
    if (x.norm() > radius) continue;
    ++inside;
    for (std::size_t i = 0; i < state_.body.size(); ++i) {
      const double r = bodies_.constants[i].shape.size[0];
      if ((state_.body[i].pose.p - x).squaredNorm() > r * r) continue;
      ++solid;
      break;
    }
  }
  return static_cast<double>(solid) / inside;
}

PackingMeasures Packing::measure() const {
  PackingMeasures m;
  m.fraction = solid_fraction();
  count_contacts(m);
  return m;
}

void Packing::count_contacts(PackingMeasures& m) const {
  double mean = 0.0;
  int pressing = 0;
  for (std::size_t k = 0; k < stepper_->n_contacts(); ++k) {
    const double impulse = stepper_->impulses()[3 * k];
    mean += impulse;
    pressing += impulse > 0.0;
  }
  mean /= std::max(1, pressing);
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t k = 0; k < stepper_->n_contacts(); ++k) {
    if (stepper_->impulses()[3 * k] <= 1e-3 * mean) continue;
    const ContactRecord contact = stepper_->contact(k);
    pairs.emplace_back(contact.key.a, contact.key.b);
    m.max_overlap = std::max(m.max_overlap, -contact.gap / kDiameter);
  }

  const int needed = settings_.friction == 0.0 ? 4 : 2;
  std::vector<int> count(state_.body.size());
  std::vector<char> rattler(state_.body.size());
  for (bool changed = true; changed;) {
    changed = false;
    std::fill(count.begin(), count.end(), 0);
    for (const auto& [a, b] : pairs) {
      if (rattler[a] || rattler[b]) continue;
      ++count[a];
      ++count[b];
    }
    for (std::size_t i = 0; i < count.size(); ++i) {
      if (rattler[i] || count[i] >= needed) continue;
      rattler[i] = 1;
      changed = true;
    }
  }
  const double inner = inner_radius();
  int loose = 0;
  for (std::size_t i = 0; i < count.size(); ++i) {
    if (state_.body[i].pose.p.norm() > inner) continue;
    loose += rattler[i];
    if (rattler[i]) continue;
    ++m.spheres;
    m.coordination += count[i];
  }
  m.coordination /= std::max(1, m.spheres);
  m.rattlers = static_cast<double>(loose) / std::max(1, loose + m.spheres);
}

}  // namespace catena::test
