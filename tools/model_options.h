// The options that every verb opening a model shares.
#pragma once
#include <CLI/CLI.hpp>

#include "pipeline/model.h"
#include "runtime/session.h"
#include "tools/arguments.h"

namespace tenon::tools {

/// --device, whose default is the name it has, --fallback and --precision.
struct DeviceOptions {
  DeviceChoice choice = default_choice();

  /// A verb that opens sources also takes what their numbers become (FuseOptions::precision) as --precision.
  void add(CLI::App& verb, bool opens_sources = false);
  /// Throws Error at --device with what there is.
  const Device& device() const;
  Precision precision() const { return precision_from_name(choice.precision).value_or(Precision::kept); }
};

struct ModelOptions {
  std::string path;
  std::vector<std::string> inputs;
  std::vector<InputSpec> sample_inputs;  // of stored samples; --input goes before them
  std::vector<std::string> sizes;
  std::vector<std::string> operators;
  std::string weights;
  std::string method = "forward";
  bool random = false;
  std::string train_mode;
  std::vector<std::string> off;
  bool no_fuse = false;
  int stop_after = -1;
  std::string memory = "4GiB";
  int threads = 1;
  std::string tuning;                   // a file; "none": not even the artifact's
  std::string weights_memory = "fast";  // or "once": weights_once chooses; "small": least_weights
  DeviceOptions on;
  std::uint64_t seed = 0;
  /// Beside an artifact lies its source: the weights, and arguments that the artifact lacks, are the
  /// source's.
  bool of_source = false;
  /// What is written has symbols, also those that --shape puts to 0 here.
  bool keeps_symbols = false;
  /// What this model lacks of --input may be another's: check_taken() is to be called.
  bool others_take = false;

  /// MODEL, --input, --operators, --weights-from, --method, --no-fuse, --off, --stop-after-rewrite, --memory.
  void add_model(CLI::App& verb);
  /// --device, --threads, --seed, --shape, --tuning, --weights-memory.
  void add_run(CLI::App& verb);

  /// What --input says of types and fixed arguments, and the rest as open_model wants it.
  OpenOptions open_options() const;
  /// Where it runs, and what was tuned for that: by --tuning, else as the artifact holds it. Throws Error
  /// when there is no such device or file.
  SessionOptions session_options(const Model&) const;
  /// What is given, under the names of the inputs of the model that take it.
  std::vector<InputSpec> inputs_of(const Model&) const;
  /// Throws Error for an --input that none of the models takes; a number or string may be its source's.
  void check_taken(std::initializer_list<const Model*> models) const;
  /// Values for the graph's inputs: given ones, random of given types, random for the others. A first axis
  /// whose size nothing says has `batch`. `made_up` receives the names of the random ones.
  std::vector<Tensor> values(const Model&, std::int64_t batch = 1,
                             std::vector<std::string>* made_up = nullptr) const;
  /// Whether the weights of such a file may lie beside it.
  static bool takes_weights(const std::string& file);
  /// Leaves out the sizes of symbols that this model does not have.
  void keep_sizes_of(const Graph&);
  /// `unsupported` receives what an Error lists. Warns on stderr of a model saved in training mode.
  Model open(const std::function<void(std::string_view)>& progress,
             UnsupportedReport* unsupported = nullptr) const;
};

/// --weights-from of two models, where one of them takes weights: it has them alone.
void share_weights(ModelOptions& a, ModelOptions& b);

}  // namespace tenon::tools
