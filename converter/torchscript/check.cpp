// The checks a TorchScript archive passes before LibTorch sees it.
#include "converter/torchscript/check.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "converter/archive/file_format.h"
#include "converter/archive/pickle.h"
#include "converter/torchscript/set_state.h"

namespace tenon::torchscript {
namespace {

constexpr std::uint64_t kLargestText = 256u << 20;    // one file of code, or one pickle
constexpr std::uint64_t kLargestTotal = 1024u << 20;  // all of them together
constexpr std::uint64_t kSmallEnough = 16u << 20;     // below this no compression ratio is suspicious
constexpr std::uint64_t kLargestRatio = 200;
constexpr std::size_t kDeepestCode = 3000, kDeepestPickle = 10000;

void check_sizes(const ZipReader& zip) {
  std::uint64_t total = 0;
  for (const ZipMember& entry : zip.members()) {
    const bool is_tensor =
        inside_root(entry.name).starts_with("data/") || inside_root(entry.name).starts_with("constants/");
    if (is_tensor) {
      zip.stored(entry);
      continue;
    }
    if (inside_root(entry.name).starts_with("extra/")) continue;  // never read
    total += entry.size;
    const bool is_bomb = entry.size > kSmallEnough && entry.size / kLargestRatio > entry.compressed_size;
    if (is_bomb || entry.size > kLargestText || total > kLargestTotal) {
      throw error("the archive entry '{}' would inflate from {} to {} bytes: this looks like a zip bomb",
                  entry.name, entry.compressed_size, entry.size);
    }
  }
}

/// Python source, as far as nesting goes: strings and comments are skipped. Indentation nests too.
class CodeScanner {
 public:
  CodeScanner(std::string_view name, std::string_view code) : name_(name), code_(code) {}

  void run() {
    while (at_ < code_.size()) {
      const char c = code_[at_];
      if (c == '"' || c == '\'') {
        skip_string(c);
      } else if (c == '#') {
        at_ = std::min(code_.find('\n', at_), code_.size());
      } else if (c == '\n') {
        ++at_, run_of_prefixes_ = 0;
        measure_indentation();
      } else {
        count(c);
        ++at_;
      }
    }
  }

 private:
  void skip_string(char quote) {
    const std::string triple(3, quote);
    if (code_.substr(at_, 3) == triple) {
      const auto end = code_.find(triple, at_ + 3);
      at_ = end == std::string_view::npos ? code_.size() : end + 3;
      return;
    }
    for (++at_; at_ < code_.size() && code_[at_] != quote; ++at_) {
      if (code_[at_] == '\\') ++at_;
    }
    ++at_;
  }
  void measure_indentation() {
    const auto text = std::min(code_.find_first_not_of(' ', at_), code_.size());
    need_shallow((text - at_) / 2);
    at_ = text;
  }
  void count(char c) {
    if (c == '(' || c == '[' || c == '{') need_shallow(++depth_);
    if ((c == ')' || c == ']' || c == '}') && depth_ > 0) --depth_;
    if (c == '-' || c == '~') {
      need_shallow(++run_of_prefixes_);
    } else if (c != ' ') {
      run_of_prefixes_ = 0;
    }
  }
  void need_shallow(std::size_t depth) const {
    if (depth > kDeepestCode) {
      throw error("the code in '{}' nests more than {} levels deep", name_, kDeepestCode)
          .hint("no exported model does this: the file is damaged or hostile");
    }
  }

  std::string_view name_, code_;
  std::size_t at_ = 0, depth_ = 0, run_of_prefixes_ = 0;
};

bool is_identifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Whether the identifier stands anywhere in the code, be it in a string or a comment: what LibTorch takes
/// for either is not guessed, and no exported program needs this one.
bool names(std::string_view code, std::string_view identifier) {
  for (auto at = code.find(identifier); at != std::string_view::npos; at = code.find(identifier, at + 1)) {
    const auto end = at + identifier.size();
    if ((at == 0 || !is_identifier(code[at - 1])) && (end == code.size() || !is_identifier(code[end])))
      return true;
  }
  return false;
}

void check_code(const std::string& name, std::string_view code) {
  if (names(code, "__setstate__") && !only_packs_weights(code)) {
    throw unsupported("'{}' defines __setstate__, code that runs while the file is loaded", name)
        .hint(
            "remove __getstate__ and __setstate__ from the module, then save it again (those of PyTorch's "
            "own "
            "quantised modules are read)");
  }
  CodeScanner(name, code).run();
}

void check_pickle(const std::string& name, std::string_view pickle) {
  if (pickle.empty())
    throw error("the archive entry '{}' is empty", name).hint("copy or download the file again");
  if (scan_pickle(pickle).depth > kDeepestPickle) {
    throw error("the pickle '{}' nests more than {} levels deep", name, kDeepestPickle)
        .hint("no exported model does this: the file is damaged or hostile");
  }
}

void check_kind(std::span<const std::byte> file) {
  const DetectedFormat found = detect_format(file);
  if (found.kind == FileKind::torchscript) return;
  if (found.kind == FileKind::damaged_zip) throw Error(found.what).hint(found.hint);
  throw error("not a TorchScript file but {}", found.what).hint(found.hint);
}

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

/// As LibTorch's reader compares the names of entries.
std::string without_case(std::string_view name) {
  std::string out(name);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// Which of two such entries LibTorch takes, the check cannot know.
void refuse_names_equal_but_for_case(const ZipReader& zip) {
  std::unordered_map<std::string, std::string> seen;
  for (const ZipMember& entry : zip.members()) {
    const auto [other, is_new] = seen.emplace(without_case(entry.name), entry.name);
    if (!is_new)
      throw error("the archive holds '{}' and '{}', which are one name to LibTorch", other->second,
                  entry.name)
          .hint("export the file again");
  }
}

}  // namespace

void check_archive(const ZipReader& zip) {
  refuse_names_equal_but_for_case(zip);
  check_sizes(zip);
  for (const ZipMember& entry : zip.members()) {
    const std::string whole = without_case(entry.name);
    const std::string_view name = inside_root(whole);
    if (name == "byteorder") {
      std::string order = zip.read_text(entry, 64);
      std::erase_if(order, is_blank);
      if (order != "little") {
        throw unsupported("the file was written on a {}-endian machine", order)
            .hint("save it again on a little-endian one");
      }
    }
    if (name.ends_with(".py")) check_code(entry.name, zip.read_text(entry, kLargestText));
    if (name.ends_with(".pkl") || name.ends_with(".debug_pkl"))
      check_pickle(entry.name, zip.read_text(entry, kLargestText));
  }
}

std::shared_ptr<const MappedFile> open_checked(const std::filesystem::path& path) {
  try {
    auto mapping = MappedFile::open(path);
    check_kind(mapping->bytes());
    check_archive(ZipReader(mapping->bytes()));
    return mapping;
  } catch (Error& e) {
    if (e.where().empty()) e.at(path.string());
    throw;
  }
}

}  // namespace tenon::torchscript
