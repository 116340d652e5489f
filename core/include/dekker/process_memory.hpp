// How much memory the process holds.
#pragma once

#include <cstdint>

namespace dekker {

// Resident bytes, or the largest so far where the system does not tell the present number.
std::uint64_t process_memory();

}  // namespace dekker
