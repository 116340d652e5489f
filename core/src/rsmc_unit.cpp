#include "rsmc/unit.hpp"

#include <stdexcept>

namespace dekker::rsmc {

namespace {

// Numbers of seven bits a byte, the lowest first; the highest bit says that more follow.
class Writer {
 public:
  void number(std::uint64_t value) {
    while (value >= 0x80) {
      bytes.push_back(static_cast<char>(0x80 | (value & 0x7F)));
      value >>= 7;
    }
    bytes.push_back(static_cast<char>(value));
  }

  // Small negative ones, too.
  void signed_number(std::int64_t value) { number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63)); }

  std::string bytes;
};

class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}

  std::uint64_t number() {
    std::uint64_t result = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (next_ == bytes_.size()) throw std::invalid_argument("a unit of work ends too early");
      const auto byte = static_cast<unsigned char>(bytes_[next_++]);
      result |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) return result;
    }
    throw std::invalid_argument("a unit of work has a number that is too large");
  }

  std::int64_t signed_number() {
    const std::uint64_t value = number();
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }

  // How many of something follow.
  std::size_t count() {
    const std::uint64_t n = number();
    if (n > bytes_.size() - next_) throw std::invalid_argument("a unit of work ends too early");
    return static_cast<std::size_t>(n);
  }

  bool is_at_end() const { return next_ == bytes_.size(); }

 private:
  const std::string& bytes_;
  std::size_t next_ = 0;
};

// The same functions write and read: `io(field)` for every field in turn.
class Out {
 public:
  template <class T>
    requires std::is_unsigned_v<T>
  void operator()(const T& value) { writer.number(value); }
  template <class T>
    requires std::is_signed_v<T>
  void operator()(const T& value) { writer.signed_number(value); }
  template <class T, class Each>
  void list(const std::vector<T>& items, Each each) {
    writer.number(items.size());
    for (const T& item : items) each(item);
  }
  Writer writer;
};

class In {
 public:
  explicit In(const std::string& bytes) : reader(bytes) {}
  template <class T>
    requires std::is_unsigned_v<T>
  void operator()(T& value) {
    const std::uint64_t found = reader.number();
    value = static_cast<T>(found);
    if (static_cast<std::uint64_t>(value) != found) throw std::invalid_argument("a unit of work has a number that is too large");
  }
  template <class T>
    requires std::is_signed_v<T>
  void operator()(T& value) {
    const std::int64_t found = reader.signed_number();
    value = static_cast<T>(found);
    if (static_cast<std::int64_t>(value) != found) throw std::invalid_argument("a unit of work has a number that is too large");
  }
  template <class T, class Each>
  void list(std::vector<T>& items, Each each) {
    items.resize(reader.count());
    for (T& item : items) each(item);
  }
  Reader reader;
};

template <class Io, class T>
void transfer_key(Io& io, T& key) {
  io(key.thread);
  io(key.index);
}

template <class Io, class T>
void transfer_kind(Io& io, T& kind, std::uint8_t last) {
  auto number = static_cast<std::uint8_t>(kind);
  io(number);
  if (number > last) throw std::invalid_argument("a unit of work has an unknown kind");
  if constexpr (!std::is_const_v<T>) kind = static_cast<T>(number);
}

template <class Io, class T>
void transfer_item(Io& io, T& item) {
  transfer_key(io, item.event);
  transfer_kind(io, item.kind, static_cast<std::uint8_t>(ItemKind::displaced));
  transfer_key(io, item.parameter);
  io(item.chosen);
  io(item.stamp);
}

template <class Io, class T>
void transfer_mark(Io& io, T& m) {
  for (auto* field : {&m.nodes, &m.events, &m.saved, &m.deferred, &m.objects, &m.items, &m.matrix, &m.locations, &m.trail})
    io(*field);
}

template <class Io, class T>
void transfer_steps(Io& io, T& steps) {
  io.list(steps.items, [&](auto& item) { transfer_item(io, item); });
  io.list(steps.absent, [&](auto& entry) {
    io(entry.trail);
    transfer_key(io, entry.write);
  });
  io.list(steps.locations, [&](auto& met) {
    io(met.trail);
    io(met.address);
    io(met.size);
    io(met.is_outside);
    io(met.place.thread);
    io(met.place.block);
    io(met.place.pc);
  });
}

template <class Io, class T>
void transfer_open_read(Io& io, T& read) {
  transfer_key(io, read.active);
  transfer_key(io, read.read);
  transfer_mark(io, read.before);
  io(read.run_size);
  io(read.stamp);
  io(read.only_success);
  io(read.has_slept);
  io(read.tries_again);
  io(read.id);
}

template <class Io, class T>
void transfer_template(Io& io, T& next, bool has_update) {
  io.list(next.items, [&](auto& item) { transfer_item(io, item); });
  transfer_key(io, next.store);
  if (has_update) transfer_key(io, *next.update);
  transfer_key(io, next.update_source);
  io(next.stamp);
}

template <class Io, class T>
void transfer_unit(Io& io, T& unit) {
  transfer_steps(io, unit.steps);
  transfer_mark(io, unit.mark);
  io.list(unit.open, [&](auto& read) { transfer_open_read(io, read); });
  transfer_kind(io, unit.kind, static_cast<std::uint8_t>(UnitKind::asleep));
  io(unit.last_stamp);
  if (unit.kind != UnitKind::continuation) return;
  bool has_update = unit.continuation.update.has_value();
  io(has_update);
  if constexpr (!std::is_const_v<T>)
    if (has_update) unit.continuation.update.emplace();
  transfer_template(io, unit.continuation, has_update);
}

}  // namespace

PackedUnit pack(const Unit& unit) {
  Out out;
  transfer_unit(out, unit);
  return {std::move(out.writer.bytes), static_cast<std::uint32_t>(unit.steps.items.size()), unit.sleep_id()};
}

Unit unpack(const PackedUnit& packed) {
  In in(packed.bytes);
  Unit unit{};
  transfer_unit(in, unit);
  if (!in.reader.is_at_end()) throw std::invalid_argument("a unit of work goes on behind its end");
  if (unit.kind != UnitKind::here && unit.open.empty()) throw std::invalid_argument("a unit of work has no read");
  return unit;
}

}  // namespace dekker::rsmc
