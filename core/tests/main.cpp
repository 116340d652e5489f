#include "harness.hpp"

int main() {
  for (const harness::Test& test : harness::tests()) {
    const int before = harness::failures();
    test.body();
    if (harness::failures() != before) std::cerr << "in test " << test.name << '\n';
  }
  std::cout << harness::tests().size() << " tests, " << harness::failures() << " failures\n";
  return harness::failures() == 0 ? 0 : 1;
}
