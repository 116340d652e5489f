// The explicit-state search as Python sees it: one function over flat numbers.
#include "states.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <span>
#include <stdexcept>

#include "code_arguments.hpp"
#include "dekker/states/search.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace dekker::states {

namespace {

// The common fields, then fence touches.
constexpr std::size_t instruction_fields = common_fields + 2;
enum InstructionFlag : std::int64_t {
  flag_stack = 16,
  flag_local = 32,
  flag_permanent = 64,
  flag_confined = 128,
  flag_unset = 256,
  flag_copy = 512,
  flag_name = 1024,
  flag_quiet = 1 << 16,
};

Instruction read_instruction(std::span<const std::int64_t> n) {
  Instruction i = read_common_fields<Instruction, Operation>(n);
  i.is_stack = (n[8] & flag_stack) != 0;
  i.is_local = (n[8] & flag_local) != 0;
  i.is_permanent = (n[8] & flag_permanent) != 0;
  i.is_confined = (n[8] & flag_confined) != 0;
  i.is_unset = (n[8] & flag_unset) != 0;
  i.is_copy = (n[8] & flag_copy) != 0;
  i.is_name = (n[8] & flag_name) != 0;
  i.is_quiet = (n[8] & flag_quiet) != 0;
  i.fence = static_cast<FenceAction>(n[common_fields]);
  i.touches = static_cast<std::uint64_t>(n[common_fields + 1]);
  return i;
}

// code, number of registers, initial registers as pairs of number and value, parameters, dead registers, footprints
using BlockArgument = std::tuple<Numbers, std::int32_t, std::vector<std::pair<std::int32_t, Value>>, std::vector<std::int32_t>,
                                 std::vector<std::vector<std::int32_t>>, std::vector<std::pair<std::uint64_t, std::uint64_t>>>;

Block read_block(const BlockArgument& argument) {
  const auto& [code, n_registers, initial, parameters, dead, future] = argument;
  Block block;
  block.n_registers = n_registers;
  block.initial_registers = initial;
  block.parameters = parameters;
  block.dead = dead;
  for (const auto& [reads, writes] : future) block.future.push_back({reads, writes});
  block.code = read_code(code, instruction_fields, read_instruction);
  if (block.dead.size() != block.code.size() + 1 || block.future.size() != block.code.size() + 1)
    throw std::invalid_argument("a block needs dead registers and footprints for every instruction and for its end");
  return block;
}

// threads, functions, expressions, arguments, function addresses, initial bytes, objects, observed, alike
using ProgramArgument =
    std::tuple<std::vector<BlockArgument>, std::vector<BlockArgument>, std::vector<ExpressionArgument>,
               std::vector<std::int32_t>, std::vector<std::pair<Address, std::int32_t>>,
               std::vector<std::pair<Address, std::int64_t>>, std::vector<std::pair<Address, Address>>,
               std::vector<ObservableArgument>, std::vector<std::int32_t>>;

Program read_program(const ProgramArgument& argument) {
  const auto& [threads, functions, expressions, arguments, addresses, bytes, objects, observed, alike] = argument;
  Program program;
  for (const auto& thread : threads) program.threads.push_back(read_block(thread));
  for (const auto& function : functions) program.functions.push_back(read_block(function));
  for (const auto& expression : expressions) program.expressions.push_back(read_expression(expression));
  program.arguments = arguments;
  for (const auto& [address, block] : addresses) program.function_at[address] = block;
  read_memory(program, bytes, objects, observed);
  program.alike = alike;
  return program;
}

constexpr std::array stop_names{"", "time", "memory", "states", "interrupt", "threads", "stores", "refused", "buffers"};
constexpr std::array violation_names{"assertion", "memory",     "use after free", "double free", "call",       "join",
                                     "release",   "allocation", "uninitialised",  "deadlock",    "robustness", "leak"};

nb::dict statistics_dict(const Statistics& s) {
  nb::dict result;
  result["states"] = s.states;
  result["transitions"] = s.transitions;
  result["visited_bytes"] = s.visited_bytes;
  result["final_states"] = s.final_states;
  result["blocked"] = s.blocked;
  result["deadlocks"] = s.deadlocks;
  result["largest_buffer"] = s.largest_buffer;
  result["overflows"] = s.overflows;
  result["components"] = s.components;
  result["limits"] = s.limits;
  result["compact"] = s.is_compact ? 1 : 0;
  result["merged"] = s.merges_spawned ? 1 : 0;
  return result;
}

nb::list schedule_list(const Schedule& schedule) {
  nb::list result;
  for (const Action& a : schedule)
    result.append(nb::make_tuple(static_cast<int>(a.kind), a.place.thread, a.place.block, a.place.pc, a.address, a.size, a.value));
  return result;
}

nb::dict outcome_dict(const Outcome& outcome) {
  nb::dict result;
  result["statistics"] = statistics_dict(outcome.statistics);
  nb::list states;
  for (const auto& [state, example] : outcome.states)
    states.append(nb::make_tuple(nb::tuple(nb::cast(state)), schedule_list(example)));
  result["states"] = states;
  nb::list violations;
  for (const auto& [v, example] : outcome.violations)
    violations.append(nb::make_tuple(violation_names[static_cast<std::size_t>(v.kind)],
                                     nb::make_tuple(v.place.thread, v.place.block, v.place.pc), v.address,
                                     schedule_list(example)));
  result["violations"] = violations;
  result["refused_at"] = nb::make_tuple(outcome.refused_at.thread, outcome.refused_at.block, outcome.refused_at.pc);
  result["stopped_by"] = stop_names[static_cast<std::size_t>(outcome.stop)];
  return result;
}

// Ctrl-C reaches Python only while it holds the interpreter. A callback that says no, or raises, ends the search, too.
bool keep_going(const nb::object& callback, const Statistics& statistics) {
  const nb::gil_scoped_acquire hold;
  if (PyErr_CheckSignals() != 0) {
    PyErr_Clear();
    return false;
  }
  try {
    return callback.is_none() || !callback(statistics_dict(statistics)).is(nb::handle(Py_False));
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_KeyboardInterrupt)) throw;
    return false;
  }
}

