#include "tools/isa_option.h"

#include <fmt/ranges.h>

#include "base/error.h"
#include "tools/ranges.h"

namespace tenon::tools {

void IsaOption::add(CLI::App& verb) {
  verb.add_option("--isa", name, "Use the CPU as if it had no better instruction set: baseline, avx2, avx512")
      ->type_name("ISA")
      ->check(not_empty());
}

std::unique_ptr<cpu::ForceIsa> IsaOption::force(const Device& device) const {
  if (name.empty()) return nullptr;
  if (!device.shares_memory)
    throw error("{} has no instruction sets to choose from", device.name).at("--isa");
  std::vector<std::string_view> names;
  for (const cpu::Isa isa : cpu::runnable_isas()) {
    if (cpu::name(isa) == name) return std::make_unique<cpu::ForceIsa>(isa);
    names.push_back(cpu::name(isa));
  }
  throw error("this machine runs no kernels of '{}'", name)
      .at("--isa")
      .hint(fmt::format("there are {}", fmt::join(names, ", ")));
}

}  // namespace tenon::tools
