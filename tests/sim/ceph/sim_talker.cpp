#include "sim/ceph/sim_talker.hpp"

namespace pvc::sim {

async::awaitable<result<std::string>> sim_talker::run(std::vector<std::string> arguments, conversation talk) {
    co_await async::yield();
    arguments_ = std::move(arguments);
    if (refusal) {
        co_return *refusal;
    }
    ++starts_;
    is_killed_ = false;
    std::optional<std::string> end;
    struct counted {
        sim_talker& owner;
        explicit counted(sim_talker& whose) : owner(whose) { ++owner.running_; }
        ~counted() {
            --owner.running_;
            owner.present_ = nullptr;
        }
    } const guard(*this);
    auto ends = make_stream(clock_);
    co_await async::with_task_group("program", [&](async::task_group& group) -> async::awaitable<void> {
        group.spawn("process", [&]() -> async::awaitable<void> {
            const auto theirs = std::move(ends.other);
            end = co_await played_(*theirs);
            group.cancel();
        });
        present_ = &group;
        co_await talk(*ends.one);
        group.cancel();
    });
    co_return end ? *end : std::string(is_killed_ ? "signal 9" : "killed");
}

void sim_talker::kill() {
    if (present_ != nullptr) {
        is_killed_ = true;
        present_->cancel();
    }
}

}  // namespace pvc::sim
