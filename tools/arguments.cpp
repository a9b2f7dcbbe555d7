#include "tools/arguments.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/utf8.h"
#include "converter/onnx/tensor_proto.h"
#include "ir/hint.h"
#include "ir/literal.h"
#include "ir/npy.h"

namespace tenon::tools {
namespace {

std::optional<Tensor> number(const std::string& text) {
  if (text == "true" || text == "false") return Tensor::scalar(DType::boolean, std::int64_t{text == "true"});
  std::int64_t integer = 0;
  const char* end = text.data() + text.size();
  if (const auto r = std::from_chars(text.data(), end, integer); r.ec == std::errc() && r.ptr == end)
    return Tensor::scalar(DType::i64, integer);
  double real = 0;
  if (const auto r = std::from_chars(text.data(), end, real); r.ec == std::errc() && r.ptr == end)
    return Tensor::scalar(DType::f64, real);
  return std::nullopt;
}

// The arrays of a file given for one input are that input, or its parts.
void add_arrays(const std::string& name, std::vector<std::pair<std::string, Tensor>> arrays,
                std::vector<InputArgument>& out) {
  for (auto& [key, tensor] : arrays) {
    const std::string whole = arrays.size() == 1 ? name : name + "." + key;
    out.push_back({name.empty() ? key : whole, std::move(tensor)});
  }
}

std::string without_blanks(std::string text) {
  std::erase_if(text, [](char c) { return c == ' '; });
  return text;
}

struct Unread {
  std::string_view suffixes, what, file;
};
constexpr Unread unread[] = {
    {".png .jpg .jpeg .bmp .gif .webp .tif .tiff", "the pixels as the model takes them", "image.npy"},
    {".wav .mp3 .flac .ogg", "the samples", "sound.npy"},
    {".pt .pth .safetensors .h5 .mat .pkl .pickle .bin .raw .csv .txt .json .parquet", "the array",
     "array.npy"},
};

// In small letters: ".npy" of X.NPY.
std::string suffix_of(const std::string& file) {
  std::string suffix = std::filesystem::path(file).extension();
  for (char& c : suffix) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return suffix;
}

// The hint for a file of a kind that is not read; empty: it does not look like a file.
std::string unread_hint(const std::string& name, const std::string& extension) {
  if (extension.size() < 2) return {};
  for (const Unread& u : unread)
    if (fmt::format(" {} ", u.suffixes).find(" " + extension + " ") != std::string::npos)
      return fmt::format("save {0}: numpy.save('{1}', array), then {2}", u.what, u.file,
                         hint::input(name, u.file));
  return {};
}

// What other tools write for a size that varies.
bool stands_for_any(std::string_view size) {
  constexpr std::string_view words[] = {"?", "*", "-1", "None", "..."};
  return std::find(std::begin(words), std::end(words), size) != std::end(words);
}

// Such sizes are named, not guessed: the same name twice would say that two sizes are equal.
void check_sizes(const std::string& name, const std::string& type) {
  const std::size_t open = type.find('[');
  if (open == std::string::npos || type.back() != ']') return;
  std::string named = type.substr(0, open + 1), wrong;
  std::size_t axis = 0;
  for (std::size_t begin = open + 1; begin < type.size(); ++axis) {
    const std::size_t end = type.find_first_of(",]", begin);
    const std::string size = type.substr(begin, end - begin);
    const bool is_any = stands_for_any(size);
    if (wrong.empty() && (is_any || size.starts_with('-'))) wrong = size;
    named += is_any ? axis == 0 ? "N" : fmt::format("d{}", axis) : size;
    named += type[end];
    begin = end + 1;
  }
  if (wrong.empty()) return;
  throw error("'{}' is not a size: each is a number, or a name for one that varies", wrong)
      .hint(hint::input(name, stands_for_any(wrong) ? named : "f32[N,3,224,224]"));
}

bool has_array_suffix(const std::filesystem::path& text) {
  const auto extension = text.extension();
  return extension == ".npy" || extension == ".npz" || extension == ".pb";
}

// Whether the text could be the path of a file.
bool in_a_folder(const std::filesystem::path& text) {
  std::error_code failed;
  return std::filesystem::is_directory(text.parent_path(), failed);
}

bool is_missing(const std::filesystem::path& file) {
  std::error_code failed;
  return !std::filesystem::exists(file, failed);
}

// Where a path could have been an input's name and its value.
std::string name_with_slash(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || !split_name(text).first.empty()) return {};
  const std::string name = text.substr(0, equals);
  return fmt::format("if {} is the name of an input: {}", name, hint::input(name, text.substr(equals + 1)));
}

void check_each_once(const std::vector<InputArgument>& arguments) {
  std::set<std::string> names;
  for (const InputArgument& a : arguments)
    if (!a.name.empty() && !names.insert(a.name).second)
      throw error("input {} is given twice", a.name).at("--input");
}

}  // namespace

