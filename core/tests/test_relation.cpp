#include "dekker/relation.hpp"

#include "harness.hpp"
#include "naive.hpp"

using namespace dekker;
using naive::Event;
using naive::events_of;
using naive::Pairs;
using naive::pairs_of;

namespace {

// Calls `test` on random relations of every size, sparse ones and dense ones.
template <class Test>
void with_random_relations(Test test) {
  std::mt19937 random(20240229);
  for (const std::size_t n : naive::sizes)
    for (const double degree : {0.5, 1.0, 1.5, 20.0}) {
      const Relation left = naive::random_relation(n, degree, random);
      const Relation right = naive::random_relation(n, degree, random);
      test(n, left, right);
    }
}

template <class Operation>
Pairs result(std::size_t n, Operation operation) {
  Relation out(n);
  out.fill();  // whatever was there before must not shine through
  operation(out);
  return pairs_of(out);
}

}  // namespace

TEST(union_intersection_difference) {
  with_random_relations([](std::size_t n, const Relation& a, const Relation& b) {
    Pairs both, either = pairs_of(a), only_left;
    either.merge(pairs_of(b));
    for (const auto& pair : pairs_of(a)) (pairs_of(b).contains(pair) ? both : only_left).insert(pair);
    CHECK(result(n, [&](Relation& out) { unite(out, a, b); }) == either);
    CHECK(result(n, [&](Relation& out) { intersect(out, a, b); }) == both);
    CHECK(result(n, [&](Relation& out) { subtract(out, a, b); }) == only_left);
  });
}

TEST(complement_has_the_other_pairs_and_no_others) {
  with_random_relations([](std::size_t n, const Relation& a, const Relation&) {
    Relation other(n), again(n);
    complement(other, a);
    complement(again, other);
    CHECK(again == a);
    CHECK(pairs_of(a).size() + pairs_of(other).size() == n * n);
    intersect(other, other, a);
    CHECK(is_empty(other));
  });
}

TEST(composition_and_inverse) {
  with_random_relations([](std::size_t n, const Relation& a, const Relation& b) {
    CHECK(result(n, [&](Relation& out) { compose(out, a, b); }) == naive::composed(pairs_of(a), pairs_of(b)));
    Pairs backwards;
    for (const auto& [from, to] : pairs_of(a)) backwards.emplace(to, from);
    CHECK(result(n, [&](Relation& out) { invert(out, a); }) == backwards);
  });
}

TEST(closures) {
  with_random_relations([](std::size_t n, const Relation& a, const Relation&) {
    const Pairs plus = naive::closed(pairs_of(a));
    CHECK(result(n, [&](Relation& out) { transitive_closure(out, a); }) == plus);
    CHECK(result(n, [&](Relation& out) { reflexive_transitive_closure(out, a); }) ==
          naive::united(plus, naive::diagonal(n)));
    CHECK(result(n, [&](Relation& out) { reflexive_closure(out, a); }) ==
          naive::united(pairs_of(a), naive::diagonal(n)));
  });
}

TEST(closure_in_place) {
  with_random_relations([](std::size_t n, const Relation& a, const Relation&) {
    Relation expected(n), in_place = a;
    transitive_closure(expected, a);
    transitive_closure(in_place, in_place);
    CHECK(in_place == expected);
  });
}

TEST(domain_and_range) {
  with_random_relations([](std::size_t n, const Relation& a, const Relation&) {
    naive::Set sources, targets;
    for (const auto& [from, to] : pairs_of(a)) {
      sources.insert(from);
      targets.insert(to);
    }
    EventSet out(n);
    out.fill();
    domain(out, a);
    CHECK(events_of(out) == sources);
    range(out, a);
    CHECK(events_of(out) == targets);
  });
}

TEST(identity_and_cross_product) {
  std::mt19937 random(7);
  for (const std::size_t n : naive::sizes) {
    const EventSet s = naive::random_set(n, random);
    const EventSet t = naive::random_set(n, random);
    Pairs identity, product;
    for (const Event from : events_of(s)) {
      identity.emplace(from, from);
      for (const Event to : events_of(t)) product.emplace(from, to);
    }
    CHECK(result(n, [&](Relation& out) { identity_on(out, s); }) == identity);
    CHECK(result(n, [&](Relation& out) { cross(out, s, t); }) == product);
  }
}

TEST(properties) {
  with_random_relations([](std::size_t, const Relation& a, const Relation& b) {
    CHECK(is_empty(a) == pairs_of(a).empty());
    CHECK(is_irreflexive(a) == naive::is_irreflexive(pairs_of(a)));
    CHECK(is_acyclic(a) == naive::is_irreflexive(naive::closed(pairs_of(a))));
    CHECK((a == b) == (pairs_of(a) == pairs_of(b)));
  });
}

TEST(acyclic_until_one_pair_closes_a_cycle) {
  std::mt19937 random(11);
  PathScratch scratch;
  for (const std::size_t n : naive::sizes)
    for (int round = 0; round < 20; ++round) {
      Relation upwards = naive::random_relation(n, 3.0, random, true);
      CHECK(is_acyclic(upwards, scratch));
      if (n < 2) continue;
      const Event low = random() % (n - 1);
      const Event high = low + 1 + random() % (n - 1 - low);
      upwards.insert(high, low);
      CHECK(is_acyclic(upwards, scratch) == naive::is_irreflexive(naive::closed(pairs_of(upwards))));
    }
}

TEST(one_long_cycle) {
  for (const std::size_t n : naive::sizes) {
    if (n == 0) continue;
    Relation cycle(n);
    for (Event e = 0; e + 1 < n; ++e) cycle.insert(e + 1, e);
    CHECK(is_acyclic(cycle));
    cycle.insert(0, n - 1);
    CHECK(!is_acyclic(cycle));
  }
}

TEST(full_relation_and_full_set_stay_within_the_events) {
  for (const std::size_t n : naive::sizes) {
    Relation relation(n);
    relation.fill();
    CHECK(pairs_of(relation).size() == n * n);
    EventSet set(n);
    set.fill();
    CHECK(events_of(set).size() == n);
    complement(set, set);
    CHECK(is_empty(set));
    complement(relation, relation);
    CHECK(is_empty(relation));
  }
}

TEST(too_many_events) { CHECK_THROWS(std::length_error, "too many events", Relation(std::size_t{1} << 40)); }
