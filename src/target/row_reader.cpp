#include "target/row_reader.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tang {

namespace {

std::optional<Op> operation(std::string_view word) {
  for (int k = 0; k <= static_cast<int>(Op::pow); ++k)
    if (info(static_cast<Op>(k)).name == word) return static_cast<Op>(k);
  return std::nullopt;
}

// The operations that a row may fold by.
std::optional<Op> folding(std::string_view word) {
  if (word == "sum") return Op::add;
  if (word == "max") return Op::max;
  if (word == "min") return Op::min;
  return std::nullopt;
}

}  // namespace

// ---- shared definitions ------------------------------------------------------------------------

Result<void> RowReader::shared_definition(const DefinitionBlock& block) {
  Scanner in(block.head.text);
  Result<void> read;
  if (in.accept_word("place"))
    read = place(in);
  else if (in.accept_word("layout"))
    read = layout(in);
  else
    read = in.fail("a definition is expected", "write `row`, `place` or `layout`");
  if (read && !block.body.empty()) read = in.fail("a line of no row follows");
  if (!read) return tl::unexpected(placed(read.error(), file_, block.head));
  return {};
}

Result<AxisNames> RowReader::axis_list(Scanner& in, char open, char close) {
  AxisNames axes;
  if (!in.accept(std::string_view(&open, 1))) return in.fail(fmt::format("`{}` is expected", open));
  if (in.accept(std::string_view(&close, 1))) return axes;
  do {
    const std::string_view axis = in.word();
    if (axis.empty()) return in.fail("an axis is expected");
    axes.emplace_back(axis);
  } while (in.accept(","));
  if (!in.accept(std::string_view(&close, 1)))
    return in.fail(fmt::format("`{}` is expected", close));
  return axes;
}

Result<void> RowReader::place(Scanner& in) {
  NamedPlace p;
  p.name = in.word();
  auto axes = axis_list(in, '(', ')');
  if (!axes) return tl::unexpected(axes.error());
  if (!in.accept("=")) return in.fail("`=` and a placement are expected");
  p.rule = {std::string(in.rest()), std::move(*axes)};
  places_.push_back(std::move(p));
  return {};
}

Result<void> RowReader::layout(Scanner& in) {
  Layout l;
  l.name = in.word();
  auto axes = axis_list(in, '(', ')');
  if (!axes) return tl::unexpected(axes.error());
  l.axes = std::move(*axes);
  if (!in.accept_word("major")) return in.fail("`major` and an axis are expected");
  const auto major = std::find(l.axes.begin(), l.axes.end(), in.word());
  if (major == l.axes.end()) return in.fail("the major axis is none of the layout's");
  l.major = static_cast<uint32_t>(major - l.axes.begin());
  if (!in.accept_word("spans")) return in.fail("`spans` and bytes are expected", "0 is no swizzle");
  while (const auto span = in.integer()) l.spans.push_back(*span);
  if (!in.accept("=")) return in.fail("`=` and a storage are expected");
  l.text = std::string(in.rest());
  const auto any = [](std::string_view) { return std::optional<int64_t>(1); };
  if (const auto s = parse_storage(l.text, l.axes, any); !s) return tl::unexpected(s.error());
  layouts_.push_back(std::move(l));
  return {};
}

// ---- rows --------------------------------------------------------------------------------------

Result<Row> RowReader::row(const DefinitionBlock& block) {
  Row row;
  operand_axes_.clear();
  row.name = block.head.text.substr(4);
  for (const DefinitionLine& l : block.body)
    if (const auto read = line(l.text, row); !read)
      return tl::unexpected(placed(read.error(), file_, l));
  if (const auto whole = complete(row); !whole)
    return tl::unexpected(placed(whole.error(), file_, block.head));
  return row;
}

