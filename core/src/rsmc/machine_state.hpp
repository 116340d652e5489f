// The state of threads, the events they fetch, and values that may not be known yet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "dekker/rsmc/explore.hpp"
#include "dekker/rsmc/program.hpp"
#include "rsmc/code_ahead.hpp"
#include "rsmc/fixed_bits.hpp"
#include "rsmc/loops.hpp"
#include "rsmc/rarely.hpp"

namespace dekker::rsmc {

// More events or run items than the words at hand can number; the exploration starts again with more.
struct CapacityNeeded {
  Place place;  // where one is too many
};

// A limit was reached, or the pool wants all units back, while the only thread ran.
struct StoppedAlone {
  Stop reason;
};

using EventId = std::uint32_t;
using NodeId = std::uint32_t;
inline constexpr EventId no_event = ~EventId{0};
inline constexpr std::int32_t first_thread = 0;
inline constexpr std::uint32_t not_in_matrix = ~std::uint32_t{0};

enum class EventState : std::uint8_t {
  pending,
  committed,
  failed,  // the model allows no parameter: the run does not count
  asleep,  // a read whose thread would only wait for ever: it was left out
  absent,  // the write of a compare-exchange or store-conditional that fails
};

enum class Role : std::uint8_t { plain, linked_load, conditional_store, update_read, update_write, synchronised };

// The events that a value was computed from. Those in `picked` only chose between alternatives. While a choice is open,
// `deferred` says where the sources of the alternatives are.
template <std::size_t W>
struct Sources {
  FixedBits<W> direct;
  FixedBits<W> picked;
  std::int32_t deferred = none;

  bool empty() const { return deferred == none && direct.empty() && picked.empty(); }
};

template <std::size_t W>
struct Event {
  std::int32_t thread = 0;
  std::int32_t index = 0;  // in its thread
  std::int32_t block = 0;
  std::int32_t pc = 0;
  EventKind kind = EventKind::read;
  Role role = Role::plain;
  EventState state = EventState::pending;
  std::uint8_t size = 0;
  std::int32_t event_class = 0;
  std::int32_t failed_class = none;
  EventId chosen_by = no_event;  // conditional stores: the choice that says whether it succeeds
  bool is_early : 1 = false;   // of the first thread, or a thread's beginning, before anybody else could notice
  bool is_guess : 1 = false;   // a choice of what a condition will turn out to be
  bool has_own_address : 1 = false;  // conditional stores and their choices: it depends on more than that of the load
  bool is_release = false;     // a write that releases memory
  bool is_renewal = false;     // a write with which memory that was released is in use again
  bool is_piece = false;
  EventId partner = no_event;  // the other half of an update; the load of a conditional store
  std::int32_t waits_for = none;  // reads that begin a thread or join one: the thread that is spawned or has to end
  NodeId address_node = 0;
  NodeId value_node = 0;  // writes
  NodeId expected_node = 0;
  NodeId alternatives = 0;  // writes: what a guess may take the value for (machine_guesses.hpp)
  bool is_compare = false;
  bool is_quiet = false;  // a comparison that succeeds if the values differ
  bool is_weak = false;
  bool has_failed = false;    // the committed read of a compare-exchange that failed
  bool must_fail = false;     // the read of a compare-exchange whose failure was decided in advance
  bool must_succeed = false;  // or whose success was
  bool failed_early = false;  // and its write
  bool is_copy = false;       // a write that moves bytes, whatever they hold
  bool is_guessed = false;    // a write whose value was taken before it was known, or an update that was taken to succeed
  bool is_too_open = false;   // a write with more alternatives than can be told apart
  std::uint16_t guess = 0;    // which of the alternatives
  bool waits_with_write = false;  // the read of an update: it waits for all earlier accesses, because its write does
  bool is_loose = false;      // a read of the specification: later accesses do not wait for its address
  Address address = 0;  // once known
  Value value = 0;      // once committed
  Value undefined = 0;  // its indeterminate bits
  Sources<W> address_sources;
  Sources<W> data_sources;
  Sources<W> control;
  FixedBits<W> ordered_after;  // earlier events of the thread that classes and fences keep before this one
  FixedBits<W> fenced_after;   // those that fences keep before it
  EventId read_from = no_event;  // reads; no_event is the initial write
  std::uint32_t run_index = 0;
  std::uint64_t stamp = 0;  // when it was first explored, while it is in the run
  std::uint32_t matrix_index = not_in_matrix;
  // An access that the model must know of before it is committed has a shadow in the matrix: an event like it that takes no
  // part in communication.
  std::int32_t shadow_index = none;
  FixedBits<W> readers;  // writes: matrix indices of the reads that took this value
};

// `ended` threads have ended the program; those that wait for them wait in vain.
enum class ThreadStatus : std::uint8_t { unborn, running, finished, ended, blocked, waiting, cut, failed };

template <std::size_t W>
struct RegisterContent {
  RegisterContent() = default;
  RegisterContent(NodeId content, const Sources<W>& content_sources) : node(content), sources(content_sources) {}

