// The threads of a program that do the same, and the arrays of which each of them has a part.
//
// A global array is shared out if nothing but threads that were started names it, each by addresses in one part of equal size,
// and if all parts hold the same at the start. Renaming threads then exchanges their parts.
#pragma once

#include "rsmc/alike_starts.hpp"

namespace dekker::rsmc {

class AlikeClasses {
 public:
  // The starts by thread; others than those that are there may not be renamed.
  AlikeClasses(const Program& program, const std::vector<std::optional<ThreadStart>>& starts)
      : program_(program), starts_(starts) {
    if (!may_be_any()) return;
    arrays_ = arrays_of_threads();
    do find();
    while (drop_misused());
    std::erase_if(known_, [&](std::int32_t expression) { return unknown_.contains(expression); });
    share_out();
  }

  // By thread: those that do the same and have smaller numbers, the last first.
  const std::vector<std::vector<std::int32_t>>& earlier() const { return earlier_; }
  const std::vector<SharedOut>& arrays() const { return shared_out_; }
  // The values of these, in threads that have parts, are addresses in those.
  const std::set<std::int32_t>& open_expressions() const { return open_; }
  // Where these come from one part of an array to another, that was followed.
  const std::set<std::int32_t>& followed_expressions() const { return known_; }

 private:
  // What threads use of an array.
  struct Use {
    Value step = 0;  // what all distances between the addresses of alike threads are multiples of
    std::vector<std::set<Value>> addresses{};  // by thread
    bool is_misuse = false;
  };

  bool may_be_any() const {
    for (std::size_t t = 0; t < starts_.size(); ++t)
      for (std::size_t other = 0; other < t; ++other)
        if (starts_[t] && starts_[other] && starts_[t]->block == starts_[other]->block) return true;
    return false;
  }

  // ---- Arrays -----------------------------------------------------------------------------------------------------

  std::vector<ObjectRange> arrays_of_threads() const {
    if (!std::ranges::all_of(starts_, [](const auto& start) { return !start || start->is_known(); })) return {};
    std::vector<ObjectRange> found;
    const std::set<Value> named = constants_of_others();
    for (const ObjectRange& object : program_.objects) {
      const auto is_inside = [&](Value value) { return value >= object.start && value - object.start <= object.size; };
      if (std::ranges::none_of(named, is_inside) && !is_pointed_to(object) && !is_observed(object)) found.push_back(object);
    }
    return found;
  }

  // In what is not done by threads that were started.
  std::set<Value> constants_of_others() const {
    std::set<std::int32_t> blocks;
    for (std::size_t t = 0; t < program_.threads.size(); ++t) add_called(static_cast<std::int32_t>(t), blocks);
    std::set<Value> found;
    for (const std::int32_t block : blocks)
      for (const Instruction& i : program_.block(block).code) {
        for (const std::int32_t expression : {i.address, i.value, i.expected}) add_constants(expression, found);
        for (std::int32_t n = 0; n < i.n_arguments; ++n)
          add_constants(program_.arguments[static_cast<std::size_t>(i.first_argument + n)], found);
      }
    return found;
  }

  void add_called(std::int32_t block, std::set<std::int32_t>& blocks) const {
    if (!blocks.insert(block).second) return;
    for (const Instruction& i : program_.block(block).code) {
      if (i.operation != Operation::call) continue;
      if (i.target != none) add_called(i.target, blocks);
      else
        for (const auto& [address, any] : program_.function_at) add_called(any, blocks);
    }
  }

  void add_constants(std::int32_t expression, std::set<Value>& found) const {
    if (expression == none) return;
    for (const ExpressionStep& step : program_.expressions[static_cast<std::size_t>(expression)])
      if (step.code == ExpressionCode::constant) found.insert(step.operand);
  }

  Value initial_byte(Address address) const {
    const auto found = program_.initial_bytes.find(address);
    return found == program_.initial_bytes.end() ? 0 : found->second;
  }

  bool is_pointed_to(const ObjectRange& object) const {
    return std::ranges::any_of(program_.initial_bytes, [&](const auto& entry) {
      const Address start = entry.first & ~Address{7};
      Value value = 0;
      for (unsigned i = 0; i < 8; ++i) value |= initial_byte(start + i) << (8 * i);
      return value >= object.start && value - object.start <= object.size;
    });
  }

