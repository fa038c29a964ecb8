#include "html.h"

#include <regex>
#include <set>
#include <vector>

namespace tang {

namespace {

class Checker {
 public:
  explicit Checker(const std::string& page) : page_(page) {}

  std::string fault() {
    const std::string doctype = "<!DOCTYPE html>\n";
    if (!page_.starts_with(doctype)) return "no doctype";
    at_ = doctype.size();
    while (fault_.empty() && at_ < page_.size()) page_[at_] == '<' ? tag() : text();
    if (fault_.empty() && !open_.empty()) fail("<" + open_.back() + "> is not closed");
    for (const std::string& link : links_)
      if (fault_.empty() && !ids_.contains(link)) fail("no #" + link);
    return fault_;
  }

 private:
  void fail(const std::string& what) {
    fault_ = what + " near: " + page_.substr(at_ < 40 ? 0 : at_ - 40, 120);
  }

  void text() {
    const size_t end = std::min(page_.find('<', at_), page_.size());
    references(page_.substr(at_, end - at_));
    at_ = end;
  }

  void references(const std::string& text) {
    static const std::regex good("&(amp|lt|gt|quot|#39);");
    const std::string rest = std::regex_replace(text, good, "");
    if (rest.find_first_of("&<>") != std::string::npos) fail("a character that is not escaped");
    for (const char c : rest)
      if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t')
        fail("a control character");
  }

  void tag() {
    static const std::regex form(
        R"(^<(/?)([A-Za-z][A-Za-z0-9]*)((?:\s+[a-zA-Z:-]+(?:="[^"]*")?)*)\s*(/?)>)");
    std::smatch m;
    const std::string rest = page_.substr(at_, 20000);
    if (!std::regex_search(rest, m, form)) return fail("no tag");
    const std::string name = m[2];
    attributes(m[3]);
    at_ += static_cast<size_t>(m.length());
    if (m[1].length() > 0) return close(name);
    if (name == "meta" || m[4].length() > 0) return;
    open_.push_back(name);
    if (name == "script" || name == "style")
      at_ = std::min(page_.find("</" + name, at_), page_.size());
  }

  void close(const std::string& name) {
    if (open_.empty() || open_.back() != name) return fail("</" + name + "> closes nothing");
    open_.pop_back();
  }

  void attributes(const std::string& text) {
    static const std::regex one("([a-zA-Z:-]+)(?:=\"([^\"]*)\")?");
    std::set<std::string> seen;
    for (std::sregex_iterator it(text.begin(), text.end(), one), end; it != end; ++it) {
      const std::string name = (*it)[1], value = (*it)[2];
      references(value);
      if (!seen.insert(name).second) fail("attribute twice: " + name);
      if (name == "id" && !ids_.insert(value).second) fail("id twice: " + value);
      if (name == "href" && !value.starts_with("#")) fail("a link out of the page: " + value);
      if (name == "href") links_.push_back(value.substr(1));
    }
  }

  const std::string& page_;
  size_t at_ = 0;
  std::string fault_;
  std::vector<std::string> open_, links_;
  std::set<std::string> ids_;
};

}  // namespace

std::string html_fault(const std::string& page) { return Checker(page).fault(); }

}  // namespace tang
