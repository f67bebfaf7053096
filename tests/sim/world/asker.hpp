// One program that asks a simulated daemon, well or badly: what it sends and reads in each of its turns, and whether
// what comes is what it must be.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/base/random.hpp"
#include "pvcnoded/protocol/messages.hpp"
#include "sim/sim_sockets.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace pvc::sim {

// What a program sees of the machine on which it runs.
struct asked_view {
    time_point now{};
    time_point stood_still{};  // until then the daemon could not answer
    int life = 0;
    bool is_running = false;
};

class asker {
public:
    using counts = std::map<std::string, std::uint64_t>;
    enum class manner : std::uint8_t {
        proper,    // asks, reads the answer at once, asks again or leaves
        several,   // at once
        halves,    // sends in pieces, some never the last one
        garbage,   // and nothing else
        leaver,    // hangs up before the answer is read
        slow,      // reads a few bytes a turn
        follower,  // of the log, quick or slow
        stranger,  // may not ask
        web,       // asks for pages, properly
        web_bad,   // halves, garbage, bodies, other methods, slow reading
    };
    static constexpr std::uint64_t manners = 10;

    asker(manner how, std::unique_ptr<sim_client> way, random_source random, const asked_view& seen);
    // Null: it could not connect.
    static std::unique_ptr<asker> come(manner how, sim_local_sockets& local, const std::string& path,
                                       sim_tcp_sockets& tcp, std::uint16_t port, random_source random,
                                       const asked_view& seen);

    // Sends, reads and judges. False: it has gone.
    bool turn(const asked_view& seen, counts& told);
    // What was wrong.
    [[nodiscard]] const std::optional<std::string>& broken() const { return broken_; }

private:
    void ask_one(std::string_view name);
    void prepare_local();
    void prepare_web();
    void take_lines(counts& told);
    void take_line(std::string_view line, counts& told);
    void take_refusal(const protocol::answer& got, counts& told);
    void take_pages(counts& told);
    [[nodiscard]] bool take_page(counts& told);
    void judge_silence(const asked_view& seen);
    void end(const asked_view& seen, counts& told);
    [[nodiscard]] bool is_patient() const;
    [[nodiscard]] bool is_web() const { return how_ == manner::web || how_ == manner::web_bad; }

    struct expected {
        std::int64_t id = 0;
        std::string name;  // of the request, or the path of the page
    };
    manner how_;
    std::unique_ptr<sim_client> way_;
    random_source random_;
    std::string unsent_;
    std::string got_;
    std::deque<expected> due_;
    std::size_t sends_ = std::string::npos;  // bytes a turn
    std::size_t reads_ = std::string::npos;
    std::uint64_t turns_left_ = 40;
    std::int64_t last_id_ = 0;
    time_point asked_at_{};
    int life_;
    bool is_refused_ = false;  // told that the connection ends
    std::optional<std::string> broken_;
};

}  // namespace pvc::sim
