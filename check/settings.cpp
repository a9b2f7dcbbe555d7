#include "check/settings.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/input_file.h"
#include "base/memory_limit.h"
#include "base/nearest.h"
#include "ir/literal.h"
#include "runtime/devices.h"
#include "runtime/session.h"

namespace tenon {
namespace {

class TableReader;

/// One key of a table: what it is set to, and what it wants to be told when it cannot be.
template <class T>
struct Key {
  std::string_view name;
  std::string_view wants;
  bool (*read)(T&, const toml::node&, const TableReader&);
};

/// A key whose value `read` puts into one member.
template <auto member, auto read>
constexpr auto into =
    [](auto& table, const toml::node& node, const TableReader&) { return read(table.*member, node); };

bool text(std::string& target, const toml::node& node) {
  const auto value = node.value_exact<std::string>();
  if (value) target = *value;
  return value.has_value();
}

bool some_text(std::string& target, const toml::node& node) { return text(target, node) && !target.empty(); }

bool number(std::optional<double>& target, const toml::node& node) {
  const auto value = node.is_number() ? node.value<double>() : std::nullopt;
  if (!value || *value < 0 || !std::isfinite(*value)) return false;
  target = value;
  return true;
}

bool factor(std::optional<double>& target, const toml::node& node) {
  return number(target, node) && *target >= 1;
}

bool count(std::optional<std::int64_t>& target, const toml::node& node) {
  const auto value = node.value_exact<std::int64_t>();
  if (value && *value >= 0) target = value;
  return value && *value >= 0;
}

template <class Integer>
bool bytes(std::optional<Integer>& target, const toml::node& node) {
  std::optional<std::int64_t> plain;
  if (count(plain, node)) {
    target = static_cast<Integer>(*plain);
    return true;
  }
  const auto parsed = parse_bytes(node.value_or(std::string_view()));
  if (parsed) target = static_cast<Integer>(*parsed);
  return parsed.has_value();
}

bool some_bytes(std::optional<std::uint64_t>& target, const toml::node& node) {
  return bytes(target, node) && *target > 0;
}

bool positive(int& target, const toml::node& node) {
  const auto value = node.value_exact<std::int64_t>();
  if (!value || *value < 1 || *value > 1024) return false;
  target = static_cast<int>(*value);
  return true;
}

bool yes_or_no(bool& target, const toml::node& node) {
  const auto value = node.value_exact<bool>();
  if (value) target = *value;
  return value.has_value();
}

bool maybe(std::optional<bool>& target, const toml::node& node) { return yes_or_no(target.emplace(), node); }

bool train_mode(std::optional<std::string>& target, const toml::node& node) {
  return text(target.emplace(), node) && (*target == "drop" || *target == "keep");
}

bool seconds(std::optional<std::chrono::milliseconds>& target, const toml::node& node) {
  std::optional<double> value;
  if (!number(value, node) || *value <= 0 || *value > 1e9) return false;
  target = std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(*value * 1e3)));
  return true;
}

bool refusal(std::optional<Exit>& target, const toml::node& node) {
  const auto kind = node.value_exact<std::string>();
  if (kind != "not supported" && kind != "error") return false;
  target = kind == "error" ? Exit::bad_input : Exit::unsupported;
  return true;
}

bool fallback(std::string& target, const toml::node& node) { return text(target, node) && target == "cpu"; }
bool precision(std::string& target, const toml::node& node) { return text(target, node) && target == "tf32"; }

bool names(std::vector<std::string>& target, const toml::node& node) {
  const toml::array* list = node.as_array();
  return list && std::all_of(list->begin(), list->end(),
                             [&](const toml::node& item) { return text(target.emplace_back(), item); });
}

bool input(CaseSettings& s, std::string name, const toml::node& node) {
  if (const auto value = node.value_exact<std::string>()) {
    if (auto string = between_quotes(*value))
      s.inputs.push_back({std::move(name), InputLiteral(std::move(*string))});
    else
      s.inputs.push_back({std::move(name), Type::parse(*value)});
  } else if (const auto flag = node.value_exact<bool>())
    s.inputs.push_back({std::move(name), *flag});
  else if (const auto integer = node.value_exact<std::int64_t>())
    s.inputs.push_back({std::move(name), *integer});
  else if (const auto real = node.value_exact<double>())
    s.inputs.push_back({std::move(name), *real});
  else
    return false;
  return true;
}

