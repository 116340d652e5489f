#include "dekker/model_program.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

#include "dekker/text.hpp"

namespace dekker {

namespace {

constexpr Kind set = Kind::set;
constexpr Kind rel = Kind::relation;

// In the order of Opcode.
const std::array<Signature, 22> signatures{{
    {"union", rel, {rel, rel}},
    {"inter", rel, {rel, rel}},
    {"diff", rel, {rel, rel}},
    {"seq", rel, {rel, rel}},
    {"inverse", rel, {rel}},
    {"plus", rel, {rel}},
    {"star", rel, {rel}},
    {"opt", rel, {rel}},
    {"compl", rel, {rel}},
    {"set-union", set, {set, set}},
    {"set-inter", set, {set, set}},
    {"set-diff", set, {set, set}},
    {"set-compl", set, {set}},
    {"identity", rel, {set}},
    {"cross", rel, {set, set}},
    {"domain", set, {rel}},
    {"range", set, {rel}},
    {"empty-rel", rel, {}},
    {"empty-set", set, {}},
    {"full-rel", rel, {}},
    {"full-set", set, {}},
    {"id", rel, {}},
}};

constexpr std::array<std::string_view, 2> kind_names{"set", "rel"};
constexpr std::array<std::string_view, 3> check_kind_names{"acyclic", "irreflexive", "empty"};

// The position of `name` in `table`, whose entries are named by `name_of`.
template <class Table, class NameOf>
std::size_t position_of(std::string_view what, std::string_view name, const Table& table, NameOf name_of) {
  const auto found = std::ranges::find(table, name, name_of);
  if (found != table.end()) return static_cast<std::size_t>(found - table.begin());
  std::string message = text("unknown ", what, " '", name, "'; known are");
  for (const auto& entry : table) message += text(" ", name_of(entry));
  throw std::invalid_argument(message);
}

class Decoder {
 public:
  explicit Decoder(std::span<const std::int64_t> code) : rest_(code) {}

  bool at_end() const { return rest_.empty(); }

  Step step() {
    const std::int64_t head = next();
    if (head == fixpoint_marker) return fixpoint();
    if (head < 0 || head >= static_cast<std::int64_t>(signatures.size()))
      throw std::invalid_argument(text("no operation has the number ", head));
    const Slot destination = slot();
    return Operation{static_cast<Opcode>(head), destination, slots()};
  }

 private:
  Fixpoint fixpoint() {
    Fixpoint result;
    result.variables = slots();
    result.results = slots();
    const std::size_t n_steps = count();
    for (std::size_t i = 0; i < n_steps; ++i) result.body.push_back(step());
    return result;
  }

  std::vector<Slot> slots() {
    std::vector<Slot> result(count());
    std::ranges::generate(result, [this] { return slot(); });
    return result;
  }

  Slot slot() { return slot_numbered(next()); }

  // Everything counted takes at least one number, so a larger count than what is left is a mistake.
  std::size_t count() {
    const std::int64_t number = next();
    if (number < 0 || number > static_cast<std::int64_t>(rest_.size()))
      throw std::invalid_argument("the encoded steps end too early");
    return static_cast<std::size_t>(number);
  }

  std::int64_t next() {
    if (rest_.empty()) throw std::invalid_argument("the encoded steps end too early");
    const std::int64_t number = rest_.front();
    rest_ = rest_.subspan(1);
    return number;
  }

  std::span<const std::int64_t> rest_;
};

}  // namespace

const Signature& signature(Opcode code) { return signatures.at(static_cast<std::size_t>(code)); }

Slot slot_numbered(std::int64_t number) {
  if (number < 0 || number > std::numeric_limits<Slot>::max())
    throw std::invalid_argument(text("slot ", number, " does not exist"));
  return static_cast<Slot>(number);
}

Kind kind_named(std::string_view name) {
  return static_cast<Kind>(position_of("kind", name, kind_names, [](auto entry) { return entry; }));
}

Opcode opcode_named(std::string_view name) {
  return static_cast<Opcode>(position_of("operation", name, signatures, [](const auto& entry) { return entry.name; }));
}

CheckKind check_kind_named(std::string_view name) {
  return static_cast<CheckKind>(position_of("check", name, check_kind_names, [](auto entry) { return entry; }));
}

std::vector<Step> decode_steps(std::span<const std::int64_t> code) {
  Decoder decoder(code);
  std::vector<Step> steps;
  while (!decoder.at_end()) steps.push_back(decoder.step());
  return steps;
}

}  // namespace dekker
