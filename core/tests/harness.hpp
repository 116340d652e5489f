// A minimal test harness: TEST(name) { … } registers a test, CHECK and CHECK_THROWS record failures and go on.
#pragma once

#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

struct Test {
  std::string_view name;
  void (*body)();
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

inline int& failures() {
  static int count = 0;
  return count;
}

struct Registration {
  Registration(std::string_view name, void (*body)()) { tests().push_back({name, body}); }
};

inline void fail(const char* file, int line, std::string_view what) {
  std::cerr << file << ':' << line << ": " << what << '\n';
  ++failures();
}

template <class Exception, class Action>
void check_throws(const char* file, int line, std::string_view expected, Action action) {
  try {
    action();
    fail(file, line, "nothing was thrown");
  } catch (const Exception& error) {
    if (std::string_view(error.what()).find(expected) == std::string_view::npos)
      fail(file, line, std::string("the message is: ").append(error.what()));
  }
}

}  // namespace harness

#define TEST(name)                                                        \
  static void test_##name();                                              \
  static const harness::Registration registration_##name(#name, test_##name); \
  static void test_##name()

#define CHECK(condition)                                            \
  do {                                                              \
    if (!(condition)) harness::fail(__FILE__, __LINE__, #condition); \
  } while (false)

// The message of the exception must contain `expected`.
#define CHECK_THROWS(Exception, expected, action) \
  harness::check_throws<Exception>(__FILE__, __LINE__, expected, [&] { action; })