enum OptionFlag : std::uint32_t {
  flag_depth_first = 1,
  flag_dynamic_local = 2,
  flag_reduce = 4,
  flag_symmetry = 8,
  flag_stop_at_violation = 16,
  flag_robust = 32,
  flag_compact = 64,
  flag_examples = 128,
  flag_leaks = 256,
  flag_deadlocks = 512,
  flag_merges_spawned = 1024,
  flag_may_come_back = 2048,
};

// model, buffer bound, flags, most states, seconds, bytes, jobs, seed of delays, entries and states of a trial
using OptionsArgument = std::tuple<int, std::uint32_t, std::uint32_t, std::uint64_t, double, std::uint64_t, std::uint32_t,
                                   std::uint64_t, std::uint32_t, std::uint64_t>;

Options read_options(const OptionsArgument& argument) {
  const auto& [model, bound, flags, max_states, timeout_s, memory_bytes, jobs, delay_seed, trial_entries, trial_states] = argument;
  Options options;
  options.model = static_cast<Model>(model);
  options.buffer_bound = bound;
  options.depth_first = (flags & flag_depth_first) != 0;
  options.dynamic_local = (flags & flag_dynamic_local) != 0;
  options.reduce = (flags & flag_reduce) != 0;
  options.symmetry = (flags & flag_symmetry) != 0;
  options.stop_at_violation = (flags & flag_stop_at_violation) != 0;
  options.robust = (flags & flag_robust) != 0;
  options.compact = (flags & flag_compact) != 0;
  options.wants_examples = (flags & flag_examples) != 0;
  options.leaks = (flags & flag_leaks) != 0;
  options.finds_deadlocks = (flags & flag_deadlocks) != 0;
  options.merges_spawned = (flags & flag_merges_spawned) != 0;
  options.may_come_back = (flags & flag_may_come_back) != 0;
  options.max_states = max_states;
  options.timeout_s = timeout_s;
  options.memory_bytes = memory_bytes;
  options.jobs = jobs;
  options.delay_seed = delay_seed;
  options.trial_entries = trial_entries;
  options.trial_states = trial_states;
  return options;
}

nb::dict search_program(const ProgramArgument& program_argument, const OptionsArgument& options_argument,
                        const nb::object& progress) {
  const Program program = read_program(program_argument);
  const Options options = read_options(options_argument);
  Outcome outcome;
  {
    const nb::gil_scoped_release release;
    outcome = search(program, options, [&](const Statistics& statistics) { return keep_going(progress, statistics); });
  }
  return outcome_dict(outcome);
}

}  // namespace

void bind_search(nb::module_& module) {
  module.def("search_states", search_program, "program"_a, "options"_a, "progress"_a.none());
}

}  // namespace dekker::states
