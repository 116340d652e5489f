// The explorer as Python sees it: one function over flat numbers.
#include "rsmc.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <stdexcept>

#include "code_arguments.hpp"
#include "dekker/rsmc/explore.hpp"
#include "model_arguments.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace dekker::rsmc {

namespace {

// The common fields, then read_class write_class failed_class.
constexpr std::size_t instruction_fields = common_fields + 3;
enum InstructionFlag : std::int64_t {
  flag_own = 16,
  flag_loose = 32,
  flag_piece = 64,
  flag_scoped = 128,
  flag_lasting = 256,
  flag_unset = 512,
  flag_copy = 1024,
  flag_quiet = 1 << 16,
};
enum ClassFlag : std::int64_t {
  flag_before_later = 1,
  flag_after_earlier = 2,
  flag_release = 4,
  flag_acquire = 8,
  flag_only_full_fences = 16,
};

Instruction read_instruction(std::span<const std::int64_t> n) {
  Instruction i = read_common_fields<Instruction, Operation>(n);
  i.is_own = (n[8] & flag_own) != 0;
  i.is_scoped = (n[8] & flag_scoped) != 0;
  i.is_lasting = (n[8] & flag_lasting) != 0;
  i.is_unset = (n[8] & flag_unset) != 0;
  i.is_copy = (n[8] & flag_copy) != 0;
  i.is_loose = (n[8] & flag_loose) != 0;
  i.is_piece = (n[8] & flag_piece) != 0;
  i.is_quiet = (n[8] & flag_quiet) != 0;
  i.read_class = small(n[common_fields]);
  i.write_class = small(n[common_fields + 1]);
  i.failed_class = small(n[common_fields + 2]);
  return i;
}

// code, number of registers, initial registers as pairs of number and value, parameters
using BlockArgument =
    std::tuple<Numbers, std::int32_t, std::vector<std::pair<std::int32_t, Value>>, std::vector<std::int32_t>>;

Block read_block(const BlockArgument& argument) {
  const auto& [code, n_registers, initial, parameters] = argument;
  Block block;
  block.n_registers = n_registers;
  block.initial_registers = initial;
  block.parameters = parameters;
  block.code = read_code(code, instruction_fields, read_instruction);
  return block;
}

// blocks, expressions that are arguments, block numbers by address, classes of the accesses and the fence that synchronise
// and of the writes that release memory, whether joins are last, and whether a thread decides alone that has joined all others
using FunctionsArgument = std::tuple<std::vector<BlockArgument>, std::vector<std::int32_t>,
                                     std::vector<std::pair<Address, std::int32_t>>, std::array<std::int32_t, 6>>;

void read_functions(Program& program, const FunctionsArgument& argument) {
  const auto& [blocks, arguments, addresses, classes] = argument;
  for (const auto& block : blocks) program.functions.push_back(read_block(block));
  program.arguments = arguments;
  for (const auto& [address, block] : addresses) program.function_at[address] = block;
  program.synchronisation = {classes[0], classes[1], classes[2], classes[4] != 0, classes[5] != 0};
  program.release_class = classes[3];
}

// sets, pairs, flags, strength
using OrderArgument = std::tuple<bool, bool, bool, bool, bool, bool, bool, std::uint64_t, std::uint64_t, bool, bool, bool, bool>;
using ClassArgument = std::tuple<std::vector<std::size_t>, std::int64_t, std::int64_t, std::uint8_t>;

CommitOrder read_order(const OrderArgument& argument) {
  return std::apply([](const auto&... fields) { return CommitOrder{fields...}; }, argument);
}

EventClass read_class(const ClassArgument& argument) {
  const auto& [sets, pairs, flags, strength] = argument;
  return {sets,
          tiny(pairs),
          (flags & flag_before_later) != 0,
          (flags & flag_after_earlier) != 0,
          (flags & flag_release) != 0,
          (flags & flag_acquire) != 0,
          (flags & flag_only_full_fences) != 0,
          strength};
}

Program read_program(const std::vector<BlockArgument>& threads, const std::vector<ExpressionArgument>& expressions,
                     const std::vector<ClassArgument>& classes, std::int32_t initial_class,
                     const std::vector<std::pair<Address, std::int64_t>>& initial_bytes,
                     const std::vector<std::pair<Address, Address>>& objects,
                     const std::vector<ObservableArgument>& observed, const FunctionsArgument& functions) {
  Program program;
  read_functions(program, functions);
  for (const auto& thread : threads) program.threads.push_back(read_block(thread));
  for (const auto& expression : expressions) program.expressions.push_back(read_expression(expression));
  for (const auto& item : classes) program.classes.push_back(read_class(item));
  program.initial_class = initial_class;
  read_memory(program, initial_bytes, objects, observed);
  program.has_undefined = may_be_undefined(program);
  return program;
}

nb::dict statistics_dict(const Statistics& s) {
  nb::dict result;
  result["complete"] = s.complete;
  result["blocked"] = s.blocked;
  result["deadlocks"] = s.deadlocks;
  result["abandoned"] = s.abandoned;
  result["cut"] = s.cut;
  result["failed"] = s.failed;
  result["stuck"] = s.stuck;
  result["not_last"] = s.not_last;
  result["left_out"] = s.left_out;
  result["up_to_renaming"] = s.up_to_renaming;
  result["up_to_order"] = s.up_to_order;
  result["commits"] = s.commits;
  result["checks"] = s.checks;
  result["templates"] = s.templates;
  return result;
}

const char* stop_name(Stop stop) {
  switch (stop) {
    case Stop::not_stopped: return "";
    case Stop::time: return "time";
    case Stop::memory: return "memory";
    case Stop::traces: return "traces";
    case Stop::events: return "events";
    case Stop::interrupt: return "interrupt";
    case Stop::violation: return "violation";
  }
  return "";
}

const char* violation_name(ViolationKind kind) {
  switch (kind) {
    case ViolationKind::assertion: return "assertion";
    case ViolationKind::memory: return "memory";
    case ViolationKind::use_after_free: return "use after free";
    case ViolationKind::double_free: return "double free";
    case ViolationKind::call: return "call";
    case ViolationKind::join: return "join";
    case ViolationKind::release: return "release";
    case ViolationKind::allocation: return "allocation";
    case ViolationKind::leak: return "leak";
    case ViolationKind::unsupported: return "unsupported";
    case ViolationKind::uninitialised: return "uninitialised";
  }
  return "";
}

nb::tuple place_tuple(const Place& place) { return nb::make_tuple(place.thread, place.block, place.pc); }

nb::list trace_list(const Trace& trace) {
  nb::list result;
  for (const TraceEvent& e : trace)
    result.append(nb::make_tuple(e.place.thread, e.place.block, e.place.pc, static_cast<int>(e.kind), e.address, e.size,
                                 e.value, e.link));
  return result;
}

nb::dict outcome_dict(const Outcome& outcome) {
  nb::dict result;
  result["statistics"] = statistics_dict(outcome.statistics);
  nb::list states;
  for (const auto& [state, found] : outcome.states)
    states.append(nb::make_tuple(nb::tuple(nb::cast(state)), found.count, trace_list(found.example)));
  result["states"] = states;
  result["flags"] = nb::cast(outcome.flags);
  nb::list violations;
  for (const auto& [v, example] : outcome.violations)
    violations.append(nb::make_tuple(violation_name(v.kind), place_tuple(v.place), v.address, trace_list(example)));
  result["violations"] = violations;
  nb::dict flag_examples;
  for (const auto& [flag, example] : outcome.flag_examples) flag_examples[flag.c_str()] = trace_list(example);
  result["flag_examples"] = flag_examples;
  result["deadlock_example"] = trace_list(outcome.deadlock_example);
  nb::list cut_at;
  for (const Place& place : outcome.cut_at) cut_at.append(place_tuple(place));
  result["cut_at"] = cut_at;
  result["n_alone"] = outcome.n_alone;
  result["stopped_by"] = stop_name(outcome.stop);
  if (outcome.stuck_at.thread != none) result["stuck_at"] = place_tuple(outcome.stuck_at);
  if (outcome.too_long_at.thread != none) result["too_long_at"] = place_tuple(outcome.too_long_at);
  return result;
}

// Ctrl-C reaches Python only while it holds the interpreter. A callback that says no, or raises, ends the exploration, too.
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

// start and size of an object, where it is allocated (thread, block and instruction); offset and size of a part
using PartsArgument = std::vector<std::tuple<Address, Address, std::int32_t, std::int32_t, std::int32_t, Address, std::uint8_t>>;
using OwnersArgument = std::vector<std::pair<Address, std::int32_t>>;
// object, size
using SizesArgument = std::vector<std::pair<Address, Address>>;
// parts, parts that are released, whether anything is, writers, trusted, objects that are freed, those that may be allocated
// again, whether ends of threads matter and whether they are events, what of early accesses is noticed and was
// known to be, whether halves of updates must be apart and whether they are, whether the program ends with threads that were not joined and
// was known to, whether threads are told apart and that was known, whether a run was looked at,
// where nobody sees the order of writes and was known to, what rounds that are left out rely on and what of it is refuted, numbers of
// threads by parent and order
using KnownArgument = std::tuple<PartsArgument, PartsArgument, bool, OwnersArgument, OwnersArgument, SizesArgument, SizesArgument, bool, bool,
                                 std::vector<Address>, std::vector<Address>, bool, bool, bool, bool, bool, bool, bool, std::vector<Address>, std::vector<Address>,
                                 OwnersArgument, OwnersArgument,
                                 std::vector<std::tuple<std::int32_t, std::int32_t, std::int32_t>>>;
// bytes, depth, number of the read that sleeps
using UnitArgument = std::tuple<nb::bytes, std::uint32_t, std::uint64_t>;
// units, words, what is known, next number of a read, reads that slept
using RestArgument = std::tuple<std::vector<UnitArgument>, std::uint32_t, KnownArgument, std::uint64_t, std::vector<std::uint64_t>>;
// jobs, whether the rest is kept, seconds of the slice, seed for splitting, whether threads may be numbered, the first number
// of a read that is no other's, where to go on
using WorkArgument = std::tuple<std::uint32_t, bool, double, std::uint64_t, bool, std::uint64_t, RestArgument>;

Parts read_parts(const PartsArgument& argument) {
  Parts parts;
  for (const auto& [start, object_size, thread, block, pc, offset, size] : argument)
    parts[{start, object_size, {thread, block, pc}}].insert({offset, size});
  return parts;
}

PartsArgument parts_list(const Parts& parts) {
  PartsArgument result;
  for (const auto& [object, found] : parts)
    for (const auto& [offset, size] : found)
      result.emplace_back(object.start, object.size, object.place.thread, object.place.block, object.place.pc, offset, size);
  return result;
}

Reliances read_reliances(const OwnersArgument& argument) {
  Reliances reliances;
  for (const auto& [address, what] : argument) reliances.insert({address, static_cast<Reliance>(what)});
  return reliances;
}

OwnersArgument reliances_list(const Reliances& reliances) {
  OwnersArgument result;
  for (const auto& [address, what] : reliances) result.emplace_back(address, static_cast<std::int32_t>(what));
  return result;
}

Known read_known(const KnownArgument& argument) {
  const auto& [parts, released, releases, writers, trusted, freed, reusable, ends_matter, ends_are_events, noticed, noticed_before, needs_split, splits,
               ends_unjoined, ended_unjoined_before, told_apart, tells_apart, looked_at_run, unseen, unseen_before, relied_on, refuted, threads] = argument;
  Known known{read_parts(parts), read_parts(released), releases, {writers.begin(), writers.end()}, {trusted.begin(), trusted.end()},
              {freed.begin(), freed.end()}, {reusable.begin(), reusable.end()}, ends_matter, ends_are_events,
              {noticed.begin(), noticed.end()}, {noticed_before.begin(), noticed_before.end()}, needs_split, splits, ends_unjoined, ended_unjoined_before,
              told_apart, tells_apart, looked_at_run, {unseen.begin(), unseen.end()}, {unseen_before.begin(), unseen_before.end()},
              read_reliances(relied_on), read_reliances(refuted), {}};
  for (const auto& [parent, nth, number] : threads) known.threads[{parent, nth}] = number;
  return known;
}

KnownArgument known_tuple(const Known& known) {
  std::vector<std::tuple<std::int32_t, std::int32_t, std::int32_t>> threads;
  for (const auto& [key, number] : known.threads) threads.emplace_back(key.first, key.second, number);
  return {parts_list(known.parts), parts_list(known.released_parts), known.releases,
          {known.writers.begin(), known.writers.end()}, {known.trusted.begin(), known.trusted.end()},
          {known.freed.begin(), known.freed.end()}, {known.reusable.begin(), known.reusable.end()}, known.ends_matter,
          known.ends_are_events, {known.noticed.begin(), known.noticed.end()},
          {known.noticed_before.begin(), known.noticed_before.end()}, known.needs_split, known.splits, known.ends_unjoined,
          known.ended_unjoined_before, known.told_apart, known.tells_apart, known.looked_at_run,
          {known.unseen.begin(), known.unseen.end()}, {known.unseen_before.begin(), known.unseen_before.end()}, reliances_list(known.relied_on), reliances_list(known.refuted),
          std::move(threads)};
}

Work read_work(const WorkArgument& argument) {
  const auto& [jobs, keeps_rest, slice_s, split_seed, numbers_threads, first_own_id, rest] = argument;
  const auto& [units, words, known, next_id, slept] = rest;
  Work work{jobs, keeps_rest, slice_s, split_seed, numbers_threads, first_own_id, {}, {}, words, read_known(known), next_id, {slept.begin(), slept.end()}};
  for (const auto& [bytes, depth, sleep_id] : units)
    work.units.push_back({std::string(bytes.c_str(), bytes.size()), depth, sleep_id});
  return work;
}

std::vector<UnitArgument> units_list(const std::vector<PackedUnit>& units) {
  std::vector<UnitArgument> result;
  for (const PackedUnit& unit : units) result.emplace_back(nb::bytes(unit.bytes.data(), unit.bytes.size()), unit.depth, unit.sleep_id);
  return result;
}

RestArgument rest_tuple(const Work& work) {
  return {units_list(work.units), work.words, known_tuple(work.known), work.next_id, {work.slept.begin(), work.slept.end()}};
}

nb::dict explore_program(const std::vector<BlockArgument>& threads, const std::vector<ExpressionArgument>& expressions,
                         const std::vector<ClassArgument>& classes, std::int32_t initial_class,
                         const std::vector<std::pair<Address, std::int64_t>>& initial_bytes,
                         const std::vector<std::pair<Address, Address>>& objects,
                         const std::vector<ObservableArgument>& observed, const FunctionsArgument& functions,
                         const ModelProgram& model,
                         const std::vector<std::string>& check_names, OrderArgument order,
                         std::tuple<std::int32_t, bool, std::uint64_t, double, std::uint64_t, bool, bool, bool, bool, bool> limits,
                         const WorkArgument& work_argument, const nb::object& progress) {
  const Program program = read_program(threads, expressions, classes, initial_class, initial_bytes, objects, observed, functions);
  const CommitOrder commit_order = read_order(order);
  const Limits bounds{std::get<0>(limits), std::get<1>(limits), std::get<2>(limits), std::get<3>(limits),
                      std::get<4>(limits), std::get<5>(limits), std::get<6>(limits), std::get<7>(limits), std::get<8>(limits),
                      std::get<9>(limits)};
  Work work = read_work(work_argument);
  Explored explored;
  try {
    const nb::gil_scoped_release release;
    explored = explore(program, model, check_names, commit_order, bounds,
                       [&](const Statistics& statistics) { return keep_going(progress, statistics); }, std::move(work));
  } catch (const MixedSizes& mixed) {
    nb::dict result;
    result["mixed_sizes"] = nb::make_tuple(place_tuple(mixed.place), mixed.address, mixed.size, place_tuple(mixed.other),
                                           mixed.other_address, mixed.other_size);
    return result;
  } catch (const Guess& guess) {
    nb::dict result;
    result["guess"] = nb::make_tuple(place_tuple(guess.later), place_tuple(guess.earlier));
    return result;
  } catch (const UnknownThread& unknown) {
    nb::dict result;
    result["unknown_thread"] = nb::make_tuple(unknown.parent, unknown.nth);
    return result;
  }
  nb::dict result = outcome_dict(explored.outcome);
  result["rest"] = nb::cast(rest_tuple(explored.work));
  result["asking"] = nb::cast(units_list(explored.work.asking));
  result["started_again"] = explored.started_again;
  return result;
}

// Weights of complete and blocked runs for each probe, and what stopped it.
std::pair<std::vector<std::pair<double, double>>, std::string> probe_program(
    const std::vector<BlockArgument>& threads, const std::vector<ExpressionArgument>& expressions,
    const std::vector<ClassArgument>& classes, std::int32_t initial_class,
    const std::vector<std::pair<Address, std::int64_t>>& initial_bytes, const std::vector<std::pair<Address, Address>>& objects,
    const std::vector<ObservableArgument>& observed, const FunctionsArgument& functions, const ModelProgram& model,
    const std::vector<std::string>& check_names,
    OrderArgument order,
    std::tuple<std::int32_t, bool, double, std::uint64_t, bool, std::uint64_t, std::uint64_t> limits, ProbeGuide& guide,
    const nb::object& progress) {
  const Program program = read_program(threads, expressions, classes, initial_class, initial_bytes, objects, observed, functions);
  const CommitOrder commit_order = read_order(order);
  Limits bounds;
  std::uint64_t n_probes = 0, seed = 0;
  std::tie(bounds.unroll, bounds.counts_known_rounds, bounds.timeout_s, bounds.memory_bytes, bounds.counts_executions, n_probes, seed) = limits;
  const nb::gil_scoped_release release;
  try {
    const Probes found = probe(program, model, check_names, commit_order, bounds, n_probes, seed, guide,
                               [&](const Statistics& statistics) { return keep_going(progress, statistics); });
    return {found.runs, stop_name(found.stop)};
  } catch (const MixedSizes&) {
    return {{}, "mixed sizes"};
  } catch (const Guess&) {
    return {{}, "guess"};
  }
}

std::pair<KnownArgument, bool> merge_known(const KnownArgument& total, const KnownArgument& part) {
  Known known = read_known(total);
  const bool is_consistent = merge(known, read_known(part));
  return {known_tuple(known), is_consistent};
}

}  // namespace

void bind_explorer(nb::module_& module) {
  module.def("explore", explore_program, "threads"_a, "expressions"_a, "classes"_a, "initial_class"_a, "initial_bytes"_a,
             "objects"_a, "observed"_a, "functions"_a, "model"_a, "check_names"_a, "order"_a, "limits"_a,
             "work"_a, "progress"_a.none());
  module.def("whole_exploration", [] { return units_list({whole_exploration()}).front(); });
  module.def("merge_known", merge_known, "total"_a, "part"_a);
  module.def("known_at_start", [](const KnownArgument& known) { return known_tuple(known_at_start(read_known(known))); },
             "known"_a);
  nb::class_<ProbeGuide>(module, "ProbeGuide").def(nb::init<>());
  module.def("probe", probe_program, "threads"_a, "expressions"_a, "classes"_a, "initial_class"_a, "initial_bytes"_a,
             "objects"_a, "observed"_a, "functions"_a, "model"_a, "check_names"_a, "order"_a, "limits"_a, "guide"_a,
             "progress"_a.none());
}

}  // namespace dekker::rsmc
