// The actor of one session: one job at a time, as own `domainstate` says (pvcnoded/domains/drain.hpp).
#pragma once

#include "pvcnoded/async/condition.hpp"
#include "pvcnoded/core/subject.hpp"
#include "pvcnoded/domains/drain.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace pvc::domains {

class domain_subject;

class drain_actor final : public core::session_part {
public:
    // `view` is kept as it is; it must outlive this.
    drain_actor(core::session& s, domain_subject* here, drain_view& view);

    async::awaitable<void> run() override;
    void open() override;
    // Nothing new is begun; waits for the running job, and cancels it when the deadline passes.
    async::awaitable<void> stop(time_point deadline) override;

private:
    // What the key says; empty: nothing, or no known word.
    [[nodiscard]] std::optional<model::domain_state> stored() const;
    [[nodiscard]] bool has_order() const;
    [[nodiscard]] bool has_arrivals() const;
    [[nodiscard]] bool is_ready_for_nothing() const;
    void keep_what_was_found();
    async::awaitable<void> work_off(model::domain_state order);
    async::awaitable<void> perform(model::domain_state order, std::int64_t given);
    async::awaitable<void> wait_looked_at();
    void report_unknown_word();

    core::session& session_;
    domain_subject* here_;
    drain_view& view_;
    async::wakeup changed_;
    async::condition job_ended_;  // for stop()
    std::unique_ptr<zookeeper::watched> order_;
    async::task_group* job_ = nullptr;
    model::domain_state job_order_ = model::domain_state::ready;
    std::int64_t settled_ = 0;  // orders up to this transaction were dealt with
    std::uint64_t told_ = 0;    // changes of the key that were looked at for unknown words
    bool is_found_ = false;     // the key was read once
    bool is_open_ = false;
    bool is_closing_ = false;
};

}  // namespace pvc::domains
