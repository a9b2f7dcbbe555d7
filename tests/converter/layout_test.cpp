// Where the elements of tensors lie in memory.
#include "converter/layout.h"

#include <gtest/gtest.h>

namespace tenon::converter {
namespace {

struct Case {
  const char* what;
  Placed written, read;
  bool overwrites;
  ReadBy by = ReadBy::element;
};

const Dim n = Dim::symbol("N");

// b[:, 1] of b = x.as_strided((3, 3), (1, 1)) is {{3}, {{1}, 1}}.
const Case cases[] = {
    {"the same places", {{3, 4}, {{4, 1}, 0}}, {{3, 4}, {{4, 1}, 0}}, false},
    {"other columns", {{3, 2}, {{4, 1}, 0}}, {{3, 2}, {{4, 1}, 2}}, false},
    {"b[1:] = b[:-1]", {{5}, {{1}, 1}}, {{5}, {{1}, 0}}, true},
    {"b[:-1] = b[1:] reads in time", {{5}, {{1}, 0}}, {{5}, {{1}, 1}}, false},
    {"b += b.t()", {{3, 3}, {{3, 1}, 0}}, {{3, 3}, {{1, 3}, 0}}, true},
    {"b *= b[0]", {{4}, {{1}, 0}}, {{}, {{}, 0}}, true},
    {"b[1:] *= b[0]", {{3}, {{1}, 1}}, {{}, {{}, 0}}, false},
    {"every second place, between the others", {{4}, {{2}, 0}}, {{4}, {{2}, 1}}, false},
    {"every second place, one later", {{3}, {{2}, 2}}, {{3}, {{2}, 0}}, true},
    {"b[:, 1] += b[0] of windows", {{3}, {{1}, 1}}, {{3}, {{1}, 0}}, true},
    {"nothing is written", {{0}, {{1}, 1}}, {{5}, {{1}, 0}}, false},
    {"columns of any number of rows", {{n, 3}, {{4, 1}, 1}}, {{n, 3}, {{4, 1}, 0}}, true},
    {"halves of any size", {{n}, {{1}, 0}}, {{n}, {{1}, n}}, false},
    {"an offset that is not known", {{5}, {{1}, std::nullopt}}, {{5}, {{1}, 0}}, false},
    {"a.addmm_(a, b)", {{3, 3}, {{3, 1}, 0}}, {{3, 3}, {{3, 1}, 0}}, true, ReadBy::all},
    {"mm(b[0], c, out=b[1])", {{3, 3}, {{3, 1}, 9}}, {{3, 3}, {{3, 1}, 0}}, false, ReadBy::all},
};

TEST(Layout, WhatIsReadLaterThanItIsWrittenIsOverwritten) {
  for (const Case& c : cases) EXPECT_EQ(overwrites(c.written, c.read, c.by), c.overwrites) << c.what;
}

}  // namespace
}  // namespace tenon::converter
