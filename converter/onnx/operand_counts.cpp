#include "converter/onnx/operand_counts.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>

#include "base/count.h"
#include "base/error.h"
#include "converter/onnx/onnx.pb.h"

namespace tenon::converter::onnx {

namespace {

/// Takes the next word of a line.
std::string_view word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view found = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return found;
}

/// The operands, by the operator set from which on they hold.
using BySet = std::map<std::int64_t, std::string_view>;

const std::unordered_map<std::string_view, BySet>& all_operands() {
  static const auto all = [] {
    std::unordered_map<std::string_view, BySet> found;
    for (std::string_view rest = operand_counts_txt; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const std::string_view name = word(line), since = word(line);
      std::int64_t set = 0;
      std::from_chars(since.data(), since.data() + since.size(), set);
      found[name][set] = line;
    }
    return found;
  }();
  return all;
}

}  // namespace

void check_operand_count(const Call& call) {
  const auto found = all_operands().find(call.full_name());
  if (found == all_operands().end()) return;
  const auto after = found->second.upper_bound(call.version);
  if (after == found->second.begin()) return;
  const std::string_view operands = std::prev(after)->second;
  // A name: what it names may still be an optional without a value.
  const auto& names = call.node.input();
  const auto is_given = [&](std::size_t i) {
    return i < call.count() && !names[static_cast<int>(i)].empty();
  };
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (operands[i] == 'r' && !is_given(i)) throw error("its input {} is missing", i);
  std::size_t given = call.count();
  while (given > 0 && !is_given(given - 1)) --given;
  if (given <= operands.size() || operands.ends_with('*')) return;
  const auto least = static_cast<std::size_t>(std::count(operands.begin(), operands.end(), 'r'));
  throw error("it takes {} and is given {}",
              least == operands.size() ? counted(least, "input")
                                       : fmt::format("{} to {} inputs", least, operands.size()),
              given);
}

}  // namespace tenon::converter::onnx
