// Puts together what kernels' sources begin with.
#include <array>

#include "kernels/gpu/loop_source.h"
#include "kernels/gpu/texts.h"

namespace tenon::gpu {
namespace {

struct Text {
  std::string_view path;
  std::string_view content;
};

std::string_view text_at(std::string_view path) {
  const std::array all = {Text{"kernels/gpu/pool.gpu.h", texts::pool_gpu_h},
                          Text{"kernels/gpu/product.gpu.h", texts::product_gpu_h},
                          Text{"kernels/gpu/order.gpu.h", texts::order_gpu_h},
                          Text{"kernels/gpu/placed_fold.gpu.h", texts::placed_fold_gpu_h},
                          Text{"kernels/gpu/places.gpu.h", texts::places_gpu_h},
                          Text{"kernels/gpu/scan.gpu.h", texts::scan_gpu_h},
                          Text{"kernels/gpu/sort.gpu.h", texts::sort_gpu_h},
                          Text{"kernels/gpu/wave.gpu.h", texts::wave_gpu_h},
                          Text{"base/prim_meaning.h", texts::prim_meaning_h},
                          Text{"base/prims.def", texts::prims_def},
                          Text{"kernels/gpu/prelude.gpu.h", texts::prelude_gpu_h},
                          Text{"kernels/gpu/loop_values.gpu.h", texts::loop_values_gpu_h},
                          Text{"kernels/gpu/loop_walks.gpu.h", texts::loop_walks_gpu_h}};
  for (const Text& text : all)
    if (text.path == path) return text.content;
  return {};
}

/// A file with our own files in place of its includes: each header once.
class Joiner {
 public:
  void add(std::string_view path) {
    if (path.ends_with(".h") && done_.find(path) != std::string::npos) return;
    done_ += std::string(path) + "\n";
    std::string_view rest = text_at(path);
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      add_line(rest.substr(0, end));
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
  }
  std::string text;

 private:
  void add_line(std::string_view line) {
    constexpr std::string_view include = "#include \"";
    if (line == "#pragma once") return;
    if (line.starts_with(include)) {
      const std::string_view path = line.substr(include.size(), line.rfind('"') - include.size());
      if (!text_at(path).empty()) return add(path);
    }
    text.append(line).append("\n");
  }
  std::string done_;
};

}  // namespace

std::string translation_unit(std::string_view header, std::string_view kernels) {
  Joiner joiner;
  joiner.add(header);
  return joiner.text + "namespace tenon::gpu {\n" + std::string(kernels) + "}  // namespace tenon::gpu\n";
}

}  // namespace tenon::gpu
