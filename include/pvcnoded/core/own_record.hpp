// The keys below this node's own entry that only this node writes: its figures in each tick, and what must be known at
// once (the running list). One transaction at a time, so that two writes of this daemon never overtake each other; what
// somebody else changed or deleted is noticed by the versions that each tick checks, and repaired.
// Lives as long as its session; loop thread only. A cancelled write is left unknown, and read again at the next tick.
// Specification: node-lifecycle.md 6.2 to 6.4; zookeeper-schema.md 3.2.
#pragma once

#include "pvcnoded/async/semaphore.hpp"
#include "pvcnoded/model/key_value.hpp"
#include "pvcnoded/policy/membership/own_keys.hpp"
#include "pvcnoded/zookeeper/client.hpp"

#include <functional>
#include <string>
#include <vector>

namespace pvc::core {

struct session;

class own_record {
public:
    explicit own_record(session& s) : session_(s) {}
    own_record(const own_record&) = delete;
    own_record& operator=(const own_record&) = delete;

    // Writes one own key now, beside the ticks, in one transaction with `more`. `text` is asked when the write is sent.
    // Errors: timed_out (another write had not ended by the deadline: nothing was sent), and those of a commit, which
    // may be of either part.
    async::awaitable<result<zookeeper::commit_reply>> write(std::string_view suffix, std::function<std::string()> text,
                                                            time_point deadline, zookeeper::transaction more = {});

    // What a tick wants its keys to be: the first `constant_count` never change of themselves.
    struct wanted_keys {
        std::vector<model::key_value> keys;
        std::size_t constant_count = 0;
    };
    // One transaction that sets what is another and checks the rest; what is in the way is said in the log, left out,
    // and repaired at the next tick. `make` is asked when the turn has come.
    async::awaitable<void> write_all(std::function<const wanted_keys&()> make, time_point deadline);

    // Nothing is known of what stands there: all of it is read again at the next tick. `with_entry`: nor of the
    // entry itself, whose keys this node has just created.
    void forget(bool with_entry = false);

private:
    async::awaitable<void> write_wanted(const wanted_keys& wanted, time_point deadline);
    void take_answer(const policy::own_keys_plan& plan, const zookeeper::commit_reply& answer);
    bool take_refusal(const failure& error);
    async::awaitable<void> read_repairs(time_point deadline);
    async::awaitable<void> notice_recreated_keys(time_point deadline);
    void warn_of_foreign_values(const wanted_keys& wanted, const policy::own_keys_plan& plan);

    session& session_;
    async::mutex writing_;
    policy::own_keys keys_;
    std::vector<zookeeper::set_handle> sets_;  // of the transaction of a tick; kept for its memory
    std::string told_unwritten_;               // at the last tick
    std::vector<std::string> told_;            // keys whose repair was announced already
    bool read_again_ = false;                  // keys of the entry came or went: read all after this tick's checks
    bool reread_ = false;                      // that reading is due in this tick
    std::int64_t entry_created_ = 0;           // identity of the entry, and how often children of it came and went,
    std::int32_t entry_children_ = 0;          // when the own keys were read last
};

}  // namespace pvc::core
