// Candidates: every read gets a source, every location an order of its writes, and the model is asked.
#include <algorithm>
#include <optional>
#include <set>
#include <stdexcept>

#include "dekker/compiled_model.hpp"
#include "dekker/evaluator.hpp"
#include "rsmc_oracles.hpp"

namespace rsmc_tests {

namespace {

using dekker::ExpressionCode;
using Numbers = std::set<std::size_t>;

struct Event {
  std::int32_t thread;
  Class event_class;
  bool is_fence = false, is_read = false;
  Address address = 0;
  std::uint8_t size = 0;
  Numbers address_sources{}, data_sources{}, control{};
  std::optional<std::size_t> partner{};  // the read of an update's write
  std::int32_t value_expression = none;
  const Instruction* instruction = nullptr;
  std::vector<std::optional<std::size_t>> registers{};  // the read that each register has its value from, when executed
};

class Candidates {
 public:
  Candidates(const Program& program, const Model& model)
      : program_(program), model_(model), compiled_(model.program), evaluator_(compiled_) {
    for (std::size_t t = 0; t < program.threads.size(); ++t) run_thread(t);
    for (const Event& e : events_)
      if (!e.is_fence) addresses_.insert(e.address);
    for (Address address : addresses_) {
      initial_[address] = events_.size();
      events_.push_back({.thread = none, .event_class = Class::initial, .address = address, .size = 8});
    }
    for (std::size_t e = 0; e < events_.size(); ++e) {
      if (events_[e].is_read) reads_.push_back(e);
      if (!events_[e].is_read && !events_[e].is_fence && events_[e].thread != none) orders_[events_[e].address].push_back(e);
    }
  }

  States run() {
    choose_sources(0);
    return states_;
  }

 private:
  static std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }

  // ---- Events ------------------------------------------------------------------------------------------------------

  void run_thread(std::size_t t) {
    std::vector<std::optional<std::size_t>> holds(n_registers);
    Numbers control;
    const std::vector<Instruction>& code = program_.threads[t].code;
    for (std::size_t pc = 0; pc < code.size(); ++pc) {
      const Instruction& i = code[pc];
      const auto add = [&](std::int32_t event_class) -> Event& {
        events_.push_back({.thread = static_cast<std::int32_t>(t), .event_class = static_cast<Class>(event_class)});
        Event& e = events_.back();
        e.control = control;
        e.registers = holds;
        e.instruction = &i;
        if (i.address == none) return e;
        e.address = value(i.address, std::vector<Value>(n_registers));
        e.size = i.size;
        e.address_sources = sources(i.address, holds);
        return e;
      };
      switch (i.operation) {
        case Operation::fence: add(i.read_class).is_fence = true; break;
        case Operation::load:
          add(i.read_class).is_read = true;
          holds[at(i.destination)] = events_.size() - 1;
          break;
        case Operation::store: {
          Event& e = add(i.write_class);
          e.data_sources = sources(i.value, holds);
          e.value_expression = i.value;
          break;
        }
        case Operation::read_modify_write: {
          add(i.read_class).is_read = true;
          const std::size_t read = events_.size() - 1;
          Event& e = add(i.write_class);
          e.data_sources = sources(i.value, holds);
          if (i.update != static_cast<std::uint8_t>(dekker::UpdateOperator::exchange)) e.data_sources.insert(read);
          e.partner = read;
          e.value_expression = i.value;
          holds[at(i.destination)] = read;
          break;
        }
        case Operation::branch:
          if (at(i.target) != pc + 1) throw std::logic_error("a branch does not lead to the next instruction");
          control.merge(sources(i.value, holds));
          break;
        default: throw std::logic_error("an instruction that is not enumerated");
      }
    }
    last_.push_back(holds);
  }

  Numbers sources(std::int32_t expression, const std::vector<std::optional<std::size_t>>& holds) const {
    Numbers found;
    for (const dekker::ExpressionStep& s : program_.expressions[at(expression)])
      if (s.code == ExpressionCode::register_value && holds[s.operand]) found.insert(*holds[s.operand]);
    return found;
  }

  Value value(std::int32_t expression, const std::vector<Value>& registers) const {
    std::vector<Value> stack;
    for (const dekker::ExpressionStep& s : program_.expressions[at(expression)]) {
      if (s.code == ExpressionCode::constant) stack.push_back(s.operand);
      else if (s.code == ExpressionCode::register_value) stack.push_back(registers[s.operand]);
      else if (s.code == ExpressionCode::binary) {
        const Value right = stack.back();
        stack.pop_back();
        stack.back() = dekker::apply(static_cast<dekker::BinaryOperator>(s.operation), s.width, stack.back(), right);
      } else throw std::logic_error("an expression that is not enumerated");
    }
    return stack.back();
  }

  // ---- Choices -----------------------------------------------------------------------------------------------------

  void choose_sources(std::size_t n) {
    if (n == reads_.size()) {
      if (find_values()) choose_orders(orders_.begin());
      return;
    }
    const Address address = events_[reads_[n]].address;
    std::vector<std::size_t> writes = orders_.contains(address) ? orders_.at(address) : std::vector<std::size_t>{};
    writes.push_back(initial_.at(address));
    for (std::size_t write : writes) {
      source_[reads_[n]] = write;
      choose_sources(n + 1);
    }
  }