  bool is_observed(const ObjectRange& object) const {
    return std::ranges::any_of(program_.observed, [&](const Observable& item) {
      return item.thread == none && item.address < object.start + object.size && object.start < item.address + item.size;
    });
  }

  // ---- Threads ----------------------------------------------------------------------------------------------------

  void find() {
    AlikeStarts starts(program_, arrays_);
    uses_.assign(arrays_.size(), Use{0, std::vector<std::set<Value>>(starts_.size())});
    open_.clear();
    known_.clear();
    unknown_.clear();
    earlier_.assign(starts_.size(), {});
    for (std::size_t t = 0; t < starts_.size(); ++t) {
      if (!starts_[t]) continue;
      if (!arrays_.empty() && starts.are_alike(*starts_[t], *starts_[t])) note(starts, t, t);
      else if (!arrays_.empty()) misuse_all();
      for (std::size_t other = t; other-- > 0;) {
        if (!starts_[other] || !starts.are_alike(*starts_[other], *starts_[t])) continue;
        earlier_[t].push_back(static_cast<std::int32_t>(other));
        note(starts, other, t);
      }
    }
  }

  void misuse_all() {
    for (Use& use : uses_) use.is_misuse = true;
  }

  void note(const AlikeStarts& starts, std::size_t left, std::size_t right) {
    for (const AlikeStarts::InArray& used : starts.in_arrays()) {
      Use& use = uses_[used.array];
      use.addresses[left].insert(used.left);
      use.addresses[right].insert(used.right);
      if (left != right && used.left == used.right) use.is_misuse = true;
      use.step = std::gcd(use.step, used.left < used.right ? used.right - used.left : used.left - used.right);
    }
    for (const std::size_t array : starts.misused()) uses_[array].is_misuse = true;
    add(open_, starts.open_expressions());
    add(known_, starts.followed_expressions());
    add(unknown_, starts.other_expressions());
  }

  static void add(std::set<std::int32_t>& all, const std::set<std::int32_t>& some) { all.insert(some.begin(), some.end()); }

  // Is there anything to find again without?
  bool drop_misused() {
    std::vector<ObjectRange> kept;
    for (std::size_t i = 0; i < arrays_.size(); ++i)
      if (is_shared_out(arrays_[i], uses_[i])) kept.push_back(arrays_[i]);
    const bool has_dropped = kept.size() != arrays_.size();
    arrays_ = std::move(kept);
    return has_dropped;
  }

  bool is_shared_out(const ObjectRange& array, const Use& use) const {
    if (use.is_misuse || use.step == 0 || array.size % use.step != 0) return false;
    std::set<Address> parts;
    for (const std::set<Value>& addresses : use.addresses) {
      if (addresses.empty()) continue;
      const Address part = part_of(array, use, *addresses.begin());
      const auto is_there = [&](Value address) { return part_of(array, use, address) == part; };
      if (*addresses.rbegin() == array.start + array.size || !std::ranges::all_of(addresses, is_there)) return false;
      if (!parts.insert(part).second) return false;
    }
    return std::ranges::all_of(parts, [&](Address part) { return holds_the_same(*parts.begin(), part, use.step); });
  }

  static Address part_of(const ObjectRange& array, const Use& use, Value address) {
    return address - (address - array.start) % use.step;
  }

  bool holds_the_same(Address left, Address right, Value size) const {
    for (Value i = 0; i < size; ++i)
      if (initial_byte(left + i) != initial_byte(right + i)) return false;
    return true;
  }

  void share_out() {
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      SharedOut shared{arrays_[i], uses_[i].step, std::vector<Address>(starts_.size(), 0)};
      for (std::size_t t = 0; t < starts_.size(); ++t)
        if (!uses_[i].addresses[t].empty()) shared.part_of[t] = part_of(arrays_[i], uses_[i], *uses_[i].addresses[t].begin());
      shared_out_.push_back(std::move(shared));
    }
  }

  const Program& program_;
  const std::vector<std::optional<ThreadStart>>& starts_;
  std::vector<ObjectRange> arrays_;
  std::vector<Use> uses_;
  std::vector<std::vector<std::int32_t>> earlier_;
  std::vector<SharedOut> shared_out_;
  std::set<std::int32_t> open_, known_, unknown_;
};

}  // namespace dekker::rsmc
