#pragma once

#include <cstddef>

// How often memory has been allocated since the start of the tests.
std::size_t allocation_count();
