#include "catena/probes/probe_set.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "catena/base/cadence.hpp"
#include "catena/base/error.hpp"
#include "catena/base/index.hpp"
#include "catena/base/suggest.hpp"
#include "probes/probe.hpp"

namespace catena {

namespace {

using probes::Kept;
using probes::Probe;
using probes::Quantity;
using probes::Sums;

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

/// What State::probes holds of a quantity, in this order; of one of which nothing is kept the value
/// alone. Running: of the interval under way. The rest: of the last whole one.
enum Number : std::size_t {
  kValue,
  kRunningCount,
  kRunningSum,
  kRunningMin,
  kRunningMax,
  kMean,
  kMin,
  kMax,
  kNumbers
};

std::size_t numbers_of(const Quantity& q) {
  return q.kept == Kept::nothing ? std::size_t{1} : std::size_t{kNumbers};
}

void restart(double* number) {
  number[kRunningCount] = number[kRunningSum] = 0.0;
  number[kRunningMin] = number[kRunningMax] = kUndefined;
}

/// Adds a step's value to the interval under way.
void take(double value, double* number) {
  if (std::isnan(value)) return;
  const bool first = number[kRunningCount] == 0.0;
  number[kRunningCount] += 1.0;
  number[kRunningSum] += value;
  number[kRunningMin] = first ? value : std::min(number[kRunningMin], value);
  number[kRunningMax] = first ? value : std::max(number[kRunningMax], value);
}

void end_interval(double* number) {
  number[kMean] = number[kRunningSum] / number[kRunningCount];  // NaN where there was none
  number[kMin] = number[kRunningMin];
  number[kMax] = number[kRunningMax];
  restart(number);
}

struct OutputColumn {
  const char* suffix;
  Number number;
};

/// Columns of a quantity in a row.
std::vector<OutputColumn> columns_of(const Quantity& q) {
  std::vector<OutputColumn> all;
  if (q.kept != Kept::nothing) all.push_back({"_mean", kMean});
  if (q.kept == Kept::mean_min_max) {
    all.push_back({"_min", kMin});
    all.push_back({"_max", kMax});
  }
  all.push_back({"", kValue});
  return all;
}

std::unique_ptr<Probe> make_probe(const ProbeSettings& s, const probes::ProbeScene& scene) {
  using Make = std::unique_ptr<Probe> (*)(const ProbeSettings&, const probes::ProbeScene&);
  // in the order of ProbeType
  constexpr std::array<Make, 9> kMakers = {
      probes::make_force_probe, probes::make_flux_probe,   probes::make_joint_probe,
      probes::make_body_probe,  probes::make_region_probe, probes::make_region_probe,
      probes::make_pair_probe,  probes::make_energy_probe, probes::make_cell_probe};
  return kMakers[ordinal(s.type)](s, scene);
}

}  // namespace

struct ProbeSet::Impl {
  struct Entry {
    std::string name;
    double interval;
    std::unique_ptr<Probe> probe;
    std::size_t first_sum = 0;     ///< in sums
    std::size_t first_number = 0;  ///< in State::probes
  };

  Communicator comm;
  const Model& model;
  double h;
  std::vector<Entry> entries = {};
  std::size_t n_sums = 0, n_numbers = 0;
  bool contacts = false, start = false;  ///< whether any probe needs them
  std::vector<BodyMotionState> before = {};
  PeriodicBox box_before = {};
  std::vector<Sum> exact = {};  ///< one of both: a step's sums
  std::vector<double> plain = {};
  std::vector<double> words = {}, totals = {}, values = {};

  Sums sums_of(const Entry& e) {
    const Sums all = model.deterministic ? Sums(std::span(exact)) : Sums(std::span(plain));
    return all.from(e.first_sum);
  }

  void clear_sums() {
    if (model.deterministic)
      exact.assign(n_sums, Sum(true));
    else
      plain.assign(n_sums, 0.0);
  }

  /// Collective. Adds up over all ranks what each has.
  void add_up() {
    if (!model.deterministic) {
      totals = plain;
      comm.sum(std::span(totals));
      return;
    }
    const std::size_t width = Sum::n_words(true);
    words.resize(n_sums * width);
    for (std::size_t k = 0; k < n_sums; ++k) exact[k].write(words.data() + k * width);
    comm.sum(std::span(words));
    totals.resize(n_sums);
    for (std::size_t k = 0; k < n_sums; ++k)
      totals[k] = Sum::value_of(true, words.data() + k * width);
  }

  bool interval_ended(const Entry& e, std::int64_t step) const {
    return e.interval == 0.0 || interval_ends(step, h, e.interval);
  }

  void keep(const Entry& e, State& state) {
    const std::vector<Quantity>& quantities = e.probe->quantities();
    values.resize(quantities.size());
    double* number = state.probes.data() + e.first_number;
    for (std::size_t k = 0; k < quantities.size(); ++k) {
      values[k] = number[kValue];
      number += numbers_of(quantities[k]);
    }
    e.probe->evaluate(std::span(totals).subspan(e.first_sum, e.probe->n_sums()), values);
    number = state.probes.data() + e.first_number;
    const bool ended = interval_ended(e, state.step);
    for (std::size_t k = 0; k < quantities.size(); ++k) {
      number[kValue] = values[k];
      if (quantities[k].kept != Kept::nothing) {
        take(values[k], number);
        if (ended) end_interval(number);
      }
      number += numbers_of(quantities[k]);
    }
  }

