#include "cli/report.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/files.h"
#include "cli/report_text.h"
#include "emit/c_source.h"
#include "front/elaborate.h"
#include "html.h"

namespace tang::cli {
namespace {

constexpr const char* softmax_text =
    "# rows < columns & \"more\"\n"
    "param n\ndim i = 7, j = n\ninput x[i, j]\n"
    "p[i, j] = exp(x[i, j] - max[j](x[i, j]))\n"
    "y[i, j] = p[i, j] / sum[j](p[i, j])\noutput y\n";

Report report_of(const std::string& text, std::map<std::string, int64_t> sizes = {}) {
  Graph g = *parse(text);
  bind(g, {.flags = std::move(sizes), .require_all = false});
  Derivation d = derive(g);
  Variant naive = *make_variant(g, naive_plan({})), derived = *make_variant(d.derived, {});
  return {.name = "program.tang",
          .text = text,
          .again = "tang report program.tang",
          .derivation = std::move(d),
          .naive = std::move(naive),
          .derived = std::move(derived),
          .untimed = "Not timed."};
}

bool has(const std::string& page, const std::string& text) {
  return page.find(text) != std::string::npos;
}

void expect_complete(const Report& r) {
  const std::string page = report_page(r);
  EXPECT_EQ(html_fault(page), "");
  for (const LogEntry& e : r.derivation.log) {
    EXPECT_TRUE(has(page, "<code class=\"rule\">" + e.rule + "</code>")) << e.rule;
    EXPECT_TRUE(has(page, escape(e.law))) << e.law;
    EXPECT_TRUE(has(page, escape(e.summary))) << e.summary;
  }
  for (const NearMiss& m : r.derivation.near) EXPECT_TRUE(has(page, escape(m.condition)));
  for (const loop::Kernel& k : r.derived.program().kernels)
    EXPECT_TRUE(has(page, "id=\"kernel-" + k.name + "\"")) << k.name;
}

TEST(Report, EveryExample) {
  for (const auto& entry : std::filesystem::directory_iterator("examples")) {
    if (entry.path().extension() != ".tang") continue;
    SCOPED_TRACE(entry.path());
    expect_complete(report_of(*read_file(entry.path(), 1 << 20)));
  }
}

TEST(Report, TheSameTwice) {
  EXPECT_EQ(report_page(report_of(softmax_text)), report_page(report_of(softmax_text)));
}

TEST(Report, NeedsNothingElse) {
  const std::string page = report_page(report_of(softmax_text, {{"n", 9}}));
  for (const char* word : {"http:", "https:", "url(", "@import", " src=", "<link"})
    EXPECT_FALSE(has(page, word)) << word;
}

TEST(Report, EscapesWhatUsersWrite) {
  Report r =
      report_of("# </pre><script>alert(1)</script> & \"x\" 'y'\n" + std::string(softmax_text));
  r.name = "<b>&\"'\x01\xff.tang";
  r.again = "tang report '<img src=x>'";
  r.untimed = "<i>";
  const std::string page = report_page(r);
  EXPECT_EQ(html_fault(page), "");
  EXPECT_FALSE(has(page, "<script>alert"));
  EXPECT_FALSE(has(page, "<img"));
  EXPECT_FALSE(has(page, "<i>"));
  EXPECT_TRUE(has(page, "&lt;b&gt;&amp;&quot;&#39;\uFFFD\uFFFD.tang"));
  EXPECT_TRUE(has(page, "&lt;/pre&gt;&lt;script&gt;alert"));
}

TEST(Report, TimesAsBars) {
  Report r = report_of(softmax_text, {{"n", 9}});
  r.untimed = "";
  r.derived_times = Times{2, 0.01, 5, std::vector<double>(r.derived.program().kernels.size(), 1)};
  r.naive_times = Times{4, 0.01, 5, std::vector<double>(r.naive.program().kernels.size(), 1)};
  const std::string page = report_page(r);
  EXPECT_EQ(html_fault(page), "");
  EXPECT_TRUE(has(page, "is 2.00 times as fast as the program as written"));
  EXPECT_TRUE(has(page, "Medians of 5 runs"));
}

TEST(Report, BarsArePartsOfTheLongest) {
  const std::string plot = bar_plot({{"a", "4", 4}, {"b", "1", 1}, {"c", "0", 0}}, "bars");
  EXPECT_TRUE(has(plot, "width=\"50.00%\""));
  EXPECT_TRUE(has(plot, "width=\"12.50%\""));
  EXPECT_TRUE(has(plot, "width=\"0.00%\""));
  EXPECT_TRUE(has(bar_plot({{"z", "0", 0}}, "none"), "width=\"0.00%\""));
}

TEST(Report, FusedDefinitionsAreOneBox) {
  const Report r = report_of(*read_file("examples/attention.tang", 1 << 20), {{"seq", 8}});
  const auto boxes = [](const std::string& svg) {
    size_t n = 0;
    for (size_t at = svg.find("class=\"box kernel\""); at != std::string::npos;
         at = svg.find("class=\"box kernel\"", at + 1))
      ++n;
    return n;
  };
  EXPECT_EQ(boxes(graph_picture(r.derivation.naive, r.naive, "", false)), 7u);
  const std::string derived = graph_picture(r.derivation.derived, r.derived, "", true);
  EXPECT_EQ(boxes(derived), 1u);
  EXPECT_TRUE(has(derived, "s_1 recomputed"));
  EXPECT_TRUE(has(derived, "f32 [8, 8, 64]"));
}

TEST(Report, ItsCIsThatOfTheWholeProgram) {
  const Report r = report_of(*read_file("examples/lstm_step.tang", 1 << 20));
  const LoopProgram& program = r.derived.program();
  for (size_t k = 0; k < program.kernels.size(); ++k)
    EXPECT_TRUE(has(c_source(program), c_kernel_source(program, k))) << k;
}

TEST(Html, TheCheckerSeesFaults) {
  const auto fault = [](const std::string& body) { return html_fault("<!DOCTYPE html>\n" + body); };
  EXPECT_EQ(fault("<p id=\"a\">x &lt; <a href=\"#a\">y</a></p>"), "");
  for (const char* body :
       {"<p>", "</p>", "<p><b></p></b>", "a & b", "a > b", "<p id=\"a\"></p><p id=\"a\"></p>",
        "<a href=\"#no\"></a>", "<a href=\"x.html\"></a>", "<p class=x></p>", "\x01",
        "<p title=\"a & b\"></p>"})
    EXPECT_NE(fault(body), "") << body;
}

TEST(ReportText, Highlighted) {
  EXPECT_EQ(highlighted("dim i = 4 # <4>\nx", "#"),
            "<span class=\"w\">dim</span> i = <span class=\"n\">4</span> "
            "<span class=\"c\"># &lt;4&gt;</span>\nx");
  EXPECT_EQ(highlighted("", "#"), "");
}

TEST(ReportText, Shortened) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("äöüß", 3), "äö…");
}

}  // namespace
}  // namespace tang::cli
