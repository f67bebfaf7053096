// The tick's part: one bulk call, `stats` of what runs, the figures. Specification: vm-domains.md 11.2, 11.3;
// node-lifecycle.md 6.4, 6.5.
#include "manager.hpp"

#include "pvcnoded/model/domain_payloads.hpp"

#include <algorithm>

namespace pvc::domains {

using namespace std::chrono_literals;

namespace {
constexpr std::size_t transaction_bytes = 256UL * 1024;
constexpr duration live_xml_limit = 5s;
}  // namespace

// Live XML that is not known, or another since a device was attached: it says which disk and which bridge a number is
// of.
static async::awaitable<void> refresh_live(hypervisor::hypervisor& hv, async::timers& clock, const uuid id,
                                           domain_table& table, time_point deadline) {
    auto xml = co_await hv.live_xml(id, std::min(deadline, clock.now() + live_xml_limit));
    domain_row* now = table.find(id);
    if (!xml || now == nullptr || !now->here) {
        co_return;
    }
    auto parsed = model::parse_domain_xml(*xml);
    if (parsed) {
        now->here->live = *std::move(parsed);
        now->here->live_is_stale = false;
    }
}

async::awaitable<void> manager::write_statistics(core::session& s, const std::vector<model::guest_figures>& all,
                                                 time_point deadline) {
    std::vector<model::key_value> todo;
    for (const auto& one : all) {
        const uuid id = one.of.id;
        domain_row* row = table.find(id);
        if (row == nullptr || !row->here || !row->is_present || one.of.status.state != model::run_state::running) {
            continue;
        }
        const bool is_leaving = row->state == model::vm_state::deleted || !row->here->listing.is_listed;
        if (is_leaving || one.is_partial) {
            continue;
        }
        if (row->here->live_is_stale || !row->here->live) {
            if (node.clock().now() >= deadline) {
                break;  // libvirt is slow: the others are due at the next tick, the heartbeat at its time
            }
            co_await refresh_live(hv, node.clock(), id, table, deadline);
            row = table.find(id);
            if (row == nullptr || !row->here || !row->here->live) {
                continue;
            }
        }
        todo.push_back({model::domain_path(to_text(id), model::domain_key::stats),
                        model::domain_stats_text(one, *row->here->live)});
    }
    for (std::size_t first = 0; first < todo.size();) {
        zookeeper::transaction write;
        std::size_t bytes = 0;
        std::size_t end = first;
        for (; end < todo.size() && (end == first || bytes + todo[end].value.size() < transaction_bytes); ++end) {
            bytes += todo[end].value.size();
            write.overwrite(todo[end].path, todo[end].value);
        }
        auto done = co_await s.zk.commit(deadline, std::move(write));
        if (!done && done.error().code() == errc::not_found) {
            // One of them is being deleted: the others once more, without it.
            const std::string gone = done.error().subject();
            const auto before = todo.size();
            std::erase_if(todo, [&](const auto& key) { return key.path == gone; });
            if (todo.size() == before) {
                break;
            }
            continue;
        }
        if (!done) {
            node.log.warning(message::statistics_unwritten,
                             "the statistics of virtual machines were not written: " + done.error().text());
            break;
        }
        first = end;
    }
}

// The memory of domains that belong here and do not run is that of their stored XML, which changes without a sign: one
// of them is looked at in each tick.
async::awaitable<void> manager::refresh_stored_memory(core::session& s, time_point deadline) {
    std::vector<uuid> idle;
    for (const auto& [id, row] : table.rows()) {
        if (row.is_owner && row.here && row.is_present && !row.here->listing.is_listed) {
            idle.push_back(id);
        }
    }
    if (idle.empty()) {
        co_return;
    }
    std::vector<uuid> todo;
    for (const auto& id : idle) {
        if (table.find(id)->here->stored_xml == 0) {
            todo.push_back(id);
        }
    }
    const auto next = std::ranges::find_if(idle, [&](const uuid& id) { return last_checked_ < id; });
    last_checked_ = next == idle.end() ? idle.front() : *next;
    if (std::ranges::find(todo, last_checked_) == todo.end()) {
        todo.push_back(last_checked_);
    }
    for (const auto& id : todo) {
        if (node.clock().now() >= deadline) {
            break;
        }
        const std::string key = model::domain_path(to_text(id), model::domain_key::xml);
        auto stat = co_await s.zk.exists(deadline, key);
        domain_row* row = table.find(id);
        if (!stat || row == nullptr || !row->here || row->here->stored_xml == stat->stat.mzxid) {
            continue;
        }
        auto xml = co_await s.zk.get(deadline, key);
        row = table.find(id);
        if (!xml || row == nullptr || !row->here) {
            continue;
        }
        auto parsed = model::parse_domain_xml(xml->data);
        row->here->stored_memory_mib = parsed ? parsed->memory_mib : 0;
        row->here->stored_xml = xml->stat.mzxid;
    }
}

void manager::compute_figures(const std::vector<model::guest_figures>& all) {
    constexpr std::uint64_t kib_per_mib = 1024;
    domain_figures now;
    now.active = all.size();
    for (const auto& [id, row] : table.rows()) {
        if (!row.here || !row.is_present) {
            continue;
        }
        const auto running = std::ranges::find_if(all, [&id](const auto& one) { return one.of.id == id; });
        if (row.here->listing.is_listed) {
            const std::int64_t memory = running == all.end()
                                            ? row.here->stored_memory_mib
                                            : static_cast<std::int64_t>(running->memory_kib / kib_per_mib);
            now.allocated_mib += memory;
            now.provisioned_mib += memory;
            now.vcpus += running == all.end() ? 0 : running->vcpus;
        } else if (row.is_owner) {
            now.provisioned_mib += row.here->stored_memory_mib;
        }
    }
    figures = now;
}

async::awaitable<void> manager::survey(core::session& s, time_point deadline) {
    figures.reset();
    if (!hv.connection().value().up) {
        if (!std::exchange(told_silent_, true)) {
            node.log.warning(message::figures_libvirt_away,
                             "the virtual machines' figures are not published: libvirt cannot be reached");
        }
        co_return;
    }
    const std::uint64_t since = observed.events();
    const std::uint64_t generation = observed.generation();
    const duration rest = std::min<duration>(500ms, (deadline - node.clock().now()) / 4);  // for the writes
    auto all = co_await hv.survey(deadline - rest);
    if (!all) {
        if (!std::exchange(told_silent_, true)) {
            node.log.warning(message::figures_libvirt,
                             "the virtual machines' figures are not published: " + all.error().text);
        }
        co_return;
    }
    told_silent_ = false;
    std::vector<model::guest> guests_now;
    guests_now.reserve(all->size());
    for (const auto& one : *all) {
        guests_now.push_back(one.of);
    }
    observed.take(guests_now, since, generation);
    if (!is_open_) {
        co_return;
    }
    tell_strangers();
    look_at_all();
    co_await write_statistics(s, *all, deadline);
    co_await refresh_stored_memory(s, deadline);
    compute_figures(*all);
}

}  // namespace pvc::domains
