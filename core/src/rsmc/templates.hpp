// Continuations of a load: what to commit before it, so that it can read from a store that was found after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "dekker/rsmc/program.hpp"

namespace dekker::rsmc {

// An event by its place in the program, which is the same in every run.
struct Key {
  std::int32_t thread = none;  // none: the initial write of the location in question
  std::int32_t index = 0;

  auto operator<=>(const Key&) const = default;
};

enum class ItemKind : std::uint8_t { read, failed_read, write, failure, choice };

// A committed event with its parameter: the source of a read, the coherence predecessor of a write, a chosen value.
struct TemplateItem {
  Key event;
  ItemKind kind;
  Key parameter;
  Value chosen = 0;

  auto operator<=>(const TemplateItem&) const = default;
};

struct Template {
  std::vector<TemplateItem> items;
  Key store;  // the store that the load is to read from, in every place it can have
  // For a store that is the second half of an update: its first half and what that reads from, which fixes the place.
  std::optional<Key> update;
  Key update_source;
};

// Two continuations are the same if they have the same cut, whatever its order, and the same store. An update is the same
// whether its halves are committed in one step or apart: the first half is named by its source alone.
struct TemplateIdentity {
  std::vector<TemplateItem> items;  // sorted
  Key store;
  Key source;  // of the first half, if the store is the second half of an update

  auto operator<=>(const TemplateIdentity&) const = default;
};

// One call of Explore on a load: where it began, and the continuations found for it.
struct Activation {
  std::size_t run_size;
  std::vector<Template> templates;
  std::set<TemplateIdentity> seen;
};

}  // namespace dekker::rsmc
