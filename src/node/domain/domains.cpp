#include "pvcnoded/node/domains.hpp"

#include "domain/manager.hpp"
#include "pvcnoded/async/task_group.hpp"

// Scopes, locks and deadlines keep the callable they are given until its coroutine has ended.
// NOLINTBEGIN(cppcoreguidelines-avoid-capturing-lambda-coroutines)

namespace pvc::node {

domains::domains(node_context& node) : manager_(std::make_unique<manager>(node)) {}
domains::~domains() = default;

async::awaitable<void> domains::run_hypervisor() {
    co_await async::with_task_group("hypervisor", [this](async::task_group& group) -> async::awaitable<void> {
        group.spawn("connection", [this] { return manager_->machine.run(); });
        co_await manager_->observed.run();
    });
}

async::awaitable<void> domains::run(session& s, keepalive& beat) {
    return manager_->run(s, beat);
}
async::awaitable<bool> domains::wait_loaded(time_point deadline) {
    return manager_->wait_loaded(deadline);
}
async::awaitable<void> domains::stop(time_point deadline) {
    return manager_->stop(deadline);
}
async::awaitable<void> domains::survey(session& s, time_point deadline) {
    return manager_->survey(s, deadline);
}
const std::optional<domain_figures>& domains::figures() const {
    return manager_->figures;
}
std::optional<std::string> domains::running_text() const {
    return manager_->list.has_begun() ? std::optional(manager_->list.text()) : std::nullopt;
}
std::size_t domains::running_count() const {
    return manager_->list.all().size();
}

}  // namespace pvc::node

// NOLINTEND(cppcoreguidelines-avoid-capturing-lambda-coroutines)
