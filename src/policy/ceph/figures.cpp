#include "pvcnoded/policy/ceph/figures.hpp"

#include "pvcnoded/base/text.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

namespace pvc::policy {

namespace {

// Rows by what joins them. Of two with one key the first one counts.
template <class Key, class Row, class Member>
std::unordered_map<Key, const Row*> by_key(const std::optional<std::vector<Row>>& rows, Member key) {
    std::unordered_map<Key, const Row*> all;
    if (rows) {
        all.reserve(rows->size());
        for (const Row& row : *rows) {
            all.emplace(row.*key, &row);
        }
    }
    return all;
}

template <class Map, class Key>
auto* row_with(const Map& all, const Key& key) {
    const auto found = all.find(key);
    return found == all.end() ? nullptr : found->second;
}

struct osd_rows {
    const model::osd_map_row* map;
    const model::osd_room_row* room;
    const model::osd_status_row* status;
};

std::string figure_of_kib(std::int64_t kib) {
    return model::byte_figure(static_cast<double>(kib) * 1024);
}

// What the manager says of its traffic, or what can be said without it.
void complete(model::osd_stats& stats, const osd_rows& rows, const ceph_tree::osd& known) {
    if (rows.status != nullptr && !rows.status->host.empty()) {
        stats.node = rows.status->host;
        stats.columns = rows.status->columns;
        stats.state = rows.status->state;
        return;
    }
    // Down and out, or the manager is silent.
    stats.node = known.node;
    stats.state = rows.map->state;
    if (stats.state.empty() && rows.status != nullptr) {
        stats.state = rows.status->state;
    }
    if (rows.room != nullptr) {
        stats.columns = {figure_of_kib(rows.room->used), figure_of_kib(rows.room->available), "0", "0", "0", "0"};
    } else if (rows.status != nullptr) {
        stats.columns = rows.status->columns;
    }
}

std::optional<model::osd_stats> stats_of(const osd_rows& rows, const ceph_tree::osd& known,
                                         const model::osd_stats* last) {
    if (last == nullptr && (rows.map == nullptr || rows.room == nullptr)) {
        return std::nullopt;
    }
    model::osd_stats stats = last != nullptr ? *last : model::osd_stats{};
    if (rows.map == nullptr) {  // Ceph knows no such OSD
        stats.map.is_up = stats.map.is_in = false;
        stats.state.clear();
        return stats;
    }
    stats.map = *rows.map;
    if (rows.room != nullptr) {
        stats.room = *rows.room;
    }
    complete(stats, rows, known);
    return stats;
}

void add_pools(std::vector<ceph_write>& all, const ceph_seen& seen, const ceph_tree& tree) {
    const auto rooms = by_key<std::string_view>(seen.rooms, &model::pool_room::pool);
    const auto counters = by_key<std::string_view>(seen.counters, &model::pool_counters::pool);
    const auto recoveries = by_key<std::string_view>(seen.recovery, &model::pool_recovery::pool);
    for (const auto& pool : tree.pools) {
        const auto* room = row_with(rooms, std::string_view(pool));
        const auto* counted = row_with(counters, std::string_view(pool));
        if (room != nullptr && counted != nullptr) {
            model::pool_counters counters_now = *counted;
            if (const auto* recovery = row_with(recoveries, std::string_view(pool))) {
                const auto exact = static_cast<std::uint64_t>(std::max(recovery->objects_degraded, std::int64_t{0}));
                counters_now.objects_degraded = std::min(counters_now.objects_degraded, exact);
            }
            all.push_back({ceph_key::pool_stats, pool, model::pool_stats_text(*room, counters_now)});
        }
    }
}

void add_osds(std::vector<ceph_write>& all, const ceph_seen& seen, const ceph_tree& tree, osd_memory& last) {
    osd_memory before = std::exchange(last, {});
    const auto map = by_key<std::int64_t>(seen.osd_map, &model::osd_map_row::id);
    const auto rooms = by_key<std::int64_t>(seen.osd_rooms, &model::osd_room_row::id);
    const auto status = by_key<std::int64_t>(seen.osd_status, &model::osd_status_row::id);
    for (const auto& one : tree.osds) {
        const auto known = before.find(one.name);
        const auto* stored = known == before.end() ? nullptr : &known->second;
        const auto id = parse_integer(one.name);
        std::optional<model::osd_stats> stats;
        if (seen.osd_map && id) {
            stats = stats_of({row_with(map, *id), row_with(rooms, *id), row_with(status, *id)}, one, stored);
        }
        if (stats) {
            all.push_back({ceph_key::osd_stats, one.name, model::osd_stats_text(*stats)});
            last.emplace(one.name, *std::move(stats));
        } else if (stored != nullptr) {
            last.insert(before.extract(known));
        }
    }
}

}  // namespace

std::vector<ceph_write> ceph_figures(ceph_seen seen, const ceph_tree& tree, osd_memory& last) {
    std::vector<ceph_write> all;
    if (seen.health) {
        all.push_back({ceph_key::health, {}, std::move(seen.health->text)});
    }
    if (seen.status) {
        all.push_back({ceph_key::status, {}, *std::move(seen.status)});
    }
    if (seen.df) {
        all.push_back({ceph_key::util, {}, *std::move(seen.df)});
    }
    add_pools(all, seen, tree);
    add_osds(all, seen, tree, last);
    return all;
}

osd_count count_osds(const osd_memory& last) {
    osd_count counted;
    for (const auto& [name, stats] : last) {
        counted.up += stats.map.is_up ? 1 : 0;
        counted.in += stats.map.is_in ? 1 : 0;
    }
    return counted;
}

}  // namespace pvc::policy
