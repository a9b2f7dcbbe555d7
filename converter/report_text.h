// The list in an error that says what is unsupported.
#pragma once
#include <string>

#include "converter/report.h"

namespace tenon {

/// For each use a line with the reason and how often, and lines with its places and what to write instead.
std::string list_text(const UnsupportedReport&);

}  // namespace tenon
