// A device with the probe's modules on it.
#pragma once

#include <map>
#include <string>

#include "probe/driver.h"
#include "probe/plan.h"

namespace tang::probe {

class Bench {
 public:
  static Result<Bench> open(const Plan& plan, const std::string& folder);

  Driver& driver() { return driver_; }
  const Plan& plan() const { return *plan_; }
  uint64_t memory() const { return memory_; }  // where cases have theirs
  bool alive() const { return alive_; }        // false after an error that ends the context

  // What the memory holds after the case; `m` is made absolute.
  Result<std::vector<std::byte>> run(const Case& c, Memory& m);
  // Tells the parent that there is progress, in questions that take long.
  static void show_progress();
  // A kernel of questions.cu.
  Result<void*> question(const std::string& name);

 private:
  Bench(const Plan& plan, std::string folder, Driver driver, uint64_t memory)
      : plan_(&plan), folder_(std::move(folder)), driver_(std::move(driver)), memory_(memory) {}

  Result<void*> module(const std::string& file);
  Result<void*> function(const Case& c);

  const Plan* plan_;
  std::string folder_;
  Driver driver_;
  uint64_t memory_;
  bool alive_ = true;
  std::map<std::string, void*> modules_;
  std::map<size_t, void*> functions_;
};

}  // namespace tang::probe
