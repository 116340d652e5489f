#include "rsmc/knowledge.hpp"

namespace dekker::rsmc {

namespace {

using Owners = std::map<Address, std::int32_t>;

void add_owners(Owners& total, const Owners& part) {
  for (const auto& [address, thread] : part) {
    const auto [entry, is_new] = total.try_emplace(address, thread);
    if (!is_new && entry->second != thread) entry->second = Knowledge::several;
  }
}

// What note_part, note_release, note_freed, note_that_ends_matter, note_noticed, note_split, note_unjoined_end, note_told_apart, note_unseen, note_seen, refute, note_writer and trust watch for, of what is
// known in the end.
bool is_consistent(const Known& known) {
  if (known.releases && known.parts != known.released_parts) return false;
  if (known.freed != known.reusable || known.ends_matter != known.ends_are_events) return false;
  if (known.noticed != known.noticed_before) return false;
  if (known.needs_split != known.splits || known.ends_unjoined != known.ended_unjoined_before) return false;
  if (std::ranges::any_of(known.relied_on, [&](const auto& item) { return known.refuted.contains(item); })) return false;
  if (known.told_apart != known.tells_apart || known.unseen != known.unseen_before) return false;
  for (const auto& [address, thread] : known.trusted) {
    const auto writer = known.writers.find(address);
    if (writer != known.writers.end() && (thread == Knowledge::several || writer->second != thread)) return false;
  }
  return true;
}

}  // namespace

bool merge(Known& total, const Known& part) {
  for (const auto& [object, found] : part.parts) total.parts[object].insert(found.begin(), found.end());
  total.releases |= part.releases;
  add_owners(total.writers, part.writers);
  add_owners(total.trusted, part.trusted);
  total.threads.insert(part.threads.begin(), part.threads.end());
  total.freed.insert(part.freed.begin(), part.freed.end());
  total.ends_matter |= part.ends_matter;
  total.noticed.insert(part.noticed.begin(), part.noticed.end());
  total.needs_split |= part.needs_split;
  total.ends_unjoined |= part.ends_unjoined;
  total.relied_on.insert(part.relied_on.begin(), part.relied_on.end());
  total.refuted.insert(part.refuted.begin(), part.refuted.end());
  total.told_apart |= part.told_apart;
  total.looked_at_run |= part.looked_at_run;
  total.unseen.insert(part.unseen.begin(), part.unseen.end());
  std::erase_if(total.unseen, [&](Address address) { return total.refuted.contains({address, Reliance::unseen}); });
  return is_consistent(total);
}

Known known_at_start(const Known& known) {
  return {known.parts, known.parts, false, known.writers, {}, known.freed, known.freed, known.ends_matter, known.ends_matter,
          known.noticed, known.noticed, known.needs_split, known.needs_split, known.ends_unjoined, known.ends_unjoined,
          known.told_apart, known.told_apart, known.looked_at_run, known.unseen, known.unseen, {}, known.refuted, known.threads};
}

}  // namespace dekker::rsmc
