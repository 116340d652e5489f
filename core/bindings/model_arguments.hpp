// The parts of a model program as Python passes them.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "dekker/model_program.hpp"

namespace dekker::bindings {

using Kinds = std::vector<std::string>;
using Inputs = std::vector<std::tuple<std::int64_t, std::string, std::string>>;  // slot, name, kind
using Code = std::vector<std::int64_t>;                                          // see decode_steps
using Checks = std::vector<std::tuple<std::string, std::int64_t, bool, bool>>;   // kind, slot, negated, is_flag

inline ModelProgram program_from(const Kinds& kinds, const Inputs& inputs, const Code& steps, const Checks& checks) {
  ModelProgram program;
  for (const auto& kind : kinds) program.kinds.push_back(kind_named(kind));
  for (const auto& [slot, name, kind] : inputs) program.inputs.push_back({slot_numbered(slot), name, kind_named(kind)});
  program.steps = decode_steps(steps);
  for (const auto& [kind, slot, negated, is_flag] : checks)
    program.checks.push_back({check_kind_named(kind), slot_numbered(slot), negated, is_flag});
  return program;
}

}  // namespace dekker::bindings
