// `tenon-torch serve`: runs a model for the requests of its parent.
#pragma once
#include <string>

namespace tenon::libtorch {

struct ServerOptions {
  std::string path, weights;
  int threads = 1;
  bool keep_dropout = false;  // dropout in training mode drops nothing
};

/// Serves until `in` ends. A request that fails is answered with its error; a file that cannot be loaded
/// answers every request so.
void serve(const ServerOptions&, int in, int out);

}  // namespace tenon::libtorch