  /// Calls take(column's name, unit, number) for the columns of a probe until it returns true.
  template <class Take>
  static void for_each_column(const Entry& e, Take take) {
    std::size_t number = e.first_number;
    for (const Quantity& q : e.probe->quantities()) {
      for (const OutputColumn& column : columns_of(q))
        take(q.name + column.suffix, q.unit, number + column.number);
      number += numbers_of(q);
    }
  }
};

ProbeSet::ProbeSet(const Communicator& comm, const std::vector<ProbeSettings>& probes,
                   const SceneSettings& scene, const Model& model, double step)
    : impl_(new Impl{comm, model, step}) {
  for (const ProbeSettings& s : probes) {
    Impl::Entry e{s.name, s.interval, make_probe(s, {comm, scene, model, step}), impl_->n_sums,
                  impl_->n_numbers};
    impl_->n_sums += e.probe->n_sums();
    for (const Quantity& q : e.probe->quantities()) impl_->n_numbers += numbers_of(q);
    impl_->contacts = impl_->contacts || e.probe->needs_contacts();
    impl_->start = impl_->start || e.probe->needs_start();
    impl_->entries.push_back(std::move(e));
  }
}

ProbeSet::~ProbeSet() = default;

bool ProbeSet::none() const { return impl_->entries.empty(); }
std::size_t ProbeSet::size() const { return impl_->entries.size(); }
const std::string& ProbeSet::name(std::size_t probe) const { return impl_->entries[probe].name; }

void ProbeSet::begin(State& state) const {
  state.probes.assign(impl_->n_numbers, kUndefined);
  for (const Impl::Entry& e : impl_->entries) {
    double* number = state.probes.data() + e.first_number;
    for (const Quantity& q : e.probe->quantities()) {
      if (q.kept != Kept::nothing) restart(number);
      number += numbers_of(q);
    }
  }
}

bool ProbeSet::belongs_to(const State& state) const {
  return state.probes.size() == impl_->n_numbers;
}

void ProbeSet::before_step(const State& state) {
  impl_->box_before = box_of(impl_->model, state);
  if (impl_->start) impl_->before = state.body;
}

void ProbeSet::after_step(const Bodies& bodies, State& state, const TimeStepper& stepper) {
  Impl& s = *impl_;
  if (s.entries.empty()) return;
  s.clear_sums();
  const probes::StepView step{
      s.comm, s.model, bodies, state, stepper, s.h, s.before, s.box_before, box_of(s.model, state)};
  if (s.contacts) {
    for (std::size_t k = 0; k < stepper.n_contacts(); ++k) {
      const ContactRecord contact = stepper.contact(k);
      for (const Impl::Entry& e : s.entries)
        if (e.probe->needs_contacts()) e.probe->add_contact(contact, k, step, s.sums_of(e));
    }
  }
  for (const Impl::Entry& e : s.entries) e.probe->add(step, s.sums_of(e));
  s.add_up();
  for (const Impl::Entry& e : s.entries) s.keep(e, state);
}

std::vector<SeriesColumn> ProbeSet::columns(std::size_t probe) const {
  std::vector<SeriesColumn> all = {{"time", "s"}, {"step", "1"}};
  Impl::for_each_column(impl_->entries[probe],
                        [&](const std::string& name, const std::string& unit, std::size_t) {
                          all.push_back({name, unit});
                        });
  return all;
}

bool ProbeSet::row_due(std::size_t probe, const State& state) const {
  return impl_->interval_ended(impl_->entries[probe], state.step);
}

void ProbeSet::fill_row(std::size_t probe, const State& state, std::vector<double>& row) const {
  row = {state.time, static_cast<double>(state.step)};
  Impl::for_each_column(impl_->entries[probe],
                        [&](const std::string&, const std::string&, std::size_t number) {
                          row.push_back(state.probes[number]);
                        });
}

std::vector<std::string> ProbeSet::paths() const {
  std::vector<std::string> all;
  for (const Impl::Entry& e : impl_->entries)
    Impl::for_each_column(e, [&](const std::string& name, const std::string&, std::size_t) {
      all.push_back(e.name + "." + name);
    });
  return all;
}

ProbeSet::Column ProbeSet::find(std::string_view path, const std::string& where) const {
  Column found;
  bool any = false;
  for (const Impl::Entry& e : impl_->entries) {
    if (!path.starts_with(e.name + ".")) continue;
    Impl::for_each_column(
        e, [&](const std::string& name, const std::string& unit, std::size_t number) {
          if (path != e.name + "." + name) return;
          found = {number, unit};
          any = true;
        });
  }
  if (any) return found;
  const std::string near = nearest_word(path, paths());
  throw Error("there is no column '" + std::string(path) + "' of a probe", where,
              !near.empty() ? "did you mean " + near + "?"
              : none()      ? "name PROBE.COLUMN of a probe under probes"
                            : "name PROBE.COLUMN, for example " + paths().front());
}

}  // namespace catena
