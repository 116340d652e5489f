// Justified commits: which stores leave their buffers just before an instruction, and in which order.
//
// A store reaches memory only inside a step that needs it there. `must` are those that have to; an entry `e` needs the older
// entries of its buffer that leave first: all under TSO; under PSO those that overlap it or are of an earlier group.
// A sequence of commits is worth a step of its own if each of its stores is in `must`, or is needed by a later one, or is
// overwritten by a later one of another thread, or is seen by the step (which reads the bytes `range`). Moving every commit
// of a textbook run as late as possible leaves exactly these.
#pragma once

#include <array>
#include <bit>
#include <stdexcept>

#include "dekker/stop_request.hpp"
#include "dekker/undefined.hpp"
#include "states/memory_map.hpp"

namespace dekker::states {

// More stores have a say in one step than can be handled.
struct TooManyStores {};

struct EntryPlace {
  std::int32_t thread;
  std::uint32_t index;  // in the buffer
};

struct KnownByte {
  std::uint8_t value = 0;
  std::uint8_t undefined = 0;  // indeterminate bits

  bool operator==(const KnownByte&) const = default;
};

struct ByteRange {
  Address start = 0;
  Address size = 0;
};

class Commits {
 public:
  // Entries of `result(i)`, in the order in which they are written.
  std::size_t n_results() const { return results_.size(); }
  const std::vector<EntryPlace>& result(std::size_t i) const { return results_[i]; }

  // `reader` executes the step. Where `prunes`, a result is left out if fewer commits lead to the same value. In an atomic
  // section, stores of other threads stay where they are.
  template <class ReadByte>
  void find(const std::vector<ThreadState>& threads, bool in_order, std::int32_t reader,
            const std::vector<EntryPlace>& must, ByteRange range, bool prunes, const ReadByte& memory) {
    is_alone_ = reader != none && threads[at(reader)].in_section;
    collect(threads, in_order, reader, must, range);
    results_.clear();
    if (items_.empty()) {
      results_.emplace_back();
      return;
    }
    relate(in_order);
    lay_out_bytes(memory);
    explore(threads, reader, range, prunes, memory);
  }

 private:
  static constexpr std::size_t capacity = 256;
  struct Bits {
    std::array<std::uint64_t, capacity / 64> words{};

    void set(std::size_t i) { words[i / 64] |= std::uint64_t{1} << i % 64; }
    bool test(std::size_t i) const { return (words[i / 64] >> i % 64 & 1) != 0; }
    bool contains(const Bits& other) const {
      for (std::size_t i = 0; i < words.size(); ++i)
        if ((other.words[i] & ~words[i]) != 0) return false;
      return true;
    }
    void remove(const Bits& other) {
      for (std::size_t i = 0; i < words.size(); ++i) words[i] &= ~other.words[i];
    }
    bool empty() const { return *this == Bits{}; }
    bool operator==(const Bits&) const = default;
  };

  struct Item {
    EntryPlace place;
    const Entry* entry;
    bool is_must;
    bool is_foreign_in_range;  // of another thread than the reader, and overlaps what is read
    bool is_independent;       // overlaps no relevant entry of another thread
    std::uint32_t first_byte;  // in `addresses_`
    Bits needs;
    Bits overwrites;  // entries of other threads that it overlaps
  };

  struct Node {
    Bits committed;
    Bits open;  // commits that nothing justifies yet
    std::uint32_t n_committed;
    std::uint32_t bytes;  // where its bytes begin
    std::int32_t parent;
    std::int32_t item;
    std::vector<KnownBits> seen;  // values that results before it read
  };

  void collect(const std::vector<ThreadState>& threads, bool in_order, std::int32_t reader,
               const std::vector<EntryPlace>& must, ByteRange range) {
    items_.clear();
    for (const EntryPlace& place : must) include(threads, reader, range, place, true);
    if (range.size != 0 && !is_alone_)
      for (std::int32_t t = 0; at(t) < threads.size(); ++t) {
        const std::vector<Entry>& buffer = threads[at(t)].buffer;
        for (std::uint32_t i = 0; t != reader && i < buffer.size(); ++i)
          if (buffer[i].overlaps(range.start, range.size)) include(threads, reader, range, {t, i}, false);
      }
    for (std::size_t next = 0; next < items_.size(); ++next) close(threads, in_order, reader, range, next);
  }

