#include "pvcnoded/domains/domain_subject.hpp"

#include "manager.hpp"
#include "operations/shell.hpp"
#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/domains/domain_commands.hpp"
#include "pvcnoded/domains/drain.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::domains {

using namespace std::chrono_literals;

namespace {

constexpr duration probe_limit = 10s;

class domains_of_session final : public core::session_part {
public:
    domains_of_session(core::session& s, manager& owner) : session_(s), manager_(owner) {}
    async::awaitable<void> run() override { return manager_.run(session_); }
    async::awaitable<void> wait_loaded(time_point deadline) override {
        const bool is_loaded = co_await manager_.wait_loaded(deadline);
        if (!is_loaded) {
            session_.node.log.warning(message::start_domains_slow,
                                      "the virtual machines could not all be looked at within 15 s, going on");
        }
    }
    async::awaitable<void> stop(time_point deadline) override { return manager_.stop(deadline); }

private:
    core::session& session_;
    manager& manager_;
};

}  // namespace

domain_subject::domain_subject(core::node_context& node, domain_ports outside, domain_counts& counts)
    : node_(node), manager_(std::make_unique<manager>(node, outside, counts)) {}
domain_subject::~domain_subject() = default;

async::awaitable<result<void>> domain_subject::prepare(core::preparation in) {
    if (in.in_session == nullptr) {
        in.attempt.spawn("hypervisor", [this] { return manager_->run_hypervisor(); });
        co_return result<void>();
    }
    auto answered = co_await manager_->hv.probe(node_.self(), node_.clock().now() + probe_limit);
    if (!answered) {
        const failure why(errc::unavailable, "libvirt of this node", answered.error().text);
        node_.log.error(message::start_libvirt, why.text() + ", stopping");
        co_return why;
    }
    node_.log.ok("libvirt answers");
    co_return result<void>();
}

std::unique_ptr<core::session_part> domain_subject::begin(core::session& s) {
    return std::make_unique<domains_of_session>(s, *manager_);
}

std::span<const std::string_view> domain_subject::figure_keys() const {
    static constexpr std::string_view keys[] = {model::node_key::running_domains, model::node_key::mem_alloc,
                                                model::node_key::mem_prov, model::node_key::vcpu_alloc,
                                                model::node_key::domains_count};
    return keys;
}

async::awaitable<void> domain_subject::collect(core::session& s, time_point deadline) {
    return manager_->survey(s, deadline);
}

void domain_subject::put(core::figure_sheet& sheet) const {
    sheet.domains = manager_->list.all().size();
    if (manager_->list.has_begun()) {
        sheet.add(model::node_key::running_domains, manager_->list.text());
    }
    if (const auto& now = manager_->figures) {
        sheet.add(model::node_key::mem_alloc, std::to_string(now->allocated_mib));
        sheet.add(model::node_key::mem_prov, std::to_string(now->provisioned_mib));
        sheet.add(model::node_key::vcpu_alloc, std::to_string(now->vcpus));
        sheet.add(model::node_key::domains_count, std::to_string(now->active));
    }
}

async::awaitable<void> domain_subject::clean_up_after_fence(core::session& s, std::function<bool()> goes_on) {
    return manager_->clean_up_after_fence(s, std::move(goes_on));
}

void domain_subject::report(std::vector<std::string>& lines) const {
    lines.push_back(fmt::format("domains: {} known, {} in the running list, {} guests here",
                                manager_->table.rows().size(), manager_->list.all().size(),
                                manager_->observed.count()));
    // Where each operation stands; a node that is being emptied has a few of them at a time.
    constexpr std::size_t most = 100;
    for (const auto& [id, row] : manager_->table.rows()) {
        for (auto& line : explain_operation(manager_->parts, row)) {
            if (lines.size() >= most) {
                return;
            }
            lines.push_back(std::move(line));
        }
    }
}

