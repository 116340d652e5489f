// What a supervisor outside of all searches asks of them: to stop, soon. Every loop that may be long looks at it.
#pragma once

#include <atomic>
#include <cstdint>

namespace dekker {

enum class StopRequest : std::uint8_t { nothing, time, memory };

// Of the whole process.
inline std::atomic<StopRequest> stop_request = StopRequest::nothing;

// Thrown where there is no way to stop in good order, and nothing is lost that counts.
struct StopRequested {};

inline bool is_asked_to_stop() { return stop_request.load(std::memory_order_relaxed) != StopRequest::nothing; }

// Whoever describes what was found goes on to the end.
class Patience {
 public:
  Patience() { is_patient_ = true; }
  ~Patience() { is_patient_ = false; }
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

  static bool is_patient() { return is_patient_; }

 private:
  static inline thread_local bool is_patient_ = false;
};

inline void require_time() {
  if (is_asked_to_stop() && !Patience::is_patient()) throw StopRequested{};
}

}  // namespace dekker
