// NumPy's files: bytes as NumPy writes them, and hostile ones that end in one clear error.
// tests/data/npy/*.npz were written by NumPy 2.4 (savez_compressed and savez).
#include "ir/npy.h"

#include <gtest/gtest.h>

#include <complex>
#include <fstream>
#include <random>
#include <sstream>

#include "base/error.h"
#include "base/temporary_path.h"
#include "ir/string_tensor.h"

namespace tenon {
namespace {
namespace fs = std::filesystem;

const fs::path data = fs::path(TENON_SOURCE_DIR) / "tests/data/npy";

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::vector<double> values(const Tensor& t) {
  std::vector<double> result;
  for_each_index(t.shape(), [&](auto index) { result.push_back(t.get_double(index)); });
  return result;
}

Index reversed_axes(const Tensor& t) {
  Index axes;
  for (std::size_t i = t.rank(); i-- > 0;) axes.push_back(static_cast<std::int64_t>(i));
  return axes;
}

// The bytes of a version 1.0 file with this dict and content.
std::string npy(std::string dict, const std::string& content, char version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += {version, '\0'};
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) bytes += static_cast<char>(dict.size() >> (8 * i) & 0xff);
  return bytes + dict + content;
}

class Npy : public testing::Test {
 protected:
  fs::path file(const std::string& bytes) const {
    const fs::path path = folder / "a.npy";
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  Tensor load(const std::string& bytes) const { return load_npy(file(bytes)); }
  std::string saved(const Tensor& t) const {
    save_npy(folder / "a.npy", t);
    return read(folder / "a.npy");
  }

  TemporaryFolder scratch{fs::temp_directory_path()};
  const fs::path folder = scratch.path();
};

TEST_F(Npy, FilesAreTheOnesNumPyWrites) {
  const auto header = [](std::string dict) {
    dict.resize(117, ' ');
    return "\x93NUMPY\x01" + std::string("\0\x76\0", 3) + dict + "\n";
  };
  EXPECT_EQ(saved(Tensor::of(DType::u8, {2, 3}, {1, 2, 3, 4, 5, 6})),
            header("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }") + "\1\2\3\4\5\6");
  EXPECT_EQ(
      saved(Tensor::of(DType::f32, {1}, {1.0})),
      header("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }") + std::string("\0\0\x80\x3f", 4));
  EXPECT_EQ(saved(Tensor::scalar(DType::boolean, std::int64_t{1})),
            header("{'descr': '|b1', 'fortran_order': False, 'shape': (), }") + "\1");
  EXPECT_EQ(saved(Tensor::zeros(DType::c128, {0, 7})),
            header("{'descr': '<c16', 'fortran_order': False, 'shape': (0, 7), }"));
}

TEST_F(Npy, EveryDtypeReadsBack) {
  for (int i = 0; i <= static_cast<int>(DType::c128); ++i) {
    const DType dtype = static_cast<DType>(i);
    const Tensor t = Tensor::of(dtype, {2, 2}, {0, 1, 1, 0});
    save_npy(folder / "a.npy", t);
    const Tensor back = load_npy(folder / "a.npy");
    EXPECT_EQ(back.type_string(), t.type_string());
    EXPECT_EQ(values(back), values(t)) << name(dtype);
  }
}

TEST_F(Npy, Bf16IsReadHoweverItIsSpelt) {
  for (const char* descr : {"<V2", "|V2"}) {  // as ml_dtypes, and as NumPy writes it again
    const Tensor t =
        load(npy(fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (2,), }}", descr),
                 std::string("\x80\x3f\x00\xc0", 4)));
    EXPECT_EQ(t.type_string(), "bf16[2]");
    EXPECT_EQ(values(t), (std::vector<double>{1, -2}));
  }
}

// NumPy has no name for them: one byte an element is e4m3fn until an input says otherwise.
TEST_F(Npy, Float8IsWrittenAsPlainBytes) {
  for (const DType dtype : {DType::f8e4m3fn, DType::f8e5m2, DType::f8e4m3fnuz, DType::f8e5m2fnuz}) {
    const Tensor t = Tensor::of(dtype, {2}, {1.0, -2.0});
    EXPECT_NE(saved(t).find("'descr': '|V1'"), std::string::npos);
    save_npy(folder / "a.npy", t);
    const Tensor back = load_npy(folder / "a.npy");
    EXPECT_EQ(back.type_string(), "f8e4m3fn[2]");
    EXPECT_TRUE(std::equal(back.bytes(), back.bytes() + 2, t.bytes()));
  }
}

