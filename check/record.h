// What --update writes.
#pragma once
#include "check/case.h"
#include "verify/samples.h"

namespace tenon {

/// Writes a sample's inputs that have no file yet and its outputs, each into the file it came from or into
/// in_K.npy, out_K.npy. Files that would not change stay untouched. Returns a line for each:
/// "out_0.npy: new", "out_0.npy: changed, max error ...". Throws Error, before it writes anything, for a file
/// of another format than NumPy's.
std::vector<std::string> record_sample(const Graph&, const StoredSample&, const BoundSample&,
                                       std::span<const Tensor> outputs);

/// Writes fused.ir, as record_sample does.
std::vector<std::string> record_graph(const Case&, const Graph&);

}  // namespace tenon
