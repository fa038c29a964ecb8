// Reads one row of an instruction table, without `each` (table.h has the notation).
#pragma once

#include "target/definition_lines.h"
#include "target/row.h"

namespace tang {

class RowReader {
 public:
  // Layouts are appended to `layouts`, which must outlive the reader.
  RowReader(std::string file, std::vector<Layout>& layouts)
      : file_(std::move(file)), layouts_(layouts) {}

  // `place` and `layout`.
  Result<void> shared_definition(const DefinitionBlock& block);
  Result<Row> row(const DefinitionBlock& block);

 private:
  using Line = Result<void> (RowReader::*)(Scanner& in, Row& row);
  struct NamedPlace {
    std::string name;
    PlacementRule rule;
  };

  Result<void> place(Scanner& in);
  Result<void> layout(Scanner& in);
  Result<AxisNames> axis_list(Scanner& in, char open, char close);

  Result<void> line(std::string_view text, Row& row);
  Result<void> equation(Scanner& in, Row& row);
  Result<void> right_side(Scanner& in, Row& row);
  Result<void> mapped(Scanner& in, Row& row, std::string_view op);
  Result<uint32_t> operand_read(Scanner& in, Row& row);
  Result<void> sizes(Scanner& in, Row& row);
  std::optional<int64_t> size(Scanner& in);
  Result<Choice> choice(Scanner& in);
  Result<void> run(Scanner& in, Row& row);
  Result<void> needs(Scanner& in, Row& row);
  Result<void> sum(Scanner& in, Row& row);
  Result<void> cost(Scanner& in, Row& row);

  Result<void> operand(Scanner& in, Operand& o, const AxisNames& axes);
  Result<void> spaces(Scanner& in, Operand& o);
  Result<void> formats(Scanner& in, Operand& o);
  Result<void> facts(Scanner& in, Operand& o);
  Result<void> kept_in(Scanner& in, Operand& o, const AxisNames& axes);
  Result<PlacementRule> placement_rule(Scanner& in, const AxisNames& axes);

  Result<void> complete(Row& row);

  std::string file_;
  std::vector<Layout>& layouts_;
  std::vector<NamedPlace> places_;
  std::vector<AxisNames> operand_axes_;  // of the row being read, before its sizes are known
};

}  // namespace tang
