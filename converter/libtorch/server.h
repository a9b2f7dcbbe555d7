// `tenon-torch serve`: runs a model for the requests of its parent.
#pragma once
#include <string>

namespace tenon::libtorch {

/// Serves until `in` ends. A request that fails is answered with its error; a file that cannot be loaded
/// answers every request so.
void serve(const std::string& path, const std::string& weights, int threads, int in, int out);

}  // namespace tenon::libtorch