Result<void> RowReader::line(std::string_view text, Row& row) {
  static constexpr std::pair<std::string_view, Line> lines[] = {
      {"do", &RowReader::equation}, {"size", &RowReader::sizes}, {"run", &RowReader::run},
      {"needs", &RowReader::needs}, {"sum", &RowReader::sum},    {"cost", &RowReader::cost}};
  Scanner in(text);
  const std::string_view word = in.word();
  if (word == "text") {
    row.text += (row.text.empty() ? "" : "\n") + std::string(in.rest());
    return {};
  }
  for (size_t k = 0; k < row.operands.size(); ++k)
    if (row.operands[k].name == word) return operand(in, row.operands[k], operand_axes_[k]);
  for (const auto& [keyword, read] : lines) {
    if (keyword != word) continue;
    if (auto done = (this->*read)(in, row); !done) return done;
    return in.at_end() ? Result<void>() : in.fail("the line goes on");
  }
  return Scanner::fail_at(1, fmt::format("`{}` begins no line of a row", word),
                          "a line begins with do, size, run, needs, sum, cost, text or an operand "
                          "of the equation, which stands first");
}

// `a[m, k]`; an operand is listed in the order in which it is first read.
Result<uint32_t> RowReader::operand_read(Scanner& in, Row& row) {
  const std::string_view name = in.word();
  if (name.empty()) return in.fail("an operand is expected", "write `a[m, k]`");
  auto axes = axis_list(in, '[', ']');
  if (!axes) return tl::unexpected(axes.error());
  Operand o;
  o.name = name;
  row.operands.push_back(std::move(o));
  operand_axes_.push_back(std::move(*axes));
  return static_cast<uint32_t>(row.operands.size() - 1);
}

Result<void> RowReader::equation(Scanner& in, Row& row) {
  if (in.accept_word("prefetch")) {
    row.computes.kind = Computes::Kind::prefetch;
    const auto a = operand_read(in, row);
    if (!a) return tl::unexpected(a.error());
    row.computes.arguments.push_back(*a);
    return {};
  }
  const auto d = operand_read(in, row);
  if (!d) return tl::unexpected(d.error());
  row.computes.result = *d;
  if (!in.accept("=")) return in.fail("`=` is expected");
  return right_side(in, row);
}

Result<void> RowReader::right_side(Scanner& in, Row& row) {
  using Kind = Computes::Kind;
  Computes& c = row.computes;
  const Scanner before = in;
  const std::string_view word = in.word();
  if (in.accept("(")) return mapped(in, row, word);
  if (word == "shuffle") {
    c.kind = Kind::shuffle;
    c.exchange = in.word();
  } else if (word == "fold" || word == "sum") {
    c.kind = word == "fold" ? Kind::fold : Kind::contract;
    const auto op = folding(word == "fold" ? in.word() : word);
    if (!op) return in.fail("an operation that folds is expected", "write sum, max or min");
    c.op = *op;
  } else {
    in = before;
  }
  do {
    const auto a = operand_read(in, row);
    if (!a) return tl::unexpected(a.error());
    c.arguments.push_back(*a);
  } while (c.kind == Kind::contract && in.accept("*"));
  return {};
}

Result<void> RowReader::mapped(Scanner& in, Row& row, std::string_view op) {
  const auto of = operation(op);
  if (!of) return in.fail(fmt::format("`{}` is no operation", op), "expr/ops.def lists them");
  row.computes.kind = Computes::Kind::map;
  row.computes.op = *of;
  do {
    const auto a = operand_read(in, row);
    if (!a) return tl::unexpected(a.error());
    row.computes.arguments.push_back(*a);
  } while (in.accept(","));
  if (static_cast<int>(row.computes.arguments.size()) != info(*of).arity)
    return in.fail(fmt::format("`{}` takes {} operands", op, info(*of).arity));
  if (!in.accept(")")) return in.fail("`)` is expected");
  return {};
}

// `8` or an expression in parentheses; empty where there is none.
std::optional<int64_t> RowReader::size(Scanner& in) {
  const Scanner before = in;
  if (!in.accept("(")) return in.integer();
  in = before;
  const auto value = in.primary({});
  return value ? std::optional(*value) : std::nullopt;
}

Result<Choice> RowReader::choice(Scanner& in) {
  Choice c;
  int64_t last = 0;
  while (const auto from = size(in)) {
    Run r{*from, *from, 1};
    if (in.accept("..")) r.to = in.integer().value_or(0);
    if (in.accept("/")) r.step = in.integer().value_or(0);
    if (r.from <= last || r.to < r.from || r.step < 1)
      return in.fail("sizes do not ascend", "write `8 16 24 32 48..256/16`");
    last = r.to;
    c.runs.push_back(r);
  }
  if (c.runs.empty()) return in.fail("a size is expected", "write `n 8..256/8`");
  return c;
}