  // Values that depend on themselves are never found; every model here forbids them.
  bool find_values() {
    values_.clear();
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t e = 0; e < events_.size(); ++e) {
        if (events_[e].is_fence || values_.contains(e)) continue;
        const std::optional<Value> found = value_of(e);
        if (found) values_[e] = *found;
        changed = changed || found;
      }
    }
    return std::ranges::all_of(reads_, [&](std::size_t read) { return values_.contains(read); });
  }

  std::optional<Value> value_of(std::size_t id) const {
    const Event& e = events_[id];
    if (e.thread == none) return 0;
    if (e.is_read) return known(source_.at(id));
    std::vector<Value> registers(n_registers);
    for (std::size_t source : e.data_sources)
      if (!known(source)) return std::nullopt;
    for (std::size_t r = 0; r < registers.size(); ++r)
      if (e.registers[r]) registers[r] = known(*e.registers[r]).value_or(0);
    const Value operand = value(e.value_expression, registers);
    if (!e.partner) return operand;
    const std::optional<Value> old_value = known(*e.partner);
    const auto operation = static_cast<dekker::UpdateOperator>(e.instruction->update);
    return dekker::apply(operation, 64, old_value.value_or(0), operand);
  }

  std::optional<Value> known(std::size_t id) const {
    const auto found = values_.find(id);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }

  void choose_orders(std::map<Address, std::vector<std::size_t>>::iterator place) {
    if (place == orders_.end()) {
      if (is_allowed()) ++states_[state()];
      return;
    }
    std::ranges::sort(place->second);
    do choose_orders(std::next(place));
    while (std::ranges::next_permutation(place->second).found);
  }

  // ---- The model ---------------------------------------------------------------------------------------------------

  bool is_allowed() {
    evaluator_.reset(events_.size());
    for (std::size_t i = 0; i < model_.program.inputs.size(); ++i) {
      const dekker::Input& input = model_.program.inputs[i];
      for (std::size_t e = 0; e < events_.size(); ++e) {
        if (input.kind == dekker::Kind::set) {
          if (is_member(events_[e].event_class, input.name)) evaluator_.input_set(i).insert(e);
          continue;
        }
        for (std::size_t other = 0; other < events_.size(); ++other)
          if (are_related(input.name, e, other)) evaluator_.input_relation(i).insert(e, other);
      }
    }
    return evaluator_.is_allowed();
  }

  bool are_related(std::string_view name, std::size_t from, std::size_t to) const {
    const Event& a = events_[from];
    const Event& b = events_[to];
    const bool is_own = a.thread == b.thread && (a.thread != none || from == to);
    if (name == "po") return is_own && from < to;
    if (name == "int") return is_own;
    if (name == "ext") return !is_own;
    if (name == "loc") return !a.is_fence && !b.is_fence && a.address == b.address;
    if (name == "rf") return b.is_read && source_.at(to) == from;
    if (name == "co") return is_before(from, to);
    if (name == "fr") return a.is_read && is_before(source_.at(from), to);
    if (name == "addr") return b.address_sources.contains(from);
    if (name == "data") return b.data_sources.contains(from);
    if (name == "ctrl") return b.control.contains(from);
    if (name == "rmw") return b.partner == from;
    throw std::logic_error("a model uses a relation that is not enumerated");
  }

  bool is_before(std::size_t from, std::size_t to) const {
    const Event& a = events_[from];
    const Event& b = events_[to];
    if (a.is_read || b.is_read || a.is_fence || b.is_fence || a.address != b.address || from == to) return false;
    if (a.thread == none || b.thread == none) return a.thread == none;
    const std::vector<std::size_t>& order = orders_.at(a.address);
    return std::ranges::find(order, from) < std::ranges::find(order, to);
  }

  std::vector<Value> state() const {
    std::vector<Value> result;
    for (const dekker::Observable& o : program_.observed) {
      if (o.thread != none) {
        const std::optional<std::size_t> read = last_[at(o.thread)][at(o.register_number)];
        result.push_back(read ? values_.at(*read) : 0);
      } else {
        const auto order = orders_.find(o.address);
        result.push_back(order == orders_.end() ? 0 : values_.at(order->second.back()));
      }
    }
    return result;
  }

  const Program& program_;
  const Model& model_;
  dekker::CompiledModel compiled_;
  dekker::Evaluator evaluator_;
  std::vector<Event> events_;
  std::set<Address> addresses_;
  std::map<Address, std::size_t> initial_;
  std::vector<std::size_t> reads_;
  std::map<Address, std::vector<std::size_t>> orders_;
  std::map<std::size_t, std::size_t> source_;
  std::map<std::size_t, Value> values_;
  std::vector<std::vector<std::optional<std::size_t>>> last_;
  States states_;
};

}  // namespace

States candidates(const Program& program, const Model& model) { return Candidates(program, model).run(); }

States states_of(const Outcome& outcome) {
  States states;
  for (const auto& [state, found] : outcome.states) states[state] = found.count;
  return states;
}

}  // namespace rsmc_tests
