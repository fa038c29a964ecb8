#include "base/errors.h"

namespace tang {
namespace {

constexpr ErrorInfo kErrors[] = {
#define TANG_ERROR(id, title, explanation) {id, title, explanation},
#include "base/errors.def"
};

}  // namespace

std::span<const ErrorInfo> all_errors() { return kErrors; }

const ErrorInfo* find_error(std::string_view id) {
  for (const ErrorInfo& e : kErrors) {
    if (e.id == id) return &e;
  }
  return nullptr;
}

}  // namespace tang