// What belongs here or runs here has the part `here`; the rest of the cluster's domains are somebody else's to explain.
static core::machine_view view_of(const manager& all, const domain_row& row) {
    const local_domain& here = *row.here;
    core::machine_view seen;
    seen.id = row.id;
    seen.name = here.name;
    seen.state = here.word.empty() ? std::string(to_text(row.state)) : here.word;
    seen.node = row.node == nullptr ? std::string() : *row.node;
    if (const auto guest = all.observed.class_of(row.id)) {
        seen.guest = to_text(*guest);
    }
    seen.is_listed = here.listing.is_listed;
    seen.state_age = all.node.clock().now() - here.state_since;
    seen.doing = view_operation(all.parts, row);
    return seen;
}

bool domain_subject::report_machines(std::vector<core::machine_view>& all, std::size_t most) const {
    for (const auto& [id, row] : manager_->table.rows()) {
        if (!row.here) {
            continue;
        }
        if (all.size() >= most) {
            return false;
        }
        all.push_back(view_of(*manager_, row));
    }
    return true;
}

std::optional<core::machine_view> domain_subject::report_machine(std::string_view name) const {
    const auto id = parse_any_uuid(name);
    for (const auto& [key, row] : manager_->table.rows()) {
        if (row.here && (row.here->name == name || id == key)) {
            return view_of(*manager_, row);
        }
    }
    return std::nullopt;
}

void domain_subject::report_unready(std::vector<std::string>& reasons) const {
    constexpr std::size_t most = 10;  // a node that is being emptied has a few at a time
    for (const auto& [id, row] : manager_->table.rows()) {
        const auto doing = row.here ? row.here->doing : std::nullopt;
        if (doing != policy::domain_action::send && doing != policy::domain_action::receive) {
            continue;
        }
        const std::string name = row.here->name.empty() ? to_text(row.id) : shown(row.here->name);
        reasons.push_back(fmt::format("the virtual machine {} moves {}", name,
                                      doing == policy::domain_action::send ? "away" : "here"));
        if (reasons.size() >= most) {
            return;
        }
    }
}

bool domain_subject::owns(const uuid& id) const {
    return manager_->owns(id);
}

async::awaitable<result<void>> domain_subject::execute(model::domain_command what, command_guard guard,
                                                       time_point deadline) {
    return manager_->execute(std::move(what), std::move(guard), deadline);
}

std::optional<std::string> domain_subject::running_text() const {
    return manager_->list.has_begun() ? std::optional(manager_->list.text()) : std::nullopt;
}

async::latest<bool>& domain_subject::opened() {
    return manager_->opened;
}

std::vector<uuid> domain_subject::present() const {
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

bool domain_subject::has_no_guest(const uuid& id) const {
    const domain_row* row = manager_->table.find(id);
    return row != nullptr && row->here && !row->here->listing.is_listed && !manager_->list.contains(id) &&
           manager_->observed.class_of(id) == model::guest_class::absent;
}

const std::vector<uuid>& domain_subject::listed() const {
    return manager_->list.all();
}

std::vector<std::string> domain_subject::listed_names() const {
    std::vector<std::string> names;
    for (const auto& id : manager_->list.all()) {
        const domain_row* row = manager_->table.find(id);
        const bool has_name = row != nullptr && row->here && !row->here->name.empty();
        names.push_back(has_name ? shown(row->here->name) : to_text(id));
    }
    return names;
}

std::vector<uuid> domain_subject::strangers() const {
    std::vector<uuid> all = manager_->observed.present();
    std::erase_if(all, [this](const uuid& id) {
        const domain_row* row = manager_->table.find(id);
        return row != nullptr && row->is_present;
    });
    return all;
}

async::latest<std::uint64_t>& domain_subject::list_writes() {
    return manager_->list.published();
}

arrivals& domain_subject::arrived_here() {
    return manager_->arrived_here;
}

stays& domain_subject::stayed_here() {
    return manager_->stayed_here;
}

void add_domain_subjects(core::subjects& all, core::node_context& node, std::optional<domain_ports> outside,
                         domain_counts& counts) {
    domain_subject* here = nullptr;
    if (outside) {
        auto domains = std::make_unique<domain_subject>(node, *outside, counts);
        here = domains.get();
        all.push_back(std::move(domains));
        all.push_back(std::make_unique<domain_commands>(*here));
    }
    all.push_back(std::make_unique<drain_subject>(here));
}

}  // namespace pvc::domains