std::pair<std::string, std::string> split_name(const std::string& text) {
  const auto end_of_name = text.starts_with('"') ? text.find("\"=", 1) : std::string::npos;
  if (end_of_name != std::string::npos)
    return {printable(text.substr(1, end_of_name - 1)), text.substr(end_of_name + 2)};
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return {"", text};
  const std::string name = text.substr(0, equals);
  const bool is_path = name.find('/') != std::string::npos && has_array_suffix(text) && in_a_folder(text);
  return is_path ? std::pair{std::string(), text} : std::pair{printable(name), text.substr(equals + 1)};
}

std::vector<InputArgument> parse_inputs(const std::vector<std::string>& texts) {
  std::vector<InputArgument> out;
  for (const std::string& text : texts) {
    const auto [name, value] = split_name(text);
    const std::string extension = suffix_of(value);
    try {
      if (auto string = between_quotes(value))
        out.push_back({name, std::move(*string)});
      else if (extension == ".npy")
        out.push_back({name, load_npy(value)});
      else if (extension == ".npz")
        add_arrays(name, load_npz(value), out);
      else if (extension == ".pb")
        out.push_back({name, converter::onnx::load_tensor_proto(value).tensor});
      else if (auto n = number(value))
        out.push_back({name, *n, true});
      else if (const std::string hint = unread_hint(name, extension); !hint.empty())
        throw error("{} files are not read as inputs, only .npy, .npz and .pb", extension).hint(hint);
      else if (value.find('[') != std::string::npos) {
        const std::string type = without_blanks(value);
        check_sizes(name, type);
        out.push_back({name, Type::parse(type)});
      } else
        throw error("'{}' is no type, file, number or string", value)
            .hint(fmt::format("write {}, {}, {} or, where the model takes a string, {}",
                              hint::input(name, "f32[1,3,224,224]"), hint::file(name), hint::input(name, "5"),
                              hint::input(name, "\"" + value + "\"")));
    } catch (Error& e) {
      if (e.where().empty()) e.at("--input " + text);
      if (std::string named = name_with_slash(text); !named.empty() && is_missing(value)) e.hint(named);
      throw;
    }
  }
  check_each_once(out);
  return out;
}

namespace {

// What --shape takes, for the symbol that was typed, with or without a size.
std::string symbol_meant(const std::string& symbol, const std::string& text) {
  const bool is_name = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  }) && !std::isdigit(static_cast<unsigned char>(text[0]));
  const std::string meant = !symbol.empty() ? symbol : is_name ? text : "";
  if (meant.empty()) return "write SYMBOL=SIZE; tenon inspect names the model's symbols";
  return fmt::format("write its size: {}", hint::shape({{meant, 8}}));
}

}  // namespace

std::map<std::string, std::vector<std::int64_t>> parse_sizes(const std::vector<std::string>& texts) {
  std::map<std::string, std::vector<std::int64_t>> out;
  for (const std::string& text : texts) {
    const auto [symbol, list] = split_name(text);
    std::size_t begin = 0;
    while (!symbol.empty() && begin <= list.size()) {
      const std::size_t comma = std::min(list.find(',', begin), list.size());
      const auto n = number(list.substr(begin, comma - begin));
      if (!n || n->dtype() != DType::i64 || n->get_int() < 0) break;
      out[symbol].push_back(n->get_int());
      begin = comma + 1;
    }
    if (symbol.empty() || begin <= list.size())
      throw error("'{}' gives no size", text).at("--shape").hint(symbol_meant(symbol, text));
  }
  return out;
}

void check_array_file(const std::string& target) {
  const std::string file = split_name(target).second;
  const std::string suffix = suffix_of(file);
  if (suffix != ".npy" && suffix != ".npz" && !is_written_directly(file))
    throw error("'{}' is no name for arrays", file).at("--output " + target).hint("end it in .npy or .npz");
}

OutputFiles output_files(const Graph& graph, const std::vector<std::string>& targets) {
  const std::size_t count = graph.body().results().size();
  OutputFiles files;
  std::string known;
  for (std::size_t i = 0; i < count; ++i) known += (i ? ", " : "") + output_name(graph, i);
  std::vector<bool> written(count);
  std::size_t next = 0;
  for (const std::string& target : targets) {
    const auto [name, file] = split_name(target);
    if (suffix_of(file) == ".npz") {
      files.archives.push_back(file);
      continue;
    }
    std::size_t index = next;
    if (!name.empty()) {
      for (index = 0; index < count && output_name(graph, index) != name; ++index) {}
    } else {
      ++next;
    }
    if (index >= count)
      throw error(
          "{}", name.empty() ? "more --output than the model has outputs" : "the model has no output " + name)
          .hint("its outputs: " + known);
    files.arrays.emplace_back(index, file);
    written[index] = true;
  }
  for (std::size_t i = 0; i < count && !files.arrays.empty() && files.archives.empty(); ++i)
    if (!written[i]) files.left.push_back(output_name(graph, i));
  return files;
}

void write_outputs(const Graph& graph, const std::vector<Tensor>& outputs, const OutputFiles& files) {
  for (const auto& [index, file] : files.arrays) save_npy(file, outputs[index]);
  std::vector<std::pair<std::string, Tensor>> all;
  for (std::size_t i = 0; i < outputs.size(); ++i) all.emplace_back(output_name(graph, i), outputs[i]);
  for (const std::string& file : files.archives) save_npz(file, all);
}

}  // namespace tenon::tools