/// Reads a table and names what is wrong with it.
class TableReader {
 public:
  explicit TableReader(std::string file) : file_(std::move(file)) {}

  template <class T>
  bool keys(T& target, const toml::node& node, std::span<const Key<T>> known) const {
    const toml::table* table = node.as_table();
    if (!table) return false;
    for (const auto& [name, value] : *table) {
      const auto key =
          std::find_if(known.begin(), known.end(), [&name = name](const auto& k) { return k.name == name; });
      if (key == known.end()) throw unknown(name, known, value);
      if (!key->read(target, value, *this)) throw mismatch(name.str(), key->wants, value);
    }
    return true;
  }

  /// A table whose keys are the user's own names.
  template <class Read>
  bool named(const toml::node& node, std::string_view wants, Read read) const {
    const toml::table* table = node.as_table();
    if (!table) return false;
    for (const auto& [name, value] : *table) {
      try {
        if (!read(std::string(name.str()), value)) throw mismatch(name.str(), wants, value);
      } catch (Error& e) {
        if (e.where().empty()) e.at(place(value));
        throw;
      }
    }
    return true;
  }

 private:
  std::string place(const toml::node& node) const {
    return fmt::format("{}:{}", file_, node.source().begin.line);
  }
  Error mismatch(std::string_view name, std::string_view wants, const toml::node& node) const {
    return error("{} wants {}", name, wants).at(place(node));
  }
  template <class T>
  Error unknown(std::string_view name, std::span<const Key<T>> known, const toml::node& node) const {
    std::vector<std::string_view> all;
    for (const auto& key : known) all.push_back(key.name);
    return error("there is no key '{}' here", name)
        .at(place(node))
        .hint(fmt::format("did you mean {}? the keys are {}", nearest(name, all), fmt::join(all, ", ")));
  }

  std::string file_;
};

constexpr Key<ToleranceSetting> tolerance_keys[] = {
    {"tolerance", "a number", into<&ToleranceSetting::share, number>},
    {"rtol", "a number", into<&ToleranceSetting::rtol, number>},
    {"atol", "a number", into<&ToleranceSetting::atol, number>},
};

constexpr std::string_view wants_bytes = "a number of bytes or text such as \"12 MiB\"";

constexpr Key<Limits> limit_keys[] = {
    {"nodes", "a number", into<&Limits::nodes, count>},
    {"steps", "a number", into<&Limits::steps, count>},
    {"arena", wants_bytes, into<&Limits::arena_bytes, bytes<std::int64_t>>},
    {"artifact", wants_bytes, into<&Limits::artifact_bytes, bytes<std::int64_t>>},
};

constexpr Key<SpeedSettings> speed_keys[] = {
    {"baseline", "a file's name", into<&SpeedSettings::baseline, some_text>},
    {"max_slowdown", "a number from 1 on", into<&SpeedSettings::max_slowdown, factor>},
    {"over_unfused", "a number", into<&SpeedSettings::over_unfused, number>},
    {"predicted_on", "a file's name", into<&SpeedSettings::predicted_on, some_text>},
    {"predicted_ms", "a number", into<&SpeedSettings::predicted_ms, number>},
};

bool inputs(CaseSettings& s, const toml::node& node, const TableReader& reader) {
  return reader.named(node, "a type such as \"f32[N,3,224,224]\", or a number",
                      [&](std::string name, const toml::node& value) { return input(s, name, value); });
}

bool outputs(CaseSettings& s, const toml::node& node, const TableReader& reader) {
  return reader.named(node, "a table with tolerance, rtol or atol",
                      [&](const std::string& name, const toml::node& value) {
                        return reader.keys<ToleranceSetting>(s.outputs[name], value, tolerance_keys);
                      });
}

bool limits(CaseSettings& s, const toml::node& node, const TableReader& reader) {
  return reader.keys<Limits>(s.limits, node, limit_keys);
}

bool speed(CaseSettings& s, const toml::node& node, const TableReader& reader) {
  return reader.keys<SpeedSettings>(s.speed, node, speed_keys) && s.speed.given();
}

