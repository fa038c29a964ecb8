#include "loop/verify_group.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "loop/text.h"
#include "loop/uniform.h"
#include "loop/verify.h"

namespace tang::loop {

namespace {

class GroupVerifier {
 public:
  GroupVerifier(const Program& program, const Kernel& kernel, Diagnostics& out)
      : program_(program), kernel_(kernel), out_(out), uniform_(kernel) {}

  void run() {
    find_nests();
    for (const Stmt& s : kernel_.body) {
      current_ = &s;
      statement(s);
      if (s.kind == StmtKind::for_ || s.kind == StmtKind::if_) open_.push_back(&s);
      if (s.kind == StmtKind::end) open_.pop_back();
    }
    current_ = nullptr;
    arrays();
  }

 private:
  void complain(const std::string& message) {
    Diagnostic d;
    d.id = "E0410";
    d.message = fmt::format("kernel `{}`: {}", kernel_.name, message);
    if (current_) {
      d.message += fmt::format(" in `{}`", text(*current_));
      d.where.line = current_->line;
    }
    out_.push_back(std::move(d));
  }
  std::string text(const Stmt& s) const { return print_statement(program_, kernel_, s); }

  void find_nests();
  bool nests(const Stmt* s) const {
    return std::find(nests_.begin(), nests_.end(), s) != nests_.end();
  }
  void statement(const Stmt& s);
  void meeting(const Stmt& s);
  void parallel(const Stmt& loop);
  bool mentions(Value root, LocalId local) const;
  void arrays();

  const Program& program_;
  const Kernel& kernel_;
  Diagnostics& out_;
  const Uniformity uniform_;
  const Stmt* current_ = nullptr;
  std::vector<const Stmt*> open_;
  std::vector<const Stmt*> nests_;  // parallel loops around parallel loops
};

void GroupVerifier::find_nests() {
  std::vector<const Stmt*> open;
  for (const Stmt& s : kernel_.body) {
    if (s.kind == StmtKind::for_ && s.hint == Hint::parallel && !open.empty())
      nests_.push_back(open.back());
    if (s.kind == StmtKind::for_ || s.kind == StmtKind::if_) open.push_back(&s);
    if (s.kind == StmtKind::end) open.pop_back();
  }
}

void GroupVerifier::statement(const Stmt& s) {
  if (s.kind == StmtKind::for_ && s.hint == Hint::parallel) {
    parallel(s);
  } else if (!open_.empty() && nests(open_.back()) && s.kind != StmtKind::end &&
             s.kind != StmtKind::comment) {
    complain("stands beside a parallel loop, in another one");
  }
  if (s.kind == StmtKind::barrier || s.kind == StmtKind::exchange) meeting(s);
  if (s.kind == StmtKind::array && kernel_[s.local].shared && !open_.empty())
    complain("a shared array stands outside of all loops and branches");
}

// Where all threads have to be.
void GroupVerifier::meeting(const Stmt& s) {
  for (const Stmt* around : open_) {
    if (!uniform_.splits(*around)) continue;
    return complain(
        fmt::format("not all threads get here together, since `{}` differs from thread "
                    "to thread",
                    text(*around)));
  }
  if (s.kind != StmtKind::exchange) return;
  const auto mask = static_cast<uint64_t>(s.step);
  if (static_cast<uint64_t>(kernel_.threads) % (2 * std::bit_floor(mask)) != 0)
    complain(fmt::format("some of {} threads have none to exchange with", kernel_.threads));
}

// Groups share the iterations, as many as the product of the trips.
void GroupVerifier::parallel(const Stmt& loop) {
  if (uniform_.varies(loop.a) || uniform_.varies(loop.b))
    complain("the bounds of a parallel loop differ from thread to thread");
  for (const Stmt* around : open_)
    if (mentions(loop.a, around->local) || mentions(loop.b, around->local))
      complain(fmt::format("the bounds of a parallel loop depend on `{}` of the one around it",
                           kernel_[around->local].name));
  if (std::count(nests_.begin(), nests_.end(), open_.empty() ? nullptr : open_.back()) > 1)
    complain("stands beside a parallel loop, in another one");
}

bool GroupVerifier::mentions(Value root, LocalId local) const {
  std::vector<Value> work = {root};
  std::vector<bool> seen(kernel_.nodes.size());
  while (!work.empty()) {
    const Value v = work.back();
    work.pop_back();
    if (seen[v.id]) continue;
    seen[v.id] = true;
    const Node& node = kernel_[v];
    if (node.op == Op::local && node.id == index(local)) return true;
    for (const Value arg : Operands(node)) work.push_back(arg);
  }
  return false;
}

// The arrays of all threads are bounded too.
void GroupVerifier::arrays() {
  constexpr int64_t bytes[] = {8, 4, 8, 4, 1};
  int64_t own = 0;
  for (const Local& local : kernel_.locals)
    if (local.kind == LocalKind::array && !local.shared)
      own += local.count * bytes[static_cast<size_t>(local.type)];
  if (own > max_own_bytes / kernel_.threads)
    complain(fmt::format("the arrays of its {} threads take more than {} bytes", kernel_.threads,
                         max_own_bytes));
}

void verify_one_thread(const Kernel& kernel, const auto& complain) {
  for (const Node& node : kernel.nodes)
    if (node.op == Op::thread) return complain("`thread`");
  for (const Stmt& s : kernel.body) {
    if (s.kind == StmtKind::barrier) return complain("`barrier`");
    if (s.kind == StmtKind::array && kernel[s.local].shared) return complain("a shared array");
  }
}

}  // namespace

void verify_group(const Program& program, const Kernel& kernel, Diagnostics& out) {
  const auto complain = [&](const std::string& message) {
    Diagnostic d;
    d.id = "E0410";
    d.message = fmt::format("kernel `{}`: {}", kernel.name, message);
    out.push_back(std::move(d));
  };
  if (kernel.threads < 1 || kernel.threads > max_threads)
    return complain(
        fmt::format("a group has 1 to {} threads, not {}", max_threads, kernel.threads));
  if (kernel.threads > 1) return GroupVerifier(program, kernel, out).run();
  verify_one_thread(kernel, [&](std::string_view what) {
    complain(fmt::format("{} is for kernels of several threads", what));
  });
}

}  // namespace tang::loop
