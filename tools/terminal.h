// What goes to a terminal: colours, progress, aligned tables.
#pragma once
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::tools {

/// Escape sequences, empty where the stream is no terminal or NO_COLOR is set.
struct Style {
  const char *plain = "", *bold = "", *dim = "", *red = "", *green = "";
};
Style style(std::FILE*);

/// A line on stderr that the next one replaces; nothing when stderr is no terminal. Cleared at the end.
class Progress {
 public:
  Progress();
  ~Progress();
  void say(std::string_view what);

 private:
  bool terminal_;
};

/// Columns padded to their widest cell; numeric columns are right-aligned. The first row is the head.
class Table {
 public:
  explicit Table(std::vector<std::string> head) : rows_{std::move(head)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string str() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tenon::tools
