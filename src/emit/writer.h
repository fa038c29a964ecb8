// Lines of a C-family source with indentation.
#pragma once

#include <string>
#include <string_view>

namespace tang {

class Writer {
 public:
  void line(std::string_view text) { text_.append(depth_ * 2, ' ').append(text).push_back('\n'); }
  void blank() { text_.push_back('\n'); }
  void raw(std::string_view text) { text_.append(text); }
  void open(std::string_view text) {
    line(std::string(text) + " {");
    ++depth_;
  }
  void close(std::string_view text = "}") {
    if (depth_ > 0) --depth_;
    line(text);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  size_t depth_ = 0;
};

}  // namespace tang
