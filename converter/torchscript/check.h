// The checks a TorchScript archive passes before LibTorch sees it.
#pragma once
#include <filesystem>
#include <memory>

#include "base/mapped_file.h"
#include "base/zip.h"

namespace tenon::torchscript {

/// What LibTorch would crash on, execute, or read past its end: parentheses and pickles nested thousands
/// deep, code that runs during loading (`__setstate__`), bombs, compressed weights, big-endian files.
/// Throws Error on the first one.
void check_archive(const ZipReader& zip);

/// Opens a file that is TorchScript by its bytes and passes check_archive. Otherwise throws Error with the
/// path.
std::shared_ptr<const MappedFile> open_checked(const std::filesystem::path& path);

}  // namespace tenon::torchscript
