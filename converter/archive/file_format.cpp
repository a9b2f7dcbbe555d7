// What a file is, from its bytes alone.
#include "converter/archive/file_format.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/zip.h"
#include "converter/archive/pickle.h"

namespace tenon {
namespace {

constexpr std::string_view kExport =
    "export the model itself: torch.export.save(torch.export.export(model, inputs), 'model.pt2'), or "
    "torch.jit.trace(model, inputs).save('model.pt')";
constexpr std::string_view kExportAgain =
    "export the model again with PyTorch 2.9 or later: torch.export.save(torch.export.export(model, inputs), "
    "'model.pt2'); or trace it: torch.jit.trace(model, inputs).save('model.pt')";
constexpr std::string_view kExportGraph =
    "save the program it was compiled from: torch.export.save(torch.export.export(model, inputs), "
    "'model.pt2')";
constexpr std::string_view kWrapWeights =
    "build the model in Python, load these weights into it, then "
    "torch.export.save(torch.export.export(model, inputs), 'model.pt2') or torch.jit.trace(model, "
    "inputs).save('model.pt')";
constexpr std::size_t kLargestPickle = 64u << 20;

DetectedFormat make(FileKind kind, std::string_view what, std::string_view hint = {}) {
  return {kind, std::string(what), std::string(hint)};
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A pickle of tensors only names these modules; anything else is a class of the user's code.
bool is_weights_only(const PickleSummary& summary) {
  return std::all_of(summary.globals.begin(), summary.globals.end(), [](std::string_view global) {
    const bool is_container = global.starts_with("collections.");
    const bool is_rebuild = global.starts_with("torch._utils.") || global.starts_with("torch._tensor.");
    const bool is_storage = global.starts_with("torch.") && global.ends_with("Storage");
    const bool is_flat_name = global.starts_with("torch.") && global.find('.', 6) == std::string_view::npos;
    return is_container || is_rebuild || is_storage || is_flat_name;
  });
}

DetectedFormat detect_saved_pickle(const ZipReader& zip, const ZipMember& pickle) {
  try {
    if (!is_weights_only(scan_pickle(zip.read_text(pickle, kLargestPickle)))) {
      return make(
          FileKind::pickled_module,
          "a Python object saved by torch.save (a pickled module): it needs the Python code it came from",
          kExport);
    }
  } catch (const Error& e) {
    return make(FileKind::damaged_zip, "a torch.save archive whose pickle is damaged: " + e.message(),
                "copy or download the file again");
  }
  return make(FileKind::state_dict, "a state_dict or tensors saved by torch.save: weights without a graph",
              kWrapWeights);
}

DetectedFormat detect_by_entries(const ZipReader& zip) {
  const ZipMember* pickle = nullptr;
  bool has_constants = false, has_code = false, has_model_json = false, has_compiled = false;
  bool has_exported_program = false, has_pickled_weights = false, has_arrays = false, has_keras = false;
  for (const ZipMember& entry : zip.members()) {
    const std::string_view name = inside_root(entry.name);
    if (name == "data.pkl") pickle = &entry;
    has_constants |= name == "constants.pkl";
    has_code |= name.starts_with("code/");
    has_model_json |= name.starts_with("models/") && name.ends_with(".json");
    has_compiled |= name.starts_with("data/aotinductor/");
    has_exported_program |= entry.name == "serialized_exported_program.json";
    has_pickled_weights |= name.starts_with("data/weights/") && name.ends_with(".pt");
    has_keras |= entry.name == "model.weights.h5";
    has_arrays |= entry.name.ends_with(".npy");
  }
  if (has_model_json && has_pickled_weights) {
    return make(FileKind::pt2_before_2_9, "a .pt2 written by torch.export.save of PyTorch 2.8", kExportAgain);
  }
  if (has_model_json) return make(FileKind::pt2, "a .pt2 written by torch.export.save");
  if (has_exported_program) {
    return make(FileKind::pt2_before_2_9, "a .pt2 written by torch.export.save of PyTorch 2.7 or older",
                kExportAgain);
  }
  if (has_compiled) {
    return make(FileKind::aot_inductor, "an AOTInductor package: machine code without a graph", kExportGraph);
  }
  if (pickle && has_constants) return make(FileKind::torchscript, "TorchScript");
  if (pickle && has_code) {
    return make(FileKind::damaged_zip,
                "a TorchScript archive without constants.pkl, as PyTorch before 1.4 wrote it",
                "load it in Python with torch.jit.load and save it again");
  }
  if (pickle) return detect_saved_pickle(zip, *pickle);
  if (has_arrays) return make(FileKind::npz, "an .npz of NumPy arrays: data without a model", kExport);
  if (has_keras)
    return make(FileKind::other_format, "a model of Keras 3",
                "write ONNX in Python: keras.models.load_model('FILE').export('model.onnx', format='onnx')");
  return make(FileKind::zip, "a zip archive, but of nothing PyTorch or ONNX wrote",
              "if a model is in it, unpack it first: unzip FILE");
}

DetectedFormat detect_in_zip(std::span<const std::byte> file) {
  try {
    return detect_by_entries(ZipReader(file));
  } catch (const Error& e) { return make(FileKind::damaged_zip, "a broken file: " + e.message(), e.hint()); }
}

/// u64 length of a JSON header, then the header.
std::optional<DetectedFormat> detect_safetensors(std::string_view text) {
  if (text.size() < 10 || text[8] != '{') return std::nullopt;
  std::uint64_t header = 0;
  std::memcpy(&header, text.data(), sizeof header);
  if (header > text.size() - 8) {
    if (header > kLargestPickle || !text.substr(8).starts_with("{\"")) return std::nullopt;
    return make(FileKind::unknown, "a .tenon artifact or safetensors file that is cut",
                "copy or download it again, or convert the model again");
  }
  if (text.substr(8, header).find("\"tenon") != std::string_view::npos) {
    return make(FileKind::tenon, "a .tenon artifact");
  }
  return make(FileKind::safetensors, "a safetensors file: weights without a graph", kWrapWeights);
}

/// An ONNX ModelProto begins with field 1, ir_version, a small varint; then come strings and messages.
bool looks_like_onnx(std::string_view text) {
  if (text.size() < 8 || text[0] != '\x08' || static_cast<unsigned char>(text[1]) > 32) return false;
  const auto tag = static_cast<unsigned char>(text[2]);
  const unsigned field = tag >> 3, wire = tag & 7;
  return (field >= 2 && field <= 25) && (wire == 2 || wire == 0);
}

struct Magic {
  std::size_t at;
  std::string_view bytes, what, hint;
  FileKind kind = FileKind::other_format;
};

constexpr std::string_view kFromPyTorch =
    "export the PyTorch model that it was made from: torch.export.save(torch.export.export(model, inputs), "
    "'model.pt2')";
constexpr std::string_view kFromKeras =
    "write ONNX: python -m tf2onnx.convert --keras FILE --output model.onnx";

constexpr Magic kMagics[] = {
    {0, "GGUF", "a GGUF file of llama.cpp", kFromPyTorch},
    {0, "ggml", "a GGML file", kFromPyTorch},
    {4, "TFL3", "a TensorFlow Lite model",
     "write ONNX: python -m tf2onnx.convert --tflite FILE --output model.onnx"},
    {0, "\x89HDF\r\n", "an HDF5 file, as Keras writes models", kFromKeras},
    {0, "7767517\n", "a text file of ncnn's operators", kFromPyTorch},
    {4, "ORTM", "a model in ONNX Runtime's own format", "give the .onnx that it was made from"},
    {0, "ptrt", "a TensorRT engine: machine code without a graph", kFromPyTorch},
    {0, "\x1f\x8b", "a file compressed by gzip", "unpack it first: gunzip --keep FILE", FileKind::compressed},
    {0, "BZh", "a file compressed by bzip2", "unpack it first: bunzip2 --keep FILE", FileKind::compressed},
    {0,
     "\xfd"
     "7zXZ",
     "a file compressed by xz", "unpack it first: unxz --keep FILE", FileKind::compressed},
    {0, "\x28\xb5\x2f\xfd", "a file compressed by zstd", "unpack it first: unzstd FILE",
     FileKind::compressed},
    {0, "7z\xbc\xaf", "an archive of 7-Zip", "unpack it first: 7z x FILE", FileKind::compressed},
};

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

// The first lines of a text in small letters, as HTML may be written in any, from its first character on.
std::string head_of(std::string_view text) {
  constexpr std::size_t enough = 1024;
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  std::string head(text.substr(0, enough));
  for (char& c : head) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return head;
}

// What a server sent, or another program wrote.
DetectedFormat detect_in_text(std::string_view text) {
  const std::string head = head_of(text);
  const auto holds = [&](std::string_view part) { return head.find(part) != std::string::npos; };
  const bool is_markup = head.starts_with('<');
  if (head.starts_with("version https://git-lfs"))
    return make(FileKind::text, "a Git LFS pointer instead of the model itself",
                "fetch the model with git lfs pull");
  if (is_markup && (holds("<!doctype html") || holds("<html")))
    return make(FileKind::text, "a web page instead of the model itself",
                "download the file that the page links to");
  if ((is_markup && holds("<error>")) || (head.starts_with('{') && holds("\"error\"")))
    return make(FileKind::text, "a server's error instead of the model itself",
                "read it, and download the file again from an address, or with an account, that has it");
  if (is_markup && holds("<net")) return make(FileKind::other_format, "a model of OpenVINO", kFromPyTorch);
  return make(FileKind::text, "a text file", kExport);
}

bool looks_like_text(std::string_view text) {
  const auto head = text.substr(0, 4096);
  return std::none_of(head.begin(), head.end(), [](unsigned char c) {
    const bool is_space = c == '\n' || c == '\r' || c == '\t';
    return (c < 0x20 && !is_space) || c == 0x7f;
  });
}

}  // namespace

std::string_view inside_root(std::string_view entry_name) {
  const auto slash = entry_name.find('/');
  return slash == std::string_view::npos ? entry_name : entry_name.substr(slash + 1);
}

DetectedFormat detect_format(std::span<const std::byte> file) {
  constexpr std::string_view kLegacyMagic = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
  const std::string_view text = as_text(file);
  if (text.empty()) return make(FileKind::empty, "an empty file", "copy or download the file again");
  if (looks_like_zip(file)) return detect_in_zip(file);
  if (text.starts_with("\x93NUMPY"))
    return make(FileKind::numpy, "a NumPy array: data without a model", kExport);
  if (text.starts_with(kLegacyMagic)) {
    return make(FileKind::legacy_torch, "a torch.save file of the format before PyTorch 1.6: no graph in it",
                kWrapWeights);
  }
  if (text.size() > 262 && text.substr(257, 5) == "ustar") {
    return make(FileKind::compressed, "a tar archive",
                "unpack it first: tar xf FILE; if it is what torch.save wrote before PyTorch 0.4, load it in "
                "Python and export the model: torch.export.save");
  }
  for (const Magic& m : kMagics)
    if (text.size() > m.at && text.substr(m.at).starts_with(m.bytes)) return make(m.kind, m.what, m.hint);
  if (const auto safetensors = detect_safetensors(text)) return *safetensors;
  if (text.size() > 2 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5) {
    return make(FileKind::pickle, "a Python pickle: it needs the Python code it came from", kExport);
  }
  if (looks_like_onnx(text)) return make(FileKind::onnx, "an ONNX model");
  if (looks_like_text(text)) return detect_in_text(text);
  return make(FileKind::unknown, "a file of a kind Tenon does not know", kExport);
}

}  // namespace tenon
