// A program as the explorer runs it: flat code per thread, numbered registers, resolved addresses.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "dekker/code.hpp"

namespace dekker::rsmc {

enum class Operation : std::uint8_t {
  assign,
  load,
  store,
  store_conditional,
  read_modify_write,
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
  measure,  // the size of an object that was allocated
  refuse,   // what cannot be followed
  recycle,  // the start of an object of this size that was freed in some run, or 0
  renew,    // a freed object is in use again
  end_scope,  // of a variable on the stack
  detach,     // a thread that nobody may join any more
};

struct Instruction {
  Operation operation;
  std::int32_t destination = none;
  std::int32_t success = none;      // compare_exchange: the register that says whether it succeeded
  std::int32_t address = none;      // expressions, by number
  std::int32_t value = none;        // what is stored, assigned or tested; the operand of an update
  std::int32_t expected = none;     // compare_exchange
  std::uint8_t size = 0;
  std::uint8_t update = 0;          // an UpdateOperator
  bool is_signed = false;
  bool is_exclusive = false;
  bool is_weak = false;
  bool is_quiet = false;  // read_modify_write: an exchange that only reads if what it would write is there
  bool is_piece = false;  // of an access that was split: it must not race with other threads
  bool is_own = false;        // allocate: no memory of the heap that the program would have to release
  bool is_scoped = false;     // allocate: it is released when its call ends
  bool is_lasting = false;    // or only when its thread does
  bool is_unset = false;      // allocate, renew: what it holds is indeterminate until it is written
  bool is_copy = false;       // store: moves bytes, whatever they hold
  bool ends_program = false;  // exit: of all threads
  bool is_loose = false;      // check, branch, assume, load: nothing behind it depends on it
  std::int32_t target = 0;  // jumps; where an await begins to read; the block that is called, or `none` if `value` says
  std::int32_t read_class = none;   // event classes, by number
  std::int32_t write_class = none;
  std::int32_t failed_class = none;  // the read of a failed compare_exchange
  std::int64_t low = 0;             // choose
  std::int64_t high = 0;
  std::int32_t first_argument = 0;  // call, spawn: in Program::arguments
  std::int32_t n_arguments = 0;
};

// What all events of one instruction and kind have in common.
struct EventClass {
  // Inputs of the model (sets) that its events are members of.
  std::vector<std::size_t> sets;
  // The part of commit-before that comes from the class alone; pairs are bit masks of Pair.
  std::uint8_t fence_pairs = 0;
  bool before_later = false;   // ordered before everything later in its thread
  bool after_earlier = false;  // ordered after everything earlier in its thread
  bool strong_release = false;  // a strong release is ordered before a later strong acquire
  bool strong_acquire = false;
  bool only_full_fences = false;  // no fence that orders some pairs only keeps it before what is later
  std::uint8_t strength = 0;  // of its memory order; 0 for plain accesses
};

inline constexpr std::uint8_t relaxed_strength = 1;  // more is for those that synchronise
inline constexpr std::uint8_t sequential_strength = 4;

enum Pair : std::uint8_t { read_read = 1, read_write = 2, write_read = 4, write_write = 8, all_pairs = 15 };

// The code of a thread or of a function.
struct Block {
  std::vector<Instruction> code;
  std::int32_t n_registers = 0;
  std::vector<std::pair<std::int32_t, Value>> initial_registers;
  std::vector<std::int32_t> parameters;  // registers
};

using Thread = Block;

// How threads that are spawned and joined synchronise: the one that spawns writes to a location of the new thread, which
// begins by reading that; it ends by writing to another one, which is read by those that join it. Fences go before these
// writes and after these reads.
struct Synchronisation {
  std::int32_t write_class = none;
  std::int32_t read_class = none;
  std::int32_t fence_class = none;  // none: the accesses are enough
  bool joins_are_last = false;      // nothing that is an event, or could fail, comes behind any join
  // Whoever has joined all others has one way to go on, and what comes before a thread is started orders nothing but what
  // comes behind: the model need not be asked about it.
  bool decides_alone = false;
};

struct Program {
  std::vector<Thread> threads;    // those that exist from the start
  std::vector<Block> functions;
  std::vector<std::int32_t> arguments;  // of calls: expressions, by number
  std::unordered_map<Address, std::int32_t> function_at;  // block numbers
  Synchronisation synchronisation;
  std::int32_t release_class = none;  // of the writes by which memory is released
  std::vector<Expression> expressions;
  std::vector<EventClass> classes;
  std::int32_t initial_class = none;
  std::unordered_map<Address, std::uint8_t> initial_bytes;  // others are 0
  std::vector<ObjectRange> objects;                         // sorted by start
  std::vector<Observable> observed;
  bool has_undefined = false;  // are there values that may be indeterminate?

  template <class IsWanted>
  bool has(const IsWanted& is_wanted) const {
    const auto is_in = [&](const Block& block) { return std::ranges::any_of(block.code, is_wanted); };
    return std::ranges::any_of(threads, is_in) || std::ranges::any_of(functions, is_in);
  }

  bool has(Operation operation) const {
    return has([&](const Instruction& instruction) { return instruction.operation == operation; });
  }

  // Blocks are numbered: threads, then functions.
  const Block& block(std::int32_t number) const {
    const auto i = static_cast<std::size_t>(number);
    return i < threads.size() ? threads[i] : functions[i - threads.size()];
  }
};

}  // namespace dekker::rsmc
