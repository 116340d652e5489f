// A program as the explicit-state search runs it: flat code, numbered registers, resolved addresses.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dekker/code.hpp"

namespace dekker::states {

enum class Operation : std::uint8_t {
  assign,
  load,
  store,
  store_conditional,
  update,
  compare_exchange,
  fence,
  jump,
  branch,
  assume,
  check,
  choose,
  exit,
  await,
  call,
  give_back,  // return
  spawn,
  join,
  allocate,
  release,
  atomic_begin,
  atomic_end,
  nothing,
  refuse,   // what cannot be followed
  measure,  // the size of an allocated object
  recycle,  // the start of a freed object of this size, or 0
  renew,    // a freed object is in use again
  end_scope,  // of a variable on the stack
  detach,     // a thread that nobody may join any more
};

// What a fence does to the stores in the buffer of its thread.
enum class FenceAction : std::uint8_t {
  nothing,
  flush,             // all of them are written
  before_stores,     // later stores are written after them
  before_loads,      // they are written before a later load is done
};

struct Instruction {
  Operation operation;
  std::int32_t destination = none;
  std::int32_t success = none;   // compare_exchange: the register that says whether it succeeded
  std::int32_t address = none;   // expressions, by number
  std::int32_t value = none;     // what is stored, assigned or tested; the operand of an update; a callee, size, thread
  std::int32_t expected = none;  // compare_exchange
  std::uint8_t size = 0;
  std::uint8_t update = 0;  // an UpdateOperator
  bool is_signed = false;
  bool is_exclusive = false;
  bool is_weak = false;  // compare_exchange: it may fail for no reason; check: what fails is a limit of ours
  bool is_quiet = false;  // read_modify_write: an exchange that only reads if what it would write is there
  bool is_stack = false;  // allocate: the object ends with the call
  bool ends_program = false;  // exit
  bool is_local = false;  // allocate: no other thread ever learns the address
  bool is_permanent = false;  // allocate: it need not be released; on the stack, it ends with its thread
  bool is_confined = false;   // allocate: no pointer outlives it
  bool is_name = false;       // allocate: hardly anybody looks into the object, so that it may be known to all at once
  bool is_unset = false;      // allocate, renew: what it holds is indeterminate until it is written
  bool is_copy = false;       // store: moves bytes, whatever they hold
  FenceAction fence = FenceAction::nothing;
  std::int32_t target = 0;  // jumps; where an await goes back to; the block that is called, or `none` if `value` says
  std::int64_t low = 0;     // choose
  std::int64_t high = 0;
  std::int32_t first_argument = 0;  // call, spawn: in Program::arguments
  std::int32_t n_arguments = 0;
  std::uint64_t touches = ~std::uint64_t{0};  // objects that it may access: bits as in `Footprint`
};

// What code may access from some point on, a bit for each object: global objects have the lower bits (the last of these
// stands for all that have none), objects that are allocated have the highest bit.
struct Footprint {
  std::uint64_t reads = ~std::uint64_t{0};
  std::uint64_t writes = ~std::uint64_t{0};
};

inline constexpr unsigned last_global_bit = 62;
inline constexpr unsigned heap_bit = 63;

// The code of a thread or of a function.
struct Block {
  std::vector<Instruction> code;
  std::int32_t n_registers = 0;
  std::vector<std::pair<std::int32_t, Value>> initial_registers;
  std::vector<std::int32_t> parameters;  // registers
  // For every instruction and for the end: registers whose values nobody asks for any more; `n_registers` stands for the
  // load-linked that is open.
  std::vector<std::vector<std::int32_t>> dead;
  std::vector<Footprint> future;  // for every instruction and for the end
};

struct Program {
  std::vector<Block> threads;  // those that exist from the start
  std::vector<Block> functions;
  std::vector<std::int32_t> arguments;  // of calls: expressions, by number
  std::unordered_map<Address, std::int32_t> function_at;  // block numbers
  std::vector<Expression> expressions;
  std::unordered_map<Address, std::uint8_t> initial_bytes;  // others are 0
  std::vector<ObjectRange> objects;                         // sorted by start
  std::vector<Observable> observed;
  std::vector<std::int32_t> alike;  // threads from the start: the first that does the same, perhaps itself

  bool has(Operation operation) const {
    const auto is_in = [&](const Block& block) {
      return std::ranges::any_of(block.code, [&](const Instruction& i) { return i.operation == operation; });
    };
    return std::ranges::any_of(threads, is_in) || std::ranges::any_of(functions, is_in);
  }

  // Blocks are numbered: threads, then functions.
  const Block& block(std::int32_t number) const {
    const auto i = static_cast<std::size_t>(number);
    return i < threads.size() ? threads[i] : functions[i - threads.size()];
  }
};

}  // namespace dekker::states