  NodeId node = 0;
  NodeId alternatives = 0;  // not 0: the value once more, with the selections that reads make (machine_guesses.hpp)
  Sources<W> sources;
};

// What a load takes for the value of a store of its thread (machine_guesses.hpp).
template <std::size_t W>
struct GuessedValue {
  Value value = 0;
  Value undefined = 0;      // its indeterminate bits
  FixedBits<W> sources;     // what it was computed from, but for what only chose it
  std::uint16_t guess = 0;  // by number of the selection, in the order in which they are met
  unsigned n_selections = 0;
  bool is_known = true;

  bool is_like(const GuessedValue& other) const {
    return value == other.value && sources.is_subset_of(other.sources) && other.sources.is_subset_of(sources);
  }

  std::optional<std::uint16_t> next_guess() const {
    for (unsigned i = n_selections; i-- > 0;)
      if ((guess >> i & 1) == 0) return static_cast<std::uint16_t>((guess & ((1u << i) - 1)) | 1u << i);
    return std::nullopt;
  }
};

inline constexpr unsigned most_selections = 12;  // in one value that may be guessed

// A call that is not finished: where to go on.
struct Caller {
  std::int32_t block;
  std::int32_t pc;
  std::uint32_t base;
  std::int32_t destination;
};

// A check whose condition was not known when the thread came to it.
struct OpenCheck {
  NodeId condition;
  std::int32_t block;
  std::int32_t pc;
  std::int32_t n_events;  // of the thread, before it
};

// An object of the stack that is to be released, and the depth of the call that it belongs to.
struct Scoped {
  std::size_t depth;
  Address start;
  bool is_lasting;
};

// A thread that is joined or detached, where, and what comes behind that in the thread that does so: events from an index on, and open
// checks.
struct Claim {
  std::int32_t thread;
  std::int32_t block;
  std::int32_t pc;
  std::int32_t first_event;
  std::int32_t first_check;
  bool is_join;
};

// A condition that nothing depends on, and what it was taken to be.
struct OpenGuess {
  NodeId condition;
  bool is_true;
  std::int32_t block;
  std::int32_t pc;
  std::int32_t n_events;  // that the thread had then
};

struct Obligations {
  std::vector<Scoped> scoped;
  std::vector<Claim> claimed;
  std::vector<OpenGuess> open_guesses;
};

// When control last came to where an await goes back to: how many events the thread had then.
struct AwaitStart {
  std::size_t depth;
  std::int32_t pc;
  std::size_t n_events;
};

// When control came to a point of a loop (machine_rounds.hpp): all that the thread goes on with, and how many events it had.
template <std::size_t W>
struct Arrival {
  std::int32_t block = 0;
  std::int32_t pc = 0;
  bool is_at_read = false;  // at the first read behind a head, not at the head
  std::size_t n_events = 0;
  std::vector<Value> fixed;  // what is not in registers
  std::vector<RegisterContent<W>> registers;
  Sources<W> control;
  FixedBits<W> idle_control;
  std::shared_ptr<const Arrival> previous;
  std::size_t length = 1;  // of the list that ends here

