// Zip archives, pickles and the detection of file formats, from bytes alone.
#include <gtest/gtest.h>
#include <libdeflate.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "base/zip.h"
#include "converter/archive/file_format.h"
#include "converter/archive/pickle.h"

namespace tenon {
namespace {

std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string message_of(const auto& action) {
  try {
    action();
  } catch (const Error& e) { return e.message(); }
  return "no error";
}

/// Writes archives as the format says, with room for lies.
class ZipBytes {
 public:
  ZipBytes& add(const std::string& name, const std::string& content, bool deflate = false) {
    const std::string data = deflate ? deflated(content) : content;
    const std::uint32_t crc = crc32(tenon::bytes(content));
    const auto offset = static_cast<std::uint32_t>(text_.size());
    const std::uint16_t method = deflate ? 8 : 0;
    put<std::uint32_t>(text_, 0x04034b50);
    text_.append(22, '\0');  // sizes and CRC stand in the directory only, as in files of PyTorch
    put<std::uint16_t>(text_, static_cast<std::uint16_t>(name.size()));
    put<std::uint16_t>(text_, 0);
    text_ += name + data;

    put<std::uint32_t>(directory_, 0x02014b50);
    directory_.append(6, '\0');
    put<std::uint16_t>(directory_, method);
    directory_.append(4, '\0');
    put<std::uint32_t>(directory_, crc);
    put<std::uint32_t>(directory_, static_cast<std::uint32_t>(data.size()));
    put<std::uint32_t>(directory_, static_cast<std::uint32_t>(claimed_size.value_or(content.size())));
    put<std::uint16_t>(directory_, static_cast<std::uint16_t>(name.size()));
    directory_.append(12, '\0');
    put<std::uint32_t>(directory_, offset);
    directory_ += name;
    ++count_;
    return *this;
  }

  std::string finish() const {
    std::string file = text_ + directory_;
    put<std::uint32_t>(file, 0x06054b50);
    put<std::uint32_t>(file, 0);
    put<std::uint16_t>(file, count_);
    put<std::uint16_t>(file, count_);
    put<std::uint32_t>(file, static_cast<std::uint32_t>(directory_.size()));
    put<std::uint32_t>(file, static_cast<std::uint32_t>(text_.size()));
    put<std::uint16_t>(file, 0);
    return file;
  }

  std::optional<std::size_t> claimed_size;

