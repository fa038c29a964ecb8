// What the programs of a run reached.
#pragma once

#include <map>
#include <string>

#include "rewrite/pipeline.h"

namespace tang::fuzz {

class Histogram {
 public:
  // Counts a derivation: the constructs of both graphs and the rules between them.
  void add(const Derivation& d);
  void merge(const Histogram& other);
  void print() const;
  // Rules of the pipeline that never fired.
  std::vector<std::string> unused_rules() const;

 private:
  void add(const Graph& g);
  void add(const Graph& g, const Node& n);
  void add(const Graph& g, const Leaf& l);

  std::map<std::string, std::map<std::string, int>> counts_;  // by group and name
};

}  // namespace tang::fuzz
