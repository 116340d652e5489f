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
  choice,
};

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
// whether its halves are committed in one step or apart: the first half is named by its source alone. Of a continuation
// that was found only a fingerprint of 128 bits is kept; that two of a billion agree by chance has odds of 1 to 10^20.
class Fingerprint {
 public:
  Fingerprint(Key store, Key source) { add({store, ItemKind::write, source, 0}); }

  void add(const TemplateItem& item) {
    low_ += mixed(item, 0x9E3779B97F4A7C15u);
    high_ += mixed(item, 0xD1B54A32D192ED03u);
  }

  bool is_zero() const { return low_ == 0 && high_ == 0; }
  std::size_t place() const { return static_cast<std::size_t>(low_ ^ (high_ >> 7)); }
  bool operator==(const Fingerprint&) const = default;

 private:
  friend class FingerprintSet;
  Fingerprint() = default;

  static std::uint64_t mixed(const TemplateItem& item, std::uint64_t seed) {
    std::uint64_t hash = seed;
    hash = scrambled(hash ^ packed(item.event));
    hash = scrambled(hash ^ packed(item.parameter));
    return scrambled(hash ^ (item.chosen * 8 + static_cast<std::uint64_t>(item.kind)));
  }

  static std::uint64_t packed(Key key) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(key.thread)) << 32) | static_cast<std::uint32_t>(key.index);
  }

  static std::uint64_t scrambled(std::uint64_t bits) {
    bits += 0x9E3779B97F4A7C15u;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    return bits ^ (bits >> 31);
  }

  std::uint64_t low_ = 0, high_ = 0;
};

// With open addressing; the fingerprint 0 marks a free place.
class FingerprintSet {
 public:
  // Returns whether it is new.
  bool insert(const Fingerprint& fingerprint) {
    if (2 * (n_ + 1) > places_.size()) grow();
    Fingerprint& place = find(fingerprint);
    if (place == fingerprint) return false;
    place = fingerprint;
    ++n_;
    return true;
  }

 private:
  Fingerprint& find(const Fingerprint& fingerprint) {
    const std::size_t mask = places_.size() - 1;
    std::size_t i = fingerprint.place() & mask;
    while (!places_[i].is_zero() && places_[i] != fingerprint) i = (i + 1) & mask;
    return places_[i];
  }

  void grow() {
    std::vector<Fingerprint> old(places_.empty() ? 8 : 2 * places_.size(), Fingerprint{});
    old.swap(places_);
    for (const Fingerprint& fingerprint : old)
      if (!fingerprint.is_zero()) find(fingerprint) = fingerprint;
  }

  std::vector<Fingerprint> places_;
  std::size_t n_ = 0;
};

// One call of Explore on a load: where it began, and the continuations found for it.
struct Activation {
  std::size_t run_size;
  bool only_success;    // of a compare-exchange: that it fails is explored elsewhere
  bool sleeps = false;  // some parameter leaves the thread waiting: it is explored without the load
  bool tries_again = false;  // if its store-conditional fails, the thread would only try again
  std::vector<Template> templates{};
  FingerprintSet seen{};
};

}  // namespace dekker::rsmc
