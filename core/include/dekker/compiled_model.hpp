#pragma once

#include <cstddef>
#include <vector>

#include "dekker/model_program.hpp"

namespace dekker {

// What to run, beyond what earlier stages ran already, before a check can be decided.
struct Stage {
  std::vector<Step> steps;
  std::size_t check;  // index into CompiledModel::checks()
};

// A validated model in the order of evaluation: the steps each check needs, just before that check. Steps that no check
// needs are dropped.
class CompiledModel {
 public:
  // Throws std::invalid_argument if the program is not valid.
  explicit CompiledModel(const ModelProgram& program);

  const std::vector<Kind>& kinds() const { return kinds_; }
  const std::vector<Input>& inputs() const { return inputs_; }
  const std::vector<Check>& checks() const { return checks_; }

  // For checks that forbid executions, in the order of the program.
  const std::vector<Stage>& stages() const { return stages_; }

  // For checks that are flags; to be run after all of stages().
  const std::vector<Stage>& flag_stages() const { return flag_stages_; }

 private:
  std::vector<Kind> kinds_;
  std::vector<Input> inputs_;
  std::vector<Check> checks_;
  std::vector<Stage> stages_;
  std::vector<Stage> flag_stages_;
};

}  // namespace dekker
