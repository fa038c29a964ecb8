// The syntax tree of a program, as written: no names are resolved, no kinds are known. Expression
// nodes stand in one arena and refer to each other by 32-bit ids; operands precede their users, and
// no node is deeper than kMaxDepth, so a pass over a tree may recurse. Text is viewed in place: a
// Module is valid while its Source lives.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "front/source.h"

namespace tang::ast {

// Nesting of brackets and unary operators, and the length of a chain of operators.
inline constexpr int kMaxDepth = 1000;

using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = 0xFFFFFFFF;

struct Name {
  std::string_view text;
  Span span;
};

enum class NodeKind : std::uint8_t {
  integer,   // integer
  real,      // real; inf and nan too
  boolean,   // integer is 0 or 1
  name,      // name
  negate,    // children[0]
  negation,  // `not`: children[0]
  add,
  subtract,
  multiply,
  divide,
  conjunction,  // `and`
  disjunction,  // `or`
  compare,      // a < b <= c: children a, b, c; `relations` between them
  field,        // children[0] . name
  read,         // name[children]; guarded and fill for name?[children; fill]
  reduce,       // name[binder](children)
  call,         // name(children)
  tuple,        // (children), two or more
};

enum class Relation : std::uint8_t { less, less_equal, greater, greater_equal, equal, not_equal };

// [indices ; modifiers | condition]
struct Binder {
  std::vector<Name> indices;
  std::vector<Name> modifiers;
  NodeId condition = kNoNode;
  Span span;  // of the text between the brackets
};

struct Node {
  NodeKind kind = NodeKind::integer;
  bool guarded = false;
  std::uint16_t depth = 1;  // 1 for a leaf
  Span span;                // the whole expression, without brackets around it
  Name name;                // name, field, read, reduce, call
  std::uint32_t first = 0;  // children are Module::children[first, first + count)
  std::uint32_t count = 0;
  std::uint32_t extra =
      kNoNode;  // read: the fill; reduce: index of its Binder; compare: first relation
  std::int64_t integer = 0;
  double real = 0;
};

struct Param {
  struct Item {
    Name name;
    NodeId value = kNoNode;
  };
  std::vector<Item> items;
};

struct Dim {
  struct Item {
    Name name;
    NodeId extent = kNoNode;
  };
  std::vector<Item> items;
};

struct Input {
  struct Item {
    Name name;
    std::vector<NodeId> extents;
    Name format;  // empty text: none written for this item
  };
  std::vector<Item> items;
};

struct Target {
  Name name;
  std::vector<Name> indices;
  Name format;  // empty text: none
};

struct Definition {
  std::vector<Target> targets;
  bool tuple = false;  // written with brackets around the targets
  NodeId value = kNoNode;
  std::vector<Name> state;  // names after `where`; empty: no `where`
  bool state_tuple = false;
  NodeId fold = kNoNode;
};

struct Output {
  struct Item {
    Name name;
    Name into;  // empty text: none
  };
  std::vector<Item> items;
};

struct Grad {
  struct Seed {
    Name name;
    Name cotangent;  // empty text: none
  };
  struct Result {
    Name name;
    Name of;
  };
  std::vector<Seed> seeds;
  std::vector<Result> results;
};

struct Sorted {
  std::vector<Name> names;
};

struct Function {
  Name name;
  std::vector<Name> indices;
  std::vector<Name> parameters;
  NodeId body = kNoNode;
};

struct Monoid {
  Name name;
  std::vector<Name> fields;
  NodeId identity = kNoNode;
  std::vector<Name> lift_parameters;
  NodeId lift = kNoNode;  // kNoNode: the arguments are the state
  Name earlier, later;    // the parameters of combine
  NodeId combine = kNoNode;
  bool commutative = false;
};

using Payload = std::variant<Param, Dim, Input, Definition, Output, Grad, Sorted, Function, Monoid>;

struct Statement {
  Span span;
  Payload payload;
};

struct Module {
  std::vector<Node> nodes;
  std::vector<NodeId> children;
  std::vector<Relation> relations;
  std::vector<Binder> binders;
  std::vector<Statement> statements;  // those that parsed, in order
  // Every name that occurs in a statement that did not parse. It may have been declared there, so
  // later uses of it are not reported as unknown.
  std::vector<std::string_view> broken_names;

  const Node& operator[](NodeId id) const { return nodes[id]; }
  NodeId child(NodeId id, std::uint32_t position) const {
    return children[nodes[id].first + position];
  }
};

}  // namespace tang::ast
