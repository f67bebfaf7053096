#include "pvcnoded/role/role_services.hpp"

#include "api_service.hpp"
#include "database_claim.hpp"

namespace pvc::role {

role_services::role_services(core::node_context& node, async::process_runner& processes)
    : api_(node.config->functions.api ? std::make_unique<api_service>(node) : nullptr),
      database_(std::make_unique<database_claim>(node, processes)) {}

role_services::~role_services() = default;

async::awaitable<result<void>> role_services::prepare(core::preparation in) {
    if (api_) {
        in.attempt.spawn("the API service", [this] { return api_->run(); });
    }
    in.attempt.spawn("the database's leader", [this] { return database_->run(); });
    co_return result<void>();
}

async::awaitable<void> role_services::end(time_point deadline) {
    if (api_) {
        co_await api_->wait_disabled(deadline);
    }
}

async::awaitable<void> role_services::take_up(policy::role_phase which, core::session& /*s*/) {
    if (which != policy::role_phase::g) {
        co_return;
    }
    co_await async::with_task_group("services", [this](async::task_group& group) -> async::awaitable<void> {
        if (api_) {
            group.spawn("the API service", [this] { return api_->take_up(); });
        }
        group.spawn("the database's leader", [this] { return database_->take_up(); });
        co_return;
    });
}

async::awaitable<void> role_services::give_up(policy::role_phase which, core::session* /*s*/) {
    // With the first phase that is given up, whichever: the next primary asks Patroni for the same.
    database_->give_up();
    if (api_ && which == policy::role_phase::b_after) {
        api_->give_up();
    }
    co_return;
}

bool role_services::is_database_ours() const {
    return database_->is_ours();
}

void role_services::report(std::vector<std::string>& lines) const {
    for (const auto& text : {api_ ? api_->text() : std::string(), database_->text()}) {
        if (!text.empty()) {
            lines.push_back("role services: " + text);
        }
    }
}

}  // namespace pvc::role
