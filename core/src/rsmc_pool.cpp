#include "rsmc/pool.hpp"

#include <algorithm>

namespace dekker::rsmc {

namespace {

void add_to(Statistics& total, const Statistics& part) {
  total.complete += part.complete;
  total.blocked += part.blocked;
  total.deadlocks += part.deadlocks;
  total.abandoned += part.abandoned;
  total.cut += part.cut;
  total.failed += part.failed;
  total.stuck += part.stuck;
  total.not_last += part.not_last;
  total.left_out += part.left_out;
  total.up_to_renaming += part.up_to_renaming;
  total.up_to_order += part.up_to_order;
  total.commits += part.commits;
  total.checks += part.checks;
  total.templates += part.templates;
  total.report_bytes += part.report_bytes;
}

Unit whole_unit() {
  Unit unit{};
  unit.kind = UnitKind::here;
  return unit;
}

}  // namespace

PackedUnit whole_exploration() { return pack(whole_unit()); }

void merge(Outcome& total, Outcome&& part) {
  add_to(total.statistics, part.statistics);
  total.states.merge(part.states);  // which leaves those that were known
  for (const auto& [state, found] : part.states) {
    total.states[state].count += found.count;
    total.statistics.report_bytes -= report_bytes(state, found);
  }
  for (const auto& [flag, count] : part.flags) total.flags[flag] += count;
  for (auto& found : part.violations) {
    const auto is_same = [&](const auto& known) { return known.first == found.first; };
    if (std::ranges::none_of(total.violations, is_same)) total.violations.push_back(std::move(found));
  }
  total.flag_examples.merge(part.flag_examples);
  if (total.deadlock_example.empty()) total.deadlock_example = std::move(part.deadlock_example);
  total.cut_at.merge(part.cut_at);
  total.n_alone = std::max(total.n_alone, part.n_alone);  // the same in all in which anything was explored
  if (total.stop == Stop::not_stopped) total.stop = part.stop;
  if (total.stuck_at.thread == none) total.stuck_at = part.stuck_at;
  if (total.too_long_at.thread == none) total.too_long_at = part.too_long_at;
}

Pool::Pool(const Work& work)
    : n_workers_(work.jobs), keeps_rest_(work.keeps_rest), slept_(work.slept), first_own_id_(work.first_own_id),
      published_(work.jobs), next_id_(work.next_id) {
  // Those that sleep were let in before.
  for (const PackedUnit& packed : work.units) units_.emplace(packed.depth, unpack(packed));
  for (const PackedUnit& packed : work.asking) asking_.emplace(packed.sleep_id, unpack(packed));
  if (units_.empty()) units_.emplace(0, whole_unit());
}

std::optional<Unit> Pool::take() {
  std::unique_lock hold(mutex_);
  ++n_idle_;
  if (n_idle_ == n_workers_ && units_.empty()) {
    is_done_ = true;
    has_units_.notify_all();
  }
  set_demand();
  has_units_.wait(hold, [&] { return !units_.empty() || is_over(); });
  if (is_over()) return std::nullopt;
  --n_idle_;
  const auto next = units_.size() < many_units * n_workers_ ? units_.begin() : std::prev(units_.end());
  Unit unit = std::move(next->second);
  units_.erase(next);
  set_demand();
  return unit;
}

void Pool::set_demand() {
  demand_.store(is_stopping_ ? Demand::rest : n_idle_ > 0 && units_.empty() ? Demand::some : Demand::none,
                std::memory_order_relaxed);
}

void Pool::insert(Unit&& unit) {
  const std::uint64_t sleep_id = unit.sleep_id();
  if (sleep_id != 0 && slept_.contains(sleep_id)) return;
  if (sleep_id != 0 && sleep_id < first_own_id_) {
    asking_.try_emplace(sleep_id, std::move(unit));
    return;
  }
  if (sleep_id != 0) slept_.insert(sleep_id);
  const std::size_t depth = unit.steps.items.size();
  units_.emplace(depth, std::move(unit));
}

void Pool::add(Outcome&& found, std::vector<Unit>&& left, bool stops_at_violation) {
  const std::lock_guard hold(mutex_);
  const Stop reason = found.stop;
  merge(outcome_, std::move(found));
  for (Unit& unit : left) insert(std::move(unit));
  set_demand();
  has_units_.notify_all();
  if (reason == Stop::not_stopped || is_over()) return;
  is_stopping_ = true;
  if (!keeps_rest_ || stops_at_violation) abort_.store(reason, std::memory_order_relaxed);
  set_demand();
}

void Pool::put_back(Unit&& unit, const Statistics& discarded, const Place& too_long_at) {
  n_complete_.fetch_sub(discarded.complete);
  const std::lock_guard hold(mutex_);
  too_long_at_ = too_long_at;
  const std::size_t depth = unit.steps.items.size();
  units_.emplace(depth, std::move(unit));
  if (end_ == PoolEnd::done) end_ = PoolEnd::capacity;
  is_stopping_ = true;
  set_demand();
  has_units_.notify_all();
}

void Pool::put_back(Unit&& unit) {
  const std::lock_guard hold(mutex_);
  const std::size_t depth = unit.steps.items.size();
  units_.emplace(depth, std::move(unit));
}

void Pool::stop(Stop reason) {
  const std::lock_guard hold(mutex_);
  if (is_over()) return;
  is_stopping_ = true;
  if (outcome_.stop == Stop::not_stopped) outcome_.stop = reason;
  if (!keeps_rest_) abort_.store(reason, std::memory_order_relaxed);
  set_demand();
  has_units_.notify_all();
}

void Pool::fail(PoolEnd end, std::exception_ptr error) {
  const std::lock_guard hold(mutex_);
  if (end_ == PoolEnd::done || end_ == PoolEnd::capacity) {
    end_ = end;
    error_ = std::move(error);
  }
  is_stopping_ = true;
  abort_.store(Stop::interrupt, std::memory_order_relaxed);
  set_demand();
  has_units_.notify_all();
}

void Pool::publish(std::size_t worker, const Statistics& statistics) {
  const std::lock_guard hold(mutex_);
  published_[worker] = statistics;
}

void Pool::leave() {
  const std::lock_guard hold(mutex_);
  ++n_left_;
  has_left_.notify_all();
}

bool Pool::wait_for_all(std::chrono::milliseconds longest, Statistics& so_far) {
  std::unique_lock hold(mutex_);
  has_left_.wait_for(hold, longest, [&] { return n_left_ == n_workers_; });
  so_far = outcome_.statistics;
  for (const Statistics& statistics : published_) add_to(so_far, statistics);
  return n_left_ == n_workers_;
}

void Pool::give_rest(Work& work) const {
  work.units.clear();
  for (const auto& entry : units_) work.units.push_back(pack(entry.second));
  work.asking.clear();
  for (const auto& entry : asking_) work.asking.push_back(pack(entry.second));
  work.next_id = next_id_.load();
  work.slept = slept_;
}

}  // namespace dekker::rsmc
