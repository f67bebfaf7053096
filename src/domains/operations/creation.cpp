#include "operations/creation.hpp"

#include "pvcnoded/async/child.hpp"
#include "pvcnoded/base/guard.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/domain_xml.hpp"
#include "pvcnoded/policy/domains/start_outcomes.hpp"

namespace pvc::domains {

using namespace std::chrono_literals;
using hypervisor::call_error;
using hypervisor::call_failure;
using model::guest_class;
using model::vm_state;

namespace {

constexpr duration slow_creation = 1s;
constexpr duration end_crashed_limit = 60s;
constexpr duration record_patience = 1s;

// Whoever is cancelled or gets no answer does not know: what was sent may be carried out much later.
struct unanswered_creation {
    operation& op;
    bool is_answered = false;
    ~unanswered_creation() {
        if (!is_answered) {
            op.here.listing.lost_creation = op.now();
            list();
        }
    }
    void list() const {
        op.here.listing.is_listed = true;
        op.list.set(op.id, true);
    }
};

// Unless an earlier one is still out, whose record this is as well: it goes when that is settled.
void remove_record(operation& op) {
    if (!op.here.listing.lost_creation) {
        op.creation_records.remove(op.id);
    }
}

// The call itself. One that takes long, or that nobody wants any more, counts as running already: a libvirtd that
// stands still carries it out whenever it goes on, and whoever starts the domain elsewhere must know.
async::awaitable<hypervisor::call_result<void>> call_create(operation& op, const std::string& xml, boot_time not_after,
                                                            time_point until, const unanswered_creation& call) {
    constexpr duration told_after = 120s;
    std::optional<hypervisor::call_result<void>> answer;
    bool is_told = false;
    co_await async::with_task_group("creation", [&](async::task_group& group) -> async::awaitable<void> {
        async::child<hypervisor::call_result<void>> made(
            group, "call", [&] { return op.hv.create(op.id, xml, not_after, until); }, op.here.changed);
        const policy::wish began_with = op.present();
        const time_point begun = op.now();
        const time_point slow = begun + slow_creation;
        while (!made.has_ended()) {
            if (op.now() >= slow || op.present() != began_with || !op.row.is_present) {
                call.list();
            }
            if (op.now() >= begun + told_after) {
                if (!std::exchange(is_told, true)) {
                    op.error(message::domain_creation_late,
                             "libvirt has not answered for 120 s since it was told to create it");
                }
                if (op.turn != nullptr) {
                    op.turn->step_aside();
                }
                // Who wants something else of it does not wait for that any longer.
                if (op.present() != began_with || !op.row.is_present) {
                    answer = hypervisor::call_failure(call_error::timed_out, "something else is wanted of it");
                    group.cancel();
                    co_return;
                }
            }
            co_await op.wait(std::max(slow, op.now() + slow_creation), "its creation");
        }
        answer = std::move(made.value());
    });
    co_return *std::move(answer);
}

}  // namespace

// One of another boot says nothing: that libvirtd is gone.
std::string creation_record(const core::node_context& node) {
    return "1 " + node.machine.boot_id + "\n";
}

// A guest that crashed and was kept (`on_crash preserve`) counts as gone, but is in the way of its successor.
async::awaitable<void> end_crashed(operation& op) {
    auto status = co_await op.hv.status(op.id, op.now() + query_limit);
    if (!status || status->state != model::run_state::crashed) {
        co_return;
    }
    op.warning(message::domain_crash_kept, "it crashed and was kept, destroying what is left of it");
    auto done = co_await op.hv.destroy(op.id, op.now() + end_crashed_limit);
    ignore(done, "the next attempt to create it says whether it helped");
}

async::awaitable<result<stored_definition>> read_definition(operation& op) {
    stored_definition all;
    auto answers = co_await op.s.zk.read_together(
        op.s.limit(), {{.path = op.key(model::domain_key::xml)}, {.path = op.key(model::domain_key::rbd_list)}});
    PVC_CO_TRY(auto xml, std::move(answers[0]));
    all.xml = std::move(xml.data);
    const auto& rbdlist = answers[1];
    if (!rbdlist && rbdlist.error().code() != errc::not_found) {
        co_return rbdlist.error();
    }
    auto parsed = model::parse_domain_xml(all.xml);
    if (!parsed) {
        co_return failure(errc::invalid, {}, parsed.error().text());
    }
    const auto own = parse_any_uuid(trim(parsed->uuid));
    if (own != op.id) {
        const std::string found = parsed->uuid.empty() ? "no UUID" : "UUID " + parsed->uuid.substr(0, 64);
        co_return failure(errc::invalid, {}, "domain XML has " + found + ", expected " + to_text(op.id));
    }
    op.here.stored_memory_mib = parsed->memory_mib;
    op.here.stored_xml = xml.stat.mzxid;
    all.volumes = model::rbd_volumes(rbdlist ? rbdlist->data : std::string(), *parsed);
    op.here.stored_disks = policy::users_in(*parsed, shown(parsed->name.empty() ? to_text(op.id) : parsed->name),
                                            model::rbd_volumes({}, *parsed));
    op.here.pools = policy::pools_of(all.volumes);
    op.here.bridges.clear();
    for (const auto& one : parsed->interfaces) {
        if (one.type == "bridge" && !one.bridge.empty()) {
            op.here.bridges.push_back(one.bridge);
        }
    }
    co_return all;
}

async::awaitable<hypervisor::call_result<void>> create(operation& op, const std::string& xml, boot_time not_after,
                                                       time_point until) {
    op.here.is_being_created = true;
    op.creation_records.write(op.id, creation_record(op.node));
    const policy::wish began_with = op.present();
    co_await op.creation_records.settled(op.id, op.now() + record_patience);
    if (!guarded(op.present() == began_with && op.row.is_present && !op.here.must_end)) {
        remove_record(op);
        co_return call_failure(call_error::too_late, "something else is wanted of it");
    }
    const std::uint64_t since = op.observed.events();
    unanswered_creation call{op};
    auto done = co_await call_create(op, xml, not_after, until, call);
    call.is_answered =
        done || (done.error().code != call_error::timed_out && done.error().code != call_error::unavailable);
    if (call.is_answered) {
        remove_record(op);
    }
    if (done) {
        op.observed.take_one(op.id, {model::run_state::running, model::pause_cause::none}, since);
    }
    co_return done;
}

async::awaitable<bool> write_started(operation& op, policy::wish began_with) {
    const policy::wish seen = op.present();
    zookeeper::transaction more;
    const auto answers = co_await op.s.zk.read_together(
        op.s.limit(), {{.path = op.key(model::domain_key::failed_reason)}, {.path = op.key(model::domain_key::vnc)}});
    if (const auto& reason = answers[0]; reason && !reason->data.empty()) {
        more.set(op.key(model::domain_key::failed_reason), "", reason->stat.version);
    }
    const std::string vnc = op.here.live ? model::vnc_text(*op.here.live) : std::string();
    const auto& stored = answers[1];
    if (stored && stored->data != vnc && !op.here.live_is_stale) {
        more.overwrite(op.key(model::domain_key::vnc), vnc);
    }
    const bool is_wanted =
        op.row.is_present && op.row.is_owner &&
        (op.row.state == vm_state::start || (op.row.state == vm_state::restart && op.present() == began_with));
    if (op.present() != seen || !is_wanted) {
        co_return false;
    }
    if (op.row.state == vm_state::restart) {
        co_return co_await op.write_state(vm_state::start, std::move(more)) == write_end::written;
    }
    if (more.empty()) {
        co_return true;
    }
    more.check(op.key(model::domain_key::state), op.row.state_version);
    auto done = co_await op.s.zk.commit(op.s.limit(), std::move(more));
    if (!done) {
        auto read = co_await op.table.read(op.row);
        ignore(read, "the row is marked by whoever could not read it");
    }
    co_return done.has_value();
}

async::awaitable<bool> write_reason(operation& op, policy::wish began_with, std::string reason) {
    const std::string path = op.key(model::domain_key::failed_reason);
    const std::int32_t of_state = op.row.state_version;
    const std::int32_t of_node = op.row.node_version;
    auto stored = co_await op.s.zk.get(op.s.limit(), path);
    if (!stored && stored.error().code() != errc::not_found) {
        co_return false;
    }
    if (op.present() != began_with || !op.row.is_present || (stored && stored->data == reason)) {
        co_return stored && stored->data == reason;
    }
    zookeeper::transaction what;
    if (stored) {
        what.set(path, std::move(reason), stored->stat.version);
    } else {
        what.create(path, std::move(reason));
    }
    what.check(op.key(model::domain_key::state), of_state);
    what.check(op.key(model::domain_key::node), of_node);
    auto done = co_await op.s.zk.commit(op.s.limit(), std::move(what));
    if (!done) {
        op.table.mark(op.row);
    }
    co_return done.has_value();
}

async::awaitable<policy::write_end> write_failed(operation& op, policy::wish began_with, std::string reason) {
    zookeeper::transaction more;
    auto key = co_await op.s.zk.exists(op.s.limit(), op.key(model::domain_key::failed_reason));
    if (!key && key.error().code() == errc::not_found) {
        more.create(op.key(model::domain_key::failed_reason), std::move(reason));
    } else {
        more.overwrite(op.key(model::domain_key::failed_reason), std::move(reason));
    }
    if (op.present() != began_with || !op.row.is_present) {
        co_return write_end::overtaken;
    }
    co_return co_await op.write_state(vm_state::fail, std::move(more));
}

async::awaitable<bool> clear_reason(operation& op, policy::ask::clear_reason which) {
    const std::int32_t of_state = op.row.state_version;
    auto stored = co_await op.s.zk.get(op.s.limit(), op.key(model::domain_key::failed_reason));
    if (!stored || stored->data.empty() || op.row.state == vm_state::deleted ||
        (which.only && stored->data != *which.only) || (which.of_a_wait && !policy::is_reason_to_wait(stored->data))) {
        co_return true;
    }
    zookeeper::transaction what;
    what.set(op.key(model::domain_key::failed_reason), "", stored->stat.version);
    what.check(op.key(model::domain_key::state), of_state);
    auto done = co_await op.s.zk.commit(op.s.limit(), std::move(what));
    co_return done || done.error().code() != errc::version_conflict;
}

}  // namespace pvc::domains
