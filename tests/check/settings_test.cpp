#include "check/settings.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/temporary_path.h"

namespace tenon {
namespace {

CaseSettings read(const std::string& toml) {
  TemporaryFolder folder(std::filesystem::temp_directory_path());
  const auto file = folder.file("case.toml");
  std::ofstream(file) << toml;
  return read_settings(file);
}

Error refused(const std::string& toml) {
  try {
    read(toml);
  } catch (const Error& e) { return e; }
  ADD_FAILURE() << "accepted: " << toml;
  return error("");
}

TEST(Settings, EveryKeyIsRead) {
  const CaseSettings s = read(R"(
model = "net.pt"
skip = "slow"
expect = "not supported"
message = "svd"
method = "encode"
threads = 2
fuse = false
off = ["raise", "fuse_loops"]
random = true
train_mode = "keep"
tolerance = 1e-3
timeout = 1.5
memory = "512 MiB"
[inputs]
x = "f32[N,3]"
n = 5
scale = 0.5
flag = true
[outputs.logits]
rtol = 1e-2
[speed]
baseline = "old.tenon"
max_slowdown = 1.2
over_unfused = 1.05
predicted_on = "zen4.json"
predicted_ms = 2.5
[limits]
nodes = 7
steps = 8
arena = "1 KiB"
artifact = 4096
[operators]
"fused conv+relu" = 3
)");
  EXPECT_EQ(s.model, "net.pt");
  EXPECT_EQ(s.skip, "slow");
  EXPECT_EQ(s.expect, Exit::unsupported);
  EXPECT_EQ(s.message, "svd");
  EXPECT_EQ(s.method, "encode");
  EXPECT_EQ(s.threads, 2);
  EXPECT_FALSE(s.fuse);
  EXPECT_EQ(s.off, (std::vector<std::string>{"raise", "fuse_loops"}));
  EXPECT_EQ(s.random, true);
  EXPECT_EQ(s.train_mode, "keep");
  EXPECT_EQ(s.timeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(s.memory_bytes, 512u << 20);
  EXPECT_EQ(s.inputs.size(), 4u);
  EXPECT_EQ(s.limits.nodes, 7);
  EXPECT_EQ(s.limits.steps, 8);
  EXPECT_EQ(s.limits.arena_bytes, 1024);
  EXPECT_EQ(s.limits.artifact_bytes, 4096);
  EXPECT_EQ(s.speed.baseline, "old.tenon");
  EXPECT_EQ(s.speed.max_slowdown, 1.2);
  EXPECT_EQ(s.speed.over_unfused, 1.05);
  EXPECT_EQ(s.speed.predicted_on, "zen4.json");
  EXPECT_EQ(s.speed.predicted_ms, 2.5);
  EXPECT_EQ(s.operators.at("fused conv+relu"), 3);
}

TEST(Settings, TheMostSpecialToleranceHolds) {
  const CaseSettings s = read("tolerance = 1e-3\n[outputs.logits]\nrtol = 1e-2");
  EXPECT_EQ(s.tolerance_for("other", {}).share, 1e-3);
  EXPECT_EQ(s.tolerance_for("logits", {}).rtol, 1e-2);
  EXPECT_EQ(read("").tolerance_for("other", Tolerance(0.5)).share, 0.5);
}

TEST(Settings, AnUnknownKeyIsNamedWithItsLineAndTheNearestOne) {
  const Error e = refused("threads = 1\ntime_out = 3");
  EXPECT_NE(e.message().find("'time_out'"), std::string::npos);
  EXPECT_NE(e.where().find("case.toml:2"), std::string::npos);
  EXPECT_NE(e.hint().find("did you mean timeout?"), std::string::npos);
}

TEST(Settings, ValuesOfAnotherKindAreRefused) {
  for (const char* toml :
       {"threads = 0", "threads = 1.5", "tolerance = -1", "tolerance = 'small'", "timeout = 0",
        "off = 'raise'", "off = [1]", "memory = 'much'", "memory = -1", "expect = 'failure'", "random = 1",
        "train_mode = true", "limits = 3", "[limits]\nnodes = 'x'", "[outputs]\nx = 3",
        "[outputs.x]\nlimit = 3", "[operators]\nconv = 1.5", "[inputs]\nx = [1]"})
    refused(toml);
}

}  // namespace
}  // namespace tenon
