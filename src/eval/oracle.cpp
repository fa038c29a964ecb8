#include "eval/oracle.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "base/random.h"
#include "eval/demand.h"
#include "eval/scan.h"

namespace tang {

namespace {

using oracle::Machine;
using oracle::Program;
using oracle::Source;
using oracle::Work;
using Shape = std::vector<int64_t>;

constexpr int64_t decode_limit = int64_t{1} << 28;  // bytes of an array that is decoded at once

// Targets of one node with the same points, and the program that computes them.
struct Group {
  NodeId node = NodeId::none;
  Program program;
  Shape shape;  // extents of the points
};

class Oracle {
 public:
  Oracle(const Graph& g, std::span<const int64_t> params, const Given& given,
         const OracleOptions& options)
      : g_(g), params_(params), given_(given), options_(options) {}

  Result<Evaluation> run(const std::vector<TensorId>& wanted);

 private:
  Result<void> reach(const std::vector<TensorId>& wanted);
  Result<void> load_given(TensorId t);
  Result<void> compile_groups();
  double body_evaluations() const;
  double bytes() const;
  void draw(const std::vector<TensorId>& wanted);
  void spread();
  Result<void> evaluate_all(const std::vector<TensorId>& wanted);
  Result<void> evaluate_group(const Group& group);
  Result<void> verify(NodeId node);
  void compute(const Group& group, const std::vector<Source>& sources, Shape flats,
               std::vector<Values>& results) const;
  void share(int64_t blocks, const Work& work) const;
  const Source* source(TensorId t) const;