TEST_F(Npy, ViewsAreWrittenInCOrder) {
  const Tensor t = Tensor::of(DType::i16, {2, 3}, {1, 2, 3, 4, 5, 6});
  save_npy(folder / "a.npy", t.permute(reversed_axes(t)));
  EXPECT_EQ(values(load_npy(folder / "a.npy")), (std::vector<double>{1, 4, 2, 5, 3, 6}));
}

TEST_F(Npy, FortranOrderIsAViewOfTheFilesBytes) {
  const Tensor t = load(npy("{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3), }", "\1\4\2\5\3\6"));
  EXPECT_EQ(t.strides(), (Index{1, 2}));
  EXPECT_EQ(values(t), (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST_F(Npy, VersionsDifferInTheLengthField) {
  for (const char version : {1, 2, 3}) {
    const Tensor t =
        load(npy("{'descr': '<u2', 'fortran_order': False, 'shape': (1,), }\n", "\1\2", version));
    EXPECT_EQ(values(t), std::vector<double>{0x201});
  }
}

TEST_F(Npy, HeadersAreReadAsPythonWouldReadThem) {
  for (const char* dict : {R"({"shape": (2 ,), "descr": "|u1", "fortran_order": False})",
                           "{ 'fortran_order':False,'descr':'|u1','shape':(2,) }   \n",
                           "{'descr': '|u1', 'fortran_order': False, 'shape': (2L,), }",
                           "{'descr': '>u1', 'fortran_order': False, 'shape': (2,)}"})
    EXPECT_EQ(values(load(npy(dict, "\3\4"))), (std::vector<double>{3, 4})) << dict;
}

TEST_F(Npy, BytesAfterTheArrayAreLeftAlone) {
  EXPECT_EQ(values(load(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1,)}", "\3\4"))),
            std::vector<double>{3});
}

TEST_F(Npy, BoolsBecomeZeroOrOne) {
  const Tensor t =
      load(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", std::string("\7\0", 2)));
  EXPECT_EQ(std::to_integer<int>(*t.bytes()), 1);
}

struct Refused {
  std::string bytes;
  const char* message;
};

TEST_F(Npy, DamagedFilesEndInOneSentence) {
  const auto dict = [](const char* descr, const char* shape) {
    return fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': {}}}", descr, shape);
  };
  const Refused table[] = {
      {"", "this is not a .npy file"},
      {"PK\3\4 something else", "this is not a .npy file"},
      {npy("", "", 9), "the .npy format 9.0 is unknown"},
      {"\x93NUMPY\1" + std::string("\0\x76\0", 3), "the .npy file ends in its header"},
      {"\x93NUMPY\2" + std::string("\0\xff\xff\xff\xff", 5),
       "the .npy header is damaged: it claims 4294967295 bytes"},
      {npy("{", ""), "the .npy header is damaged: a string is missing at position 1"},
      {npy("{}", ""), "the .npy header is damaged: a key is missing"},
      {npy("{'color': 1}", ""), "the .npy header is damaged: the key 'color' is unknown"},
      {npy(dict("'<f4'", "(2)") + "x", ""), "the .npy header is damaged: text follows the dict"},
      {npy(dict("'<f4'", "(-2,)"), ""),
       "the .npy header is damaged: a size in the shape is no natural number"},
      {npy(dict("'<f4'", "(99999999999999999999,)"), ""),
       "the .npy header is damaged: a size in the shape is no natural number"},
      {npy(dict("'<f4'", "(4611686018427387904, 4)"), ""),
       "the shape [4611686018427387904,4] has more elements than 64 bits can count"},
      {npy(dict("'<f4'", "(2305843009213693952,)"), "abcd"),
       "the shape (2305843009213693952) needs 2305843009213693952 elements, and the file holds 1"},
      {npy(dict("'<f4'", "(2,)"), "abcdefg"), "the shape (2) needs 2 elements, and the file holds 1"},
      {npy(dict("'>f4'", "(1,)"), "abcd"), "the array's numbers are big-endian ('>f4')"},
      {npy(dict("'|O'", "(1,)"), "abcd"), "the array holds Python objects (NumPy's dtype 'object')"},
      {npy(dict("'<U3'", "(1,)"), "abcd"), "the shape (1) needs 1 elements, and the file holds 0"},
      {npy(dict("[('x', '<f4')]", "(1,)"), "abcd"), "the array is structured: its elements are records"},
  };
  for (const auto& [bytes, message] : table) {
    try {
      load(bytes);
      ADD_FAILURE() << "accepted, though " << message;
    } catch (const Error& e) {
      EXPECT_STREQ(e.what(), message);
      EXPECT_EQ(e.where(), (folder / "a.npy").string());
    }
  }
}

TEST_F(Npy, ErrorsNameTheFile) {
  for (const fs::path& path : {folder / "missing.npy", folder}) {
    try {
      load_npy(path);
      ADD_FAILURE() << "loaded " << path;
    } catch (const Error& e) { EXPECT_EQ(e.where(), path.string()); }
  }
  EXPECT_THROW(save_npy(folder / "no" / "a.npy", Tensor::zeros(DType::f32, {2})), Error);
  EXPECT_THROW(save_npy("/dev/full", Tensor::zeros(DType::f32, {2})), Error);
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(Npy, StringsAreThoseOfNumPy) {
  const Tensor words = string_tensor({2, 2}, std::vector<std::string>{"ab", "", "日本語", "ß"});
  const std::string bytes = saved(words);
  EXPECT_NE(bytes.find("{'descr': '<U3', 'fortran_order': False, 'shape': (2, 2), }"), std::string::npos);
  EXPECT_EQ(bytes.size(), 128u + 4 * 3 * 4);
  EXPECT_EQ(bytes.substr(128, 12), std::string("a\0\0\0b\0\0\0\0\0\0\0", 12));
  EXPECT_EQ(texts_of(load_npy(folder / "a.npy")), texts_of(words));
  save_npz(folder / "a.npz", NamedTensors{{"words", words}});
  EXPECT_EQ(texts_of(load_npz(folder / "a.npz")[0].second), texts_of(words));
  const auto of_bytes = [&](const char* descr, const std::string& content) {
    return texts_of(
        load(npy(fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (2,), }}", descr), content)));
  };
  EXPECT_EQ(of_bytes("|S3", std::string("abcd\0\0", 6)), (std::vector<std::string_view>{"abc", "d"}));
  const Tensor columns = load(npy("{'descr': '|S1', 'fortran_order': True, 'shape': (2, 2), }", "acbd"));
  EXPECT_EQ(texts_of(columns), (std::vector<std::string_view>{"a", "b", "c", "d"}));
}

TEST_F(Npy, StringsThatAreNoneAreErrors) {
  const auto message = [&](const char* descr, const std::string& content) -> std::string {
    try {
      load(npy(fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (1,), }}", descr), content));
      return "nothing is wrong";
    } catch (const Error& e) { return e.message() + "; " + e.hint(); }
  };
  EXPECT_EQ(message("|O", "x"),
            "the array holds Python objects (NumPy's dtype 'object'); save strings after .astype(str)");
  EXPECT_EQ(message("|S2", "\xff\xfe"), "a string is no UTF-8; ");
  EXPECT_EQ(message("<U1", std::string("\0\xd8\0\0", 4)), "a string holds 0xd800, which is no character; ");
  EXPECT_EQ(message("<U1", "\xff\xff\xff\xff"), "a string holds 0xffffffff, which is no character; ");
  EXPECT_NE(message("<U2", "abcd").find("the file holds 0"), std::string::npos);
  EXPECT_NE(message("<U0", "").find("is damaged"), std::string::npos);
  EXPECT_NE(message("<U99999999999", "").find("is damaged"), std::string::npos);
  EXPECT_NE(message(">U1", "abcd").find("big-endian"), std::string::npos);
  const Tensor ends_with_zero = string_tensor({1}, std::vector{std::string("a\0", 2)});
  EXPECT_THROW(saved(ends_with_zero), Error);
}

TEST_F(Npy, DeflatedArchivesOfNumPyAreRead) {
  const NamedTensors arrays = load_npz(data / "deflated.npz");
  std::vector<std::string> types;
  for (const auto& [name, t] : arrays) types.push_back(name + " " + t.type_string());
  EXPECT_EQ(types,
            (std::vector<std::string>{"f4 f32[2,3]", "fortran i32[2,3]", "flag bool[3]", "number i64[]",
                                      "half f16[2]", "complex c64[1]", "empty f64[0,3]"}));
  EXPECT_EQ(values(arrays[0].second), (std::vector<double>{0, 0.5, 1, 1.5, 2, 2.5}));
  EXPECT_EQ(values(arrays[1].second), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(arrays[1].second.strides(), (Index{1, 2}));
  EXPECT_EQ(values(arrays[2].second), (std::vector<double>{1, 0, 1}));
  EXPECT_EQ(arrays[3].second.get_int(), -7);
  EXPECT_EQ(values(arrays[4].second), (std::vector<double>{0.5, -2}));
  EXPECT_EQ(*arrays[5].second.data<std::complex<float>>(), std::complex<float>(1, 2));
}

TEST_F(Npy, StoredArchivesReadBack) {
  const NamedTensors arrays = load_npz(data / "stored.npz");
  save_npz(folder / "b.npz", arrays);
  const NamedTensors back = load_npz(folder / "b.npz");
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].first, "x");
  EXPECT_EQ(values(back[0].second), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(back[1].first, "y");
  EXPECT_EQ(values(back[1].second), std::vector<double>{3.25});
  save_npz(folder / "empty.npz", {});
  EXPECT_TRUE(load_npz(folder / "empty.npz").empty());
}

TEST_F(Npy, EqualArchivesAreEqualFiles) {
  const NamedTensors arrays{{"ä", Tensor::of(DType::f32, {2}, {1.0, 2.0})}};
  save_npz(folder / "a.npz", arrays);
  save_npz(folder / "b.npz", arrays);
  EXPECT_EQ(read(folder / "a.npz"), read(folder / "b.npz"));
  EXPECT_EQ(load_npz(folder / "a.npz")[0].first, "ä");
}

TEST_F(Npy, TwoArraysOfOneNameAreAnError) {
  const NamedTensors arrays{{"x", Tensor::zeros(DType::f32, {})}, {"x", Tensor::zeros(DType::f32, {})}};
  EXPECT_THROW(save_npz(folder / "a.npz", arrays), Error);
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(Npy, CutArchivesAreErrors) {
  for (const char* name : {"deflated.npz", "stored.npz"}) {
    const std::string whole = read(data / name);
    for (std::size_t size = 0; size < whole.size(); size += 7)
      EXPECT_THROW(load_npz(file(whole.substr(0, size))), Error) << name << " cut to " << size;
  }
}

TEST_F(Npy, AWrongByteIsFoundByTheChecksum) {
  std::string bytes = read(data / "stored.npz");
  bytes[bytes.find("NUMPY") + 130] ^= 1;
  try {
    load_npz(file(bytes));
    FAIL() << "the byte was changed";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "the zip archive is damaged: 'x.npy' has a wrong checksum");
    EXPECT_EQ(e.where(), (folder / "a.npy").string() + ": x.npy");
  }
}

TEST_F(Npy, RandomDamageNeverDoesWorseThanAnError) {
  std::mt19937 random(7);
  for (const char* name : {"deflated.npz", "stored.npz"}) {
    const std::string whole = read(data / name);
    for (int trial = 0; trial < 400; ++trial) {
      std::string bytes = whole;
      for (int i = 0; i < 1 + trial % 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
      try {
        load_npz(file(bytes));
      } catch (const Error& e) { EXPECT_FALSE(e.where().empty()); }
    }
  }
}

TEST_F(Npy, RandomHeadersNeverDoWorseThanAnError) {
  std::mt19937 random(8);
  const std::string whole =
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", std::string(24, 'x'));
  for (int trial = 0; trial < 1000; ++trial) {
    std::string bytes = whole;
    for (int i = 0; i < 1 + trial % 3; ++i) bytes[random() % 70] = "0123456789'<>|(),TF \n"[random() % 21];
    try {
      load(bytes);
    } catch (const Error& e) { EXPECT_EQ(e.where(), (folder / "a.npy").string()); }
  }
}

}  // namespace
}  // namespace tenon
