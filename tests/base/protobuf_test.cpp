#include "base/protobuf.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"
#include "base/input_file.h"
#include "base/protobuf_writer.h"
#include "base/temporary_path.h"

namespace tenon {
namespace {

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> out;
  for (const int v : values) out.push_back(static_cast<std::byte>(v));
  return out;
}

TEST(Protobuf, FieldsThatNobodyReadsAreSkipped) {
  // 1: varint 300, 2: "hi", 3: fixed32, 4: fixed64, 5: varint -1
  const auto message =
      bytes({0x08, 0xac, 0x02, 0x12, 2, 'h',  'i', 0x1d, 0,   0,   0x80, 0x3f, 0x21, 1,   2,   3,
             4,    5,    6,    7,    8, 0x28, 255, 255,  255, 255, 255,  255,  255,  255, 255, 1});
  ProtobufReader all(message);
  std::vector<std::uint64_t> fields;
  while (all.next()) fields.push_back(all.field());
  EXPECT_EQ(fields, (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
  ProtobufReader some(message);
  ASSERT_TRUE(some.next());
  EXPECT_EQ(some.varint(), 300U);
  ASSERT_TRUE(some.next());
  EXPECT_EQ(some.text(), "hi");
  ASSERT_TRUE(some.next());
  EXPECT_EQ(some.real(), 1.0F);
  ASSERT_TRUE(some.next());
  ASSERT_TRUE(some.next());
  EXPECT_EQ(some.integer(), -1);
  EXPECT_FALSE(some.next());
}

TEST(Protobuf, RepeatedNumbersStandAloneOrInABlock) {
  const auto message = bytes({0x08, 1, 0x0a, 3, 2, 0x80, 0x01});
  ProtobufReader reader(message);
  std::vector<std::uint64_t> numbers;
  while (reader.next()) reader.varints([&](std::uint64_t v) { numbers.push_back(v); });
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{1, 2, 128}));
}

TEST(Protobuf, DamagedBytesAreErrors) {
  for (const auto& message :
       {bytes({0x08}), bytes({0x08, 0x80}), bytes({0x12, 5, 'h'}), bytes({0x1d, 0, 0}), bytes({0x0b, 1}),
        bytes({0x00, 1}), bytes({0x12, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}),
        bytes({0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255})}) {
    const auto read = [&] {
      ProtobufReader reader(message);
      while (reader.next()) {}
    };
    EXPECT_THROW(read(), Error);
  }
}

TEST(Protobuf, AFieldOfAnotherKindIsAnError) {
  const auto message = bytes({0x08, 1});
  ProtobufReader reader(message);
  ASSERT_TRUE(reader.next());
  EXPECT_THROW(reader.text(), Error);
}

TEST(Protobuf, WhatIsWrittenIsRead) {
  ProtobufWriter inner;
  inner.integer(1, -2);
  inner.later(2, 5, [](AtomicFile& file) { file.write("later"); });
  inner.text(3, "behind it");
  ProtobufWriter message;
  message.text(1, std::string(300, 'x'));
  message.message(2, std::move(inner));
  message.real(3, 0.5F);
  TemporaryFolder folder(std::filesystem::temp_directory_path());
  const std::filesystem::path path = folder.file("message");
  AtomicFile file(path);
  message.write(file);
  EXPECT_EQ(file.size(), message.size());
  file.commit();
  const std::vector<std::byte> written = InputFile(path).read_all();
  ProtobufReader outer(written);
  ASSERT_TRUE(outer.next());
  EXPECT_EQ(outer.text(), std::string(300, 'x'));
  ASSERT_TRUE(outer.next());
  ProtobufReader part(outer.bytes());
  ASSERT_TRUE(part.next());
  EXPECT_EQ(part.integer(), -2);
  ASSERT_TRUE(part.next());
  EXPECT_EQ(part.text(), "later");
  ASSERT_TRUE(part.next());
  EXPECT_EQ(part.text(), "behind it");
  ASSERT_TRUE(outer.next());
  EXPECT_EQ(outer.real(), 0.5F);
  EXPECT_FALSE(outer.next());
}

}  // namespace
}  // namespace tenon