  const Graph& g_;
  std::span<const int64_t> params_;
  const Given& given_;
  const OracleOptions& options_;
  std::vector<NodeId> nodes_;  // reachable, operands first
  std::set<TensorId> reached_;
  std::vector<Group> groups_;  // in the order of nodes_
  std::map<TensorId, Values> decoded_;
  std::map<TensorId, Source> known_;
  std::map<TensorId, PointSet> needed_;
  bool sampled_ = false;
  Evaluation done_;
};

const Source* Oracle::source(TensorId t) const {
  const auto it = known_.find(t);
  return it == known_.end() ? nullptr : &it->second;
}

Result<void> Oracle::load_given(TensorId t) {
  const auto it = given_.find(t);
  const Tensor& tensor = g_[t];
  if (it == given_.end())
    return error("E0713", fmt::format("input `{}` has no value", tensor.name),
                 fmt::format("give it with --in {}=FILE", tensor.name));
  const Array& array = *it->second;
  const auto shape = oracle::shape_value(g_, tensor.shape, params_);
  if (!shape) return tl::unexpected(shape.error());
  if (array.shape != *shape)
    return error("E0706", fmt::format("the array of `{}` has shape {}, but the program needs {}",
                                      tensor.name, shape_text(array.shape), shape_text(*shape)));
  if (is_block(array.format))
    return error(
        "E0590",
        fmt::format("`{}` has a block format, which is not built yet in the oracle", tensor.name));
  if (array.elements() <= decode_limit / 8) {
    auto values = decode(array, tensor.kind);
    if (!values) return tl::unexpected(values.error());
    const auto at = decoded_.insert_or_assign(t, std::move(*values)).first;
    known_[t] = {&at->second, nullptr};
  } else {
    known_[t] = {nullptr, &array};
  }
  return {};
}

Result<void> Oracle::reach(const std::vector<TensorId>& wanted) {
  std::vector<TensorId> stack = wanted;
  std::set<NodeId> nodes;
  while (!stack.empty()) {
    const TensorId t = stack.back();
    stack.pop_back();
    if (!reached_.insert(t).second) continue;
    const Tensor& tensor = g_[t];
    if (given_.contains(t) || tensor.node == NodeId::none) {
      if (const auto ok = load_given(t); !ok) return ok;
      continue;
    }
    if (!nodes.insert(tensor.node).second) continue;
    for (TensorId operand : tensors_read(g_, g_[tensor.node])) stack.push_back(operand);
  }
  for (NodeId n : g_.order())
    if (nodes.contains(n)) nodes_.push_back(n);
  return {};
}

Result<void> Oracle::compile_groups() {
  for (NodeId id : nodes_) {
    const Node& n = g_[id];
    std::set<std::vector<DimId>> seen;
    for (const Target& t : n.targets) {
      if (!reached_.contains(t.tensor) || !seen.insert(t.points).second) continue;
      auto p = oracle::compile(g_, n, params_, t.points);
      if (!p) {
        if (p.error().where.line == 0) p.error().where = n.where;
        return tl::unexpected(p.error());
      }
      if (!element_count(p->lane_extent))
        return tl::unexpected(
            out_of_memory(fmt::format("`{}`", g_[t.tensor].name), "more than 9223372036854775807"));
      auto shape = oracle::shape_value(g_, g_[t.tensor].shape, params_);
      if (!shape) return tl::unexpected(shape.error());
      groups_.push_back({id, std::move(*p), std::move(*shape)});
    }
  }
  return {};
}

double Oracle::body_evaluations() const {
  double sum = 0;
  for (const Group& group : groups_) {
    double box = 1;
    for (int64_t n : group.program.lane_extent) box *= static_cast<double>(n);
    if (group.program.folds)
      for (int64_t n : group.program.reduce_extent) box *= static_cast<double>(n);
    sum += box;
  }
  return sum;
}

double Oracle::bytes() const {
  double sum = 0;
  for (const Group& group : groups_) {
    double cells = 8.0 * static_cast<double>(group.program.results.size());
    for (int64_t n : group.shape) cells *= static_cast<double>(n);
    sum += cells;
  }
  return sum;
}

void Oracle::draw(const std::vector<TensorId>& wanted) {
  for (const Group& group : groups_)
    for (const auto& [t, reg] : group.program.results)
      if (std::find(wanted.begin(), wanted.end(), t) != wanted.end())
        needed_.insert_or_assign(
            t, sample_points(group.shape, options_.points, options_.seed, g_[t].name));
}

// Users before operands: each group's points are complete when its own demand is computed.
void Oracle::spread() {
  const oracle::Known known = [this](TensorId t) { return source(t); };
  for (size_t k = groups_.size(); k-- > 0;) {
    const Group& group = groups_[k];
    PointSet points(element_count(group.shape).value_or(0));
    for (const auto& [t, reg] : group.program.results)
      if (const auto it = needed_.find(t); it != needed_.end()) points.merge(it->second);
    points.finish();
    PointSet lanes = points;
    if (group.program.scan) {
      lanes = oracle::scanned_lanes(group.program, points);
      points = oracle::scanned_points(group.program, lanes);
    }
    for (const auto& [t, reg] : group.program.results) needed_.insert_or_assign(t, points);
    oracle::add_demand(group.program, lanes, known, options_.verify_gathers, needed_);
  }
}

// Runs `work` on some threads; points are independent of each other.
void Oracle::share(int64_t blocks, const Work& work) const {
  std::atomic<int64_t> next{0};
  std::vector<std::thread> helpers;
  const int64_t wanted = std::min<int64_t>(options_.threads, blocks);
  for (int64_t k = 1; k < wanted; ++k) {
    try {
      helpers.emplace_back([&] { work(next); });
    } catch (const std::system_error&) {
      break;  // the threads there are do the work
    }
  }
  if (blocks > 0) work(next);
  for (std::thread& t : helpers) t.join();
}

void Oracle::compute(const Group& group, const std::vector<Source>& sources, Shape flats,
                     std::vector<Values>& results) const {
  const int64_t total =
      sampled_ ? static_cast<int64_t>(flats.size()) : element_count(group.shape).value_or(0);
  const int64_t blocks = (total + oracle::block_lanes - 1) / oracle::block_lanes;
  share(blocks, [&](std::atomic<int64_t>& next) {
    Machine m(group.program, sources, options_.slow_guards);
    for (int64_t b = next++; b < blocks; b = next++) {
      const int64_t first = b * oracle::block_lanes;
      const auto count = std::min<int64_t>(oracle::block_lanes, total - first);
      if (sampled_)
        m.run(std::span(flats).subspan(static_cast<size_t>(first), static_cast<size_t>(count)));
      else
        m.run(first, static_cast<int>(count));
      for (size_t r = 0; r < results.size(); ++r)
        std::copy_n(m.column(group.program.results[r].second), count, results[r].data() + first);
    }
  });
}

Result<void> Oracle::evaluate_group(const Group& group) {
  std::shared_ptr<const PointSet> points;
  Shape flats;
  if (sampled_) {
    points = std::make_shared<const PointSet>(needed_.at(group.program.results[0].first));
    flats = points->members();
  }
  std::vector<Source> sources;
  for (const oracle::ReadPlan& plan : group.program.reads) {
    const Source* s = source(plan.tensor);
    sources.push_back(s ? *s : Source{});
  }
  std::vector<Values> results;
  for (const auto& [t, reg] : group.program.results) {
    auto values = make_values(g_[t].kind, group.shape, points);
    if (!values) return tl::unexpected(values.error());
    results.push_back(std::move(*values));
  }
  if (group.program.scan)
    oracle::compute_scan(group.program, sources, points.get(), results,
                         [this](int64_t blocks, const Work& work) { share(blocks, work); });
  else
    compute(group, sources, std::move(flats), results);
  for (size_t r = 0; r < results.size(); ++r) {
    const TensorId t = group.program.results[r].first;
    const auto at = done_.insert_or_assign(t, std::move(results[r])).first;
    if (!given_.contains(t)) known_[t] = {&at->second, nullptr};
  }
  return {};
}

Result<void> Oracle::verify(NodeId node) {
  if (!options_.verify_gathers) return {};
  auto ok = oracle::verify_gathers(
      g_, g_[node], params_, [this](TensorId t) { return source(t); },
      options_.max_body_evaluations);
  if (!ok) ok.error().where = g_[node].where;
  return ok;
}

Result<void> Oracle::evaluate_all(const std::vector<TensorId>& wanted) {
  std::map<TensorId, size_t> last;  // the last group that reads a tensor
  for (size_t k = 0; k < groups_.size(); ++k) {
    for (const auto& [t, reg] : groups_[k].program.results) last[t] = k;
    for (TensorId t : tensors_read(g_, g_[groups_[k].node])) last[t] = k;
  }
  for (size_t k = 0; k < groups_.size(); ++k) {
    if (k == 0 || groups_[k].node != groups_[k - 1].node)
      if (const auto ok = verify(groups_[k].node); !ok) return ok;
    if (const auto ok = evaluate_group(groups_[k]); !ok) return ok;
    for (const auto& [t, user] : last)
      if (user == k && std::find(wanted.begin(), wanted.end(), t) == wanted.end()) {
        known_.erase(t);
        done_.erase(t);
        decoded_.erase(t);
      }
  }
  return {};
}

Result<Evaluation> Oracle::run(const std::vector<TensorId>& wanted) {
  if (const auto ok = reach(wanted); !ok) return tl::unexpected(ok.error());
  if (const auto ok = compile_groups(); !ok) return tl::unexpected(ok.error());
  sampled_ = options_.extent == OracleOptions::Extent::sampled;
  if (options_.extent == OracleOptions::Extent::automatic)
    sampled_ = body_evaluations() > static_cast<double>(options_.max_body_evaluations) ||
               bytes() > static_cast<double>(memory_limit()) / 2;
  if (sampled_) {
    draw(wanted);
    spread();
  }
  if (const auto ok = evaluate_all(wanted); !ok) return tl::unexpected(ok.error());
  Evaluation result;
  for (TensorId t : wanted) {
    if (const auto it = done_.find(t); it != done_.end()) {
      result.insert_or_assign(t, std::move(it->second));
    } else if (!result.contains(t)) {
      auto values = decode(*given_.at(t), g_[t].kind);
      if (!values) return tl::unexpected(values.error());
      result.insert_or_assign(t, std::move(*values));
    }
    done_.erase(t);
  }
  return result;
}

}  // namespace

PointSet sample_points(const Shape& shape, int64_t points, uint64_t seed, std::string_view name) {
  const int64_t n = element_count(shape).value_or(0);
  PointSet set(n);
  if (n <= points) {
    set.add_all();
    set.finish();
    return set;
  }
  const size_t free = std::min<size_t>(shape.size(), 8);  // axes whose both ends are combined
  for (uint32_t corner = 0; corner < (1u << free); ++corner) {
    int64_t flat = 0;
    for (size_t a = 0; a < shape.size(); ++a) {
      const uint32_t bit = a < free ? corner >> a & 1 : corner & 1;
      flat = flat * shape[a] + (bit ? shape[a] - 1 : 0);
    }
    set.add(flat);
  }
  const RandomStream stream(seed, name);
  const int64_t last = shape.back(), run = std::min<int64_t>(last, 16);
  const int64_t left = std::max<int64_t>(0, points - (int64_t{1} << free));
  for (int64_t k = 0; k < left / run; ++k) {
    const auto draw = static_cast<uint64_t>(2 * k);
    const int64_t row = stream.integer(draw, 0, n / last - 1);
    const int64_t start = stream.integer(draw + 1, 0, last - run);
    for (int64_t x = 0; x < run; ++x) set.add(row * last + start + x);
  }
  set.finish();
  return set;
}

Result<Evaluation> evaluate_tensors(const Graph& g, std::span<const int64_t> params,
                                    const Given& given, const std::vector<TensorId>& wanted,
                                    const OracleOptions& options) {
  return Oracle(g, params, given, options).run(wanted);
}

Result<Evaluation> evaluate(const Graph& g, std::span<const int64_t> params, const Given& given,
                            const OracleOptions& options) {
  std::vector<TensorId> wanted;
  for (const Output& o : g.outputs) wanted.push_back(o.tensor);
  return evaluate_tensors(g, params, given, wanted, options);
}

Result<Evaluation> evaluate_node(const Graph& g, NodeId node, std::span<const int64_t> params,
                                 const Given& given, const OracleOptions& options) {
  std::vector<TensorId> wanted;
  Given operands = given;
  for (const Target& t : g[node].targets) {
    wanted.push_back(t.tensor);
    operands.erase(t.tensor);
  }
  return evaluate_tensors(g, params, operands, wanted, options);
}

std::vector<int64_t> bound_params(const Graph& g) {
  std::vector<int64_t> out;
  for (const Param& p : g.params) out.push_back(p.bound.value_or(0));
  return out;
}

}  // namespace tang
