// What may be computed from addresses that change with the names of threads.
#include "harness.hpp"
#include "rsmc/told_addresses.hpp"

using namespace dekker;
using namespace dekker::rsmc;

namespace {

constexpr Address heaps = Address{1} << 40, heap_size = Address{1} << 32, heaps_end = Address{1} << 48;
constexpr Address of_one = heaps + heap_size + 64, of_two = heaps + 2 * heap_size + 64;
constexpr Address array = 4096;

OwnPlaces places_with_array() {
  OwnPlaces places(heaps, heap_size, heaps_end);
  places.share_out({{{array, 48}, 16, {0, array, array + 16}}});
  return places;
}

}  // namespace

TEST(places_of_two_threads_are_the_same_if_their_offsets_are) {
  const OwnPlaces places = places_with_array();
  CHECK(places.find(1, of_one) == places.find(2, of_two));
  CHECK(places.find(1, array + 8) == places.find(2, array + 24));
  CHECK(places.find(1, array + 8) != places.find(2, array + 16));
  CHECK(!places.find(1, of_two));
  CHECK(!places.find(1, array + 16));
  CHECK(!places.find(0, array));
}

TEST(addresses_in_the_same_memory_may_be_computed_and_compared) {
  const OwnPlaces places = places_with_array();
  const ToldAddresses told(places);
  CHECK(!told.by(BinaryOperator::add, 64, of_one, 8));
  CHECK(!told.by(BinaryOperator::sub, 64, of_one + 8, of_one));
  CHECK(!told.by(BinaryOperator::eq, 64, of_one, of_two));
  CHECK(!told.by(BinaryOperator::ult, 64, of_one, of_one + 8));
  CHECK(!told.by(BinaryOperator::bit_and, 64, of_one, ~Value{7}));
  CHECK(!told.by(BinaryOperator::bit_or, 64, of_one, 1));
  CHECK(!told.by(UnaryOperator::zext, 32, of_one));
  CHECK(!told.by(BinaryOperator::mul, 32, of_one, 3));
  CHECK(!told.by(BinaryOperator::add, 64, array + 16, 8));
  CHECK(!told.by(BinaryOperator::bit_and, 64, array, 0));
  CHECK(!told.by(BinaryOperator::bit_xor, 64, of_one, of_one));
  CHECK(!told.by(UpdateOperator::exchange, 64, of_one, of_two));
}

TEST(what_depends_on_where_the_memory_of_a_thread_lies_is_noticed) {
  const OwnPlaces places = places_with_array();
  const ToldAddresses told(places);
  CHECK(told.by(BinaryOperator::add, 64, of_one, heap_size));
  CHECK(told.by(BinaryOperator::sub, 64, of_two, of_one));
  CHECK(told.by(BinaryOperator::ult, 64, of_one, of_two));
  CHECK(told.by(BinaryOperator::lshr, 64, of_one, 32));
  CHECK(told.by(BinaryOperator::urem, 64, of_one, 7));
  CHECK(told.by(BinaryOperator::bit_xor, 64, of_one, of_two));
  CHECK(told.by(UnaryOperator::neg, 64, of_one));
  CHECK(told.by(UpdateOperator::umax, 64, of_one, 0));
  CHECK(told.by(BinaryOperator::add, 64, array + 8, 8));
  CHECK(told.by(BinaryOperator::ult, 64, array, array + 16));
  CHECK(told.by(UnaryOperator::zext, 8, array));
  CHECK(told.by_making(array - 8, 16, array + 8));
  CHECK(!told.by_making(array, 8, array + 8));
  CHECK(!told.by_making(array - 8, 4, array - 4));
}
