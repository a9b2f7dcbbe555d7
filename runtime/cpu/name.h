// What the processor is called.
#pragma once
#include <string>

namespace tenon {

/// The model name that the operating system gives, "unknown" where it gives none.
std::string cpu_name();

}  // namespace tenon
