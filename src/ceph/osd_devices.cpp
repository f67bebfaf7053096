#include "osd_devices.hpp"

#include "osd_keys.hpp"
#include "osd_tools.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/ceph_volume_list.hpp"

namespace pvc::ceph {

using namespace std::chrono_literals;

namespace {

constexpr duration list_limit = 60s;
constexpr duration once_more_after = 60s;
constexpr int refresh_writes = 3;  // somebody else may write at the same time

std::string key_text(const std::unique_ptr<zookeeper::watched>& key) {
    return key && key->present() ? key->data() : std::string();
}

}  // namespace

async::awaitable<void> osd_devices::run() {
    co_await async::with_task_group("OSD devices", [this](async::task_group& jobs) -> async::awaitable<void> {
        async::wakeup changed;
        const async::latest<std::uint64_t>::observer watch(objects_.changes(), changed);
        for (;;) {
            begin_new(jobs);
            co_await changed.wait(async::wait_note::work("OSDs of this node"));
        }
    });
}

bool osd_devices::is_ours(const identity& which) const {
    const auto found = objects_.osds().find(which.first);
    if (found == objects_.osds().end()) {
        return false;
    }
    const auto& node = *found->second.node;
    return node.present() && node.stat().czxid == which.second && trim(node.data()) == session_.node.self();
}

void osd_devices::begin_new(async::task_group& jobs) {
    const auto& all = objects_.osds();
    std::erase_if(begun_, [&](const auto& one) { return !is_ours({one.first, one.second}); });
    std::erase_if(without_device_, [&](const auto& id) { return !all.contains(id); });
    for (const auto& [id, osd] : all) {
        const identity which{id, osd.node->stat().czxid};
        if (begun_.contains(id) || !osd.is_known() || !is_ours(which)) {
            continue;
        }
        const policy::stored_osd seen{
            {"osd.device", key_text(osd.device)}, {"osd.vg", key_text(osd.vg)}, {"osd.lv", key_text(osd.lv)}};
        if (policy::device_to_list(seen).empty()) {
            if (without_device_.insert(id).second) {
                session_.node.log.warning(message::osd_device_unknown,
                                          "OSD " + id + " of this node: its keys name no device to look at");
            }
            continue;
        }
        without_device_.erase(id);
        begun_[id] = which.second;
        jobs.spawn("OSD " + id, [this, which] { return refresh(which); });
    }
}

async::awaitable<void> osd_devices::refresh(identity which) {
    const auto first = co_await attempt(which);
    if (first == attempt_end::over) {
        co_return;
    }
    co_await async::sleep_for(session_.node.clock(), once_more_after, "another look at an OSD's device");
    if (is_ours(which)) {
        co_await attempt(which);
    }
}

async::awaitable<osd_devices::attempt_end> osd_devices::attempt(const identity& which) {
    const auto place = co_await places_.take(next_place_++, "the devices of other OSDs");
    const auto& [id, created] = which;
    if (!is_ours(which)) {
        co_return attempt_end::over;
    }
    const auto& osd = objects_.osds().at(id);
    const policy::stored_osd seen{
        {"osd.device", key_text(osd.device)}, {"osd.vg", key_text(osd.vg)}, {"osd.lv", key_text(osd.lv)}};
    const std::string device = policy::device_to_list(seen);
    if (device.empty()) {
        co_return attempt_end::incomplete;
    }
    std::string output;
    const auto end = co_await list(id, device, output);
    if (end == attempt_end::over || output.empty()) {
        co_return end;
    }
    auto listed = model::find_listed_osd(output, id);
    if (!listed) {
        session_.node.log.error(message::osd_device_incomplete,
                                "the device of OSD " + id + " (" + device + "): " + listed.error().cause());
        co_return attempt_end::incomplete;
    }
    const auto written = co_await write(id, *listed);
    co_return written;
}

// `output` stays empty unless the program succeeded.
async::awaitable<osd_devices::attempt_end> osd_devices::list(const std::string& id, const std::string& device,
                                                             std::string& output) {
    const std::vector<std::string> arguments{"ceph-volume", "lvm", "list", "--format", "json", device};
    const std::string subject = "the device of OSD " + id + ": ";
    const auto ended = co_await run_tool(processes_, *session_.node.config, arguments, list_limit);
    if (!ended) {
        session_.node.log.error(message::osd_device_incomplete, subject + ended.error().text());
        co_return attempt_end::incomplete;
    }
    if (std::holds_alternative<async::timed_out>(ended->how)) {
        session_.node.log.warning(message::osd_device_slow,
                                  subject + shown_command(arguments) + " did not end within 60 s and was ended");
        co_return attempt_end::over;
    }
    if (!ended->succeeded() || ended->output.empty()) {
        session_.node.log.error(message::osd_device_incomplete, subject + outcome_text(arguments, *ended));
        co_return attempt_end::incomplete;
    }
    output = ended->output;
    co_return attempt_end::incomplete;
}

async::awaitable<osd_devices::attempt_end> osd_devices::write(const std::string& id, const model::listed_osd& listed) {
    using verdict = policy::refresh_decision::verdict;
    const std::string subject = "the device of OSD " + id + ": ";
    for (int tries = 1; tries <= refresh_writes; ++tries) {
        auto read = co_await read_osd_keys(session_, id);
        if (!read) {
            session_.node.log.error(message::osd_device_incomplete, subject + read.error().text());
            co_return attempt_end::incomplete;
        }
        const bool is_here = policy::stored_value(read->stored, "osd.node") == session_.node.self();
        if (!read->is_there() || !is_here) {
            co_return attempt_end::over;
        }
        const auto decision = policy::decide_device_refresh(read->stored, listed);
        if (decision.what == verdict::foreign) {
            session_.node.log.error(message::osd_device_foreign,
                                    subject + decision.reason + ": nothing of it is written");
        }
        if (decision.what != verdict::write) {
            co_return attempt_end::over;
        }
        auto change = write_of(session_, *read, decision.writes);
        auto written = co_await session_.zk.commit(session_.limit(), std::move(change));
        if (written) {
            session_.node.log.info(subject + "it is " + listed.device + ", its keys are up to date");
            co_return attempt_end::over;
        }
        if (tries == refresh_writes) {
            session_.node.log.error(message::osd_device_incomplete, subject + written.error().text());
        }
    }
    co_return attempt_end::incomplete;
}

}  // namespace pvc::ceph
