#include "solvers/patches/restless_contacts.hpp"

#include <algorithm>
#include <numeric>

#include "catena/constraints/block_diagonal.hpp"

namespace catena {
namespace {

/// Per body, whether it moves and other ranks know it.
std::vector<char> known_elsewhere(const ConstraintProblem& problem) {
  const ProblemBodies& bodies = problem.bodies;
  std::vector<char> known(bodies.size(), 0);
  for (Index b = bodies.n_owned; b < bodies.size(); ++b) known[b] = !bodies.is_prescribed(b);
  for (const HaloPlan::Neighbour& neighbour : problem.ghosts.neighbours)
    for (const Index b : neighbour.send) known[b] = 1;
  return known;
}

}  // namespace

RestlessContacts::RestlessContacts(const ConstraintProblem& problem)
    : problem_(problem),
      diagonal_(2 * problem.contacts.size()),
      begin_(problem.bodies.size() + 1),
      last_(3 * problem.contacts.size()),
      change_(problem.contacts.size()),
      restless_(problem.contacts.size()) {
  const std::vector<char> known = known_elsewhere(problem);
  const auto moves = [&](Index body) { return !problem.bodies.is_prescribed(body); };
  for (std::size_t k = 0; k < problem.contacts.size(); ++k) {
    const RigidContact& contact = problem.contacts[k];
    const auto d = cone_diagonal(problem, to_index(k));
    if ((!moves(contact.body_a) && !moves(contact.body_b)) || known[contact.body_a] != 0 ||
        known[contact.body_b] != 0 || !(d[0] > 0.0))
      continue;
    std::copy(d.begin(), d.end(), diagonal_.begin() + 2 * k);
    for (const Index body : {contact.body_a, contact.body_b})
      if (moves(body)) ++begin_[body + 1];
  }
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  contact_.resize(begin_.back());
  std::vector<Index> place(begin_.begin(), begin_.end() - 1);
  for (std::size_t k = 0; k < problem.contacts.size(); ++k)
    if (diagonal_[2 * k] > 0.0)
      for (const Index body : {problem.contacts[k].body_a, problem.contacts[k].body_b})
        if (moves(body)) contact_[place[body]++] = to_index(k);
}

void RestlessContacts::begin(std::span<const double> impulses) {
  std::copy_n(impulses.begin(), last_.size(), last_.begin());
  std::fill(change_.begin(), change_.end(), 0.0);
}

void RestlessContacts::note(std::span<const double> impulses) {
  for (std::size_t k = 0; k < change_.size(); ++k) {
    double energy = 0.0;
    for (std::size_t row = 3 * k; row < 3 * k + 3; ++row) {
      const double d = impulses[row] - last_[row];
      energy += diagonal_[2 * k + (row == 3 * k ? 0 : 1)] * d * d;
      last_[row] = impulses[row];
    }
    change_[k] = std::max(change_[k], energy);
  }
}

/// The contacts of `open` that hang together with `first`; they are open no longer.
std::vector<Index> RestlessContacts::collect(Index first, std::vector<char>& open) const {
  std::vector<Index> group = {first};
  open[first] = 0;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const RigidContact& contact = problem_.contacts[group[i]];
    for (const Index body : {contact.body_a, contact.body_b}) {
      for (Index at = begin_[body]; at < begin_[body + 1]; ++at) {
        const Index k = contact_[at];
        if (open[k] == 0) continue;
        open[k] = 0;
        group.push_back(k);
      }
    }
  }
  return group;
}

/// To the most restless ones; the others are taken to be at rest.
void RestlessContacts::cut(std::vector<Index>& group) {
  if (group.size() <= kMost) return;
  std::sort(group.begin(), group.end(), [&](Index a, Index b) {
    return change_[a] != change_[b] ? change_[a] > change_[b] : a < b;
  });
  for (std::size_t i = kMost; i < group.size(); ++i) restless_[group[i]] = 0;
  group.resize(kMost);
}

std::vector<std::vector<Index>> RestlessContacts::groups() {
  double largest = 0.0;
  for (const double change : change_) largest = std::max(largest, change);
  largest = problem_.comm.max(largest);
  for (std::size_t k = 0; k < change_.size(); ++k)
    if (change_[k] > 0.0 && change_[k] >= kRestless * largest) restless_[k] = 1;
  std::vector<std::vector<Index>> groups;
  std::vector<char> open = restless_;
  for (std::size_t k = 0; k < open.size(); ++k) {
    if (open[k] == 0) continue;
    std::vector<Index> group = collect(to_index(k), open);
    cut(group);
    std::sort(group.begin(), group.end());
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace catena
