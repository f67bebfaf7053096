// Keeps the folder of fence records ready, says so if it cannot be written, and tells of what is in it
// (`pvcnodectl fence list`, `show`). Lives over all sessions of an attempt; reads only when it is asked. Loop thread
// only.
#pragma once

#include "pvcnoded/core/fence_desk.hpp"
#include "pvcnoded/core/subject.hpp"
#include "pvcnoded/fencing/fence_records.hpp"

#include <deque>
#include <memory>
#include <string>

namespace pvc::fencing {

class fence_archive final : public core::subject,
                            public core::prepared_subject,
                            public core::reporter,
                            public core::fence_teller {
public:
    fence_archive(core::node_context& node, std::shared_ptr<fence_records> records)
        : node_(node), records_(std::move(records)) {}

    [[nodiscard]] std::string_view name() const override { return "fence records"; }
    async::awaitable<result<void>> prepare(core::preparation in) override;
    async::awaitable<void> end(time_point deadline) override;
    void report(std::vector<std::string>& lines) const override;
    std::shared_ptr<core::awaited_explanation> list_fences(time_point until) override;
    std::shared_ptr<core::awaited_explanation> show_fence(std::string which, time_point until) override;

private:
    using asked = std::shared_ptr<core::awaited_explanation>;
    struct question {
        std::string which;  // empty: all
        asked answer;
    };

    asked ask(std::string which);
    async::awaitable<void> serve();
    // One that an earlier daemon did not bring to its end is under way no more: it may have been gone on with.
    async::awaitable<result<model::fence_record>> read_one(std::string id) const;
    async::awaitable<result<core::explanation>> list() const;
    async::awaitable<result<core::explanation>> show(std::string which) const;
    async::awaitable<result<core::explanation>> show_youngest(std::string node) const;

    core::node_context& node_;
    std::shared_ptr<fence_records> records_;
    std::deque<question> questions_;
    async::wakeup changed_;
    bool is_serving_ = false;
    model::fence_moment began_{};  // this daemon
    std::string trouble_;          // why no record could be written at the start
};

}  // namespace pvc::fencing
