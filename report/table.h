// Aligned tables of text.
#pragma once
#include <string>
#include <vector>

namespace tenon {

/// Columns padded to their widest cell; numeric columns are right-aligned. The first row is the head.
class Table {
 public:
  explicit Table(std::vector<std::string> head) : rows_{std::move(head)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string str() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// A number to three digits: "25.6 M", "8.18 G".
std::string count_text(double);
/// "97.5 MiB"
std::string bytes_text(double);

/// At most `width` characters: the beginning and the end, with ".." for what is left out.
std::string shorten(const std::string& text, std::size_t width);

}  // namespace tenon
