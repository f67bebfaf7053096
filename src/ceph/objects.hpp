// What clients and workers keep of Ceph below /ceph, as far as a node needs it: which OSDs there are and where, which
// pools. Followed by watches, also below schema versions that lack some of the keys. A member of a session's part; loop
// thread only. Specification: storage.md 2; zookeeper-schema.md 5.
#pragma once

#include "pvcnoded/core/session.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace pvc::ceph {

class objects {
public:
    struct osd {
        std::unique_ptr<zookeeper::watched> node;
        std::unique_ptr<zookeeper::watched> device;
        std::unique_ptr<zookeeper::watched> vg;  // null below the schema version that has it; as the next one
        std::unique_ptr<zookeeper::watched> lv;

        [[nodiscard]] bool is_known() const;
    };

    explicit objects(core::session& s);
    objects(const objects&) = delete;
    objects& operator=(const objects&) = delete;

    // Until cancelled.
    async::awaitable<void> run();
    // Whenever something of it may have changed.
    [[nodiscard]] async::latest<std::uint64_t>& changes() { return changes_; }
    [[nodiscard]] std::uint64_t change_count() const { return changes_.value(); }
    // All lists and OSDs were read once.
    [[nodiscard]] bool is_loaded() const;

    // By their numbers as they are spelled in the tree.
    [[nodiscard]] const std::map<std::string, osd>& osds() const { return osds_; }
    [[nodiscard]] std::vector<std::string> pools() const;
    // Those of this node.
    [[nodiscard]] std::size_t local_osds() const;

private:
    struct listed {
        std::unique_ptr<zookeeper::watched> names;
        std::uint64_t changes = 0;
        // True once for each change.
        bool has_changed();
    };
    void follow_osds();
    void follow_pools();
    void tell(std::string what, const std::vector<std::string>& names) const;
    [[nodiscard]] std::unique_ptr<zookeeper::watched> watch(std::string_view key, const std::string& id);

    core::session& session_;
    async::latest<std::uint64_t> changes_;
    async::wakeup events_;
    listed osd_list_;
    listed pool_list_;
    std::map<std::string, osd> osds_;
    std::map<std::string, listed> volumes_;  // by pool
};

}  // namespace pvc::ceph
