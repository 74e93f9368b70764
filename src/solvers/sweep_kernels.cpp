#include "sweep_kernels.hpp"

#include <algorithm>
#include <cmath>

#include "catena/math/cone.hpp"

namespace catena {
namespace {

/// Three numbers in registers; Eigen's fixed vectors of 3 do not vectorise and its
/// expressions cost compile time here.
struct V {
  double x, y, z;
};
inline V load(const double* p) { return {p[0], p[1], p[2]}; }
inline void store(double* p, const V& a) {
  p[0] = a.x;
  p[1] = a.y;
  p[2] = a.z;
}
inline V operator+(const V& a, const V& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline V operator-(const V& a, const V& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline V operator*(double s, const V& a) { return {s * a.x, s * a.y, s * a.z}; }
inline double dot(const V& a, const V& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline V cross(const V& a, const V& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline V multiply_symmetric(const double* m, const V& a) {
  return {m[0] * a.x + m[1] * a.y + m[2] * a.z, m[1] * a.x + m[3] * a.y + m[4] * a.z,
          m[2] * a.x + m[4] * a.y + m[5] * a.z};
}

/// Normal part and length of the tangent part of an impulse.
struct Split {
  double normal;
  double tangent;
};

/// Euclidean projection on |tangent| <= mu normal.
inline Split project_split(Split y, double mu) {
  if (y.tangent <= mu * y.normal) return y;
  if (mu * y.tangent <= -y.normal) return {0.0, 0.0};
  const double normal = (y.normal + mu * y.tangent) / (1.0 + mu * mu);
  return {normal, mu * normal};
}

/// The law's answer to the unconstrained solution y with D = diag(d_n, d_t, d_t), given
/// by the inverses. Direction of the tangent part is y's.
template <ContactLaw kLaw>
inline Split answer(Split y, double mu, double inverse_d_n, double inverse_d_t) {
  if constexpr (kLaw == ContactLaw::coulomb) {
    const double normal = std::max(y.normal, 0.0);
    return {normal, std::min(y.tangent, mu * normal)};
  } else {
    // min d_n (n - y_n)^2 + d_t (t - y_t)^2 on t = mu n where y is outside
    if (y.tangent <= mu * y.normal) return y;
    const double normal = (inverse_d_t * y.normal + mu * inverse_d_n * y.tangent) /
                          (inverse_d_t + mu * mu * inverse_d_n);
    if (normal <= 0.0) return {0.0, 0.0};
    return {normal, mu * normal};
  }
}

template <ContactLaw kLaw, bool kRelax>
inline double sphere_update(SphereContact& c, BodyLine* bodies, double omega) {
  double* a = bodies[c.a].x;
  double* b = bodies[c.b].x;
  const V n = load(c.n);
  const V p = load(c.p);
  const V u = load(b) - load(a) + cross(c.arm_b * load(b + 3) - c.arm_a * load(a + 3), n);
  const double u_n = dot(n, u);
  const V u_t = u - u_n * n;
  const double p_n = dot(n, p);
  const V p_t = p - p_n * n;

  const V y_t = p_t - c.inverse_d_t * u_t;
  const double length = std::sqrt(dot(y_t, y_t));
  const Split y = {p_n - c.inverse_d_n * (u_n + c.bias), length};
  Split z = answer<kLaw>(y, c.friction, c.inverse_d_n, c.inverse_d_t);
  V z_t = (z.tangent < length ? z.tangent / length : 1.0) * y_t;
  if constexpr (kRelax) {
    z.normal = p_n + omega * (z.normal - p_n);
    z_t = p_t + omega * (z_t - p_t);
    const double t = std::sqrt(dot(z_t, z_t));
    const Split cut = project_split({z.normal, t}, c.friction);
    z.normal = cut.normal;
    z_t = (cut.tangent < t ? cut.tangent / t : 1.0) * z_t;
  }
  const double d_n = z.normal - p_n;
  const V d_t = z_t - p_t;
  const V d = d_n * n + d_t;
  store(c.p, z.normal * n + z_t);

  const double m_a = a[kInverseMass], m_b = b[kInverseMass];
  const double i_a = c.arm_a * a[kInverseInertia], i_b = c.arm_b * b[kInverseInertia];
  const V turn = cross(n, d_t);
  store(a, load(a) - m_a * d);
  store(a + 3, load(a + 3) - i_a * turn);
  store(b, load(b) + m_b * d);
  store(b + 3, load(b + 3) + i_b * turn);
  const double r_n = (m_a + m_b) * d_n;
  const double r_t = m_a + m_b + c.arm_a * i_a + c.arm_b * i_b;
  return r_n * r_n + r_t * r_t * dot(d_t, d_t);
}

/// Frictionless: the arms are along the normal, so the spins do not matter.
inline double normal_update(SphereContact& c, BodyLine* bodies, double omega) {
  double* a = bodies[c.a].x;
  double* b = bodies[c.b].x;
  const V n = load(c.n);
  const double w_n = dot(n, load(b) - load(a)) + c.bias;
  const double p_n = dot(n, load(c.p));
  const double z_n = std::max(p_n - omega * c.inverse_d_n * w_n, 0.0);
  const double d_n = z_n - p_n;
  store(c.p, z_n * n);
  store(a, load(a) - (a[kInverseMass] * d_n) * n);
  store(b, load(b) + (b[kInverseMass] * d_n) * n);
  const double r_n = (a[kInverseMass] + b[kInverseMass]) * d_n;
  return r_n * r_n;
}

/// Calls update(i) for i = 0 .. n-1, or backward, and adds up what it returns.
template <class Update>
inline double walk(std::size_t n, bool forward, Update&& update) {
  double sum = 0.0;
  if (forward) {
    for (std::size_t i = 0; i < n; ++i) sum += update(i);
  } else {
    for (std::size_t i = n; i-- > 0;) sum += update(i);
  }
  return sum;
}

/// Fast answers of the exact Coulomb solve, which most contacts take: open, or stuck.
/// False: the contact slides.
inline bool open_or_stuck(const ArmContact& c, const ContactBlock& block, const V& w, V& z) {
  const V l = load(c.lambda);
  const double free_normal = w.x - block.d(0, 0) * l.x - block.d(0, 1) * l.y - block.d(0, 2) * l.z;
  if (free_normal >= 0.0) {
    z = {0.0, 0.0, 0.0};
    return true;
  }
  z = l - multiply_symmetric(c.d_inverse, w);
  return z.x > 0.0 && z.y * z.y + z.z * z.z <= c.friction * c.friction * z.x * z.x;
}

template <bool kFast>
inline double arm_update(ArmContact& c, const ContactBlock& block, BodyLine* bodies,
                         const InertiaLine* inertia, const LocalRules& rules) {
  double* a = bodies[c.a].x;
  double* b = bodies[c.b].x;
  const V n = load(c.n), t1 = load(c.t), t2 = cross(n, t1);
  const V r_a = load(c.arm_a), r_b = load(c.arm_b);
  const V u = load(b) + cross(load(b + 3), r_b) - load(a) - cross(load(a + 3), r_a);
  const V w = {dot(n, u) + c.bias, dot(t1, u), dot(t2, u)};

  const V old = load(c.lambda);
  V z;
  if (!kFast || !open_or_stuck(c, block, w, z)) {
    const Vec3 solved =
        solve_contact(rules, block, {w.x, w.y, w.z}, {old.x, old.y, old.z}, c.friction);
    z = {solved[0], solved[1], solved[2]};
  }
  const V d = z - old;
  store(c.lambda, z);

  const V p = d.x * n + d.y * t1 + d.z * t2;
  store(a, load(a) - a[kInverseMass] * p);
  store(a + 3, load(a + 3) - multiply_symmetric(inertia[c.a].x, cross(r_a, p)));
  store(b, load(b) + b[kInverseMass] * p);
  store(b + 3, load(b + 3) + multiply_symmetric(inertia[c.b].x, cross(r_b, p)));
  const Vec3 r = block.d * Vec3(d.x, d.y, d.z);
  return r.squaredNorm();
}

}  // namespace

double sweep_sphere_contacts(std::span<SphereContact> contacts, std::span<BodyLine> bodies,
                             const LocalRules& rules, bool forward) {
  SphereContact* c = contacts.data();
  BodyLine* x = bodies.data();
  const double omega = rules.omega;
  const auto sweep = [&]<ContactLaw kLaw, bool kRelax>() {
    return walk(contacts.size(), forward,
                [=](std::size_t i) { return sphere_update<kLaw, kRelax>(c[i], x, omega); });
  };
  if (rules.law == ContactLaw::frictionless)
    return walk(contacts.size(), forward,
                [=](std::size_t i) { return normal_update(c[i], x, omega); });
  if (rules.law == ContactLaw::ccp)
    return omega == 1.0 ? sweep.template operator()<ContactLaw::ccp, false>()
                        : sweep.template operator()<ContactLaw::ccp, true>();
  return omega == 1.0 ? sweep.template operator()<ContactLaw::coulomb, false>()
                      : sweep.template operator()<ContactLaw::coulomb, true>();
}

double sweep_arm_contacts(std::span<ArmContact> contacts, std::span<const ContactBlock> blocks,
                          std::span<BodyLine> bodies, std::span<const InertiaLine> inertia,
                          const LocalRules& rules, bool forward) {
  ArmContact* c = contacts.data();
  const ContactBlock* d = blocks.data();
  BodyLine* x = bodies.data();
  const InertiaLine* i_inverse = inertia.data();
  const bool fast =
      rules.law == ContactLaw::coulomb && rules.local == LocalSolve::exact && rules.omega == 1.0;
  if (fast)
    return walk(contacts.size(), forward, [=, &rules](std::size_t i) {
      return arm_update<true>(c[i], d[i], x, i_inverse, rules);
    });
  return walk(contacts.size(), forward, [=, &rules](std::size_t i) {
    return arm_update<false>(c[i], d[i], x, i_inverse, rules);
  });
}

}  // namespace catena
