// What several find out apart from one another, put together, is what one finds out who does all of it.
#include <random>

#include "harness.hpp"
#include "rsmc/knowledge.hpp"

using namespace dekker;
using namespace dekker::rsmc;

namespace {

const Allocation allocation{64, 12, {0, 0, 0}};

enum class Act : std::uint8_t { part, release, write, trust, end, notice };

struct Noted {
  Act act;
  Address address;
  std::int32_t thread;
  bool is_granted = false;  // trust
};

Noted random_note(std::mt19937& random) {
  // Releases are rare, so that parts and writers have their turn.
  static constexpr Act acts[] = {Act::part, Act::write, Act::write, Act::trust, Act::trust, Act::part, Act::write, Act::release, Act::end, Act::notice};
  return {acts[random() % 10], random() % 3, static_cast<std::int32_t>(random() % 3)};
}

// Whether the step goes as it did before.
bool goes_on(Knowledge& knowledge, Noted& step, bool is_first) {
  switch (step.act) {
    case Act::part: knowledge.note_part(allocation, step.address, 4); return true;
    case Act::release: knowledge.note_release(); return true;
    case Act::write: knowledge.note_writer(step.address, step.thread); return true;
    case Act::notice: knowledge.note_noticed(step.address); return true;
    case Act::end: knowledge.note_that_ends_matter(); return true;
    case Act::trust: {
      const bool is_granted = !knowledge.trust(step.address, step.thread).has_value();
      if (is_first) step.is_granted = is_granted;
      return is_granted || !step.is_granted;
    }
  }
  return false;
}

bool go_on(Knowledge& knowledge, std::vector<Noted>& steps, bool is_first) {
  try {
    for (Noted& step : steps)
      if (!goes_on(knowledge, step, is_first)) return false;
    return true;
  } catch (const NewKnowledge&) {
    return false;
  }
}

Known random_start(std::mt19937& random) {
  Known start;
  for (int i = 0; i < 3; ++i)
    if (random() % 3 == 0) start.parts[allocation].insert({static_cast<Address>(i), 4});
  start.released_parts = start.parts;
  if (random() % 2 == 0) start.noticed = start.noticed_before = {0, 1, 2};
  start.ends_matter = start.ends_are_events = random() % 2 == 0;
  if (random() % 3 == 0) start.writers[random() % 3] = static_cast<std::int32_t>(random() % 3);
  return start;
}

}  // namespace

TEST(knowledge_of_two_is_that_of_one_who_does_both) {
  std::mt19937 random(7);
  int n_consistent = 0, n_contradictions = 0;
  for (int round = 0; round < 20000; ++round) {
    const Known start = random_start(random);
    std::vector<Noted> first, second;
    for (std::size_t i = random() % 4; i-- > 0;) first.push_back(random_note(random));
    for (std::size_t i = random() % 4; i-- > 0;) second.push_back(random_note(random));
    Knowledge one(start), other(start), both(start);
    if (!go_on(one, first, true) || !go_on(other, second, true)) continue;
    const bool expected = go_on(both, first, false) && go_on(both, second, false);
    Known total = one.all();
    const bool found = merge(total, other.all());
    CHECK(found == expected);
    if (found && expected) CHECK(total == both.all());
    ++(expected ? n_consistent : n_contradictions);
    Known turned = other.all();
    CHECK(merge(turned, one.all()) == found);
    CHECK(turned == total);
  }
  CHECK(n_consistent > 1000);
  CHECK(n_contradictions > 1000);
}

TEST(contradictions_do_not_come_back_after_a_new_start) {
  std::mt19937 random(11);
  int n_restarts = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::vector<Noted>> parts(3);
    for (auto& part : parts)
      for (int i = 0; i < 4; ++i) part.push_back(random_note(random));
    Known known;
    bool is_done = false;
    for (int attempt = 0; attempt < 20 && !is_done; ++attempt) {
      is_done = true;
      Known total = known;
      for (auto& part : parts) {
        Knowledge own(known);
        is_done = go_on(own, part, true) && is_done;
        is_done = merge(total, own.all()) && is_done;
      }
      known = known_at_start(total);
      n_restarts += !is_done;
    }
    CHECK(is_done);
  }
  CHECK(n_restarts > 500);
}

