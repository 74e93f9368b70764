#include "search/probe_pairs.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "catena/base/fetch.hpp"
#include "catena/base/release.hpp"

namespace catena::search {

namespace {

/// 1 if the boxes overlap, else 0.
int overlap(const Aabb& a, const Aabb& b) {
  const auto fits = [](double lo, double hi) { return lo <= hi ? 1 : 0; };
  return fits(a.lo.x(), b.hi.x()) & fits(b.lo.x(), a.hi.x()) & fits(a.lo.y(), b.hi.y()) &
         fits(b.lo.y(), a.hi.y()) & fits(a.lo.z(), b.hi.z()) & fits(b.lo.z(), a.hi.z());
}

Vec3 plane_normal(const LocalBodies& local, const Probe& plane) {
  return local.state[plane.body].pose.q.toRotationMatrix().col(2);
}

}  // namespace

std::span<const IdPair> ProbePairs::find(const LocalBodies& local, const WideBoxes& wide) {
  pairs_.clear();
  if (wide.use() == WideBoxes::Use::own) {
    add_pairs_of_boxes(local);
    add_pairs_of_planes(local, false);
    sort();
    return sorted_;
  }
  if (wide.use() == WideBoxes::Use::made) {
    list_wide_pairs(local, wide);
    list_near_planes(local, wide);
  }
  pairs_.clear();
  add_pairs_of_planes(local, true);
  sort();
  return merge_wide_pairs();
}

void ProbePairs::add_pairs_of_boxes(const LocalBodies& local) {
  if (!probes_->images().any()) {
    for (const auto& [i, j] : broad_phase_.find_unsorted(probes_->boxes(), probes_->n_owned())) {
      consider(local, i, j, kNoImage);
    }
    return;
  }
  const Index n_first =
      probes_->images().place(probes_->boxes(), probes_->n_owned(), grid_, grid_of_);
  for (const auto& [i, j] : broad_phase_.find_unsorted(grid_, n_first)) {
    const ImageOf &x = grid_of_[i], &y = grid_of_[j];
    // two images: the relation stands for itself elsewhere
    if ((x.code != kNoImage && y.code != kNoImage) || x.body == y.body) continue;
    if (x.code != kNoImage) {
      consider(local, y.body, x.body, x.code);
    } else {
      consider(local, x.body, y.body, y.code);
    }
  }
}

/// Whether probes a and b, at least one of an owned body, make contacts, and here.
bool ProbePairs::may_pair(const LocalBodies& local, Index a, Index b) const {
  const std::size_t i = a, j = b;
  const Probe &x = probes_->all()[i], &y = probes_->all()[j];
  if (!x.dynamic && !y.dynamic) return false;
  const std::size_t of_a = x.body, of_b = y.body;
  if (!model_->group_pairs.empty() &&
      !may_collide(*model_, local.constants[of_a], local.constants[of_b])) {
    return false;
  }
  // where one is a ghost, the pair's home may be on its rank
  if (std::max(a, b) < probes_->n_owned()) return true;
  const GlobalId owned = a < probes_->n_owned() ? x.id : y.id;
  return home_of(local.constants[of_a], local.constants[of_b]) == owned;
}

/// Probes a and b, displaced by the image; at least one of them is of an owned body.
void ProbePairs::consider(const LocalBodies& local, Index a, Index b, int image) {
  const std::size_t i = a, j = b;
  const Probe &x = probes_->all()[i], &y = probes_->all()[j];
  SphereGap g;
  if (x.type == ShapeType::sphere && y.type == ShapeType::sphere &&
      !probes_->spheres_meet(x, y, image, g)) {
    return;
  }
  if (may_pair(local, a, b)) add(i, j, image);
}

/// Makes the list of pairs of wide boxes.
void ProbePairs::list_wide_pairs(const LocalBodies& local, const WideBoxes& wide) {
  const auto found = broad_phase_.find_unsorted(wide.boxes(*probes_), probes_->n_owned());
  make_room(pairs_, found.size());
  for (const auto& [i, j] : found) {
    if (may_pair(local, i, j)) add(i, j, kNoImage);
  }
  sort();
  make_room(wide_high_, sorted_.size());
  wide_high_.clear();
  for (const IdPair& pair : sorted_) wide_high_.push_back(pair.high);
  make_room(wide_end_, bucket_.size());
  wide_end_.assign(bucket_.begin(), bucket_.end());  // each has moved on to its bucket's end
}

/// Those of the listed pairs whose boxes of the step overlap, and the sorted ones of planes.
/// Without branches where the listed ones are tested: some of them are as good as random.
std::span<const IdPair> ProbePairs::merge_wide_pairs() {
  constexpr Index kAhead = 8;
  const auto n_wide = to_index(wide_high_.size());
  if (merged_.size() < wide_high_.size() + sorted_.size()) {
    make_room(merged_, wide_high_.size() + sorted_.size());
    merged_.resize(merged_.capacity());
  }
  const auto box_at = [&](Index position) -> const Aabb& {
    return probes_->boxes()[probes_->probe_at(position)];
  };
  IdPair* out = merged_.data();
  auto other = sorted_.begin();
  Index k = 0;
  for (Index low = 0; low < to_index(wide_end_.size()); ++low) {
    const auto add_others = [&](Index high) {
      while (other != sorted_.end() && other->low == low && other->high < high) *out++ = *other++;
    };
    for (; k < wide_end_[low]; ++k) {
      if (k + kAhead < n_wide) {
        const Aabb& ahead = box_at(wide_high_[k + kAhead]);
        fetch_span(ahead, ahead);
      }
      const Index high = wide_high_[k];
      add_others(high);
      *out = {low, high, kNoImage};
      out += overlap(box_at(low), box_at(high));
    }
    add_others(std::numeric_limits<Index>::max());
  }
  return {merged_.data(), out};
}

void ProbePairs::add(std::size_t a, std::size_t b, int image) {
  const Index i = probes_->position(a), j = probes_->position(b);
  if (i < j) {
    pairs_.push_back({i, j, image});
  } else {
    pairs_.push_back({j, i, opposite_image(image)});
  }
}

/// Makes the lists of bodies whose wide boxes planes that stay can reach. A box holds its body and
/// the way of it in a step; margins are not added to that way there.
void ProbePairs::list_near_planes(const LocalBodies& local, const WideBoxes& wide) {
  const std::vector<Probe>& probes = probes_->all();
  const std::span<const Aabb> boxes = wide.boxes(*probes_);
  near_planes_.resize(probes.size() - probes_->boxes().size());
  for (std::size_t k = 0; k < near_planes_.size(); ++k) {
    const std::size_t u = probes_->boxes().size() + k;
    NearPlane& plane = near_planes_[k];
    plane.bodies.clear();
    if (probes[u].type != ShapeType::plane) continue;
    plane.place = probes[u].p;
    plane.up = plane_normal(local, probes[u]);
    for (Index i = 0; i < probes_->n_owned(); ++i) {
      const Probe& body = probes[i];
      const Vec3 half = 0.5 * (boxes[i].hi - boxes[i].lo);
      const double lowest = plane.up.dot(0.5 * (boxes[i].hi + boxes[i].lo) - plane.place) -
                            plane.up.cwiseAbs().dot(half);
      if (body.dynamic && lowest < probes_->largest_margin(body)) plane.bodies.push_back(i);
    }
  }
}

/// Owned dynamic bodies with the planes that they can reach in the step. `listed`: bodies are
/// within their wide boxes, so that the lists hold.
void ProbePairs::add_pairs_of_planes(const LocalBodies& local, bool listed) {
  const std::vector<Probe>& probes = probes_->all();
  const std::size_t first = probes_->boxes().size();
  for (std::size_t u = first; u < probes.size(); ++u) {
    if (probes[u].type != ShapeType::plane) continue;
    const std::size_t plane = probes[u].body;
    const Vec3 up = plane_normal(local, probes[u]);
    const double spin = local.state[plane].twist.w.norm();
    const auto consider_plane = [&](Index i) {
      const Probe& body = probes[i];
      if (!body.dynamic) return;
      const Vec3 from_plane = body.p - probes[u].p;
      double closing = up.dot(probes[u].v - body.v) + body.spin_speed;
      if (spin > 0.0) closing += spin * (from_plane.norm() + body.radius);
      const double reach =
          probes_->margin_of(body, probes[u]) + probes_->step() * std::max(0.0, closing);
      if (!(up.dot(from_plane) - body.radius < reach)) return;
      if (!may_collide(*model_, local.constants[body.body], local.constants[plane])) return;
      add(i, u, kNoImage);
    };
    const bool stays = probes[u].speed == 0.0 && spin == 0.0;
    if (listed && stays && near_planes_[u - first].place == probes[u].p &&
        near_planes_[u - first].up == up)
      std::ranges::for_each(near_planes_[u - first].bodies, consider_plane);
    else
      for (Index i = 0; i < probes_->n_owned(); ++i) consider_plane(i);
  }
}

/// Counting sort by the lower id, then each bucket by the higher.
void ProbePairs::sort() {
  assign_with_room(bucket_, probes_->all().size() + 1, 0);
  for (const IdPair& pair : pairs_) ++bucket_[pair.low + 1];
  std::partial_sum(bucket_.begin(), bucket_.end(), bucket_.begin());
  make_room(sorted_, pairs_.size());
  sorted_.resize(pairs_.size());
  for (const IdPair& pair : pairs_) {
    sorted_[bucket_[pair.low]++] = pair;
  }
  auto begin = sorted_.begin();
  for (std::size_t k = 0; k < probes_->all().size(); ++k) {
    const auto end = sorted_.begin() + bucket_[k];
    std::sort(begin, end, [](const IdPair& x, const IdPair& y) {
      return x.high != y.high ? x.high < y.high : x.image < y.image;
    });
    begin = end;
  }
}

void ProbePairs::release() {
  broad_phase_.release();
  catena::release(grid_, grid_of_, pairs_, sorted_, merged_, bucket_);
}

}  // namespace catena::search
