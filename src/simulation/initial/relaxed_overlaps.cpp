#include "simulation/initial/relaxed_overlaps.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "catena/base/sort_unique.hpp"
#include "catena/base/text.hpp"
#include "catena/comm/directory.hpp"
#include "catena/constraints/contact_stiffness.hpp"
#include "catena/stepper/semi_implicit_stepper.hpp"

namespace catena {

namespace {

/// Sums and largest of overlaps before and after, over contacts with an impulse.
struct Change {
  double sum_now = 0.0, sum_then = 0.0, largest_now = 0.0, largest_then = 0.0;
  double contacts = 0.0;

  void add(double now, double then) {
    sum_now += now;
    sum_then += then;
    largest_now = std::max(largest_now, now);
    largest_then = std::max(largest_then, then);
    contacts += 1.0;
  }
};

/// What of an overlap is too much for its force, m.
double excess(const KeptContact& kept, const Vec3& normal, double h, const KeyedImpulse& impulse,
              Change& change) {
  const double force = impulse.impulse.dot(normal) / h;
  const double now = -kept.gap - impulse.start_overlap;
  if (!(force > 0.0) || !(now > 0.0)) return 0.0;
  const double then = overlap_at_rest(kept.given, force);
  change.add(now, then);
  return std::max(0.0, now - then);
}

std::string text_of(const std::string& reason, const Change& change, bool rigid) {
  const double n = change.contacts;
  return "contacts have another compliance than in the earlier run (" + reason +
         "): at the forces that they bear now, overlaps of " + whole_text(n) + " go from " +
         short_text(change.sum_now / n, 3) + " m to " + short_text(change.sum_then / n, 3) +
         " m in the mean, the largest from " + short_text(change.largest_now, 3) + " m to " +
         short_text(change.largest_then, 3) + " m; " +
         (rigid ? "they are pushed apart at contact.recovery_speed"
                : "what is too much is relaxed over some hundred steps, see recovery_work");
}

/// Collective. Ids among those of this rank's contacts of bodies that any rank reports, ascending.
std::vector<GlobalId> changed_among(const Communicator& comm, const StepContacts& contacts,
                                    const std::vector<GlobalId>& reported) {
  std::vector<GlobalId> ids;
  for (std::size_t k = 0; k < contacts.size(); ++k)
    ids.insert(ids.end(), {contacts.kept(k).key.a, contacts.kept(k).key.b});
  sort_unique(ids);
  std::vector<DirectoryEntry<char>> own;
  for (const GlobalId id : reported) own.push_back({id, 1});
  const std::vector<Registered<char>> found = look_up<char>(comm, own, ids);
  std::vector<GlobalId> changed;
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (found[i].rank >= 0) changed.push_back(ids[i]);
  return changed;
}

}  // namespace

double overlap_at_rest(const ContactRowsGiven& law, double force) {
  const double linear = law.normal * force;
  if (!(law.secant_overlap > 0.0)) return linear;
  // f = overlap^(3/2) / (eps sqrt(secant)), eps being the secant's there
  return std::max(std::cbrt(linear * linear * law.secant_overlap),
                  std::min(linear, law.linear_overlap));
}

void relax_overlaps(const Communicator& comm, const Model& model, EarlierRun& earlier,
                    TimeStepper& stepper, const Bodies& bodies, State& state) {
  auto* stiff = dynamic_cast<SemiImplicitStepper*>(&stepper);
  const bool other_law = !earlier.changed_laws().empty();
  const std::int64_t others = comm.sum(std::ssize(earlier.changed_bodies()));
  const bool fresh = state.step > 0 && !earlier.keeps_places();
  if (stiff == nullptr || (!other_law && others == 0 && !fresh)) return;
  stiff->find_contacts(bodies, state);
  stiff->assemble_problem(bodies, state);
  const StepContacts& contacts = stiff->contacts();
  const bool rigid = model.contact.stiffness == Stiffness::rigid;
  const std::vector<GlobalId> changed = changed_among(comm, contacts, earlier.changed_bodies());
  const auto is_changed = [&](GlobalId id) { return std::ranges::binary_search(changed, id); };
  const auto is_new = [&](GlobalId id) { return earlier.same().bodies.before_of(id) == kNoBody; };
  Change change;
  std::vector<KeyedImpulse> more;
  for (std::size_t k = 0; k < contacts.size(); ++k) {
    const KeptContact& kept = contacts.kept(k);
    const auto [a, b] = std::pair(kept.key.a, kept.key.b);
    if (kept.old != kNoIndex && (other_law || is_changed(a) || is_changed(b))) {
      KeyedImpulse& impulse = state.impulses[kept.old];
      const double much =
          excess(kept, stiff->contact(k).normal, earlier.before().time.step, impulse, change);
      if (rigid) continue;
      impulse.start_overlap += much;
      // as if the last step had ended with the law of this run
      const double counted = -kept.gap - impulse.start_overlap;
      impulse.elastic_energy =
          kept.given.normal > 0.0 ? ContactStiffness::energy(kept.given, counted) : 0.0;
    } else if (kept.old == kNoIndex && fresh && kept.gap < 0.0 && (is_new(a) || is_new(b))) {
      more.push_back({.key = kept.key, .start_overlap = -kept.gap});
    }
  }
  state.impulses.insert(state.impulses.end(), more.begin(), more.end());
  std::ranges::sort(state.impulses, {}, &KeyedImpulse::key);
  std::array<double, 3> sums = {change.sum_now, change.sum_then, change.contacts};
  comm.sum(sums);
  std::array<double, 2> largest = {change.largest_now, change.largest_then};
  comm.max(largest);
  if (!(sums[2] > 0.0)) return;
  std::string reason;
  for (const std::string& key : earlier.changed_laws())
    reason += (reason.empty() ? "" : ", ") + key;
  if (others > 0)
    reason += (reason.empty() ? "" : ", ") + std::to_string(others) +
              " bodies of another mass, material or kind";
  earlier.add_remark(text_of(reason, {sums[0], sums[1], largest[0], largest[1], sums[2]}, rigid));
}

}  // namespace catena
