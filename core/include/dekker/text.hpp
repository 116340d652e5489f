#pragma once

#include <sstream>
#include <string>

namespace dekker {

// All parts, written one after the other.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

}  // namespace dekker
