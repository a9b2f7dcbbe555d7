// The suffix of a file says what is written.
#include "exporter/output_formats.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tenon::exporter {
namespace {

TEST(Forms, TheSuffixChooses) {
  for (const OutputFormat& form : output_formats())
    EXPECT_EQ(output_format_of("folder/model" + std::string(form.suffix)).suffix, form.suffix);
}

TEST(Forms, AnUnknownSuffixListsTheKnownOnes) {
  for (const char* path : {"model.onxx", "model", "onnx", ".onnx", "model.ONNX"}) {
    try {
      output_format_of(path);
      ADD_FAILURE() << path;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Exit::bad_input);
      for (const OutputFormat& form : output_formats())
        EXPECT_NE(e.hint().find(form.suffix), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace tenon::exporter
