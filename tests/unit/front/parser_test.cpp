#include "front/parser.h"

#include <chrono>

#include <gtest/gtest.h>

#include "unit/front/programs.h"

namespace tang {
namespace {

struct Parsed {
  explicit Parsed(std::string text) : source("t.tang", std::move(text)) {
    module = parse_syntax(source, errors);
    finish_errors(errors);
  }
  Source source;
  Diagnostics errors;
  ast::Module module;
};

// Fully bracketed text of an expression, to see how it was grouped.
std::string show(const ast::Module& m, ast::NodeId id) {
  const ast::Node& n = m[id];
  auto list = [&](std::uint32_t from = 0) {
    std::string out;
    for (std::uint32_t i = from; i < n.count; ++i) {
      out += (i > from ? ", " : "") + show(m, m.child(id, i));
    }
    return out;
  };
  auto binary = [&](const char* op) {
    return "(" + show(m, m.child(id, 0)) + op + show(m, m.child(id, 1)) + ")";
  };
  std::string name(n.name.text);
  switch (n.kind) {
    case ast::NodeKind::integer:
      return std::to_string(n.integer);
    case ast::NodeKind::real:
      return "real";
    case ast::NodeKind::boolean:
      return n.integer ? "true" : "false";
    case ast::NodeKind::name:
      return name;
    case ast::NodeKind::negate:
      return "-" + list();
    case ast::NodeKind::negation:
      return "not(" + list() + ")";
    case ast::NodeKind::add:
      return binary("+");
    case ast::NodeKind::subtract:
      return binary("-");
    case ast::NodeKind::multiply:
      return binary("*");
    case ast::NodeKind::divide:
      return binary("/");
    case ast::NodeKind::conjunction:
      return binary(" and ");
    case ast::NodeKind::disjunction:
      return binary(" or ");
    case ast::NodeKind::compare: {
      const char* signs[] = {"<", "<=", ">", ">=", "==", "!="};
      std::string out = "(" + show(m, m.child(id, 0));
      for (std::uint32_t i = 1; i < n.count; ++i) {
        out += signs[static_cast<int>(m.relations[n.extra + i - 1])] + show(m, m.child(id, i));
      }
      return out + ")";
    }
    case ast::NodeKind::field:
      return list() + "." + name;
    case ast::NodeKind::read:
      return name + (n.guarded ? "?" : "") + "[" + list() +
             (n.extra != ast::kNoNode ? "; " + show(m, n.extra) : "") + "]";
    case ast::NodeKind::reduce: {
      const ast::Binder& b = m.binders[n.extra];
      std::string out = name + "[";
      for (std::size_t i = 0; i < b.indices.size(); ++i) {
        out += (i ? ", " : "") + std::string(b.indices[i].text);
      }
      for (std::size_t i = 0; i < b.modifiers.size(); ++i) {
        out += (i ? ", " : "; ") + std::string(b.modifiers[i].text);
      }
      if (b.condition != ast::kNoNode) out += " | " + show(m, b.condition);
      return out + "](" + list() + ")";
    }
    case ast::NodeKind::call:
      return name + "(" + list() + ")";
    case ast::NodeKind::tuple:
      return "<" + list() + ">";
  }
  return "?";
}

std::string grouped(const std::string& expression) {
  Parsed p("x = " + expression);
  if (!p.errors.empty()) return p.errors[0].id + " " + p.errors[0].message;
  return show(p.module, std::get<ast::Definition>(p.module.statements.at(0).payload).value);
}

TEST(Parser, Precedence) {
  EXPECT_EQ(grouped("a + b * c - d / e"), "((a+(b*c))-(d/e))");
  EXPECT_EQ(grouped("a - b - c"), "((a-b)-c)");
  EXPECT_EQ(grouped("-a * b"), "(-a*b)");
  EXPECT_EQ(grouped("a * -b.c"), "(a*-b.c)");
  EXPECT_EQ(grouped("a or b and c or d"), "((a or (b and c)) or d)");
  EXPECT_EQ(grouped("not a < b and c"), "(not((a<b)) and c)");
  EXPECT_EQ(grouped("not not a"), "not(not(a))");
  EXPECT_EQ(grouped("a <= b < c + 1"), "(a<=b<(c+1))");
  EXPECT_EQ(grouped("(a < b) == (c < d)"), "((a<b)==(c<d))");
  EXPECT_EQ(grouped("2*i + k == o and j >= 0"), "((((2*i)+k)==o) and (j>=0))");
  EXPECT_EQ(grouped("((((a))))"), "a");
}

TEST(Parser, Atoms) {
  EXPECT_EQ(grouped("inf"), "real");
  EXPECT_EQ(grouped("nan"), "real");
  EXPECT_EQ(grouped("select(true, 1, false)"), "select(true, 1, false)");
  EXPECT_EQ(grouped("f()"), "f()");
  EXPECT_EQ(grouped("x[i, j + 1]"), "x[i, (j+1)]");
  EXPECT_EQ(grouped("x?[i]"), "x?[i]");
  EXPECT_EQ(grouped("x?[i - 1; -inf]"), "x?[(i-1); -real]");
  EXPECT_EQ(grouped("x[r[i]; 0]"), "x[r[i]; 0]");
  EXPECT_EQ(grouped("sum[j](x[j])"), "sum[j](x[j])");
  EXPECT_EQ(grouped("sum[j, k | j <= k and k < n](x[j])"), "sum[j, k | ((j<=k) and (k<n))](x[j])");
  EXPECT_EQ(grouped("scan[t; affine, exclusive, reverse](a, b)"),
            "scan[t; affine, exclusive, reverse](a, b)");
  EXPECT_EQ(grouped("topk[x; n](g[x]).index"), "topk[x; n](g[x]).index");
  EXPECT_EQ(grouped("(a, b, c)"), "<a, b, c>");
  EXPECT_EQ(grouped("a.b.c"), "a.b.c");
  EXPECT_EQ(grouped("-9223372036854775808"), "-9223372036854775808");
}

TEST(Parser, EveryProgramOfTheManual) {
  for (const auto& program : programs::kAll) {
    Parsed p(program.text);
    for (const Diagnostic& d : p.errors) {
      ADD_FAILURE() << program.name << ":" << d.where.line << ":" << d.where.col << " "
                    << d.message;
    }
  }
}

TEST(Parser, EveryStatement) {
  Parsed p(
      "param a, b = 3, c = (a + 2) / 2\n"
      "dim i = a, j = 2*b\n"
      "input x[i, j], y : f16, z[3]\n"
      "grad o with do, l -> dx: x, dy: y\n"
      "sorted x, z\n"
      "fn f() = 1\n"
      "fn g[i, j](x, y) = x\n"
      "monoid m(s) identity 0 combine(a, b) = a.s + b.s\n"
      "(p[i], q : f16) = (a, b) where (a, b) = online[i](x, y)\n"
      "r[i] : f16 = a where a = sum[j](x[i, j])\n"
      "output p, q into y\n");
  ASSERT_TRUE(p.errors.empty()) << p.errors[0].message;
  ASSERT_EQ(p.module.statements.size(), 11u);
  auto at = [&](int i) -> const ast::Payload& { return p.module.statements[i].payload; };
  EXPECT_EQ(std::get<ast::Param>(at(0)).items.size(), 3u);
  EXPECT_EQ(std::get<ast::Param>(at(0)).items[0].value, ast::kNoNode);
  EXPECT_EQ(std::get<ast::Dim>(at(1)).items[1].name.text, "j");
  const auto& input = std::get<ast::Input>(at(2));
  EXPECT_EQ(input.items[0].extents.size(), 2u);
  EXPECT_EQ(input.items[0].format.text, "");
  EXPECT_EQ(input.items[1].format.text, "f16");
  const auto& grad = std::get<ast::Grad>(at(3));
  EXPECT_EQ(grad.seeds[0].cotangent.text, "do");
  EXPECT_EQ(grad.seeds[1].cotangent.text, "");
  EXPECT_EQ(grad.results[1].of.text, "y");
  EXPECT_EQ(std::get<ast::Sorted>(at(4)).names.size(), 2u);
  EXPECT_TRUE(std::get<ast::Function>(at(5)).parameters.empty());
  EXPECT_EQ(std::get<ast::Function>(at(6)).indices.size(), 2u);
  const auto& monoid = std::get<ast::Monoid>(at(7));
  EXPECT_EQ(monoid.lift, ast::kNoNode);
  EXPECT_FALSE(monoid.commutative);
  const auto& tuple = std::get<ast::Definition>(at(8));
  EXPECT_TRUE(tuple.tuple && tuple.state_tuple);
  EXPECT_EQ(tuple.targets[1].format.text, "f16");
  const auto& single = std::get<ast::Definition>(at(9));
  EXPECT_FALSE(single.tuple || single.state_tuple);
  EXPECT_EQ(single.state.size(), 1u);
  EXPECT_EQ(std::get<ast::Output>(at(10)).items[1].into.text, "y");
}

TEST(Parser, NewlinesEndStatementsOnlyWhereTheyMay) {
  for (const char* text :
       {"x = a\ny = b", "x = a +\n  b\ny = c", "x = a\n  + b\ny = c", "dim a = 1,\n  b = 2\ny = c",
        "dim a = 1\n  , b = 2\ny = c", "x = f(\n a,\n\n b\n)\ny = c", "x = a\n\n# comment\n\ny = c",
        "x =\n a\ny = c", "x = a.\nb\ny = c", "x = a\n.b\ny = c",
        "x = a\n  where a = sum[j](b)\ny = c", "x = a\nwhere a =\nsum[j](b)\ny = c",
        "monoid m(s)\nidentity 0\nlift(x) = x\ncombine(a, b) = a.s\ncommutative\ny = c",
        "output a\ninto b\ny = c", "x = inf\ny = c", "x = 1\n(y) = c",
        "x = sum[j\n](\nb)\ny = c"}) {
    Parsed p(text);
    ASSERT_TRUE(p.errors.empty()) << text << "\n" << p.errors[0].message;
    EXPECT_EQ(p.module.statements.size(), 2u) << text;
  }
}

TEST(Parser, ABracketAfterANewlineIsAStatement) {
  Parsed p("x = a[i]\n(y) = b");
  ASSERT_TRUE(p.errors.empty());
  EXPECT_EQ(p.module.statements.size(), 2u);
  EXPECT_EQ(grouped("(sum[j]\n(b))"), "sum[j](b)");
}

struct Expected {
  const char* text;
  const char* id;
  int line, col, length;
  const char* message;
};

TEST(Parser, Errors) {
  const Expected cases[] = {
      {"x = ", "E0101", 1, 4, 1, "expected an expression, found the end of the file"},
      {"x = \ny = 3", "E0101", 1, 4, 1, "expected an expression, found the end of the line"},
      {"x = a b", "E0101", 1, 7, 1, "expected the end of the statement, found `b`"},
      {"x = a = b", "E0101", 1, 7, 1, "expected the end of the statement, found `=`"},
      {"x = (a", "E0104", 1, 5, 1, "`(` is never closed"},
      {"x = (a\ny = b", "E0104", 1, 5, 1, "`(` is never closed"},
      {"x = (a +\ny = b", "E0104", 1, 5, 1, "`(` is never closed"},
      {"x = (a +\ny[i] : f16 = b", "E0104", 1, 5, 1, "`(` is never closed"},
      {"x = f(a, k[b\noutput x", "E0104", 1, 11, 1, "`[` is never closed"},
      {"x = (a]", "E0104", 1, 7, 1, "`]` cannot close a `(`"},
      {"x = a)", "E0101", 1, 6, 1, "expected the end of the statement, found `)`"},
      {"x[] = a", "E0101", 1, 3, 1, "expected an index, found `]`"},
      {"x = a[]", "E0101", 1, 6, 2, "a read has at least one position"},
      {"x = a?", "E0101", 1, 7, 1, "expected `[` after `?`, found the end of the file"},
      {"x = sum[j + 1](a)", "E0101", 1, 11, 1, "expected `,`, `;`, `|` or `]`, found `+`"},
      {"x = a ** b", "E0101", 1, 8, 1, "expected an expression, found `*`"},
      {"x = a // b", "E0101", 1, 8, 1, "expected an expression, found `/`"},
      {"x = a < not b", "E0101", 1, 9, 3, "expected an expression, found `not`"},
      {"param input", "E0105", 1, 7, 5, "`input` is a reserved word, not a name"},
      {"lift = 3", "E0101", 1, 1, 4, "expected a statement, found `lift`"},
      {"3 = x", "E0101", 1, 1, 1, "expected a statement, found `3`"},
      {"dim i", "E0101", 1, 6, 1, "expected `=` and the extent, found the end of the file"},
      {"dim i =\noutput x", "E0101", 2, 1, 6, "expected an expression, found `output`"},
      {"input x[3] : 5", "E0101", 1, 14, 1, "expected a format, found `5`"},
      {"grad o : x", "E0101", 1, 8, 1, "expected `->`, found `:`"},
      {"fn f = 3", "E0101", 1, 6, 1, "expected `(`, found `=`"},
      {"monoid m(a) combine(a, b) = a", "E0101", 1, 13, 7,
       "expected `identity` and the identity state, found `combine`"},
      {"monoid m(a) identity 0 combine(a) = a", "E0101", 1, 33, 1,
       "expected `,`: combine takes two states, found `)`"},
      {"let x = 3", "E0101", 1, 1, 3, "`let` does not begin a statement"},
      {"x : f16", "E0101", 1, 8, 1,
       "expected `=` and what the definition stands for, found the end "
       "of the file"},
      {"x = 9223372036854775808", "E0106", 1, 5, 19,
       "`9223372036854775808` does not fit in 64 bits"},
      {"output", "E0101", 1, 7, 1, "expected the name of an output, found the end of the file"},
  };
  for (const Expected& e : cases) {
    Parsed p(e.text);
    ASSERT_EQ(p.errors.size(), 1u) << e.text << (p.errors.empty() ? "" : p.errors[1].message);
    const Diagnostic& d = p.errors[0];
    EXPECT_EQ(d.id, e.id) << e.text;
    EXPECT_EQ(d.message, e.message) << e.text;
    EXPECT_EQ(std::tuple(d.where.line, d.where.col, d.where.length),
              std::tuple(e.line, e.col, e.length))
        << e.text << " at " << d.where.line << ":" << d.where.col << "+" << d.where.length;
  }
}

TEST(Parser, AllErrorsOfAFileInOrder) {
  Parsed p(
      "param seq,\n"
      "dim i = seq\n"
      "input x[i] : f32\n"
      "y[i] = x[i] +* 2\n"
      "z[i] = (x[i]\n"
      "w[i] = x[i] ∑ 3\n"
      "v[i] = x[i]\n"
      "u = 1__0\n"
      "output v,\n");
  std::vector<int> lines;
  for (const Diagnostic& d : p.errors) lines.push_back(d.where.line);
  EXPECT_EQ(lines, (std::vector<int>{2, 4, 5, 6, 6, 8, 9}));
  EXPECT_EQ(p.module.statements.size(), 4u);  // dim, input, v, u
}

TEST(Parser, AtMostTwentyErrors) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "x = +\n";
  Parsed p(text);
  ASSERT_EQ(p.errors.size(), 20u);
  EXPECT_EQ(p.errors[19].where.line, 20);
}

TEST(Parser, DepthIsLimited) {
  auto repeat = [](const std::string& s, int n) {
    std::string out;
    for (int i = 0; i < n; ++i) out += s;
    return out;
  };
  auto ok = [&](const std::string& text) { return Parsed("x = " + text).errors.empty(); };
  EXPECT_TRUE(ok(repeat("(", 999) + "a" + repeat(")", 999)));
  EXPECT_TRUE(ok("a" + repeat(" + a", 999)));
  EXPECT_TRUE(ok(repeat("-", 999) + "a"));
  EXPECT_TRUE(ok("a" + repeat(" < a", 5000)));
  for (const std::string& text :
       {repeat("(", 1001) + "a" + repeat(")", 1001), repeat("(", 1000000),
        repeat("-", 100000) + "a", repeat("not ", 100000) + "a", "a" + repeat(" + a", 100000),
        "a" + repeat(".b", 100000), repeat("f(", 100000), repeat("x[", 100000),
        repeat("sum[i](", 100000), "a" + repeat(" * a", 1000)}) {
    auto start = std::chrono::steady_clock::now();
    Parsed p("x = " + text + "\ny = 1 +\n");
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(p.errors.size(), 2u) << text.substr(0, 10);
    ASSERT_FALSE(p.errors.empty());
    EXPECT_EQ(p.errors[0].id, "E0107") << text.substr(0, 10);
    EXPECT_LT(seconds.count(), 5.0) << text.substr(0, 10);
  }
}

TEST(Parser, LargeFilesAreFast) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "x" + std::to_string(i) + "[i] = sum[j](a[i, j] * 2)\n";
  auto start = std::chrono::steady_clock::now();
  Parsed p(text);
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_TRUE(p.errors.empty());
  EXPECT_EQ(p.module.statements.size(), 20000u);
  EXPECT_LT(seconds.count(), 5.0);
}

}  // namespace
}  // namespace tang
