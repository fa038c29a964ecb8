#include "front/tokenizer_file.h"

#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "base/files.h"

namespace tang {

namespace {

constexpr int64_t largest_file = int64_t{1} << 28;

class TokenReader {
 public:
  TokenReader(const std::string& path, const std::string& bytes) : path_(path), bytes_(bytes) {}

  Result<Vocabulary> read(int64_t expected) {
    int32_t longest = 0;
    if (!take(longest)) return truncated("the length of its longest token");
    if (longest < 1) return bad(0, fmt::format("the longest token has {} bytes", longest));
    Vocabulary v;
    while (at_ < bytes_.size()) {
      auto token = next(longest);
      if (!token) return tl::unexpected(token.error());
      v.tokens.push_back(std::move(*token));
    }
    const auto count = static_cast<int64_t>(v.tokens.size());
    if (count != expected)
      return error(
          "E0715",
          fmt::format("{}: it has {} tokens, the model's vocabulary {}", path_, count, expected),
          "use the tokenizer that the model was trained with");
    return v;
  }

 private:
  Result<Vocabulary::Token> next(int32_t longest) {
    const size_t begin = at_;
    Vocabulary::Token token;
    int32_t length = 0;
    if (!take(token.score) || !take(length)) return truncated("a token");
    if (!std::isfinite(token.score)) return bad(begin, "the score of a token is not finite");
    if (length < 0 || length > longest)
      return bad(begin + 4, fmt::format("a token has {} bytes, the longest {}", length, longest));
    if (static_cast<size_t>(length) > bytes_.size() - at_) return truncated("a token");
    token.bytes = bytes_.substr(at_, static_cast<size_t>(length));
    at_ += static_cast<size_t>(length);
    return token;
  }

  template <class T>
  bool take(T& into) {
    if (bytes_.size() - at_ < sizeof into) return false;
    std::memcpy(&into, bytes_.data() + at_, sizeof into);
    at_ += sizeof into;
    return true;
  }

  tl::unexpected<Diagnostic> truncated(std::string_view what) const {
    return error("E0702",
                 fmt::format("{}: the file ends at byte {}, within {}", path_, bytes_.size(), what),
                 "was it copied whole?");
  }
  tl::unexpected<Diagnostic> bad(size_t at, std::string_view what) const {
    return error("E0715", fmt::format("{}: at byte {}: {}", path_, at, what),
                 "a llama2.c tokenizer gives each token a score, a length and its bytes");
  }

  const std::string& path_;
  const std::string& bytes_;
  size_t at_ = 0;
};

}  // namespace

Result<Vocabulary> read_tokenizer(const std::string& path, int64_t expected) {
  const auto bytes = read_file(path, largest_file);
  if (!bytes) return tl::unexpected(bytes.error());
  return TokenReader(path, *bytes).read(expected);
}

}  // namespace tang
