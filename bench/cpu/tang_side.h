// tang's side of a race: the C that it emits for a program, compiled as its C device compiles it
// and called as a user of the emitted file calls it.
#pragma once

#include "cpu/case.h"

namespace tang::bench_cpu {

// A program ready to run.
class TangProgram {
 public:
  // Parses, derives, plans for so many threads, lowers, emits and compiles. `folder` takes the
  // files. What is packed of `constants` is packed when a contender is made.
  static Outcome<std::unique_ptr<TangProgram>> make(const std::string& text,
                                                    const std::string& folder, int threads,
                                                    const std::vector<std::string>& constants);
  ~TangProgram();
  TangProgram(const TangProgram&) = delete;
  TangProgram& operator=(const TangProgram&) = delete;

  // Standard normals of a fixed seed, times the scale of their name.
  Outcome<Inputs> draw(const std::map<std::string, double>& scales) const;
  // The program must outlive its contender.
  Outcome<std::unique_ptr<Contender>> contender(const Inputs& inputs) const;
  int threads() const;  // 1 if no kernel is worth sharing

 private:
  struct State;
  explicit TangProgram(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tang::bench_cpu
