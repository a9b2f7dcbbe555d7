// The fused graph that a case recorded, against the one there is now.
#pragma once
#include <filesystem>
#include <optional>

#include "check/result.h"
#include "fusion/pass.h"

namespace tenon {

/// Compares nodes by kind and module path, in whatever order; the text may differ otherwise. The failure
/// names each operator count that changed, each fusion that is lost with what stands in its place and why
/// (the refusal of a rule, or what `options` switch off), and each new one.
std::optional<Failure> compare_graphs(const Graph& golden, const Graph& now, const FuseReport& report,
                                      const FuseOptions& options);

/// The same for counts written by hand; kinds not mentioned are free.
std::optional<Failure> compare_counts(const std::map<std::string, int>& wanted, const Graph& now,
                                      const FuseReport& report, const FuseOptions& options);

}  // namespace tenon
