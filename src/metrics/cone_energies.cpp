#include "metrics/cone_energies.hpp"

#include <cmath>

namespace catena {
namespace {

/// The equations of row_errors::cone_contact with selections in place of branches. A contact
/// that nothing moves (d_n = 0) has no energy; without friction, or where no tangent moves, the
/// tangential impulse itself is the error.
__attribute__((always_inline)) inline void energies_of(ConeGroup& g, double coulomb) {
  for (std::size_t i = 0; i < ConeGroup::kSize; ++i) {
    const double d_n = g.d_n[i], a_t = g.a_t[i];
    const double mu = a_t > 0.0 ? g.mu[i] : 0.0;
    const double l_n = g.lambda_n[i], l_1 = g.lambda_1[i], l_2 = g.lambda_2[i];
    const double w_1 = g.w_1[i], w_2 = g.w_2[i];
    const double w_n = g.w_n[i] + coulomb * mu * std::sqrt(w_1 * w_1 + w_2 * w_2);
    const double by_t = a_t > 0.0 ? 1.0 / a_t : 0.0;
    const double n = d_n > 0.0 ? l_n - w_n / d_n : l_n;
    const double t_1 = l_1 - w_1 * by_t, t_2 = l_2 - w_2 * by_t;
    const double t = std::sqrt(t_1 * t_1 + t_2 * t_2);
    const double pull = d_n * n + mu * a_t * t;
    const double on_cone = pull / (d_n + mu * mu * a_t);
    // of the three, a NaN in pull takes the last
    const bool inside = n >= 0.0 && t <= mu * n;
    const bool polar = pull <= 0.0;
    const double p_n = inside ? n : polar ? 0.0 : on_cone;
    const double by_length = t > 0.0 ? 1.0 / t : 0.0;
    const double cut = inside ? 1.0 : mu * p_n * by_length;
    const double e_n = l_n - p_n, e_1 = l_1 - cut * t_1, e_2 = l_2 - cut * t_2;
    g.normal[i] = d_n > 0.0 ? 0.5 * d_n * e_n * e_n : 0.0;
    g.friction[i] = d_n > 0.0 ? 0.5 * a_t * (e_1 * e_1 + e_2 * e_2) : 0.0;
  }
}

/// |a (lambda - P(lambda - w/a))|, a = (d_n + 2 a_t)/3, as row_errors::cone_contact.
__attribute__((always_inline)) inline void natural_maps_of(ConeGroup& g, double coulomb) {
  for (std::size_t i = 0; i < ConeGroup::kSize; ++i) {
    const double a = (g.d_n[i] + 2.0 * g.a_t[i]) / 3.0, mu = g.mu[i];
    const double l_n = g.lambda_n[i], l_1 = g.lambda_1[i], l_2 = g.lambda_2[i];
    const double w_1 = g.w_1[i], w_2 = g.w_2[i];
    const double w_n = g.w_n[i] + coulomb * mu * std::sqrt(w_1 * w_1 + w_2 * w_2);
    const double n = l_n - w_n / a, t_1 = l_1 - w_1 / a, t_2 = l_2 - w_2 / a;
    const double t = std::sqrt(t_1 * t_1 + t_2 * t_2);
    const bool inside = n >= 0.0 && t <= mu * n;
    const bool polar = mu * t <= -n;
    const double p_n = inside ? n : polar ? 0.0 : (n + mu * t) / (1.0 + mu * mu);
    const double cut = inside ? 1.0 : polar ? 0.0 : mu * p_n / t;
    const double e_n = l_n - p_n, e_1 = l_1 - cut * t_1, e_2 = l_2 - cut * t_2;
    const double e = std::sqrt(e_n * e_n + e_1 * e_1 + e_2 * e_2);
    g.natural[i] = a > 0.0 ? a * e : 0.0;
  }
}

#if defined(__x86_64__) && !defined(__clang__)
__attribute__((target("avx512f,avx512dq,prefer-vector-width=512"))) void energies_avx512(
    ConeGroup& g, double coulomb) {
  energies_of(g, coulomb);
}

__attribute__((target("avx2"))) void energies_avx2(ConeGroup& g, double coulomb) {
  energies_of(g, coulomb);
}

__attribute__((target("avx512f,avx512dq,prefer-vector-width=512"))) void natural_maps_avx512(
    ConeGroup& g, double coulomb) {
  natural_maps_of(g, coulomb);
}

__attribute__((target("avx2"))) void natural_maps_avx2(ConeGroup& g, double coulomb) {
  natural_maps_of(g, coulomb);
}
#endif

}  // namespace

void cone_energies(ConeGroup& group, bool coulomb) {
  const double shift = coulomb ? 1.0 : 0.0;
#if defined(__x86_64__) && !defined(__clang__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    return energies_avx512(group, shift);
  if (__builtin_cpu_supports("avx2")) return energies_avx2(group, shift);
#endif
  energies_of(group, shift);
}

void cone_natural_maps(ConeGroup& group, bool coulomb) {
  const double shift = coulomb ? 1.0 : 0.0;
#if defined(__x86_64__) && !defined(__clang__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    return natural_maps_avx512(group, shift);
  if (__builtin_cpu_supports("avx2")) return natural_maps_avx2(group, shift);
#endif
  natural_maps_of(group, shift);
}

}  // namespace catena