TEST(halves_that_one_finds_must_be_apart_are_so_for_all_who_start_again) {
  Knowledge finder, other;
  bool starts_again = false;
  try {
    finder.note_split();
  } catch (const NewKnowledge&) {
    starts_again = true;
  }
  CHECK(starts_again);
  CHECK(!finder.splits_updates());
  Known total = other.all();
  CHECK(!merge(total, finder.all()));
  const Known start = known_at_start(total);
  CHECK(start.splits);
  Known again = start;
  CHECK(merge(again, start));
}

TEST(threads_that_one_tells_apart_are_told_apart_by_all_who_start_again) {
  Knowledge finder, other;
  bool starts_again = false;
  try {
    finder.note_told_apart();
  } catch (const NewKnowledge&) {
    starts_again = true;
  }
  CHECK(starts_again);
  Known total = other.all();
  CHECK(!merge(total, finder.all()));
  const Known start = known_at_start(total);
  CHECK(Knowledge(start).tells_apart());
  Knowledge again(start);
  again.note_told_apart();
  CHECK(again.all() == start);
}

TEST(where_one_sees_an_order_of_writes_all_who_start_again_do) {
  Knowledge finder;
  bool starts_again = false;
  try {
    finder.note_unseen({16, 24});
  } catch (const NewKnowledge&) {
    starts_again = true;
  }
  CHECK(starts_again);
  Known total;
  CHECK(!merge(total, finder.all()));
  const Known start = known_at_start(total);
  CHECK(start.unseen_before == (std::set<Address>{16, 24}));
  Knowledge one(start), other(start);
  one.note_unseen({32});  // which was not looked for any more
  CHECK(one.all() == start);
  try {
    other.note_seen(16);
    CHECK(false);
  } catch (const NewKnowledge&) {
  }
  Known both = one.all();
  CHECK(!merge(both, other.all()));
  Known turned = other.all();
  CHECK(!merge(turned, one.all()));
  CHECK(known_at_start(both) == known_at_start(turned));
  CHECK(Knowledge(known_at_start(both)).unseen() == std::set<Address>{24});
  Knowledge again(known_at_start(both));
  again.note_seen(16);
  CHECK(again.all() == known_at_start(both));
}

TEST(threads_keep_their_numbers_when_all_start_again) {
  Known known;
  known.threads[{0, 1}] = 4;
  known.writers[16] = 4;
  known.trusted[24] = 4;
  known.releases = true;
  const Known start = known_at_start(known);
  CHECK(start.threads == known.threads);
  CHECK(start.writers == known.writers);
  CHECK(start.trusted.empty());
  CHECK(!start.releases);
}

TEST(what_is_refuted_is_not_relied_on_any_more) {
  Knowledge knowledge;
  CHECK(knowledge.rely(16, Reliance::one_write));
  knowledge.refute(24, Reliance::one_write);
  knowledge.refute(16, Reliance::no_plain_write);
  CHECK(!knowledge.rely(24, Reliance::one_write));
  bool starts_again = false;
  try {
    knowledge.refute(16, Reliance::one_write);
  } catch (const NewKnowledge&) {
    starts_again = true;
  }
  CHECK(starts_again);
  knowledge.start_again();
  CHECK(!knowledge.rely(16, Reliance::one_write));
  CHECK(knowledge.rely(16, Reliance::last_is_read));
}

TEST(what_one_relies_on_and_another_refutes_makes_all_start_again) {
  Knowledge relying, refuting;
  CHECK(relying.rely(16, Reliance::last_is_read));
  refuting.refute(16, Reliance::last_is_read);
  Known total = relying.all();
  CHECK(!merge(total, refuting.all()));
  Known start = known_at_start(total);
  CHECK(merge(start, refuting.all()));
}
