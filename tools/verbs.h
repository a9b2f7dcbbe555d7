// The verbs of the command line: each is defined in the file of its name and adds itself to the app.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>

namespace tenon::tools {

/// Adds a sub-command; `exit_code` is what main returns when the verb ran.
using AddVerb = void (*)(CLI::App& app, int& exit_code);

void add_convert(CLI::App&, int&);
void add_run(CLI::App&, int&);
void add_inspect(CLI::App&, int&);
void add_verify(CLI::App&, int&);
void add_equiv(CLI::App&, int&);
void add_check(CLI::App&, int&);
void add_profile(CLI::App&, int&);
void add_predict(CLI::App&, int&);
void add_tune(CLI::App&, int&);
void add_ops(CLI::App&, int&);
void add_doctor(CLI::App&, int&);
void add_help(CLI::App&, int&);
void add_version(CLI::App&, int&);
void add_completion(CLI::App&, int&);
void add_manual(CLI::App&, int&);

inline constexpr AddVerb verbs[] = {add_convert, add_run,     add_inspect, add_verify,     add_equiv,
                                    add_check,   add_profile, add_predict, add_tune,       add_ops,
                                    add_doctor,  add_help,    add_version, add_completion, add_manual};

}  // namespace tenon::tools
