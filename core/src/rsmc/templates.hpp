// Continuations of a load: what to commit before it, so that it can read from a store that was found after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "dekker/rsmc/program.hpp"

namespace dekker::rsmc {

// An event by its place in the program, which is the same in every run.
struct Key {
  std::int32_t thread = none;  // none: the initial write of the location in question
  std::int32_t index = 0;

  auto operator<=>(const Key&) const = default;
};

enum class ItemKind : std::uint8_t {
  read,
  failed_read,      // of a weak compare-exchange that fails although it finds what it expects
  successful_read,  // of a compare-exchange that is to succeed, whatever it is compared with
  write,
  failure,
  sleep,  // of a read with which its thread would only wait
  choice,
  guess,      // of a store whose value loads may take that it will not have; of an update, that loads may take to succeed
  displaced,  // a read that waits for what comes behind an update in its place (displaced_reads.hpp)
};

// A committed event with its parameter: the source of a read, the coherence predecessor of a write, a chosen value. Of a
// read from a store of its thread, what is chosen is which of the alternatives that has for its value.
struct TemplateItem {
  Key event;
  ItemKind kind;
  Key parameter;
  Value chosen = 0;
  std::uint64_t stamp = 0;
};

struct Template {
  std::vector<TemplateItem> items;
  Key store;  // the store that the load is to read from, in every place it can have
  // For a store that is the second half of an update: its first half and what that reads from, which fixes the place.
  std::optional<Key> update;
  Key update_source;
  std::uint64_t stamp = 0;
};

}  // namespace dekker::rsmc