bool operators(CaseSettings& s, const toml::node& node, const TableReader& reader) {
  return reader.named(node, "a number", [&](const std::string& kind, const toml::node& value) {
    std::optional<std::int64_t> wanted;
    if (!count(wanted, value) || *wanted > std::numeric_limits<int>::max()) return false;
    s.operators[kind] = static_cast<int>(*wanted);
    return true;
  });
}

template <auto member>
constexpr auto tolerance_part = [](CaseSettings& s, const toml::node& node, const TableReader&) {
  return number(s.tolerance.*member, node);
};

template <auto member, auto read>
constexpr auto of_device =
    [](CaseSettings& s, const toml::node& node, const TableReader&) { return read(s.device.*member, node); };

constexpr Key<CaseSettings> case_keys[] = {
    {"model", "a file's name", into<&CaseSettings::model, text>},
    {"skip", "the reason in words", into<&CaseSettings::skip, text>},
    {"expect", "\"not supported\" or \"error\"", into<&CaseSettings::expect, refusal>},
    {"message", "a part of the expected refusal", into<&CaseSettings::message, text>},
    {"method", "a method's name", into<&CaseSettings::method, text>},
    {"inputs", "a table of types, numbers and strings ('\"fast\"')", inputs},
    {"device", "the name of a device", of_device<&DeviceChoice::name, some_text>},
    {"fallback", "\"cpu\"", of_device<&DeviceChoice::fallback, fallback>},
    {"precision", "\"tf32\"", of_device<&DeviceChoice::precision, precision>},
    {"threads", "a number from 1 to 1024", into<&CaseSettings::threads, positive>},
    {"fuse", "true or false", into<&CaseSettings::fuse, yes_or_no>},
    {"off", "a list of passes or rules", into<&CaseSettings::off, names>},
    {"random", "true or false", into<&CaseSettings::random, maybe>},
    {"train_mode", "\"drop\" or \"keep\"", into<&CaseSettings::train_mode, train_mode>},
    {"libraries", "a list of operator libraries", into<&CaseSettings::libraries, names>},
    {"tolerance", "a number", tolerance_part<&ToleranceSetting::share>},
    {"rtol", "a number", tolerance_part<&ToleranceSetting::rtol>},
    {"atol", "a number", tolerance_part<&ToleranceSetting::atol>},
    {"outputs", "a table of outputs", outputs},
    {"limits", "a table", limits},
    {"speed", "a table with baseline, over_unfused or predicted_ms", speed},
    {"operators", "a table of counts", operators},
    {"timeout", "a number of seconds", into<&CaseSettings::timeout, seconds>},
    {"memory", wants_bytes, into<&CaseSettings::memory_bytes, some_bytes>},
};

toml::table parse_file(const std::filesystem::path& file) {
  const std::vector<std::byte> bytes = InputFile(file).read_all();
  try {
    return toml::parse(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  } catch (const toml::parse_error& e) {
    throw error("this is no TOML: {}", e.description())
        .at(fmt::format("{}:{}", file.string(), e.source().begin.line));
  }
}

}  // namespace

Tolerance ToleranceSetting::resolved() const {
  Tolerance t;
  if (rtol || atol) t.share = std::numeric_limits<double>::infinity();
  if (share) t.share = *share;
  t.rtol = rtol;
  t.atol = atol;
  return t;
}

Tolerance CaseSettings::tolerance_for(const std::string& output, const Tolerance& otherwise) const {
  if (const auto own = outputs.find(output); own != outputs.end() && own->second.given())
    return own->second.resolved();
  return tolerance.given() ? tolerance.resolved() : otherwise;
}

const Device& device_of(const CaseSettings& settings) { return find_device(settings.device); }

CaseSettings read_settings(const std::filesystem::path& file) {
  CaseSettings settings;
  TableReader(file.string()).keys<CaseSettings>(settings, parse_file(file), case_keys);
  if (!settings.message.empty() && !settings.expect)
    throw error("message is given without expect").at(file.string()).hint("write expect = \"not supported\"");
  if (settings.speed.max_slowdown && settings.speed.baseline.empty())
    throw error("max_slowdown is given without a baseline")
        .at(file.string())
        .hint("write baseline = \"old.tenon\"");
  return settings;
}

}  // namespace tenon
