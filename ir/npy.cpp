// Loading and saving .npy and .npz files.
#include "ir/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>
#include <set>

#include "base/atomic_file.h"
#include "base/input_file.h"
#include "base/zip.h"
#include "ir/npy_header.h"

namespace tenon {
namespace {
// Where an array comes from: so many bytes, any part of which can be copied out.
struct NpySource {
  std::uint64_t size;
  std::function<void(std::uint64_t offset, std::span<std::byte> to)> read;
};

NpyHeader read_header(const NpySource& source, std::uint64_t& data_offset) {
  std::array<std::byte, longest_npy_prefix> begin;
  const std::span<std::byte> prefix(begin.data(), std::min<std::uint64_t>(source.size, begin.size()));
  source.read(0, prefix);
  const NpyTextPlace place = npy_text_place(prefix);
  if (source.size - place.offset < place.size) throw error("the .npy file ends in its header");
  std::string text(place.size, '\0');
  source.read(place.offset, std::as_writable_bytes(std::span(text)));
  data_offset = place.offset + place.size;
  return parse_npy_header(text);
}

// NumPy's bools are 0 and 1; other bytes would be no values of C++'s bool.
void normalise_bools(std::span<std::byte> bytes) {
  for (std::byte& b : bytes) b = std::byte{b != std::byte{0}};
}

Tensor load(const NpySource& source) {
  std::uint64_t offset = 0;
  NpyHeader header = read_header(source, offset);
  const std::uint64_t available = (source.size - offset) / header.element_bytes();
  const std::uint64_t needed = static_cast<std::uint64_t>(numel(header.shape));
  if (needed > available)
    throw error("the shape ({}) needs {} elements, and the file holds {}", fmt::join(header.shape, ", "),
                needed, available)
        .hint("copy or download the file again");
  if (header.fortran_order) std::reverse(header.shape.begin(), header.shape.end());
  Tensor tensor = Tensor::empty(header.dtype, header.shape);
  if (is_string(header.dtype)) {
    std::vector<std::byte> bytes(needed * header.element_bytes());
    source.read(offset, bytes);
    decode(bytes, header.string, tensor);
  } else {
    source.read(offset, {tensor.mutable_bytes(), needed * header.element_bytes()});
  }
  if (is_bool(header.dtype)) normalise_bools({tensor.mutable_bytes(), needed});
  if (!header.fortran_order) return tensor;
  Index axes(tensor.rank());
  std::iota(axes.rbegin(), axes.rend(), 0);
  return tensor.permute(axes);
}

// What a .npy file holds: its header, and the elements in C order.
class Content {
 public:
  explicit Content(const Tensor& tensor) : dense_(tensor.contiguous()) {
    if (!is_string(dense_.dtype())) {
      header = npy_header(dense_.dtype(), dense_.shape());
      data = {dense_.bytes(), static_cast<std::size_t>(dense_.numel()) * size_of(dense_.dtype())};
      return;
    }
    const NpyString form = npy_string_for(dense_);
    header = npy_header(dense_.dtype(), dense_.shape(), form);
    encoded_ = encode(dense_, form);
    data = encoded_;
  }
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;

  std::string header;
  std::span<const std::byte> data;

 private:
  Tensor dense_;
  std::vector<std::byte> encoded_;
};

Tensor load_member(const ZipReader& zip, const ZipMember& member) {
  std::unique_ptr<std::byte[]> buffer;
  const std::span<const std::byte> content = zip.read_into(buffer, member);
  const auto read = [&](std::uint64_t offset, std::span<std::byte> to) {
    if (!to.empty()) std::memcpy(to.data(), content.data() + offset, to.size());
  };
  return load({content.size(), read});
}
}  // namespace

Tensor load_npy(const std::filesystem::path& path) {
  const InputFile file(path);
  try {
    return load({file.size(), [&](std::uint64_t offset, std::span<std::byte> to) { file.read(offset, to); }});
  } catch (Error& e) { throw e.at(path.string()); }
}

void save_npy(const std::filesystem::path& path, const Tensor& tensor) {
  const Content content(tensor);
  AtomicFile file(path);
  file.write(content.header);
  file.write(content.data);
  file.commit();
}

NamedTensors load_npz(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = InputFile(path).read_all();
  constexpr std::string_view suffix = ".npy";
  std::string where = path.string();
  try {
    const ZipReader zip(bytes);
    NamedTensors arrays;
    for (const ZipMember& member : zip.members()) {
      where = fmt::format("{}: {}", path.string(), member.name);
      const bool is_array = member.name.ends_with(suffix);
      if (!is_array) throw error("this is not an array").hint("an .npz file holds .npy files only");
      arrays.emplace_back(member.name.substr(0, member.name.size() - suffix.size()),
                          load_member(zip, member));
    }
    return arrays;
  } catch (Error& e) { throw e.at(where); }
}

void save_npz(const std::filesystem::path& path, std::span<const std::pair<std::string, Tensor>> arrays) {
  std::set<std::string_view> names;
  for (const auto& [name, tensor] : arrays)
    if (!names.insert(name).second) throw error("two arrays are named '{}'", name).at(path.string());
  AtomicFile file(path);
  ZipWriter zip(file);
  for (const auto& [name, tensor] : arrays) {
    const Content content(tensor);
    const std::array parts = {std::as_bytes(std::span(content.header)), content.data};
    zip.add(fmt::format("{}.npy", name), parts);
  }
  zip.finish();
  file.commit();
}

}  // namespace tenon
