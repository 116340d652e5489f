#include "rsmc_programs.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace rsmc_tests {

namespace {

constexpr std::array shared{x, y, z, w};

std::int32_t add_expression(Program& program, const Expr& expression) {
  if (expression.steps.empty()) return none;
  program.expressions.push_back(expression.steps);
  return static_cast<std::int32_t>(program.expressions.size() - 1);
}

dekker::rsmc::Thread compile_thread(Program& program, const std::vector<Line>& lines) {
  dekker::rsmc::Thread thread;
  thread.n_registers = n_registers;
  for (const Line& line : lines) {
    Instruction& made = thread.code.emplace_back(line.instruction);
    made.address = add_expression(program, line.address);
    made.value = add_expression(program, line.value);
    made.expected = add_expression(program, line.expected);
  }
  return thread;
}

dekker::rsmc::EventClass compile_class(Class event_class, const Model& model) {
  dekker::rsmc::EventClass made;
  for (std::size_t i = 0; i < model.program.inputs.size(); ++i) {
    const dekker::Input& input = model.program.inputs[i];
    if (input.kind == dekker::Kind::set && is_member(event_class, input.name)) made.sets.push_back(i);
  }
  if (event_class == Class::fence)
    made.fence_pairs = dekker::rsmc::read_read | dekker::rsmc::read_write | dekker::rsmc::write_read | dekker::rsmc::write_write;
  if (event_class == Class::store_fence) made.fence_pairs = dekker::rsmc::write_write;
  return made;
}

}  // namespace

bool is_member(Class event_class, std::string_view set) {
  const auto is = [&](std::initializer_list<Class> classes) { return std::ranges::find(classes, event_class) != classes.end(); };
  const bool reads = is({Class::read, Class::update_read, Class::linked_read});
  const bool writes = is({Class::initial, Class::write, Class::update_write, Class::conditional_write});
  if (set == "R") return reads;
  if (set == "W") return writes;
  if (set == "M") return reads || writes;
  if (set == "U") return is({Class::update_read, Class::update_write});
  if (set == "F") return event_class == Class::fence;
  if (set == "FWW") return event_class == Class::store_fence;
  throw std::logic_error("a model uses a set that no test program knows");
}

Program compile(const Threads& threads, const Model& model, const std::vector<MemoryCell>& initial) {
  Program program;
  for (const std::vector<Line>& lines : threads) program.threads.push_back(compile_thread(program, lines));
  for (std::int32_t i = 0; i < n_classes; ++i) program.classes.push_back(compile_class(static_cast<Class>(i), model));
  program.initial_class = number(Class::initial);
  for (const MemoryCell& cell : initial) program.initial_bytes[cell.address] = cell.byte;
  for (Address start : shared) program.objects.push_back({start, 8});
  program.objects.push_back({private_area, private_size});
  for (std::int32_t t = 0; t < static_cast<std::int32_t>(threads.size()); ++t)
    for (std::int32_t r = 0; r < n_registers; ++r) program.observed.push_back({t, r, 0, 0});
  for (Address start : shared) program.observed.push_back({none, 0, start, 8});
  return program;
}

std::size_t observed_register(int thread, int number) { return static_cast<std::size_t>(thread * n_registers + number); }

std::size_t observed_location(const Threads& threads, Address address) {
  const auto place = static_cast<std::size_t>(std::ranges::find(shared, address) - shared.begin());
  return threads.size() * n_registers + place;
}

Outcome explored(const Threads& threads, const Model& model, const Limits& limits) {
  return dekker::rsmc::explore(compile(threads, model), model.program, model.check_names, model.order, limits, {});
}

}  // namespace rsmc_tests
