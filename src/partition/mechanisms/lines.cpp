#include "partition/mechanisms/lines.hpp"

#include <array>

#include "catena/comm/typed_exchange.hpp"

namespace catena::partition {
namespace {

/// Joints of one line that follow one another on this rank.
struct Run {
  std::array<std::int32_t, 2> end = {-1, -1};  ///< outermost joints' outer ends
  std::int64_t length = 0;
};

/// A joint in its run.
struct RunPlace {
  std::int32_t run = -1;
  std::int32_t ahead = 0;     ///< which of its bodies is towards the run's end 1
  std::int64_t position = 0;  ///< from end 0
};

/// What lies beyond one end of a run; node 2 * run + end. `joints` counts those beyond, up to and
/// with the run that `next` leaves; `next` is that run's far end, kNowhere where the line is over.
struct Beyond {
  Address next = kNowhere;
  std::int64_t joints = 0;
  std::int64_t last_key = 0;  ///< of the line's last joint, once next is kNowhere
};

/// Told to the mate of a run's end.
struct Meeting {
  std::int32_t end = -1;  ///< the mate's
  std::int32_t node = -1;
  std::int64_t length = 0;
};

std::size_t joint_of(std::int32_t end) { return end / kEnds; }
int body_of(std::int32_t end) { return end % kEnds; }
std::int32_t end_of(std::size_t joint, int body) {
  return narrow<std::int32_t>(joint) * kEnds + body;
}

class Lines {
 public:
  Lines(const Communicator& comm, std::span<const JointEdge> edges, const Mates& mates)
      : comm_(comm), edges_(edges), mates_(mates), cut_(mates.of_end.size(), 0) {}

  /// Opens each ring before the joint with the smallest key; its neighbour with the smaller key
  /// is the next one.
  void cut_rings(std::span<const JointPlace> places) {
    for (std::size_t j = 0; j < edges_.size(); ++j) {
      if (places[j].kind != MechanismKind::ring || edges_[j].key != places[j].component) continue;
      const int ahead = neighbour_key(end_of(j, 0)) <= neighbour_key(end_of(j, 1)) ? 0 : 1;
      const std::int32_t back = end_of(j, 1 - ahead);
      cut_[back] = 1;
      if (mate(back) >= 0) cut_[mate(back)] = 1;
    }
  }

  void walk_runs(std::span<const JointPlace> places) {
    place_.assign(edges_.size(), {});
    for (std::size_t j = 0; j < edges_.size(); ++j) {
      if (places[j].kind != MechanismKind::chain && places[j].kind != MechanismKind::ring) continue;
      if (place_[j].run >= 0) continue;
      std::int32_t outer = end_of(j, 0);
      while (own_link(outer) >= 0) outer = opposite(own_link(outer));
      walk_from(outer);
    }
  }

  /// Collective.
  void rank_runs() {
    meet();
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < beyond_.size(); ++i)
      if (beyond_[i].next != kNowhere) open.push_back(i);
    std::vector<int> rank;
    std::vector<Address> node;
    const auto reply = [&](const RankLists<Address>& asked) {
      return reply_each<Beyond>(asked, [&](Address a) { return beyond_[place_of(a)]; });
    };
    while (comm_.sum(std::ssize(open)) > 0) {
      rank.clear();
      node.clear();
      for (const std::size_t i : open) {
        node.push_back(beyond_[i].next);
        rank.push_back(rank_of(beyond_[i].next));
      }
      const auto found = request_reply<Beyond>(comm_, rank, node, reply);
      for (std::size_t k = 0; k < open.size(); ++k) {
        Beyond& b = beyond_[open[k]];
        b = {found[k].next, b.joints + found[k].joints, found[k].last_key};
      }
      std::erase_if(open, [&](std::size_t i) { return beyond_[i].next == kNowhere; });
    }
  }

  void write(std::vector<JointPlace>& places) const {
    for (std::size_t j = 0; j < edges_.size(); ++j) {
      const RunPlace& at = place_[j];
      if (at.run < 0) continue;
      const std::size_t run = at.run;
      const Beyond& low = beyond_[2 * run];
      const Beyond& high = beyond_[2 * run + 1];
      const bool onwards = low.last_key <= high.last_key;
      places[j].index =
          onwards ? low.joints + at.position : high.joints + runs_[run].length - 1 - at.position;
      const int next = onwards ? at.ahead : 1 - at.ahead;
      const auto shared = [&](int body) { return mate(end_of(j, body)) == kNoMate ? -1 : body; };
      places[j].next_body = shared(next);
      places[j].previous_body = shared(1 - next);
    }
  }

 private:
  std::int32_t mate(std::int32_t end) const { return mates_.of_end[end]; }
  const RemoteMate& remote(std::int32_t end) const { return mates_.remote[-2 - mate(end)]; }
  bool is_cut(std::int32_t end) const { return cut_[end] != 0; }
  std::int32_t own_link(std::int32_t end) const { return is_cut(end) ? kNoMate : mate(end); }
  static std::int32_t opposite(std::int32_t end) { return end_of(joint_of(end), 1 - body_of(end)); }

  std::int64_t neighbour_key(std::int32_t end) const {
    return mate(end) >= 0 ? edges_[joint_of(mate(end))].key : remote(end).key;
  }

  void walk_from(std::int32_t outer) {
    const auto number = narrow<std::int32_t>(runs_.size());
    Run run{{outer, outer}, 0};
    for (std::int32_t end = outer; end >= 0; end = own_link(run.end[1])) {
      run.end[1] = opposite(end);
      place_[joint_of(end)] = {number, body_of(run.end[1]), run.length++};
    }
    runs_.push_back(run);
  }

  /// Collective. First values of beyond_: the neighbouring runs.
  void meet() {
    beyond_.assign(2 * runs_.size(), {});
    RankLists<Meeting> out(comm_.size());
    for (std::size_t i = 0; i < beyond_.size(); ++i) {
      const Run& run = runs_[i / 2];
      const std::int32_t end = run.end[i % 2];
      beyond_[i].last_key = edges_[joint_of(end)].key;
      if (mate(end) >= 0 || mate(end) == kNoMate || is_cut(end)) continue;
      out[remote(end).rank].push_back({remote(end).end, narrow<std::int32_t>(i), run.length});
    }
    const RankLists<Meeting> in = all_to_all(comm_, std::move(out));
    for (std::size_t r = 0; r < in.size(); ++r) {
      for (const Meeting& m : in[r]) {
        if (is_cut(m.end)) continue;
        const RunPlace& at = place_[joint_of(m.end)];
        const std::size_t node = Offset{2} * at.run + (at.ahead == body_of(m.end));
        // entered at one end, a run is left at the other
        const std::size_t far = m.node ^ 1;
        beyond_[node].next = address_of(narrow<int>(r), far);
        beyond_[node].joints = m.length;
      }
    }
  }

  const Communicator& comm_;
  std::span<const JointEdge> edges_;
  const Mates& mates_;
  std::vector<char> cut_;  ///< per end: a ring is opened here
  std::vector<RunPlace> place_;
  std::vector<Run> runs_;
  std::vector<Beyond> beyond_;
};

}  // namespace

void order_lines(const Communicator& comm, std::span<const JointEdge> edges, const Mates& mates,
                 std::vector<JointPlace>& places) {
  Lines lines(comm, edges, mates);
  lines.cut_rings(places);
  lines.walk_runs(places);
  lines.rank_runs();
  lines.write(places);
}

}  // namespace catena::partition
