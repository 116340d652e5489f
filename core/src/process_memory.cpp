#include "dekker/process_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace dekker {

std::uint64_t process_memory() {
  std::ifstream statistics("/proc/self/statm");
  std::uint64_t total_pages = 0, resident_pages = 0;
  if (statistics >> total_pages >> resident_pages) return resident_pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
  return static_cast<std::uint64_t>(usage.ru_maxrss);
#else
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
#endif
}

}  // namespace dekker
