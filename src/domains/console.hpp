// The console log of one domain: what its file ends with, published in `consolelog` while this node runs it.
// Specification: vm-domains.md 10.
#pragma once

#include "pvcnoded/base/uuid.hpp"
#include "pvcnoded/core/session.hpp"
#include "pvcnoded/policy/domains/console_pace.hpp"
#include "pvcnoded/services/console_files.hpp"

#include <memory>
#include <optional>
#include <string>

namespace pvc::domains {

class domain_table;

class console_watch {
public:
    // What every publication is conditional on: that nobody else has the domain by now, whose console it would
    // overwrite.
    class ownership {
    public:
        ownership(domain_table& table, uuid id);
        // Empty: it is another node's.
        [[nodiscard]] std::optional<zookeeper::transaction> checks() const;
        // After a conflict: reads whose it is now.
        async::awaitable<void> refresh();

    private:
        domain_table& table_;
        uuid id_;
        std::string state_key_;
    };
    // `pace` is of all consoles of the node, and outlives them.
    console_watch(services::console_files& files, policy::console_pace& pace, std::string path, std::string key,
                  std::size_t lines, ownership owner);
    console_watch(const console_watch&) = delete;
    console_watch& operator=(const console_watch&) = delete;
    ~console_watch();

    // Publishes until ask_end(), the last lines included: a child of the session scope.
    static async::awaitable<void> run(std::shared_ptr<console_watch> self, core::session& s);
    void ask_end();
    // Nothing is published from now on: the domain is being deleted.
    void silence() { is_silent_ = true; }
    // Suspends until run() has ended, or the deadline.
    async::awaitable<void> wait_end(async::timers& clock, time_point deadline);
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    async::awaitable<std::size_t> publish(core::session& s);  // bytes that were sent
    async::awaitable<bool> write(core::session& s, const std::string& text);
    async::awaitable<void> wait_for_turn(async::timers& clock);

    services::console_files& files_;
    policy::console_pace& pace_;
    std::string path_;
    std::string key_;
    std::size_t lines_;
    ownership owner_;
    std::size_t written_ = 0;  // bytes of the last publication
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

}  // namespace pvc::domains
