// Text added to the end of a file that others may add to as well.
#pragma once
#include <filesystem>
#include <string_view>

namespace tenon {

/// All of the text or nothing stands at the end afterwards, whole lines if it is whole lines; other processes
/// that append at the same time wait. A file whose last line has no end is refused. The file is made if it is
/// not there. Every failure throws Error with the path.
void append_to_file(const std::filesystem::path& file, std::string_view text);

}  // namespace tenon
