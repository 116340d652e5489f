// A thread that keeps limits of time and memory, whatever the others do. It never waits for Python.
//
// At a limit, searches are asked to stop (stop_request). If they, or whoever works in Python, go on for a while, or memory goes on
// growing, the main thread gets a signal again and again, from which Python makes an exception. If that does not help either,
// the process writes what was prepared for this case and ends. In a process that is not ours, there is nothing but the signal.
#include "supervision.hpp"

#include <fcntl.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "dekker/process_memory.hpp"
#include "dekker/stop_request.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace dekker {

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// A file and what is written into it; "" is standard output.
using LastWords = std::vector<std::pair<std::string, std::string>>;

constexpr int undecided_status = 3;
constexpr double grace_s = 1.0;  // until there is a signal, and from there to the end

struct Orders {
  std::optional<Clock::time_point> deadline;
  std::uint64_t memory_bytes = 0;  // 0: no limit
  bool counts_children = false;
  bool owns_process = true;  // may stop all searches, and end the process
  LastWords for_time, for_memory;
};

std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> found;
  std::error_code error;
  const std::string tasks = "/proc/" + std::to_string(process) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks, error)) {
    std::ifstream list(task.path() / "children");
    for (pid_t child = 0; list >> child;) found.push_back(child);
  }
  return found;
}

// With those of children.
std::vector<pid_t> descendants_of(pid_t process) {
  std::vector<pid_t> found = children_of(process);
  for (std::size_t i = 0; i < found.size() && found.size() < 100; ++i)
    for (const pid_t child : children_of(found[i])) found.push_back(child);
  return found;
}

std::uint64_t memory_of(pid_t process) {
  std::ifstream statistics("/proc/" + std::to_string(process) + "/statm");
  std::uint64_t total = 0, resident = 0;
  return statistics >> total >> resident ? resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

class Supervision {
 public:
  void begin(Orders orders, int signal_number) {
    const std::lock_guard hold(mutex_);
    orders_ = std::move(orders);
    signal_number_ = signal_number;
    worker_ = pthread_self();
    asked_at_.reset();
    signalled_at_.reset();
    reason_ = StopRequest::nothing;
    is_on_ = true;
    stop_request = StopRequest::nothing;
    if (!is_watched_) std::thread([this] { watch(); }).detach();
    is_watched_ = true;
    changed_.notify_one();
  }

  void end() {
    const std::lock_guard hold(mutex_);
    is_on_ = false;
    stop_request = StopRequest::nothing;
  }

  std::string reason() {
    const std::lock_guard hold(mutex_);
    return reason_ == StopRequest::memory ? "memory" : "time";
  }

 private:
  void watch() {
    std::unique_lock hold(mutex_);
    while (true) {
      if (is_on_) look();
      if (is_on_) changed_.wait_for(hold, std::chrono::milliseconds(orders_.memory_bytes != 0 ? 20 : 50));
      else changed_.wait(hold);
    }
  }

  void look() {
    const Clock::time_point now = Clock::now();
    if (orders_.deadline && now > *orders_.deadline) ask(StopRequest::time, now);
    const std::uint64_t used = orders_.memory_bytes != 0 ? memory() : 0;
    const std::uint64_t most = orders_.memory_bytes;
    if (used > most) ask(StopRequest::memory, now);
    if (!asked_at_) return;
    const bool is_late = reason_ == StopRequest::time && now - *asked_at_ > Seconds(grace_s);
    const bool grows = reason_ == StopRequest::memory && used > most + (std::uint64_t{64} << 20);
    if (!signalled_at_ && (is_late || grows)) signalled_at_ = now;
    if (!signalled_at_) return;
    const bool ignored = now - *signalled_at_ > Seconds(grace_s) || (most != 0 && used > most + most / 4 + (std::uint64_t{128} << 20));
    if (ignored && orders_.owns_process) end_process();
    if (now < next_signal_) return;
    next_signal_ = now + std::chrono::milliseconds(100);
    pthread_kill(worker_, signal_number_);
  }

  void ask(StopRequest why, Clock::time_point now) {
    if (reason_ != StopRequest::nothing) return;
    reason_ = why;
    asked_at_ = now;
    if (orders_.owns_process) stop_request = why;
  }

  std::uint64_t memory() const {
    std::uint64_t total = process_memory();
    if (orders_.counts_children)
      for (const pid_t child : descendants_of(getpid())) total += memory_of(child);
    return total;
  }

  [[noreturn]] void end_process() {
    for (const pid_t child : descendants_of(getpid())) kill(getpgid(child) == child ? -child : child, SIGKILL);
    for (const auto& [file, text] : reason_ == StopRequest::memory ? orders_.for_memory : orders_.for_time) {
      const int target = file.empty() ? STDOUT_FILENO : open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
      std::size_t done = 0;
      while (target >= 0 && done < text.size()) {
        const ssize_t n = write(target, text.data() + done, text.size() - done);
        if (n <= 0) break;
        done += static_cast<std::size_t>(n);
      }
    }
    _exit(undecided_status);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Orders orders_;
  int signal_number_ = 0;
  pthread_t worker_{};
  bool is_watched_ = false;  // there is a thread
  bool is_on_ = false;
  StopRequest reason_ = StopRequest::nothing;
  std::optional<Clock::time_point> asked_at_, signalled_at_;
  Clock::time_point next_signal_{};
};

// Never destroyed: its thread looks at it until the process is gone. A forked process has no such thread, and what it inherits
// is in the state in which that thread had it.
Supervision& supervision() {
  static Supervision* current = nullptr;
  static pid_t owner = 0;
  if (owner != getpid()) {
    owner = getpid();
    current = new Supervision;
  }
  return *current;
}

}  // namespace

void bind_supervision(nb::module_& module) {
  module.def(
      "supervise",
      [](double seconds, std::uint64_t memory_bytes, bool counts_children, bool owns_process, int signal_number,
         const LastWords& for_time, const LastWords& for_memory) {
        Orders orders{{}, memory_bytes, counts_children, owns_process, for_time, for_memory};
        if (seconds > 0) orders.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(std::min(seconds, 1e9)));
        supervision().begin(std::move(orders), signal_number);
      },
      "seconds"_a, "memory_bytes"_a, "counts_children"_a, "owns_process"_a, "signal_number"_a, "for_time"_a, "for_memory"_a);
  module.def("end_supervision", [] { supervision().end(); });
  module.def("limit_that_was_met", [] { return supervision().reason(); });
}

}  // namespace dekker