  void close(const std::vector<ThreadState>& threads, bool in_order, std::int32_t reader, ByteRange range, std::size_t number) {
    const EntryPlace place = items_[number].place;
    const Entry entry = *items_[number].entry;
    for (std::int32_t t = 0; at(t) < threads.size(); ++t) {
      if (is_alone_ && t != place.thread) continue;
      const std::vector<Entry>& buffer = threads[at(t)].buffer;
      const std::size_t end = t == place.thread ? place.index : buffer.size();
      for (std::uint32_t i = 0; i < end; ++i) {
        const bool relevant = t == place.thread ? needs(in_order, entry, buffer[i]) : entry.overlaps(buffer[i]);
        if (relevant) include(threads, reader, range, {t, i}, false);
      }
    }
  }

  static bool needs(bool in_order, const Entry& entry, const Entry& older) {
    return in_order || older.group < entry.group || older.overlaps(entry);
  }

  void include(const std::vector<ThreadState>& threads, std::int32_t reader, ByteRange range, EntryPlace place, bool is_must) {
    for (Item& item : items_)
      if (item.place.thread == place.thread && item.place.index == place.index) return;
    if (items_.size() == capacity) throw TooManyStores{};
    Item item{};
    item.place = place;
    item.entry = &threads[at(place.thread)].buffer[place.index];
    item.is_must = is_must;
    item.is_foreign_in_range = place.thread != reader && item.entry->overlaps(range.start, range.size);
    items_.push_back(item);
  }

  void relate(bool in_order) {
    for (Item& item : items_) {
      item.is_independent = true;
      for (std::size_t i = 0; i < items_.size(); ++i) {
        const Item& other = items_[i];
        if (other.place.thread == item.place.thread) {
          if (other.place.index < item.place.index && needs(in_order, *item.entry, *other.entry)) item.needs.set(i);
        } else if (item.entry->overlaps(*other.entry)) {
          item.overwrites.set(i);
          item.is_independent = false;
        }
      }
    }
  }

  template <class ReadByte>
  void lay_out_bytes(const ReadByte& memory) {
    addresses_.clear();
    for (const Item& item : items_)
      for (unsigned i = 0; i < item.entry->size; ++i) addresses_.push_back(item.entry->address + i);
    std::ranges::sort(addresses_);
    addresses_.erase(std::unique(addresses_.begin(), addresses_.end()), addresses_.end());
    for (Item& item : items_)
      item.first_byte =
          static_cast<std::uint32_t>(std::ranges::lower_bound(addresses_, item.entry->address) - addresses_.begin());
    bytes_.clear();
    for (const Address address : addresses_) bytes_.push_back(memory(address));
  }

  template <class ReadByte>
  void explore(const std::vector<ThreadState>& threads, std::int32_t reader, ByteRange range, bool prunes,
               const ReadByte& memory) {
    nodes_.clear();
    accepted_.clear();
    nodes_.push_back({{}, {}, 0, 0, none, none, {}});
    // Nodes are in the order of the number of commits, so that what leads to a node is complete when it is visited.
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      require_time();
      if (is_result(threads, reader, range, nodes_[n])) accept(threads, reader, range, prunes, memory, n);
      const std::int32_t only = forced(nodes_[n]);
      for (std::int32_t i = 0; at(i) < items_.size(); ++i)
        if ((only == none || only == i) && !nodes_[n].committed.test(at(i)) && nodes_[n].committed.contains(items_[at(i)].needs))
          commit(n, i);
    }
  }

  // An entry that has to go and that nothing can be ordered against may as well go now.
  std::int32_t forced(const Node& node) const {
    for (std::int32_t i = 0; at(i) < items_.size(); ++i) {
      const Item& item = items_[at(i)];
      if (item.is_must && item.is_independent && !node.committed.test(at(i)) && node.committed.contains(item.needs)) return i;
    }
    return none;
  }

  void commit(std::size_t from, std::int32_t number) {
    const Item& item = items_[at(number)];
    Node node;
    node.committed = nodes_[from].committed;
    node.committed.set(at(number));
    node.open = nodes_[from].open;
    node.open.remove(item.needs);
    node.open.remove(item.overwrites);
    node.open.set(at(number));
    node.n_committed = nodes_[from].n_committed + 1;
    node.parent = static_cast<std::int32_t>(from);
    node.item = number;
    node.bytes = static_cast<std::uint32_t>(bytes_.size());
    node.seen = nodes_[from].seen;
    const std::size_t n_bytes = addresses_.size();
    bytes_.resize(bytes_.size() + n_bytes);
    KnownByte* bytes = bytes_.data() + node.bytes;
    std::copy_n(bytes_.data() + nodes_[from].bytes, n_bytes, bytes);
    for (unsigned i = 0; i < item.entry->size; ++i) bytes[item.first_byte + i] = byte_of(*item.entry, i);
    add(std::move(node));
  }

