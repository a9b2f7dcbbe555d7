// The checks a TorchScript archive passes before LibTorch sees it.
#pragma once
#include "converter/archive/zip.h"

namespace tenon::torchscript {

/// What LibTorch would crash on, execute, or read past its end: parentheses and pickles nested thousands
/// deep, code that runs during loading (`__setstate__`), bombs, compressed weights, big-endian files.
/// Throws Error on the first one.
void check_archive(const Zip& zip);

}  // namespace tenon::torchscript
