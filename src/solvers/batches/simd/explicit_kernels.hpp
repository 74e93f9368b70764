// The sweep of ExplicitContactBatch. The end of sweep_kernels.hpp, which says who includes it.

namespace catena {
namespace {

/// w += G V of one body.
inline V add_velocities(V w, const double (&g)[6][3][kLanes], int lane, const Lines& body) {
  for (int i = 0; i < 6; ++i) w = add_scaled(w, body.x[i], load_vector(g[i], lane));
  return w;
}

/// V += M^-1 G^T z of one body.
template <MassForm kForm>
inline void add_impulse(const double (&g)[6][3][kLanes], int lane, const V& z,
                        const InverseMassLines& masses, const std::int32_t* index, Lines& body) {
  D f[6];
  for (int i = 0; i < 6; ++i) f[i] = dot(load_vector(g[i], lane), z);
  Lines m;
  if constexpr (kForm == MassForm::diagonal) {
    load_lines(masses.line, index, m);
    for (int i = 0; i < 6; ++i) body.x[i] = fma(m.x[i], f[i], body.x[i]);
  } else if constexpr (kForm == MassForm::rigid) {
    load_lines(masses.line, index, m);
    for (int i = 0; i < 3; ++i) body.x[i] = fma(m.x[0], f[i], body.x[i]);
    const V turn = multiply_symmetric(m.x + 1, {f[3], f[4], f[5]});
    body.x[3] = body.x[3] + turn.x;
    body.x[4] = body.x[4] + turn.y;
    body.x[5] = body.x[5] + turn.z;
  } else {
    for (int j = 0; j < 6; ++j) {
      load_lines(masses.line + j * masses.stride, index, m);
      for (int i = 0; i < 6; ++i) body.x[j] = fma(m.x[i], f[i], body.x[j]);
    }
  }
}

template <Turn kTurn, MassForm kForm, class Mixes>
inline void explicit_update(ExplicitContactBatch& c, std::size_t batch, int lane, BodyLine* bodies,
                            const InverseMassLines& masses, const KernelOptions& rules,
                            LaneSums& sums, Mixes& mix) {
  Lines a, b;
  load_lines(bodies, c.a + lane, a);
  load_lines(bodies, c.b + lane, b);
  const V old = mix.start(batch, lane, load_vector(c.lambda, lane));
  const V sigma = load_vector(c.sigma, lane), bias = load_vector(c.bias, lane);
  const V rest = {fma(sigma.x, old.x, bias.x), fma(sigma.y, old.y, bias.y),
                  fma(sigma.z, old.z, bias.z)};
  const D zero = broadcast(0.0);
  const V w =
      add_velocities(rest, c.g[0], lane, a) + add_velocities({zero, zero, zero}, c.g[1], lane, b);
  D d[6];
  for (int j = 0; j < 6; ++j) d[j] = load(c.d[j] + lane);
  const V z = new_impulse<kTurn>(rules, c, lane, d, w, old);
  const V change = z - old;
  store_vector(c.lambda, lane, z);
  mix.note(batch, lane, sigma.x, change);

  add_impulse<kForm>(c.g[0], lane, change, masses, c.a + lane, a);
  add_impulse<kForm>(c.g[1], lane, change, masses, c.b + lane, b);
  store_lines(bodies, c.a + lane, a);
  store_lines(bodies, c.b + lane, b);
  const V r = multiply_symmetric(d, change);
  sums.add(lane, dot(r, r));
}

template <class Mixes>
double explicit_sweep_with(ExplicitContactBatch* first, std::size_t n, BodyLine* bodies,
                           const InverseMassLines& masses, const KernelOptions& rules, bool forward,
                           Mixes& mix) {
  LaneSums sums;
  const auto sweep = [&](auto update) {
    walk(first, n, bodies, forward, [&](std::size_t i, int lane) {
      update(first[i], i, lane, bodies, masses, rules, sums, mix);
    });
  };
  const auto sweep_form = [&]<MassForm kForm>() {
    switch (turn_of(rules)) {
      case Turn::scalar:
        sweep([](auto&&... x) { explicit_update<Turn::scalar, kForm>(x...); });
        break;
      case Turn::coulomb:
        sweep([](auto&&... x) { explicit_update<Turn::coulomb, kForm>(x...); });
        break;
      case Turn::convex:
        sweep([](auto&&... x) { explicit_update<Turn::convex, kForm>(x...); });
        break;
    }
  };
  if (masses.form == MassForm::diagonal)
    sweep_form.template operator()<MassForm::diagonal>();
  else if (masses.form == MassForm::rigid)
    sweep_form.template operator()<MassForm::rigid>();
  else
    sweep_form.template operator()<MassForm::full>();
  mix.finish();
  return sums.total();
}

double explicit_sweep(ExplicitContactBatch* first, std::size_t n, BodyLine* bodies,
                      const InverseMassLines& masses, const KernelOptions& rules, bool forward,
                      BatchMixing* mixing) {
  return with_mix(mixing, [&](auto& mix) {
    return explicit_sweep_with(first, n, bodies, masses, rules, forward, mix);
  });
}

}  // namespace
}  // namespace catena

#include "solvers/batches/simd/step_kernels.hpp"