Result<void> RowReader::sizes(Scanner& in, Row& row) {
  do {
    SizedAxis axis;
    axis.name = in.word();
    if (axis.name.empty()) return in.fail("an axis is expected");
    auto c = choice(in);
    if (!c) return tl::unexpected(c.error());
    axis.sizes = std::move(*c);
    row.axes.push_back(std::move(axis));
  } while (in.accept(","));
  return {};
}

Result<void> RowReader::run(Scanner& in, Row& row) {
  while (!in.at_end()) {
    const int start = in.column();
    const std::string_view word = in.word();
    if (const auto s = parse_scope(word))
      row.scope = *s;
    else if (const auto d = parse_done(word))
      row.done = *d;
    else if (const auto p = parse_proxy(word))
      row.proxy = *p;
    else
      return Scanner::fail_at(start, fmt::format("`{}` is no scope, end or proxy", word));
  }
  return {};
}

Result<void> RowReader::needs(Scanner& in, Row& row) {
  row.needs = in.word();
  return row.needs.empty() ? in.fail("a feature is expected") : Result<void>();
}

Result<void> RowReader::sum(Scanner& in, Row& row) {
  while (!in.at_end()) {
    if (in.accept_word("truncates")) {
      row.truncates = true;
      continue;
    }
    const bool bits = in.accept_word("bits");
    if (!bits && !in.accept_word("promote"))
      return in.fail("bits, truncates or promote is expected");
    const auto value = in.integer();
    if (!value || *value > 64) return in.fail("a number up to 64 is expected");
    (bits ? row.accumulator_bits : row.promote_every) = static_cast<int>(*value);
  }
  return {};
}

Result<void> RowReader::cost(Scanner& in, Row& row) {
  while (!in.at_end()) {
    const bool issue = in.accept_word("issue");
    if (!issue && !in.accept_word("latency")) return in.fail("issue or latency is expected");
    const int start = in.column();
    if (const auto value = in.sum(row.names(Sizes(row.axes.size(), 512))); !value)
      return tl::unexpected(value.error());
    (issue ? row.issue : row.latency) = in.between(start, in.column());
  }
  return {};
}

// Everything that the lines together must say.
Result<void> RowReader::complete(Row& row) {
  if (row.operands.empty())
    return Scanner::fail_at(1, "the row computes nothing", "write a `do` line");
  for (size_t k = 0; k < row.operands.size(); ++k) {
    Operand& o = row.operands[k];
    if (o.spaces.empty())
      return Scanner::fail_at(1, fmt::format("nothing is said of operand `{}`", o.name));
    for (const std::string& axis : operand_axes_[k]) {
      const auto at = std::find_if(row.axes.begin(), row.axes.end(),
                                   [&](const SizedAxis& a) { return a.name == axis; });
      if (at == row.axes.end())
        return Scanner::fail_at(1, fmt::format("axis `{}` has no size", axis));
      o.axes.push_back(static_cast<uint32_t>(at - row.axes.begin()));
    }
  }
  Sizes least;
  for (const SizedAxis& a : row.axes) least.push_back(a.sizes.runs[0].from);
  for (const Operand& o : row.operands) {
    if (o.spaces[0] == Space::reg)
      if (const auto p = row.holds(o, least); !p) return tl::unexpected(p.error());
    if (o.addresses)
      if (const auto p = row.addresses(o, least); !p) return tl::unexpected(p.error());
  }
  for (std::string_view hole : holes(row.name))
    if (!row.names(least)(hole))
      return Scanner::fail_at(1, fmt::format("the name's hole `{{{}}}` is no size", hole));
  for (std::string_view hole : holes(row.text)) {
    const std::string_view base = hole.substr(0, hole.find('.'));
    const bool immediate =
        std::find(immediates.begin(), immediates.end(), hole) != immediates.end();
    if (!row.find(base) && !immediate && !row.names(least)(hole))
      return Scanner::fail_at(1,
                              fmt::format("the text's hole `{{{}}}` is none of the row's", hole));
  }
  return {};
}

}  // namespace tang
