#include "verify/reduce.h"

#include <array>
#include <cctype>
#include <set>

#include "front/elaborate.h"
#include "ir/bind.h"
#include "ir/print.h"
#include "rewrite/edit.h"
#include "verify/reduce_edits.h"

namespace tang {

namespace {

// Words and numbers of a program's text.
struct Word {
  std::string text;
  bool name = false;
};

std::vector<Word> words(const std::string& text) {
  const auto inside = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  };
  std::vector<Word> list;
  for (size_t k = 0; k < text.size();) {
    size_t end = k + 1;
    if (inside(text[k]))
      while (end < text.size() && inside(text[end])) ++end;
    if (!std::isspace(static_cast<unsigned char>(text[k])))
      list.push_back({text.substr(k, end - k),
                      std::isalpha(static_cast<unsigned char>(text[k])) || text[k] == '_'});
    k = end;
  }
  return list;
}

// How large a program is to its reader. Numbers count by size, the one below 1 last.
using Measure = std::array<double, 3>;

Measure measure(const Graph& g, const std::string& text) {
  Measure m = {static_cast<double>(g.order().size()), 0, 0};
  for (const Word& w : words(text)) {
    m[1] += 1;
    if (std::isdigit(static_cast<unsigned char>(w.text[0])) && w.text.size() < 300)
      m[2] += std::strtod(w.text.c_str(), nullptr) + static_cast<double>(w.text.size());
  }
  return m;
}

void write_param_values(Graph& g) {
  for (Param& p : g.params)
    if (p.bound) p.value = g.pool.integer(*p.bound);
}

// Inputs that nothing reads are no inputs.
void drop_unused_inputs(Graph& g) {
  std::set<TensorId> read;
  for (NodeId id : g.order())
    for (TensorId t : tensors_read(g, g[id])) read.insert(t);
  for (const Output& o : g.outputs) read.insert({o.tensor, o.into});
  for (size_t k = 0; k < g.tensors.size(); ++k)
    if (g.tensors[k].role == Role::input && !read.contains(static_cast<TensorId>(k)))
      g.tensors[k].role = Role::definition;
}

// The text without params that nothing mentions. They stand on the first line, in order.
std::string without_unused_params(const Graph& g, const std::string& text) {
  std::string kept = text;
  for (size_t k = g.params.size(); k-- > 0;) {
    int mentions = 0;
    for (const Word& w : words(kept)) mentions += w.name && w.text == g.params[k].name;
    const size_t end = kept.find('\n');
    if (mentions != 1 || !kept.starts_with("param ") || end == std::string::npos) continue;
    const std::string list = kept.substr(6, end - 6);
    std::string rest;
    for (size_t begin = 0; begin < list.size();) {
      const size_t comma = std::min(list.find(", ", begin), list.size());
      const std::string one = list.substr(begin, comma - begin);
      if (words(one)[0].text != g.params[k].name) rest += (rest.empty() ? "" : ", ") + one;
      begin = comma + 2;
    }
    kept = (rest.empty() ? "" : "param " + rest + "\n") + kept.substr(end + 1);
  }
  return kept;
}

class Reducer {
 public:
  Reducer(const Graph& failing, const FailsStill& fails, const ReduceOptions& options)
      : fails_(fails), end_(std::chrono::steady_clock::now() + options.budget) {
    best_.graph = failing;
    write_param_values(best_.graph);
    best_.text = print(best_.graph);
    measure_ = measure(best_.graph, best_.text);
  }

  Reduced run() {
    using Edits = std::vector<Edit> (*)(const Graph&);
    try_edit([](Graph&) {});  // the program as it parses, without what it does not use
    for (bool changed = true; changed && best_.exhausted;) {
      changed = false;
      for (Edits edits :
           {isolating_edits, cutting_edits, size_edits, statement_edits, expression_edits})
        changed |= sweep(edits);
    }
    return std::move(best_);
  }

 private:
  // Tries the edits one after the other; one that helps gives a new list, gone on with at its
  // place.
  template <class Edits>
  bool sweep(Edits edits) {
    bool changed = false;
    std::vector<Edit> list = edits(best_.graph);
    for (size_t k = 0; k < list.size();) {
      if (std::chrono::steady_clock::now() >= end_) {
        best_.exhausted = false;
        return changed;
      }
      if (!try_edit(list[k])) {
        ++k;
        continue;
      }
      changed = true;
      list = edits(best_.graph);
    }
    return changed;
  }

  bool try_edit(const Edit& edit) {
    Graph candidate = best_.graph;
    edit(candidate);
    remove_dead(candidate);
    drop_unused_inputs(candidate);
    const std::string text = without_unused_params(candidate, print(candidate));
    if (!tried_.insert(text).second) return false;
    auto parsed = parse(text);
    if (!parsed || !bind(*parsed, {}).empty()) return false;
    const Measure m = measure(*parsed, text);
    if (m >= measure_) return false;
    ++best_.trials;
    if (!fails_(*parsed)) return false;
    best_.graph = std::move(*parsed);
    best_.text = text;
    measure_ = m;
    return true;
  }

  const FailsStill& fails_;
  std::chrono::steady_clock::time_point end_;
  Reduced best_;
  Measure measure_{};
  std::set<std::string> tried_;
};

}  // namespace

Reduced reduce(const Graph& failing, const FailsStill& fails, const ReduceOptions& options) {
  return Reducer(failing, fails, options).run();
}

}  // namespace tang
