// Threads of a program step by step over one memory.
#include <stdexcept>
#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "rsmc_oracles.hpp"

namespace rsmc_tests {

namespace {

using dekker::ExpressionCode;

enum class Status : std::uint8_t { running, finished, blocked, waiting, cut, failed };

// An event of a trace: where it stands, what it accesses, and the write that it reads from (thread and index).
struct Step {
  std::int32_t pc;
  char kind;
  Address address;
  Value value;
  std::pair<std::int32_t, std::size_t> source;

  auto operator<=>(const Step&) const = default;
};

using WriteId = std::pair<std::int32_t, std::size_t>;
constexpr WriteId initial_write{none, 0};

struct Worker {
  std::int32_t pc = 0;
  Status status = Status::running;
  std::vector<Value> registers;
  std::vector<Step> steps;
  std::map<std::int32_t, std::int32_t> rounds;
  std::optional<Address> linked;
  std::size_t linked_position = 0;  // in coherence
};

struct Write {
  WriteId id;
  Value value;

  auto operator<=>(const Write&) const = default;
};

struct World {
  std::vector<Worker> workers;
  std::map<Address, std::vector<Write>> memory;  // coherence order behind the initial write
};

using TraceIdentity = std::pair<std::vector<std::vector<Step>>, std::map<Address, std::vector<Write>>>;

class Interleavings {
 public:
  Interleavings(const Program& program, std::int32_t unroll) : program_(program), unroll_(unroll) {}

  Expected run() {
    World world;
    for (const dekker::rsmc::Thread& thread : program_.threads) {
      Worker worker;
      worker.registers.resize(static_cast<std::size_t>(thread.n_registers));
      for (const auto& [number, initial] : thread.initial_registers) worker.registers[static_cast<std::size_t>(number)] = initial;
      world.workers.push_back(std::move(worker));
    }
    visit(world);
    return expected_;
  }

 private:
  using Rounds = std::map<std::int32_t, std::int32_t>;
  using Identity = std::pair<TraceIdentity, std::vector<std::tuple<std::int32_t, Status, std::vector<Value>, Rounds>>>;

  // States of the world that were seen need not be visited again.
  void visit(const World& world) {
    if (!seen_.insert(identity(world)).second) return;
    bool is_end = true;
    for (std::size_t t = 0; t < world.workers.size(); ++t) {
      if (world.workers[t].status != Status::running) continue;
      is_end = false;
      step(world, t);
    }
    if (is_end) finish(world);
  }

  static Identity identity(const World& world) {
    Identity made;
    for (const Worker& worker : world.workers) {
      made.first.first.push_back(worker.steps);
      made.second.emplace_back(worker.pc, worker.status, worker.registers, worker.rounds);
    }
    made.first.second = world.memory;
    return made;
  }

  void step(World world, std::size_t t) {
    Worker& worker = world.workers[t];
    const std::vector<Instruction>& code = program_.threads[t].code;
    if (static_cast<std::size_t>(worker.pc) >= code.size()) {
      worker.status = Status::finished;
      visit(world);
      return;
    }
    const std::int32_t pc = worker.pc++;
    const Instruction& i = code[static_cast<std::size_t>(pc)];
    switch (i.operation) {
      case Operation::assign: worker.registers[at(i.destination)] = value(worker, i.value); break;
      case Operation::load: load(world, t, pc, i); break;
      case Operation::store: write(world, t, pc, value(worker, i.address), value(worker, i.value), i.size); break;
      case Operation::store_conditional: return store_conditionally(world, t, pc, i);
      case Operation::read_modify_write: update(world, t, pc, i); break;
      case Operation::compare_exchange: return compare_exchange(world, t, pc, i);
      case Operation::fence: break;
      case Operation::jump: go_to(worker, pc, i.target); break;
      case Operation::branch:
        if (value(worker, i.value) != 0) go_to(worker, pc, i.target);
        break;
      case Operation::assume:
        if (value(worker, i.value) == 0) worker.status = Status::blocked;
        break;
      case Operation::call:
      case Operation::give_back:
      case Operation::spawn:
      case Operation::join:
      case Operation::allocate:
      case Operation::measure:
      case Operation::recycle:
      case Operation::renew:
      case Operation::end_scope:
      case Operation::detach:
      case Operation::refuse:
      case Operation::release: throw std::logic_error("not for programs with calls and threads");
      case Operation::await:
        if (value(worker, i.value) == 0) {
          worker.status = Status::waiting;
          worker.pc = pc;
        }
        break;
      case Operation::check:
        if (value(worker, i.value) == 0) worker.status = Status::failed;
        break;
      case Operation::choose: return choose(world, t, pc, i);
      case Operation::exit: worker.status = Status::finished; break;
    }
    visit(world);
  }

