#include "harness.hpp"

#include "states/commits.hpp"
#include "states/visited.hpp"

using namespace dekker;
using namespace dekker::states;

namespace {

Entry store(Address address, Value value, std::uint8_t size = 4) { return {address, value, size}; }

std::vector<ThreadState> with_buffers(std::vector<std::vector<Entry>> buffers) {
  std::vector<ThreadState> threads(buffers.size());
  for (std::size_t t = 0; t < buffers.size(); ++t) threads[t].buffer = std::move(buffers[t]);
  return threads;
}

std::size_t n_results(const std::vector<ThreadState>& threads, bool in_order, std::int32_t reader,
                      const std::vector<EntryPlace>& must, ByteRange range) {
  Commits commits;
  commits.find(threads, in_order, reader, must, range, reader != none && must.empty(), [](Address) { return KnownByte{}; });
  return commits.n_results();
}

constexpr Address x = 0x100, y = 0x200;

}  // namespace

TEST(a_load_without_matching_stores_has_one_result) {
  CHECK(n_results(with_buffers({{}, {store(y, 1)}}), true, 0, {}, {x, 4}) == 1);
}

TEST(a_load_sees_each_prefix_that_ends_in_a_store_to_it) {
  const auto threads = with_buffers({{}, {store(x, 1), store(y, 1), store(x, 2), store(y, 2)}});
  CHECK(n_results(threads, true, 0, {}, {x, 4}) == 3);
  CHECK(n_results(threads, false, 0, {}, {x, 4}) == 3);
}

TEST(own_stores_hide_those_of_others_unless_they_are_written_first) {
  // The own 2, or what the other writes after it.
  CHECK(n_results(with_buffers({{store(x, 2)}, {store(x, 1)}}), true, 0, {}, {x, 4}) == 2);
}

TEST(independent_stores_of_a_flush_are_written_in_one_order) {
  std::vector<Entry> buffer;
  std::vector<EntryPlace> all;
  for (std::uint32_t i = 0; i < 20; ++i) {
    buffer.push_back(store(0x1000 + 8 * i, i));
    all.push_back({0, i});
  }
  CHECK(n_results(with_buffers({buffer, {}}), false, 0, all, {}) == 1);
}

TEST(overlapping_stores_of_two_threads_are_written_in_both_orders) {
  const auto threads = with_buffers({{store(x, 1)}, {store(x, 2)}});
  // Together at the end, and for a fence: before the other, or after it.
  CHECK(n_results(threads, true, none, {{0, 0}, {1, 0}}, {}) == 2);
  CHECK(n_results(threads, true, 0, {{0, 0}}, {}) == 2);
}

TEST(stores_overlap_byte_by_byte) {
  CHECK(n_results(with_buffers({{}, {store(x + 3, 1, 2)}}), true, 0, {}, {x, 4}) == 2);
  CHECK(n_results(with_buffers({{}, {store(x + 4, 1, 2)}}), true, 0, {}, {x, 4}) == 1);
}

TEST(visited_states_are_found_again_also_with_more_threads_and_as_hashes) {
  Visited visited;
  for (std::uint32_t i = 0; i < 5000; ++i) CHECK(visited.insert(std::vector<std::uint32_t>{i, i % 7}, i).is_new);
  CHECK(visited.insert(std::vector<std::uint32_t>{1, 2, 3}, 0).is_new);
  CHECK(!visited.insert(std::vector<std::uint32_t>{8, 1, 0}, 0).is_new);
  CHECK(visited.contains(std::vector<std::uint32_t>{4999, 4999 % 7}));
  visited.become_compact(4990);
  CHECK(!visited.insert(std::vector<std::uint32_t>{8, 1}, 0).is_new);
  CHECK(visited.insert(std::vector<std::uint32_t>{9, 9}, 0).is_new);
  CHECK(visited[4990][0] == 4990);
  CHECK(visited[5001][1] == 9);
}
