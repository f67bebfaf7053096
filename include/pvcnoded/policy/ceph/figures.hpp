// What is published of what Ceph said: joined by name and by number, completed where Ceph did not say all, and compared
// with what stands in ZooKeeper already. Specification: storage.md 4.3, 4.4, 4.6.
#pragma once

#include "pvcnoded/policy/ceph/round.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

// What clients have put below /ceph.
struct ceph_tree {
    struct osd {
        std::string name;  // its number, as the tree spells it
        std::string node;  // its host
    };
    std::vector<osd> osds;
    std::vector<std::string> pools;
};

enum class ceph_key : std::uint8_t { health, status, util, pool_stats, osd_stats };

struct ceph_write {
    ceph_key key;
    std::string name;  // of the pool or the OSD
    std::string value;

    friend bool operator==(const ceph_write&, const ceph_write&) = default;
};

// Of the OSDs of the tree, what was published last, by their names.
using osd_memory = std::map<std::string, model::osd_stats, std::less<>>;

// What is to stand there after a round. Of objects that the tree does not have, nothing; of what Ceph did not say, and
// was never known, nothing either: the value that stands there is kept.
[[nodiscard]] std::vector<ceph_write> ceph_figures(ceph_seen seen, const ceph_tree& tree, osd_memory& last);

// How many OSDs are up and in, by the newest figures of those of the tree.
struct osd_count {
    std::size_t up = 0;
    std::size_t in = 0;
};
[[nodiscard]] osd_count count_osds(const osd_memory& last);

// What ZooKeeper has acknowledged in this term as primary, by path.
class acknowledged_figures {
public:
    struct value {
        std::string text;
        std::int32_t version = 0;
        std::int64_t created = 0;  // transaction of its creation; 0: not known
    };

    [[nodiscard]] bool is_news(std::string_view path, std::string_view text) const {
        const auto known = all_.find(path);
        return known == all_.end() || known->second.text != text;
    }
    void note(const std::string& path, value now) { all_.insert_or_assign(path, std::move(now)); }
    void forget(std::string_view path) {
        if (const auto known = all_.find(path); known != all_.end()) {
            all_.erase(known);
        }
    }
    [[nodiscard]] const std::map<std::string, value, std::less<>>& all() const { return all_; }

private:
    std::map<std::string, value, std::less<>> all_;
};

}  // namespace pvc::policy
