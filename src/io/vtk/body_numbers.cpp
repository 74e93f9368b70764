#include "io/vtk/body_numbers.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "catena/base/id_index.hpp"
#include "catena/base/sort_unique.hpp"
#include "catena/comm/directory.hpp"

namespace catena::vtk {
namespace {

struct Place {
  Vec3 position = Vec3::Zero();
  std::int64_t moves_freely = 0;
};

/// All contacts of two bodies; they have one home.
struct Pair {
  GlobalId a = kNoBody, b = kNoBody;
  double force = 0.0;         ///< N, normal
  Vec3 point = Vec3::Zero();  ///< m, mean
  bool presses = false;
};

/// What a pair does to one of its bodies.
struct Touch {
  GlobalId body = kNoBody, other = kNoBody;
  std::int64_t side = 0;  ///< where a body touches its own image
  double force = 0.0;
  std::int64_t presses = 0;
};

std::vector<Pair> pairs_of(const std::vector<ContactRecord>& contacts, double step) {
  std::vector<Pair> pairs;
  double n = 0.0;
  for (const ContactRecord& c : contacts) {
    if (pairs.empty() || pairs.back().a != c.key.a || pairs.back().b != c.key.b) {
      pairs.push_back({c.key.a, c.key.b, 0.0, Vec3::Zero(), false});
      n = 0.0;
    }
    Pair& pair = pairs.back();
    const double impulse = c.impulse.dot(c.normal);
    pair.force += impulse / step;
    pair.presses = pair.presses || impulse > 0.0;
    n += 1.0;
    pair.point += (c.point - pair.point) / n;
  }
  return pairs;
}

/// Where bodies are that contacts and joints of this rank name.
class Places {
 public:
  /// Collective.
  Places(const Communicator& comm, const Model& model, const Bodies& bodies, const State& state,
         const std::vector<Pair>& pairs)
      : comm_(comm), own_index_(bodies.constants) {
    for (std::size_t i = 0; i < bodies.constants.size(); ++i)
      own_.push_back({bodies.constants[i].id, place_of(bodies.constants[i], state.body[i])});
    planes_.reserve(model.unbounded.size());
    for (const BodyRecord& plane : model.unbounded)
      planes_.push_back(
          {plane.constants.id,
           place_of(plane.constants,
                    prescribed_state(model, plane.constants, plane.state.pose,
                                     motion_of(state, plane.constants), state.time))});
    const auto want = [&](GlobalId id) {
      if (id != kNoBody && own_index_.find(id) == kNoIndex && plane_of(id) == nullptr)
        wanted_.push_back(id);
    };
    for (const Pair& pair : pairs) {
      want(pair.a);
      want(pair.b);
    }
    for (const JointConstants& joint : bodies.joints) {
      want(joint.body[0]);
      want(joint.body[1]);
    }
    sort_unique(wanted_);
    found_ = look_up<Place>(comm, own_, wanted_);
  }

  /// nullptr: it is not there.
  const Place* find(GlobalId id) const {
    if (const Index own = own_index_.find(id); own != kNoIndex) return &own_[own].value;
    if (const Place* plane = plane_of(id)) return plane;
    const auto at = std::ranges::lower_bound(wanted_, id);
    if (at == wanted_.end() || *at != id) return nullptr;
    const Registered<Place>& found = found_[at - wanted_.begin()];
    return found.rank < 0 ? nullptr : &found.value;
  }
  /// -1: every rank has it, or none.
  int owner(GlobalId id) const {
    if (own_index_.find(id) != kNoIndex) return comm_.rank();
    const auto at = std::ranges::lower_bound(wanted_, id);
    return at == wanted_.end() || *at != id ? -1 : found_[at - wanted_.begin()].rank;
  }
  Index own(GlobalId id) const { return own_index_.find(id); }

 private:
  static Place place_of(const BodyConstants& body, const BodyMotionState& state) {
    return {state.pose.p, body.kind == BodyKind::dynamic ? 1 : 0};
  }
  const Place* plane_of(GlobalId id) const {
    const auto at = std::ranges::lower_bound(planes_, id, {}, &DirectoryEntry<Place>::id);
    return at == planes_.end() || at->id != id ? nullptr : &at->value;
  }

  const Communicator& comm_;
  IdIndex own_index_;
  std::vector<DirectoryEntry<Place>> own_, planes_;
  std::vector<GlobalId> wanted_;  ///< ascending
  std::vector<Registered<Place>> found_;
};

/// Collective. Force and coordination of own bodies.
void sum_touches(const Communicator& comm, const std::vector<Pair>& pairs, const Places& places,
                 BodyNumbers& numbers) {
  RankLists<Touch> out(comm.size());
  for (const Pair& pair : pairs) {
    const std::int64_t presses = pair.presses ? 1 : 0;
    if (const int rank = places.owner(pair.a); rank >= 0)
      out[rank].push_back({pair.a, pair.b, 0, pair.force, presses});
    if (const int rank = places.owner(pair.b); rank >= 0)
      out[rank].push_back({pair.b, pair.a, 1, pair.force, presses});
  }
  std::vector<Touch> touches = joined(all_to_all(comm, std::move(out)));
  std::ranges::sort(touches, {}, [](const Touch& t) {
    return std::array<std::int64_t, 3>{t.body, t.other, t.side};
  });
  for (const Touch& touch : touches) {
    const Index i = places.own(touch.body);
    numbers.force[i] += touch.force;
    numbers.coordination[i] += touch.presses;
  }
}

std::vector<Link> chains_of(const std::vector<Pair>& pairs, const Places& places) {
  std::vector<Link> chains;
  for (const Pair& pair : pairs) {
    const Place* const a = places.find(pair.a);
    const Place* const b = places.find(pair.b);
    if (a == nullptr || b == nullptr || !(pair.force > 0.0)) continue;
    const Link link{-1, pair.force, a->moves_freely ? a->position : pair.point,
                    b->moves_freely ? b->position : pair.point};
    // a body across a periodic boundary is far from its contact: no line through the box
    const double reach = (pair.point - link.a).norm() + (link.b - pair.point).norm();
    if (reach < 2.0 * (link.b - link.a).norm() + 1e-300) chains.push_back(link);
  }
  return chains;
}

/// From a to b, in the periodic image of b in which the joint holds it.
std::vector<Link> joints_of(const Bodies& bodies, const Places& places, const PeriodicBox& box) {
  std::vector<Link> lines;
  for (const JointConstants& joint : bodies.joints) {
    const Place* const a = places.find(joint.body[0]);
    const Place* const b = places.find(joint.body[1]);
    if (a == nullptr || b == nullptr) continue;
    const Vec3 to = b->position - box.nearest_shift(b->position - a->position);
    lines.push_back({joint.id, 0.0, a->position, to});
  }
  return lines;
}

}  // namespace

BodyNumbers body_numbers(const Communicator& comm, const Model& model, const Bodies& bodies,
                         const State& state, const std::vector<ContactRecord>& contacts,
                         double step) {
  const std::vector<Pair> pairs = pairs_of(contacts, step);
  const Places places(comm, model, bodies, state, pairs);
  BodyNumbers numbers;
  numbers.force.assign(bodies.constants.size(), 0.0);
  numbers.coordination.assign(bodies.constants.size(), 0);
  sum_touches(comm, pairs, places, numbers);
  numbers.chains = chains_of(pairs, places);
  numbers.joints = joints_of(bodies, places, box_of(model, state));
  return numbers;
}

}  // namespace catena::vtk