  static std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }

  Value value(const Worker& worker, std::int32_t expression) const {
    std::vector<Value> stack;
    const auto pop = [&] {
      const Value top = stack.back();
      stack.pop_back();
      return top;
    };
    for (const dekker::ExpressionStep& s : program_.expressions[at(expression)]) {
      if (s.code == ExpressionCode::constant) stack.push_back(s.operand);
      else if (s.code == ExpressionCode::register_value) stack.push_back(worker.registers[s.operand]);
      else if (s.code == ExpressionCode::unary)
        stack.push_back(dekker::apply(static_cast<dekker::UnaryOperator>(s.operation), s.width, pop()));
      else if (s.code == ExpressionCode::binary) {
        const Value right = pop(), left = pop();
        stack.push_back(dekker::apply(static_cast<dekker::BinaryOperator>(s.operation), s.width, left, right));
      } else {
        const Value other = pop(), then = pop(), condition = pop();
        stack.push_back(condition != 0 ? then : other);
      }
    }
    return stack.back();
  }

  Value initial_value(Address address, std::uint8_t size) const {
    Value result = 0;
    for (unsigned i = 0; i < size; ++i)
      if (program_.initial_bytes.contains(address + i)) result |= Value{program_.initial_bytes.at(address + i)} << (8 * i);
    return result;
  }

  Value read(World& world, std::size_t t, std::int32_t pc, Address address, std::uint8_t size) const {
    const std::vector<Write>& order = world.memory[address];
    const Value found = order.empty() ? initial_value(address, size) : order.back().value;
    const WriteId source = order.empty() ? initial_write : order.back().id;
    world.workers[t].steps.push_back({pc, 'R', address, found, source});
    return found;
  }

  static void write(World& world, std::size_t t, std::int32_t pc, Address address, Value stored, std::uint8_t size) {
    std::vector<Step>& steps = world.workers[t].steps;
    const Value cut = stored & dekker::low_bits(8u * size);
    world.memory[address].push_back({{static_cast<std::int32_t>(t), steps.size()}, cut});
    steps.push_back({pc, 'W', address, cut, initial_write});
  }

  void load(World& world, std::size_t t, std::int32_t pc, const Instruction& i) const {
    Worker& worker = world.workers[t];
    const Address address = value(worker, i.address);
    const Value found = read(world, t, pc, address, i.size);
    worker.registers[at(i.destination)] =
        i.is_signed ? dekker::apply(dekker::UnaryOperator::sext, 8u * i.size, found) : found;
    if (!i.is_exclusive) return;
    worker.linked = address;
    worker.linked_position = world.memory[address].size();
  }

  // It may fail for no reason.
  void store_conditionally(const World& world, std::size_t t, std::int32_t pc, const Instruction& i) {
    const Worker& before = world.workers[t];
    const Address address = value(before, i.address);
    bool can_succeed = before.linked == address;
    if (can_succeed)
      for (std::size_t n = before.linked_position; n < world.memory.at(address).size(); ++n)
        can_succeed = can_succeed && world.memory.at(address)[n].id.first == static_cast<std::int32_t>(t);
    for (bool succeeds : {false, true}) {
      if (succeeds && !can_succeed) continue;
      World next = world;
      Worker& worker = next.workers[t];
      if (succeeds) write(next, t, pc, address, value(worker, i.value), i.size);
      worker.registers[at(i.destination)] = succeeds ? 0 : 1;
      worker.linked.reset();
      visit(next);
    }
  }

