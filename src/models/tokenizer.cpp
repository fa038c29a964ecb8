#include "models/tokenizer.h"

#include <algorithm>
#include <optional>
#include <queue>

#include <fmt/format.h>

#include "front/source.h"

namespace tang {

namespace {

std::string byte_token(unsigned char byte) { return fmt::format("<0x{:02X}>", byte); }

std::optional<unsigned char> byte_of(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  int value = 0;
  for (const char c : token.substr(3, 2)) {
    const bool digit = c >= '0' && c <= '9', letter = c >= 'A' && c <= 'F';
    if (!digit && !letter) return std::nullopt;
    value = 16 * value + (digit ? c - '0' : c - 'A' + 10);
  }
  return static_cast<unsigned char>(value);
}

bool is_printed(unsigned char c) {
  const bool space = c == ' ' || (c >= '\t' && c <= '\r');
  return space || (c > ' ' && c != 0x7f);
}

// Neighbours that may merge. Those of highest score come first, then the leftmost.
struct Join {
  float score;
  size_t left, right;     // positions
  int32_t first, second;  // the tokens there when this was found
  int32_t token;

  bool operator<(const Join& other) const {
    return score != other.score ? score < other.score : left > other.left;
  }
};

constexpr size_t nowhere = SIZE_MAX;

}  // namespace

Tokenizer::Tokenizer(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {
  for (size_t k = 0; k < vocabulary_.tokens.size(); ++k)
    ids_.emplace(vocabulary_.tokens[k].bytes, static_cast<int32_t>(k));
}

int32_t Tokenizer::find(const std::string& bytes) const {
  const auto at = ids_.find(bytes);
  return at == ids_.end() ? -1 : at->second;
}

Result<std::vector<int32_t>> Tokenizer::characters(std::string_view text) const {
  std::vector<int32_t> tokens;
  for (size_t at = 0; at < text.size();) {
    char32_t code = 0;
    const auto length = static_cast<size_t>(decode_character(text.substr(at), code));
    if (length == 0)
      return error("E0716", fmt::format("the prompt is not UTF-8 at byte {} (0x{:02X})", at,
                                        static_cast<unsigned char>(text[at])));
    const std::string character(text.substr(at, length));
    if (const int32_t whole = find(character); whole >= 0) {
      tokens.push_back(whole);
    } else {
      for (const char c : character) {
        const int32_t token = find(byte_token(static_cast<unsigned char>(c)));
        if (token < 0)
          return error("E0716", fmt::format("the vocabulary has no token for byte {} of the "
                                            "prompt, `{}`",
                                            at, character));
        tokens.push_back(token);
      }
    }
    at += length;
  }
  return tokens;
}

// Merges in place. Each token knows its living neighbours, and a join found before one of its two
// tokens merged is passed over.
void Tokenizer::merge(std::vector<int32_t>& tokens) const {
  std::vector<size_t> before(tokens.size()), after(tokens.size());
  std::priority_queue<Join> joins;
  const auto look = [&](size_t left, size_t right) {
    if (left == nowhere || right == nowhere) return;
    const int32_t a = tokens[left], b = tokens[right];
    const auto& all = vocabulary_.tokens;
    const int32_t joined =
        find(all[static_cast<size_t>(a)].bytes + all[static_cast<size_t>(b)].bytes);
    if (joined >= 0)
      joins.push({all[static_cast<size_t>(joined)].score, left, right, a, b, joined});
  };
  for (size_t k = 0; k < tokens.size(); ++k) {
    before[k] = k == 0 ? nowhere : k - 1;
    after[k] = k + 1 == tokens.size() ? nowhere : k + 1;
  }
  for (size_t k = 0; k + 1 < tokens.size(); ++k) look(k, k + 1);
  while (!joins.empty()) {
    const Join j = joins.top();
    joins.pop();
    if (tokens[j.left] != j.first || tokens[j.right] != j.second || after[j.left] != j.right)
      continue;
    tokens[j.left] = j.token;
    tokens[j.right] = -1;
    after[j.left] = after[j.right];
    if (after[j.left] != nowhere) before[after[j.left]] = j.left;
    look(before[j.left], j.left);
    look(j.left, after[j.left]);
  }
  std::erase(tokens, -1);
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text) const {
  std::vector<int32_t> tokens = {bos};
  if (text.empty()) return tokens;
  auto rest = characters(text);
  if (!rest) return rest;
  if (const int32_t space = find(" "); space >= 0) rest->insert(rest->begin(), space);
  merge(*rest);
  tokens.insert(tokens.end(), rest->begin(), rest->end());
  return tokens;
}

std::string Tokenizer::piece(int32_t previous, int32_t token) const {
  if (token < 0 || static_cast<size_t>(token) >= vocabulary_.tokens.size()) return "";
  std::string bytes = vocabulary_.tokens[static_cast<size_t>(token)].bytes;
  if (previous == bos && bytes.starts_with(' ')) bytes.erase(0, 1);
  if (const auto byte = byte_of(bytes)) bytes = std::string(1, static_cast<char>(*byte));
  if (bytes.size() == 1 && !is_printed(static_cast<unsigned char>(bytes[0]))) return "";
  return bytes;
}

}  // namespace tang
