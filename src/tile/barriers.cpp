#include "tile/barriers.h"

#include <algorithm>

namespace tang::tile {

namespace {

// An operation that touches a memory, and where: two of one placement without replicas at the same
// forms touch each element by the same thread.
struct Touch {
  uint32_t op = 0;
  MemoryId memory = MemoryId::none;
  bool stores = false;
  PlacementId placement = PlacementId::none;
  std::vector<Form> at;
};
using Touches = std::vector<Touch>;

void join(Touches& into, const Touches& more) { into.insert(into.end(), more.begin(), more.end()); }

class Barriers {
 public:
  Barriers(Kernel& kernel, const std::map<MemoryId, MemoryId>& same) : k_(kernel), same_(same) {
    for (uint32_t n = 0; n < k_.ops.size(); ++n)
      for (const Touch& t : touches(n)) (t.stores ? stored_ : read_)[t.memory] = true;
  }

  void run() {
    Path path;
    region(static_cast<RegionId>(0), path);
  }

 private:
  // What has happened on the way to a point: since the last barrier, and before the first one.
  struct Path {
    Touches since, first;
    bool met = false;  // a barrier, for certain
  };

  Touches touches(uint32_t number) const {
    const Op& op = k_.ops[number];
    Touches all;
    if (op.kind == OpKind::prefetch) return all;
    for (const Ref& r : op.refs) {
      if (r.what != Ref::What::memory) continue;
      const bool stores = op.kind == OpKind::store;
      const ValueId tile = stores ? op.args[0] : op.results[0];
      const auto owner = same_.find(r.memory);
      all.push_back({number, owner == same_.end() ? r.memory : owner->second, stores,
                     k_[tile].type.placement, r.at});
    }
    return all;
  }

  // In memory in which threads can meet.
  Touches shared(uint32_t number) const {
    Touches all = touches(number);
    std::erase_if(all, [&](const Touch& t) {
      return k_[t.memory].role != Memory::Role::local &&
             !(stored_.contains(t.memory) && read_.contains(t.memory));
    });
    return all;
  }

  // All that operations of a region touch.
  Touches inside(RegionId id) const {
    Touches all;
    for (uint32_t number : k_[id].ops) {
      const Op& op = k_.ops[number];
      join(all, shared(number));
      for (RegionId part : {op.body_region, op.other_region})
        if (part != RegionId::none) join(all, inside(part));
    }
    return all;
  }

  // Whether different threads may touch one element, at least one of them storing to it. Forms that
  // mention indices of `loop` have other values in its next trip; one operation's stores are of
  // different elements then.
  bool meet(const Touches& before, const Touches& after, const std::vector<DimId>& indices) const {
    const auto conflict = [&](const Touch& a, const Touch& b) {
      if (a.memory != b.memory || (!a.stores && !b.stores)) return false;
      if (a.op == b.op) return false;
      const bool moves = std::any_of(a.at.begin(), a.at.end(), [&](const Form& f) {
        return std::any_of(indices.begin(), indices.end(), [&](DimId d) { return f.mentions(d); });
      });
      return a.placement != b.placement || k_[a.placement].placement.has(Use::replica) ||
             a.at != b.at || moves;
    };
    return std::any_of(before.begin(), before.end(), [&](const Touch& a) {
      return std::any_of(after.begin(), after.end(),
                         [&](const Touch& b) { return conflict(a, b); });
    });
  }

  std::vector<DimId> indices_in(const Op& loop) const {
    std::vector<DimId> all = loop.range.indices;
    std::vector<RegionId> work = {loop.body_region};
    while (!work.empty()) {
      const RegionId id = work.back();
      work.pop_back();
      for (uint32_t number : k_[id].ops) {
        const Op& op = k_.ops[number];
        all.insert(all.end(), op.range.indices.begin(), op.range.indices.end());
        for (RegionId part : {op.body_region, op.other_region})
          if (part != RegionId::none) work.push_back(part);
      }
    }
    return all;
  }

  static void barrier(Path& p) {
    p.since.clear();
    p.met = true;
  }

  static void touch(Path& p, const Touches& t) {
    join(p.since, t);
    if (!p.met) join(p.first, t);
  }

  uint32_t new_barrier(RoleSet roles) {
    Op op;
    op.kind = OpKind::barrier;
    op.roles = roles;
    k_.ops.push_back(std::move(op));
    return static_cast<uint32_t>(k_.ops.size() - 1);
  }

  void region(RegionId id, Path& path) {
    std::vector<uint32_t> result;
    const std::vector<uint32_t> ops = k_[id].ops;
    for (uint32_t number : ops) {
      const Op op = k_.ops[number];
      const bool loops = op.kind == OpKind::loop;
      const Touches t = loops ? inside(op.body_region) : shared(number);
      if (meet(path.since, t, loops ? indices_in(op) : std::vector<DimId>())) {
        result.push_back(new_barrier(op.roles));
        barrier(path);
      }
      if (loops)
        loop(op, path);
      else if (op.kind == OpKind::branch)
        branch(op, path);
      else
        touch(path, t);
      result.push_back(number);
    }
    k_.regions[index_of(id)].ops = std::move(result);
  }

  // What ends a trip and what begins the next one may meet.
  void loop(const Op& op, Path& path) {
    Path inside;
    region(op.body_region, inside);
    // Trips that run side by side do not meet in arguments.
    if (op.range.parallel)
      for (Touches* t : {&inside.since, &inside.first})
        std::erase_if(*t, [&](const Touch& x) { return k_[x.memory].role != Memory::Role::local; });
    if (meet(inside.since, inside.first, indices_in(op))) {
      std::vector<uint32_t>& ops = k_.regions[index_of(op.body_region)].ops;
      const bool ends = !ops.empty() && k_.ops[ops.back()].kind == OpKind::next;
      ops.insert(ops.end() - (ends ? 1 : 0), new_barrier(op.roles));
      inside.since.clear();
    }
    // It may have had no trip.
    if (!path.met) join(path.first, inside.first);
    join(path.since, inside.since);
  }

  void branch(const Op& op, Path& path) {
    Path yes = path, no = path;
    region(op.body_region, yes);
    if (op.other_region != RegionId::none) region(op.other_region, no);
    join(yes.since, no.since);
    join(yes.first, no.first);
    path.since = std::move(yes.since);
    path.first = std::move(yes.first);
    path.met = yes.met && no.met;
  }

  Kernel& k_;
  const std::map<MemoryId, MemoryId>& same_;
  std::map<MemoryId, bool> stored_, read_;
};

}  // namespace

void add_barriers(Kernel& kernel, const std::map<MemoryId, MemoryId>& same) {
  Barriers(kernel, same).run();
}

}  // namespace tang::tile
