// Bodies that several subdomains sweep: how many, and the exchange that adds their parts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "catena/comm/halo_exchange.hpp"
#include "catena/constraints/constraint_problem.hpp"
#include "solvers/batches/subdomain.hpp"

namespace catena {

class JointDrives;

/// The subdomains of this rank: their global numbers, ascending, the problem's blocks of each in
/// the problem's order, and which bodies these touch, ascending; `crossing`: those touched by
/// blocks that touch another subdomain's body besides. A rank without blocks has none.
struct SubdomainMap {
  std::vector<Index> number;
  std::vector<std::vector<Index>> blocks, touched, crossing;
  std::vector<char> is_touched;  ///< scratch
  /// Gives the memory of large lists back.
  void rest();
};
/// The subdomain that a body belongs to; kNoIndex of a ghost, whose subdomain lies elsewhere.
Index subdomain_of(const ConstraintProblem& problem, Index body);
/// Whether blocks of the subdomain that touch the body do not cross a border there: it is the
/// subdomain's own, or prescribed.
bool belongs_to(const ConstraintProblem& problem, Index body, Index subdomain);
/// Writes `map`. Bilateral blocks are left out where joints are solved on their own, and what
/// `drives` solves.
void map_subdomains(const ConstraintProblem& problem, bool with_joints, const JointDrives* drives,
                    SubdomainMap& map);

/// For every dynamic body, which subdomains (over all ranks) sweep it in their crossing blocks: the
/// multiplicity n_b of mass splitting, agreed once at set-up, and the exchanges of a sweep.
///
/// Crossing blocks come first, at the same time in all subdomains, each copy with n_b M^-1. Its
/// change (V_copy - V_old)/n_b = M^-1 G^T dlambda with the true mass goes to the body's owner,
/// which adds all changes in ascending subdomain number. Then the body's own subdomain alone sweeps
/// it, with M^-1, and the new V goes to every rank that holds copies: two messages per neighbour
/// and sweep, and V = V_free + M^-1 G^T lambda holds after them.
///
/// Bodies that joints hold are kept here however few subdomains sweep them, so that their owners
/// know their velocities: read and write connect them to the joints' solve.
class SharedBodies {
 public:
  SharedBodies();
  ~SharedBodies();
  /// Collective. Of a problem; comes before anything else. `jointed`: per local body, whether a
  /// joint acts on it; the same on all ranks; empty: none.
  void set_up(const ConstraintProblem& problem, const SubdomainMap& map,
              std::span<const char> jointed);
  /// Local. Gives the memory of large lists back; set_up() comes next.
  void rest();

  /// n_b per local body; 0 where no crossing block here or elsewhere touches it (bodies that this
  /// rank neither owns nor touches: 0).
  std::span<const Index> multiplicity() const { return multiplicity_; }
  /// Per local body: whether its velocities are kept here.
  std::span<const char> shared() const { return shared_; }

  /// Local. Takes what the copies hold of all shared bodies from a vector in the problem's
  /// places.
  void start(const ConstraintProblem& problem, std::span<const double> velocities);
  /// Neighbours. After the crossing blocks: sends the changes of ghosts' copies to their owners.
  void post_changes(std::span<Subdomain> subdomains);
  /// Neighbours. Waits for the changes and adds them, for the copies of the bodies' own subdomains.
  void add_changes(std::span<Subdomain> subdomains);
  /// Neighbours. After the blocks at kept bodies: sends the new velocities.
  void post_velocities(std::span<Subdomain> subdomains);
  /// Neighbours. Waits for the new velocities and writes them into the copies.
  void finish(std::span<Subdomain> subdomains);
  /// Velocities of the shared bodies as all copies hold them between sweeps.
  std::span<double> values() { return values_; }
  /// Local. Writes the velocities of jointed bodies, as far as known here, in the problem's places.
  void read(const ConstraintProblem& problem, std::span<double> velocities) const;
  /// Local. Takes those of jointed bodies, for the copies, too.
  void write(const ConstraintProblem& problem, std::span<const double> velocities,
             std::span<Subdomain> subdomains);

 private:
  struct Copy {                   ///< of a shared body in a local subdomain
    std::size_t subdomain, body;  ///< positions in the map and in its bodies
    Index item;                   ///< first item of its change: outgoing if the body is a ghost
  };
  struct Contribution {  ///< to a shared owned body, in ascending subdomain number
    bool local;
    std::size_t index;  ///< into the body's copies, or first item received
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Shared {
    Index body;
    Index dofs;
    Index item;  ///< first item of its velocities
    bool jointed;
    std::vector<Copy> copies = {};
    std::size_t own = kNone;                       ///< the copy of the body's own subdomain
    std::vector<Contribution> contributions = {};  ///< empty unless owned
  };
  struct Setup;
  /// Subdomains here whose crossing blocks touch each body: numbers[begin[b]], ... up to
  /// begin[b + 1].
  struct Sweeps {
    std::vector<Index> begin;
    std::vector<std::int64_t> numbers;
    std::span<const std::int64_t> of(Index b) const {
      return std::span(numbers).subspan(begin[b], begin[b + 1] - begin[b]);
    }
  };
  void write_change(std::span<Subdomain> subdomains, const Shared& shared, const Copy& copy,
                    std::span<double> change) const;

  std::vector<Index> multiplicity_;
  std::vector<char> shared_;
  std::vector<Shared> bodies_;
  std::vector<double> values_, outgoing_, incoming_, change_, sum_;
  std::optional<HaloExchange> reverse_, forward_;  ///< where there are ghosts
  // of set_up
  Sweeps sweeps_;
  std::vector<Index> shared_of_;
};

}  // namespace catena
