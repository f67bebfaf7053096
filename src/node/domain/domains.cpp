#include "pvcnoded/node/domains.hpp"

#include "domain/manager.hpp"

#include "pvcnoded/async/task_group.hpp"

#include <algorithm>

namespace pvc::node {

domains::domains(node_context& node) : manager_(std::make_unique<manager>(node)) {}
domains::~domains() = default;

async::awaitable<void> domains::run_hypervisor() {
    co_await async::with_task_group("hypervisor", [this](async::task_group& group) -> async::awaitable<void> {
        group.spawn("connection", [this] { return manager_->machine.run(); });
        group.spawn("migrations", [this] { return manager_->calls.run(); });
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
async::awaitable<void> domains::clean_up_after_fence(session& s, std::function<bool()> goes_on) {
    return manager_->clean_up_after_fence(s, std::move(goes_on));
}
bool domains::owns(const uuid& id) const {
    return manager_->owns(id);
}
async::awaitable<result<void>> domains::execute(model::domain_command what, command_guard guard, time_point deadline) {
    return manager_->execute(std::move(what), std::move(guard), deadline);
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

async::latest<bool>& domains::opened() {
    return manager_->opened;
}
std::vector<uuid> domains::present() const {
    std::vector<uuid> all = manager_->list.all();
    for (const auto& id : manager_->observed.present()) {
        const domain_row* row = manager_->table.find(id);
        if (row != nullptr && row->is_present && !manager_->list.contains(id)) {
            all.push_back(id);
        }
    }
    // Those that are about to be started here, after a loss of power for one.
    for (const auto& [id, row] : manager_->table.rows()) {
        const bool is_to_run = row.is_known && row.is_present && row.is_owner &&
                               (row.state == model::vm_state::start || row.state == model::vm_state::restart);
        if (is_to_run && std::ranges::find(all, id) == all.end()) {
            all.push_back(id);
        }
    }
    return all;
}
const std::vector<uuid>& domains::listed() const {
    return manager_->list.all();
}
std::vector<std::string> domains::listed_names() const {
    std::vector<std::string> names;
    for (const auto& id : manager_->list.all()) {
        const domain_row* row = manager_->table.find(id);
        const bool has_name = row != nullptr && row->here && !row->here->name.empty();
        names.push_back(has_name ? shown(row->here->name) : to_text(id));
    }
    return names;
}
std::vector<uuid> domains::strangers() const {
    std::vector<uuid> all = manager_->observed.present();
    std::erase_if(all, [this](const uuid& id) {
        const domain_row* row = manager_->table.find(id);
        return row != nullptr && row->is_present;
    });
    return all;
}
async::latest<std::uint64_t>& domains::list_writes() {
    return manager_->list.published();
}
arrivals& domains::arrived_here() {
    return manager_->arrived_here;
}

}  // namespace pvc::node
