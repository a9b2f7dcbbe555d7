#include "converter/exported/weights.h"

#include <fmt/ranges.h>

#include <memory>
#include <utility>

#include "base/error.h"
#include "base/mapped_file.h"
#include "converter/archive/file_format.h"
#include "ir/safetensors.h"

namespace tenon::exported {

namespace ts = torchscript;

std::map<std::string, ts::IValue> read_weights(const std::filesystem::path& path, ts::Program& program) {
  const DetectedFormat found = detect_format(MappedFile::open(path)->bytes());
  if (found.kind != FileKind::safetensors && found.kind != FileKind::unknown)
    throw error("this is {}", found.what)
        .at(path.string())
        .hint("weights beside a .pt2 are a .safetensors file, with the names of the model's state dict");
  const Safetensors file = read_safetensors(path);
  std::map<std::string, ts::IValue> by_name;
  std::shared_ptr<const void> mapped;
  for (const auto& [name, tensor] : file.tensors) {
    const auto bytes = static_cast<std::size_t>(tensor.numel()) * size_of(tensor.dtype());
    const ts::Storage& storage = program.storages.emplace_back(ts::Storage{{tensor.bytes(), bytes}, 0});
    by_name[name] = &program.tensors.emplace_back(ts::Tensor{
        .dtype = tensor.dtype(), .sizes = tensor.shape(), .strides = tensor.strides(), .storage = &storage});
    mapped = tensor.storage();
  }
  program.file = std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(
      program.file, mapped);
  return by_name;
}

void check_weight(const std::string& name, const ts::Tensor& given, const ts::Type& declared) {
  bool same = declared.dtype == given.dtype && declared.declared_sizes->size() == given.sizes.size();
  for (std::size_t i = 0; same && i < given.sizes.size(); ++i)
    same = declared.declared_sizes->at(i) == std::to_string(given.sizes[i]);
  if (same) return;
  throw error("the weight {} is {}[{}], the program takes {}[{}]", name, tenon::name(given.dtype),
              fmt::join(given.sizes, ","), tenon::name(*declared.dtype),
              fmt::join(*declared.declared_sizes, ","));
}

}  // namespace tenon::exported
