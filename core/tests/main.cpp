#include "harness.hpp"

#include <algorithm>
#include <span>

// Arguments choose tests by how their names begin; without, all run.
int main(int n_arguments, char** arguments) {
  const std::span chosen(arguments + 1, static_cast<std::size_t>(n_arguments - 1));
  const auto is_chosen = [&](const harness::Test& test) {
    return chosen.empty() || std::ranges::any_of(chosen, [&](const char* start) { return test.name.starts_with(start); });
  };
  std::erase_if(harness::tests(), [&](const harness::Test& test) { return !is_chosen(test); });
  for (const harness::Test& test : harness::tests()) {
    const int before = harness::failures();
    test.body();
    if (harness::failures() != before) std::cerr << "in test " << test.name << '\n';
  }
  std::cout << harness::tests().size() << " tests, " << harness::failures() << " failures\n";
  return harness::failures() == 0 ? 0 : 1;
}
