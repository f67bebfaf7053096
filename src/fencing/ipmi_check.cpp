#include "pvcnoded/fencing/ipmi_check.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/fencing/board_entry.hpp"
#include "pvcnoded/policy/fencing/power_answer.hpp"

#include <fmt/format.h>

namespace pvc::fencing {

using namespace std::chrono_literals;

namespace {

constexpr std::string_view host_key = "/ipmihostname";
constexpr duration slow_from = 2s;  // is said
constexpr duration said_every = 1h;
constexpr duration asked_again = 5min;  // a board that is silent, or does not tell its GUID
constexpr duration pause = 1s;          // somebody may write the key all the time

// Why it does not count as reachable; empty: it does.
std::string trouble_in(const result<power::board_answer>& heard) {
    if (!heard) {
        return heard.error().text();
    }
    const auto read = policy::read_power(heard->status, heard->output, heard->errors);
    if (!heard->status) {
        return fmt::format("no answer within {} s", power::command_limit / 1s);
    }
    if (read.power == policy::board_power::off) {
        return R"(expected "Chassis Power is on", got "Chassis Power is off")";
    }
    return read.why;
}

}  // namespace

// Its key is this node's own: what a client writes there is no matter while the node knows better.
class withdrawal final : public core::session_part {
public:
    withdrawal(core::session& s, ipmi_check& owner) : session_(s), owner_(owner) {}

    async::awaitable<void> run() override {
        const async::latest<bool>::observer changes(owner_.is_foreign_, changed_);
        while (!owner_.is_foreign_.value()) {
            co_await changed_.wait(async::wait_note::work("a board that is another's"));
        }
        const async::latest<std::uint64_t>::observer ticks(session_.ticks, changed_);
        const auto key = session_.watches.add(session_.own(host_key), zookeeper::watch_kind::data, changed_);
        for (;;) {
            co_await changed_.wait(async::wait_note::work("a board's name in this node's keys"));
            if (!key->present() || key->is_outdated() || key->data().empty()) {
                continue;
            }
            zookeeper::transaction write;
            write.set(key->path(), "", key->stat().version);
            const auto done = co_await session_.zk.commit(session_.limit(), std::move(write));
            if (!done) {
                session_.watches.refresh(*key);
            }
            co_await async::sleep_for(session_.node.clock(), pause, "the next look at this node's key");
            changed_.notify();
        }
    }

private:
    core::session& session_;
    ipmi_check& owner_;
    async::wakeup changed_;
};

std::unique_ptr<core::session_part> ipmi_check::begin(core::session& s) {
    return std::make_unique<withdrawal>(s, *this);
}

std::span<const std::string_view> ipmi_check::figure_keys() const {
    return {&host_key, 1};
}

void ipmi_check::put(core::figure_sheet& sheet) const {
    sheet.add(host_key, is_foreign_.value() ? std::string() : node_.config->ipmi.host);
}

async::awaitable<result<void>> ipmi_check::prepare(core::preparation in) {
    in.attempt.spawn("ipmi check", [this] { return look(); });
    co_return result<void>();
}

async::awaitable<void> ipmi_check::look() {
    // Whatever it says of the power: a board that says `off` of a host that runs is likely to be another's.
    co_await ask_power();
    for (;;) {
        const auto own = co_await board_.ask_own_guid(power::command_limit);
        if (!own || own->status != 0) {  // there is none, or its driver or the board is not ready yet
            co_await async::sleep_for(node_.clock(), said_every, "the next question to this host's own interface");
            continue;
        }
        const auto which = co_await ask_which(policy::read_board_guid(own->status, own->output));
        if (!which) {
            co_await async::sleep_for(node_.clock(), asked_again, "the next question whose board it is");
            continue;
        }
        if (which->empty()) {
            co_return;
        }
        is_foreign_.set(true);
        node_.log.error(
            message::ipmi_foreign,
            fmt::format("IPMI interface {} is not that of this node ({}): who fenced this node would switch "
                        "off another; no other node is told of it",
                        shown(node_.config->ipmi.host), *which));
        co_await async::sleep_for(node_.clock(), said_every, "the next look at a board that is another's");
    }
}

power::board_access ipmi_check::access() const {
    const auto& own = node_.config->ipmi;
    return {own.host, own.user, own.pass, own.cipher_suite, false};
}

async::awaitable<void> ipmi_check::ask_power() {
    const std::string host = shown(node_.config->ipmi.host);
    const auto heard =
        co_await board_.ask(access(), power::board_command::status, boot_time::max(), power::command_limit);
    if (const auto trouble = trouble_in(heard); !trouble.empty()) {
        node_.log.warning(message::ipmi_unreachable,
                          fmt::format("IPMI interface {} of this node cannot be used ({}): no other node could fence "
                                      "this one through it",
                                      host, trouble));
        co_return;
    }
    if (heard->took > slow_from) {
        node_.log.warning(
            message::ipmi_slow,
            fmt::format("IPMI interface {} of this node answers only after {} s; fencing.ipmi.cipher_suite "
                        "on the nodes that ask may make it faster",
                        host, heard->took / 1s));
    } else {
        node_.log.ok("IPMI interface " + host + " of this node answers");
    }
}

// In words: the two GUIDs, if they differ. Empty: they agree, or this host or the board has none. Nothing: it did not
// say.
async::awaitable<std::optional<std::string>> ipmi_check::ask_which(std::string here) {
    if (here.empty()) {
        co_return std::string();
    }
    const auto heard =
        co_await board_.ask(access(), power::board_command::guid, boot_time::max(), power::command_limit);
    if (!heard || heard->status != 0) {
        co_return std::nullopt;
    }
    const std::string there = policy::read_board_guid(heard->status, heard->output);
    if (there.empty() || there == here) {
        co_return std::string();
    }
    co_return fmt::format("its GUID is {}, that of this host's board {}", there, here);
}

}  // namespace pvc::fencing
