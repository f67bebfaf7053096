// The console log files of one machine, in memory. They outlive daemons; followers are of one life.
#pragma once

#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/services/console_files.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>

namespace pvc::sim {

class sim_console_files final : public services::console_files {
public:
    explicit sim_console_files(async::timers& clock) : clock_(clock) {}

    // --- what the hypervisor and the log rotation do; each tells the followers ---
    void append(const std::string& path, std::string_view text);
    void truncate(const std::string& path);
    // Renamed away, and a new one in its place.
    void replace(const std::string& path, const std::string& text);
    void remove(const std::string& path);
    void touch(const std::string& path);  // nothing but its time changed
    [[nodiscard]] std::optional<std::string> content(const std::string& path) const;

    bool cut = false;              // a killed daemon: nothing that it still does reaches the files
    std::optional<failure> fails;  // while set: what ensure and read_end answer
    bool hangs = false;            // they end at their deadline
    duration read_time = std::chrono::milliseconds(1);
    [[nodiscard]] std::size_t reads() const { return reads_; }
    [[nodiscard]] std::size_t followers(const std::string& path) const;

    async::awaitable<result<void>> ensure(std::string path, time_point deadline) override;
    std::unique_ptr<services::followed_file> follow(std::string path, async::wakeup& changed) override;
    async::awaitable<result<std::string>> read_end(std::string path, std::size_t lines, std::size_t bytes,
                                                   time_point deadline) override;

private:
    class follower;
    async::awaitable<result<void>> reach(std::string path, time_point deadline);
    void tell(const std::string& path);

    async::timers& clock_;
    std::map<std::string, std::string> files_;
    std::multimap<std::string, follower*> followers_;
    std::size_t reads_ = 0;
};

}  // namespace pvc::sim
