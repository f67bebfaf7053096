#include "objects.hpp"

#include "pvcnoded/base/text.hpp"

#include <algorithm>

namespace pvc::ceph {

namespace {

using zookeeper::watch_kind;

bool is_number(std::string_view id) {
    return !id.empty() && std::ranges::all_of(id, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_read(const std::unique_ptr<zookeeper::watched>& key) {
    return !key || key->known();
}

}  // namespace

bool objects::osd::is_known() const {
    return is_read(node) && is_read(device) && is_read(vg) && is_read(lv);
}

bool objects::listed::has_changed() {
    return names->changes() != std::exchange(changes, names->changes());
}

objects::objects(core::session& s) : session_(s) {
    osd_list_.names = s.watches.add(*s.table.path("base.osd"), watch_kind::children, events_);
    pool_list_.names = s.watches.add(*s.table.path("base.pool"), watch_kind::children, events_);
}

std::unique_ptr<zookeeper::watched> objects::watch(std::string_view key, const std::string& id) {
    auto path = session_.table.path(key, id);
    return path ? session_.watches.add(*std::move(path), watch_kind::data, events_) : nullptr;
}

// A cluster may have thousands of volumes: the line names some of them, the tree has them all.
void objects::tell(std::string what, const std::vector<std::string>& names) const {
    constexpr std::size_t most = 100;
    std::string line = std::move(what) + ":";
    for (std::size_t at = 0; at < std::min(most, names.size()); ++at) {
        line += " " + shown(names[at]);
    }
    if (names.size() > most) {
        line += " and " + std::to_string(names.size() - most) + " more";
    }
    session_.node.log.info(line);
}

void objects::follow_osds() {
    if (!osd_list_.has_changed()) {
        return;
    }
    const auto& names = osd_list_.names->names();
    std::erase_if(osds_, [&](const auto& entry) { return std::ranges::find(names, entry.first) == names.end(); });
    for (const auto& id : names) {
        if (!is_number(id) || osds_.contains(id)) {
            continue;
        }
        osds_[id] = {watch("osd.node", id), watch("osd.device", id), watch("osd.vg", id), watch("osd.lv", id)};
    }
    tell("OSD list", names);
}

// A watch for each pool, which goes with it.
void objects::follow_pools() {
    if (pool_list_.has_changed()) {
        const auto& names = pool_list_.names->names();
        std::erase_if(volumes_,
                      [&](const auto& entry) { return std::ranges::find(names, entry.first) == names.end(); });
        for (const auto& pool : names) {
            if (!volumes_.contains(pool)) {
                const std::string path = model::child_path(*session_.table.path("base.volume"), pool);
                volumes_[pool].names = session_.watches.add(path, watch_kind::children, events_);
            }
        }
        tell("Pool list", names);
    }
    for (auto& [pool, volumes] : volumes_) {
        if (volumes.has_changed()) {
            tell("Volume list [" + shown(pool) + "]", volumes.names->names());
        }
    }
}

// Begun again with another schema version, which may have keys that the last one lacked.
async::awaitable<void> objects::run() {
    osds_.clear();
    osd_list_.changes = 0;
    for (;;) {
        follow_osds();
        follow_pools();
        changes_.set(changes_.value() + 1);
        co_await events_.wait(async::wait_note::work("changes below /ceph"));
    }
}

bool objects::is_loaded() const {
    return osd_list_.changes != 0 && pool_list_.changes != 0 &&
           std::ranges::all_of(osds_, [](const auto& entry) { return entry.second.is_known(); });
}

std::vector<std::string> objects::pools() const {
    return pool_list_.names->names();
}

std::size_t objects::local_osds() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        osds_, [this](const auto& entry) { return trim(entry.second.node->data()) == session_.node.self(); }));
}

}  // namespace pvc::ceph