 private:
  template <class T>
  static void put(std::string& text, T value) {
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  static std::string deflated(const std::string& content) {
    libdeflate_compressor* compressor = libdeflate_alloc_compressor(9);
    std::string result(libdeflate_deflate_compress_bound(compressor, content.size()), '\0');
    result.resize(libdeflate_deflate_compress(compressor, content.data(), content.size(), result.data(),
                                              result.size()));
    libdeflate_free_compressor(compressor);
    return result;
  }

  std::string text_, directory_;
  std::uint16_t count_ = 0;
};

TEST(Zip, ReadsStoredAndDeflatedEntries) {
  const std::string text(10'000, 'x');
  const std::string file = ZipBytes().add("m/a", "hello").add("m/b", text, true).finish();
  const ZipReader zip(bytes(file));
  ASSERT_EQ(zip.members().size(), 2u);
  EXPECT_EQ(zip.read_text(*zip.find("m/a"), 100), "hello");
  EXPECT_EQ(zip.read_text(*zip.find("m/b"), 10'000), text);
  EXPECT_EQ(zip.find("m/c"), nullptr);
}

TEST(Zip, GivesStoredEntriesInPlace) {
  const std::string file = ZipBytes().add("a", "hello").add("b", "bye", true).finish();
  const ZipReader zip(bytes(file));
  const auto a = zip.stored(*zip.find("a"));
  EXPECT_EQ(static_cast<const void*>(a.data()), file.data() + zip.find("a")->data_offset);
  EXPECT_EQ(a.size(), 5u);
  EXPECT_NE(message_of([&] { zip.stored(*zip.find("b")); }).find("compressed"), std::string::npos);
}

TEST(Zip, InflatesNoMoreThanAllowed) {
  const std::string file = ZipBytes().add("bomb", std::string(1 << 20, '\0'), true).finish();
  const ZipReader zip(bytes(file));
  EXPECT_NE(message_of([&] { zip.read_text(zip.members()[0], 1000); }).find("has 1048576 bytes"),
            std::string::npos);
}

TEST(Zip, NoticesContentThatInflatesToAnotherSizeThanClaimed) {
  ZipBytes writer;
  writer.claimed_size = 10;
  const std::string file = writer.add("liar", std::string(1000, 'x'), true).finish();
  const ZipReader zip(bytes(file));
  EXPECT_NE(message_of([&] { zip.read_text(zip.members()[0], 1000); }).find("does not inflate"),
            std::string::npos);
}

TEST(Zip, NoticesAFlippedBit) {
  std::string file = ZipBytes().add("a", "hello").finish();
  file[file.find("hello")] = 'H';
  const ZipReader zip(bytes(file));
  EXPECT_NE(message_of([&] { zip.read_text(zip.members()[0], 100); }).find("checksum"), std::string::npos);
}

TEST(Zip, RefusesTheSameNameTwice) {
  const std::string file = ZipBytes().add("a", "1").add("a", "2").finish();
  EXPECT_NE(message_of([&] { ZipReader zip(bytes(file)); }).find("twice"), std::string::npos);
}

TEST(Zip, RefusesEveryCutOfAFile) {
  const std::string file = ZipBytes().add("m/a", "hello").add("m/b", "world", true).finish();
  for (std::size_t size = 0; size < file.size(); ++size) {
    const std::string cut = file.substr(0, size);
    EXPECT_THROW(ZipReader zip(bytes(cut)), Error) << "cut to " << size << " of " << file.size();
  }
}

TEST(Zip, NeverReadsOutsideTheFileWhateverByteIsWrong) {
  const std::string file = ZipBytes().add("m/a", "hello").add("m/b", std::string(100, 'x'), true).finish();
  for (std::size_t at = 0; at < file.size(); ++at) {
    for (const char wrong : {'\0', '\x01', '\x7f', '\xff'}) {
      std::string changed = file;
      changed[at] = wrong;
      message_of([&] {
        const ZipReader zip(bytes(changed));
        for (const ZipMember& entry : zip.members()) zip.read_text(entry, 1000);
      });
    }
  }
}

TEST(Pickle, ListsTheNamesItAsksFor) {
  const auto summary = scan_pickle(
      "\x80\x02"
      "cos\nsystem\ncos\nsystem\nccollections\nOrderedDict\n.");
  EXPECT_EQ(summary.globals, (std::vector<std::string>{"os.system", "collections.OrderedDict"}));
}

TEST(Pickle, MeasuresNesting) {
  EXPECT_EQ(scan_pickle("\x80\x02K\x01.").depth, 0u);
  EXPECT_EQ(scan_pickle("\x80\x02K\x01\x85\x85\x85.").depth, 3u);
  EXPECT_EQ(scan_pickle("\x80\x02]q\x01h\x01h\x01\x86.").depth, 1u);
  EXPECT_EQ(scan_pickle("\x80\x02](((K\x01tte.").depth, 3u);  // [((1,),)]
}

TEST(Pickle, RefusesWhatLeavesItsStackOrItsBytes) {
  using std::string_literals::operator""s;
  for (const std::string& bad : {""s, "\x80"s, "\x80\x02"s, "."s, "t."s, "h\x05."s, "X\xff\xff\xff\x7f."s,
                                 "cos\n"s, "(e."s, "\xfa."s}) {
    EXPECT_THROW(scan_pickle(bad), Error) << testing::PrintToString(bad);
  }
}

TEST(DetectFormat, KnowsFilesByTheirFirstBytes) {
  using std::string_literals::operator""s;
  const auto kind = [](const std::string& file) { return detect_format(bytes(file)).kind; };
  EXPECT_EQ(kind(""), FileKind::empty);
  EXPECT_EQ(kind("hello\n"), FileKind::text);
  EXPECT_EQ(kind("\x93NUMPY\x01\x00..."s), FileKind::numpy);
  EXPECT_EQ(kind("\x80\x04\x95.."s), FileKind::pickle);
  EXPECT_EQ(kind("\x08\x08\x12\x07pytorch\x1a\x03"s), FileKind::onnx);
  EXPECT_EQ(kind("\x02\x00\x00\x00\x00\x00\x00\x00{}"s), FileKind::safetensors);
  EXPECT_EQ(kind("\xff\x00\x81\x05"s), FileKind::unknown);
  EXPECT_EQ(kind("PK\x03\x04 and nothing more"s), FileKind::damaged_zip);
}

TEST(DetectFormat, KnowsArchivesByTheirEntries) {
  const auto kind = [](std::initializer_list<const char*> names) {
    ZipBytes writer;
    for (const char* name : names) writer.add(name, "\x80\x02}.");
    const std::string file = writer.finish();
    return detect_format(bytes(file)).kind;
  };
  EXPECT_EQ(kind({"m/data.pkl", "m/constants.pkl", "m/code/__torch__.py"}), FileKind::torchscript);
  EXPECT_EQ(kind({"m/data.pkl", "m/data/0", "m/version"}), FileKind::state_dict);
  EXPECT_EQ(kind({"m/archive_format", "m/models/model.json", "m/data/weights/model_weights_config.json"}),
            FileKind::pt2);
  EXPECT_EQ(kind({"m/archive_format", "m/models/model.json", "m/data/weights/model.pt"}),
            FileKind::pt2_before_2_9);
  EXPECT_EQ(kind({"serialized_exported_program.json", "version"}), FileKind::pt2_before_2_9);
  EXPECT_EQ(kind({"m/data/aotinductor/model/a.so"}), FileKind::aot_inductor);
  EXPECT_EQ(kind({"a.npy", "b.npy"}), FileKind::npz);
  EXPECT_EQ(kind({"readme.md"}), FileKind::zip);
}

TEST(DetectFormat, TellsWeightsFromAPickledModule) {
  const auto kind = [](const std::string& global) {
    const std::string file = ZipBytes()
                                 .add("m/data.pkl",
                                      "\x80\x02"
                                      "c" +
                                          global + "\n.")
                                 .finish();
    return detect_format(bytes(file)).kind;
  };
  EXPECT_EQ(kind("torch._utils\n_rebuild_tensor_v2"), FileKind::state_dict);
  EXPECT_EQ(kind("torch\nFloatStorage"), FileKind::state_dict);
  EXPECT_EQ(kind("my.models\nNet"), FileKind::pickled_module);
  EXPECT_EQ(kind("torch.nn.modules.linear\nLinear"), FileKind::pickled_module);
}

}  // namespace
}  // namespace tenon
