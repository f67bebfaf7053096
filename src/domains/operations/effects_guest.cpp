// Questions to the hypervisors, here and elsewhere, and what they are told; locks of disks; other nodes as stored.
#include "operations/creation.hpp"
#include "operations/disk_users.hpp"
#include "operations/effects.hpp"
#include "operations/others.hpp"

#include "pvcnoded/base/guard.hpp"
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/model/domain_payloads.hpp"
#include "pvcnoded/policy/domains/release_wait.hpp"

namespace pvc::domains {

using namespace std::chrono_literals;
using policy::answer;
namespace ask = policy::ask;

namespace {

policy::call_answer answer_of(const hypervisor::call_result<void>& done) {
    return done ? policy::call_answer{policy::call_end::done, {}}
                : policy::call_answer{end_of(done.error().code), done.error().text};
}

}  // namespace

policy::call_end end_of(hypervisor::call_error code) {
    using hypervisor::call_error;
    using policy::call_end;
    switch (code) {
        case call_error::unavailable: return call_end::unavailable;
        case call_error::timed_out: return call_end::timed_out;
        case call_error::too_late: return call_end::too_late;
        case call_error::no_domain: return call_end::no_domain;
        case call_error::wrong_state: return call_end::wrong_state;
        case call_error::being_removed: return call_end::being_removed;
        case call_error::unsupported: return call_end::unsupported;
        case call_error::unsafe: return call_end::unsafe;
        case call_error::no_target: return call_end::no_target;
        case call_error::aborted:
        case call_error::refused:
        case call_error::hanging:
        case call_error::other: break;
    }
    return call_end::other;
}

async::awaitable<answer> effects::perform(ask::others /*what*/, time_point /*until*/) {
    auto read = co_await read_others(op_);
    co_return read ? policy::others_read{true, std::move(*read)} : policy::others_read{};
}

async::awaitable<answer> effects::perform(ask::daemon_runs what, time_point /*until*/) {
    auto daemon = co_await op_.s.zk.get(op_.s.limit(), model::node_path(what.node, model::node_key::daemon_state));
    co_return policy::yes{daemon && model::parse_daemon_state(daemon->data) == model::daemon_state::run};
}

async::awaitable<answer> effects::perform(ask::node_exists what, time_point /*until*/) {
    if (!policy::may_be_a_node(what.node)) {
        co_return policy::yes{false};
    }
    auto found = co_await op_.s.zk.exists(op_.s.limit(), model::node_path(what.node));
    if (!found && found.error().code() != errc::not_found && found.error().code() != errc::invalid) {
        co_return policy::yes{};
    }
    co_return policy::yes{found.has_value()};
}

async::awaitable<answer> effects::perform(ask::target what, time_point until) {
    auto daemon = co_await op_.s.zk.get(op_.s.limit(), model::node_path(what.node, model::node_key::daemon_state));
    if (daemon && model::daemon_state_or_fallback(daemon->data) == model::daemon_state::fenced) {
        co_return remote_answer::absent;
    }
    co_return co_await ask_node(op_, std::move(what.node), until);
}

async::awaitable<answer> effects::perform(ask::nodes what, time_point /*until*/) {
    const auto answers = co_await ask_all(op_, std::move(what.names));
    co_return policy::nodes_asked{{answers.begin(), answers.end()}};
}

async::awaitable<answer> effects::perform(ask::own_guest /*what*/, time_point /*until*/) {
    const auto seen = co_await op_.ask_class();
    co_return policy::yes{seen.has_value()};
}

async::awaitable<answer> effects::perform(ask::destroy /*what*/, time_point until) {
    co_return answer_of(co_await op_.hv.destroy(op_.id, until));
}

async::awaitable<answer> effects::perform(ask::resume_guest what, time_point until) {
    co_return answer_of(co_await op_.hv.resume(op_.id, guarded_until(what.proof + zookeeper::guard_validity), until));
}

async::awaitable<answer> effects::perform(ask::set_downtime what, time_point until) {
    co_return answer_of(co_await op_.hv.set_maximum_downtime(op_.id, model::maximum_downtime_ms(what.stored), until));
}

async::awaitable<answer> effects::perform(ask::progress /*what*/, time_point until) {
    const auto now = co_await op_.hv.progress(op_.id, until);
    if (!now) {
        co_return policy::progress_read{};
    }
    co_return policy::progress_read{
        true, now->running, now->remaining_bytes, now->total_bytes, now->bytes_per_second, now->dirty_pages_per_second};
}

async::awaitable<answer> effects::perform(ask::abort_call /*what*/, time_point until) {
    co_return answer_of(co_await op_.hv.abort_migration(op_.id, until));
}

// Locks of a node that was fenced are taken away by whoever fences it: that there is none says nothing then. Looked at
// after the locks, as these go after the node was marked.
async::awaitable<result<bool>> effects::has_fallen(std::string target) {
    if (!policy::may_be_a_node(target)) {
        co_return false;
    }
    auto daemon = co_await op_.s.zk.get(op_.s.limit(), model::node_path(target, model::node_key::daemon_state));
    if (!daemon && daemon.error().code() != errc::not_found) {
        co_return daemon.error();
    }
    co_return !daemon || model::daemon_state_or_fallback(daemon->data) == model::daemon_state::fenced ||
        daemon->stat.mzxid > op_.row.state_changed;
}

async::awaitable<answer> effects::perform(ask::rbd_verdict what, time_point until) {
    using verdict = policy::rbd_judged::verdict;
    auto volumes = co_await stored_volumes(op_);
    if (!volumes) {
        co_return policy::rbd_judged{verdict::not_read, {}};
    }
    if (volumes->empty()) {
        co_return policy::rbd_judged{verdict::no_disks, {}};
    }
    auto locks = co_await op_.rbd_locks().judge(*volumes, until);
    switch (locks.verdict) {
        case policy::lock_verdict::own: {
            policy::rbd_judged own{.what = verdict::own, .reason = {}, .is_unlocked = locks.to_break.empty()};
            if (own.is_unlocked) {
                const auto has = co_await has_fallen(std::move(what.target));
                own.what = has ? verdict::own : verdict::not_read;
                own.has_target_fallen = has && *has;
            }
            co_return own;
        }
        case policy::lock_verdict::foreign: co_return policy::rbd_judged{verdict::foreign, std::move(locks.reason)};
        case policy::lock_verdict::unreadable: break;
    }
    co_return policy::rbd_judged{verdict::unreadable, std::move(locks.reason)};
}

async::awaitable<answer> effects::perform(ask::list_rbd_locks what, time_point until) {
    auto listed = co_await op_.rbd_locks().list(std::move(what.volumes), until);
    for (const auto& one : listed.volumes) {
        if (!one.error) {
            op_.ceph.note(one.volume);
        }
    }
    co_return listed;
}

async::awaitable<answer> effects::perform(ask::monitors /*what*/, time_point until) {
    if (op_.ceph.has_answered(op_.now())) {
        co_return policy::call_answer{policy::call_end::done, {}};
    }
    const time_point asked = op_.now();
    auto said = co_await op_.rbd_locks().ask_monitors(until);
    if (said.end == policy::call_end::done) {
        op_.ceph.note_monitors(asked);
    }
    co_return said;
}

async::awaitable<answer> effects::perform(ask::write_reason what, time_point /*until*/) {
    co_return policy::yes{co_await write_reason(op_, what.began_with, std::move(what.reason))};
}

async::awaitable<answer> effects::perform(ask::bridges_look /*what*/, time_point until) {
    core::host_bridges& known = op_.node.bridges;
    const async::latest<std::uint64_t>::observer watch(known.last_look(), op_.here.changed);
    const policy::wish began_with = op_.present();
    const std::uint64_t asked = known.want_look();
    while (known.last_look().value() <= asked) {
        const bool is_wanted = op_.present() == began_with && op_.row.is_present && !op_.must_end();
        if (!is_wanted || op_.now() >= until) {
            co_return policy::yes{false};
        }
        co_await op_.wait(until, "a look at the links of this node");
    }
    co_return policy::yes{true};
}

async::awaitable<answer> effects::perform(ask::network_is_gone what, time_point /*until*/) {
    constexpr std::string_view prefix = "vmbr";
    const auto key = co_await op_.s.zk.exists(op_.s.limit(), model::network_path(what.bridge.substr(prefix.size())));
    co_return policy::yes{!key && key.error().code() == errc::not_found};
}

async::awaitable<answer> effects::perform(ask::prepare_rbd_break what, time_point until) {
    co_return co_await op_.rbd_locks().prepare_one(std::move(what), until);
}

async::awaitable<answer> effects::perform(ask::disk_users what, time_point until) {
    co_return co_await op_.looks.look(op_, std::move(what.volumes), until);
}

async::awaitable<answer> effects::perform(ask::break_rbd_lock what, time_point until) {
    co_return co_await op_.rbd_locks().break_one(std::move(what), until);
}

async::awaitable<answer> effects::perform(ask::definition /*what*/, time_point /*until*/) {
    using end = policy::definition_read::end;
    auto found = co_await read_definition(op_);
    if (found) {
        xml_ = std::move(found->xml);
        co_return policy::definition_read{end::read, {}, std::move(found->volumes)};
    }
    switch (found.error().code()) {
        case errc::invalid: co_return policy::definition_read{end::unusable, found.error().cause()};
        case errc::not_found: co_return policy::definition_read{end::missing, {}};
        default: co_return policy::definition_read{end::failed, {}};
    }
}

async::awaitable<answer> effects::perform(ask::create what, time_point until) {
    const boot_time not_after = is_planted(defect::create_unguarded) ? op_.clock().boot_now() : what.proof;
    co_return answer_of(co_await create(op_, xml_, guarded_until(not_after + zookeeper::guard_validity), until));
}

async::awaitable<answer> effects::perform(ask::end_crashed /*what*/, time_point /*until*/) {
    co_await end_crashed(op_);
    co_return policy::woken{};
}

async::awaitable<answer> effects::perform(ask::write_started what, time_point /*until*/) {
    const bool is_written = co_await write_started(op_, what.began_with);
    co_return policy::yes{is_written};
}

async::awaitable<answer> effects::perform(ask::write_failed what, time_point /*until*/) {
    co_return co_await write_failed(op_, what.began_with, std::move(what.reason));
}

async::awaitable<answer> effects::perform(ask::publish_vnc /*what*/, time_point /*until*/) {
    const bool is_read = co_await publish_vnc(op_);
    co_return policy::yes{is_read};
}

async::awaitable<answer> effects::perform(ask::live_xml /*what*/, time_point /*until*/) {
    const bool is_read = co_await read_live_xml(op_);
    co_return policy::yes{is_read};
}

async::awaitable<answer> effects::perform(ask::end_console /*what*/, time_point /*until*/) {
    co_await end_console(op_);
    co_return policy::woken{};
}

async::awaitable<answer> effects::perform(ask::clear_reason what, time_point /*until*/) {
    const bool is_over = co_await clear_reason(op_, std::move(what));
    co_return policy::yes{is_over};
}

void effects::follow_sender() {
    if (!sender_) {
        sender_.emplace(op_);
    }
}

async::awaitable<void> effects::look_at_sender() {
    if (sender_) {
        co_await sender_->look();
    }
}

}  // namespace pvc::domains