  void add(Node node) {
    for (std::size_t n = nodes_.size(); n-- > 0;) {
      Node& known = nodes_[n];
      if (known.n_committed != node.n_committed) break;
      if (known.committed == node.committed && known.open == node.open && same_bytes(known, node)) {
        for (const KnownBits value : node.seen)
          if (std::ranges::find(known.seen, value) == known.seen.end()) known.seen.push_back(value);
        bytes_.resize(node.bytes);
        return;
      }
    }
    nodes_.push_back(std::move(node));
  }

  bool same_bytes(const Node& a, const Node& b) const {
    return std::equal(bytes_.data() + a.bytes, bytes_.data() + a.bytes + addresses_.size(), bytes_.data() + b.bytes);
  }

  static KnownByte byte_of(const Entry& entry, Address offset) {
    return {static_cast<std::uint8_t>(entry.value >> (8 * offset)), static_cast<std::uint8_t>(entry.undefined >> (8 * offset))};
  }

  bool is_result(const std::vector<ThreadState>& threads, std::int32_t reader, ByteRange range, const Node& node) const {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const Item& item = items_[i];
      if (item.is_must && !node.committed.test(i)) return false;
      if (node.open.test(i) && !item.is_must &&
          !(item.is_foreign_in_range && is_seen(threads, reader, range, node, *item.entry)))
        return false;
    }
    return true;
  }

  // Does the reader see a byte of the entry in memory, behind what its own buffer still holds?
  bool is_seen(const std::vector<ThreadState>& threads, std::int32_t reader, ByteRange range, const Node& node,
               const Entry& entry) const {
    for (Address a = std::max(entry.address, range.start); a < std::min(entry.address + entry.size, range.start + range.size); ++a)
      if (own_entry(threads, reader, node, a) == nullptr) return true;
    return false;
  }

  // The newest entry of the reader that is not committed and covers the byte.
  const Entry* own_entry(const std::vector<ThreadState>& threads, std::int32_t reader, const Node& node, Address address) const {
    if (reader == none) return nullptr;
    const std::vector<Entry>& buffer = threads[at(reader)].buffer;
    for (std::size_t i = buffer.size(); i-- > 0;)
      if (buffer[i].overlaps(address, 1) && !is_committed(reader, i, node)) return &buffer[i];
    return nullptr;
  }

  bool is_committed(std::int32_t thread, std::size_t index, const Node& node) const {
    for (std::size_t i = 0; i < items_.size(); ++i)
      if (items_[i].place.thread == thread && items_[i].place.index == index) return node.committed.test(i);
    return false;
  }

  template <class ReadByte>
  void accept(const std::vector<ThreadState>& threads, std::int32_t reader, ByteRange range, bool prunes,
              const ReadByte& memory, std::size_t number) {
    Node& node = nodes_[number];
    if (prunes) {
      const KnownBits value = read(threads, reader, range, node, memory);
      if (std::ranges::find(node.seen, value) != node.seen.end()) return;
      node.seen.push_back(value);
    }
    for (const std::size_t known : accepted_)
      if (nodes_[known].committed == node.committed && same_bytes(nodes_[known], node)) return;
    accepted_.push_back(number);
    std::vector<EntryPlace>& sequence = results_.emplace_back();
    for (std::int32_t n = static_cast<std::int32_t>(number); nodes_[at(n)].parent != none; n = nodes_[at(n)].parent)
      sequence.push_back(items_[at(nodes_[at(n)].item)].place);
    std::ranges::reverse(sequence);
  }

  template <class ReadByte>
  KnownBits read(const std::vector<ThreadState>& threads, std::int32_t reader, ByteRange range, const Node& node,
             const ReadByte& memory) const {
    KnownBits value{0, 0};
    for (unsigned i = 0; i < range.size; ++i) {
      const Address address = range.start + i;
      KnownByte byte;
      if (const Entry* own = own_entry(threads, reader, node, address)) {
        byte = byte_of(*own, address - own->address);
      } else {
        const auto found = std::ranges::lower_bound(addresses_, address);
        const bool is_written = found != addresses_.end() && *found == address;
        byte = is_written ? bytes_[node.bytes + static_cast<std::size_t>(found - addresses_.begin())] : memory(address);
      }
      value.value |= Value{byte.value} << (8 * i);
      value.undefined |= Value{byte.undefined} << (8 * i);
    }
    return value;
  }

  bool is_alone_ = false;
  std::vector<Item> items_;
  std::vector<Address> addresses_;
  std::vector<KnownByte> bytes_;
  std::vector<Node> nodes_;
  std::vector<std::size_t> accepted_;
  std::vector<std::vector<EntryPlace>> results_;
};

}  // namespace dekker::states
