// How long a test has waited for a processor, as the kernel counts it: what a limit on real time allows for, and what a
// busy machine took from a loop that is to have its turns.
#pragma once

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace pvc::contract {

// Of one thread; zero when it has gone.
inline std::chrono::nanoseconds waited_by(const std::filesystem::path& thread) {
    std::ifstream file(thread / "schedstat");
    std::chrono::nanoseconds::rep ran = 0;
    std::chrono::nanoseconds::rep waited = 0;
    return file >> ran >> waited ? std::chrono::nanoseconds(waited) : std::chrono::nanoseconds();
}

inline std::chrono::nanoseconds waited_by_this_thread() {
    return waited_by("/proc/thread-self");
}

// Of a process and all that it has started, of each the thread that waited longest, together.
inline std::chrono::nanoseconds waited_by_family(const std::string& process = "self") {
    std::chrono::nanoseconds longest{};
    std::chrono::nanoseconds children{};
    std::error_code gone;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/" + process + "/task", gone)) {
        longest = std::max(longest, waited_by(thread.path()));
        std::ifstream started(thread.path() / "children");
        for (std::string child; started >> child;) {
            children += waited_by_family(child);
        }
    }
    return longest + children;
}

// What the test and its servers have waited since this was made.
class granted_time {
public:
    [[nodiscard]] std::chrono::nanoseconds so_far() const {
        return std::max(waited_by_family() - before_, std::chrono::nanoseconds());
    }

private:
    std::chrono::nanoseconds before_ = waited_by_family();
};

}  // namespace pvc::contract