  void update(World& world, std::size_t t, std::int32_t pc, const Instruction& i) const {
    Worker& worker = world.workers[t];
    const Address address = value(worker, i.address);
    const Value operand = value(worker, i.value);
    const Value found = read(world, t, pc, address, i.size);
    const auto operation = static_cast<dekker::UpdateOperator>(i.update);
    write(world, t, pc, address, dekker::apply(operation, 8u * i.size, found, operand), i.size);
    if (i.destination != none) worker.registers[at(i.destination)] = found;
  }

  void compare_exchange(const World& world, std::size_t t, std::int32_t pc, const Instruction& i) {
    for (bool fails_for_no_reason : {false, true}) {
      if (fails_for_no_reason && !i.is_weak) continue;
      World next = world;
      Worker& worker = next.workers[t];
      const Value expected = value(worker, i.expected), desired = value(worker, i.value);
      const Address address = value(worker, i.address);
      const Value found = read(next, t, pc, address, i.size);
      const bool finds_it = ((expected ^ found) & dekker::low_bits(8u * i.size)) == 0;
      if (fails_for_no_reason && !finds_it) continue;
      const bool succeeds = finds_it && !fails_for_no_reason;
      if (succeeds) write(next, t, pc, address, desired, i.size);
      worker.registers[at(i.destination)] = found;
      if (i.success != none) worker.registers[at(i.success)] = succeeds ? 1 : 0;
      visit(next);
    }
  }

  void choose(const World& world, std::size_t t, std::int32_t pc, const Instruction& i) {
    for (std::int64_t chosen = i.low; chosen <= i.high; ++chosen) {
      World next = world;
      next.workers[t].registers[at(i.destination)] = static_cast<Value>(chosen);
      next.workers[t].steps.push_back({pc, 'C', 0, static_cast<Value>(chosen), initial_write});
      visit(next);
    }
  }

  void go_to(Worker& worker, std::int32_t pc, std::int32_t target) const {
    if (target <= pc && ++worker.rounds[pc] > unroll_) worker.status = Status::cut;
    else worker.pc = target;
  }

  void finish(const World& world) {
    if (!traces_.insert(identity(world).first).second) return;
    const auto any = [&](Status status) {
      return std::ranges::any_of(world.workers, [&](const Worker& worker) { return worker.status == status; });
    };
    if (any(Status::failed)) {
      ++expected_.failed;
    } else if (any(Status::cut)) {
      ++expected_.cut;
    } else if (any(Status::blocked)) {
      ++expected_.blocked;
    } else if (any(Status::waiting)) {
      ++expected_.blocked;
      if (is_deadlock(world)) ++expected_.deadlocks;
    } else {
      complete(world);
    }
  }

  // Everything that waits would find the same if it looked again.
  bool is_deadlock(const World& world) const {
    for (std::size_t t = 0; t < world.workers.size(); ++t) {
      const Worker& worker = world.workers[t];
      if (worker.status != Status::waiting) continue;
      const std::int32_t target = program_.threads[t].code[at(worker.pc)].target;
      for (const Step& step : worker.steps) {
        const std::vector<Write>& order = world.memory.at(step.address);
        if (step.pc >= target && step.source != (order.empty() ? initial_write : order.back().id)) return false;
      }
    }
    return true;
  }

  void complete(const World& world) {
    ++expected_.complete;
    std::vector<Value> state;
    for (const dekker::Observable& o : program_.observed) {
      if (o.thread != none) {
        state.push_back(world.workers[at(o.thread)].registers[at(o.register_number)]);
        continue;
      }
      const auto found = world.memory.find(o.address);
      const bool is_written = found != world.memory.end() && !found->second.empty();
      state.push_back(is_written ? found->second.back().value : initial_value(o.address, o.size));
    }
    ++expected_.states[state];
  }

  const Program& program_;
  std::int32_t unroll_;
  std::set<Identity> seen_;
  std::set<TraceIdentity> traces_;
  Expected expected_;
};

}  // namespace

Expected interleaved(const Program& program, std::int32_t unroll) { return Interleavings(program, unroll).run(); }

}  // namespace rsmc_tests