  bool is_same_point(const Arrival& other) const {
    return block == other.block && pc == other.pc && is_at_read == other.is_at_read && fixed == other.fixed;
  }
};

// What is left out, by numbers of events in the thread.
struct LeftOut {
  std::size_t from = 0;   // all from there on
  std::size_t round = 0;  // where the round begins
  std::size_t rest = 0;   // from there on they may as well be missing; if there are any, this is the last look
  bool failed_by_chance = false;
};

template <std::size_t W>
struct ThreadState {
  std::int32_t number = 0;
  ThreadStatus status = ThreadStatus::unborn;
  std::int32_t block = 0;
  std::int32_t pc = 0;
  std::uint32_t base = 0;  // where the registers of the current call begin
  EventId guess = no_event;  // for the branch or assumption that is next
  CodeAhead::Number start = CodeAhead::any_start;
  std::vector<Caller> callers;
  std::vector<RegisterContent<W>> registers;
  std::vector<EventId> events;
  LoopHistory loops;
  std::vector<AwaitStart> await_starts;
  std::vector<OpenCheck> open_checks;
  Rarely<Obligations> obligations;
  std::shared_ptr<const Arrival<W>> arrivals;  // the last one
  Sources<W> control;
  FixedBits<W> idle_control;  // of it what no branch depended on but such as go on alike
  EventId linked = no_event;
  EventId started_by = no_event;  // spawned threads: the write that lets them begin
  EventId begin = no_event;       // and the read that waits for it
  EventId end = no_event;         // the write that lets others join
  EventId joining = no_event;     // the last read with which it joins another
  bool is_behind_head = false;    // of a loop, and has read nothing since
  bool is_left_out = false;  // it has stopped because the round that it has just done need not be explored
  LeftOut left_out;
  bool owes_end = false;          // it has ended, but there is no such write yet
  RegisterContent<W> result;
  std::int32_t n_spawned = 0;
  Address allocated = 0;  // bytes
  ViolationKind failure = ViolationKind::assertion;
  Address failure_address = 0;
};

// When an object was allocated: the thread, and how many events it had then. No thread: before others existed.
struct Birth {
  std::int32_t thread = none;
  std::size_t n_events = 0;
};

struct AllocatedObject {
  Address start;
  Address size;
  bool is_own;  // not of the heap
  Place place;
  Birth birth;
  bool is_unset = false;     // indeterminate until it is written
  bool is_released = false;  // before other threads existed; later releases are events
  // If it is in use again, it is there once more.
};

// Two deferred parts, or (if `condition` is set) the alternatives of an open choice.
template <std::size_t W>
struct DeferredSources {
  std::optional<NodeId> condition;
  Sources<W> first;
  Sources<W> second;
};

struct Node {
  // `tainted`: the value of `a`, of which nothing is known for sure.
  enum class Kind : std::uint8_t { constant, loaded, status, chosen, unary, binary, select, update, tainted, alternative } kind;
  std::uint8_t operation = 0;
  std::uint8_t width = 0;
  bool is_signed = false;
  NodeId a = 0, b = 0, c = 0;
  Value value = 0;  // a constant, or the event whose value it is; where alternatives are told apart, what they depend on

  // The bits of a constant that are indeterminate are where others have operands.
  static Node of_constant(Value value, Value undefined) {
    return {.kind = Kind::constant, .b = static_cast<NodeId>(undefined), .c = static_cast<NodeId>(undefined >> 32), .value = value};
  }
  Value undefined() const { return Value{c} << 32 | b; }
};

}  // namespace dekker::rsmc
