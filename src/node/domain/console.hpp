// The console log of one machine: what its file ends with, published in `consolelog` while this node runs it.
// Specification: vm-domains.md 10.
#pragma once

#include "pvcnoded/node/session.hpp"
#include "pvcnoded/services/console_files.hpp"

#include <memory>
#include <string>

namespace pvc::node {

class console_watch {
public:
    console_watch(services::console_files& files, std::string path, std::string key, std::size_t lines);
    console_watch(const console_watch&) = delete;
    console_watch& operator=(const console_watch&) = delete;
    ~console_watch();

    // Publishes until ask_end(), the last lines included: a child of the session scope.
    static async::awaitable<void> run(std::shared_ptr<console_watch> self, session& s);
    void ask_end();
    // Nothing is published from now on: the domain is being deleted.
    void silence() { is_silent_ = true; }
    // Suspends until run() has ended, or the deadline.
    async::awaitable<void> wait_end(async::timers& clock, time_point deadline);
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    async::awaitable<void> publish(session& s);

    services::console_files& files_;
    std::string path_;
    std::string key_;
    std::size_t lines_;
    std::string last_;         // what was published
    bool knows_last_ = false;  // or read from the key
    bool told_ = false;
    bool must_end_ = false;
    bool is_silent_ = false;
    bool has_ended_ = false;
    async::wakeup changed_;
    async::wakeup ended_;
    std::unique_ptr<services::followed_file> file_;
};

}  // namespace pvc::node
