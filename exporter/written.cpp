#include "exporter/written.h"

#include "base/error.h"
#include "base/temporary_path.h"
#include "verify/outputs.h"

namespace tenon::exporter {

Written try_written(const Form& form, const Model& model, const std::filesystem::path& target,
                    const Sample& sample, double tolerance) {
  TemporaryFolder folder(target.has_parent_path() ? target.parent_path() : ".");
  const std::filesystem::path file = folder.file(target.filename().string());
  folder.file(target.filename().string() + ".data");
  try {
    form.write(model, file);
  } catch (Error& e) {
    if (e.where() == file.string()) e.at(target.string());
    throw;
  }
  Written written;
  std::vector<Tensor> outputs;
  try {
    outputs = form.outputs(file, *model.graph, sample.inputs);
  } catch (const Error& e) {
    written.problem = e.message();
    return written;
  }
  for (const OutputCheck& c : check_outputs(*model.graph, outputs, sample.expected, tolerance)) {
    if (!c.ok)
      throw Error(fmt::format("{} computes another {} from the written file: {}", form.runner, c.name,
                              c.same_type() ? c.difference.str()
                                            : fmt::format("{}, not {}", c.type, c.expected_type)),
                  Exit::differs)
          .at(target.string())
          .hint("this is a mistake in Tenon, please report it; --no-verify writes the file all the same");
    written.error = std::max(written.error, c.difference.relative());
  }
  return written;
}

}  // namespace tenon::exporter
