// What is measured of virtual machines: counts, never one figure for each of them.
#include "manager.hpp"
#include "pvcnoded/domains/domain_subject.hpp"

#include <array>
#include <map>

namespace pvc::domains {

namespace {

// Every state that can be stored, and `unknown` for what is none.
constexpr std::array states_measured{
    model::vm_state::unknown,      model::vm_state::start,     model::vm_state::stop,      model::vm_state::shutdown,
    model::vm_state::restart,      model::vm_state::disable,   model::vm_state::fail,      model::vm_state::migrate,
    model::vm_state::migrate_live, model::vm_state::unmigrate, model::vm_state::provision, model::vm_state::import,
    model::vm_state::restore,      model::vm_state::mirror,    model::vm_state::deleted};

// Counted by their number.
static_assert(static_cast<std::size_t>(model::vm_state::deleted) + 1 == states_measured.size());

void put_states(const domain_table& table, core::metrics_sheet& sheet) {
    std::array<std::size_t, states_measured.size()> own{};
    std::size_t known = 0;
    for (const auto& [id, row] : table.rows()) {
        known += row.is_present ? 1 : 0;
        if (row.is_present && row.is_owner) {
            ++own[static_cast<std::size_t>(row.state)];
        }
    }
    for (const auto state : states_measured) {
        sheet.gauge("machines", "Virtual machines that belong to this node, by their stored state.",
                    static_cast<double>(own[static_cast<std::size_t>(state)]), {{"state", to_text(state)}});
    }
    std::map<policy::start_cause, std::size_t> waiting;
    for (const auto& [id, row] : table.rows()) {
        ++waiting[waits_for(row)];
    }
    for (const auto cause : policy::waited_for) {
        sheet.gauge("machines_waiting",
                    "Virtual machines that are to run here and wait for something outside of them, by what that is.",
                    static_cast<double>(waiting[cause]), {{"cause", to_text(cause)}});
    }
    sheet.gauge("cluster_machines", "Virtual machines of the whole cluster, as this node knows them.",
                static_cast<double>(known));
}

}  // namespace

void domain_subject::put_metrics(core::metrics_sheet& sheet) const {
    const manager& all = *manager_;
    put_states(all.table, sheet);
    std::size_t under_way = 0;
    for (const auto& [id, row] : all.table.rows()) {
        under_way += row.here && !row.here->operation.empty() ? 1 : 0;
    }
    sheet.gauge("libvirt_known", "1 while libvirt of this node answers and all its guests are known.",
                all.observed.known() ? 1 : 0);
    sheet.gauge("guests", "Guests that libvirt of this node has, running or not yet gone.",
                static_cast<double>(all.observed.count()));
    for (const auto& pool : all.hv.pools()) {
        sheet.gauge("libvirt_threads", "Threads for calls to libvirt that exist, by the kind of call.",
                    static_cast<double>(pool.threads), {{"calls", pool.kind}});
    }
    for (const auto& pool : all.hv.pools()) {
        sheet.gauge("libvirt_calls_waiting", "Calls to libvirt that wait for a thread, by their kind.",
                    static_cast<double>(pool.waiting), {{"calls", pool.kind}});
    }
    sheet.gauge("machine_operations", "Operations on virtual machines that are under way.",
                static_cast<double>(under_way));
    sheet.counter("machine_operations_begun_total", "Operations on virtual machines that were begun.",
                  all.counts.operations);
    const auto& departures = all.counts.departures;
    for (std::size_t i = 0; i < departures.size(); ++i) {
        sheet.counter("migrations_total", "Migrations from this node to another that have ended, by their outcome.",
                      departures[i], {{"outcome", domain_counts::departure_names[i]}});
    }
    sheet.counter("machines_received_total", "Virtual machines that came to this node by a migration.",
                  all.counts.arrivals);
}

}  // namespace pvc::domains
