#include "sim/explore/model.hpp"

#include "sim/explore/canonical.hpp"

#include <algorithm>

namespace pvc::explore {

namespace {

const std::array<std::string, nodes_max + 1> names{"hv1", "hv2", "hv3", ""};

}  // namespace

const std::string& name_of(std::int8_t node) {
    const bool is_one = node >= 0 && node < static_cast<std::int8_t>(nodes_max);
    return names[is_one ? static_cast<std::size_t>(node) : nodes_max];
}

std::int8_t node_named(std::string_view name) {
    const char last = name.size() == names[0].size() ? name.back() : '0';
    return last > '0' && last <= '0' + static_cast<char>(nodes_max) ? static_cast<std::int8_t>(last - '1') : nobody;
}

void leave(queue& of, std::int8_t who) {
    of.erase(std::remove(of.begin(), of.end(), who), of.end());
}

bool is_first(const queue& of, std::int8_t who) {
    return !of.empty() && of.front() == who;
}

bool is_queued(const queue& of, std::int8_t who) {
    return std::ranges::find(of, who) != of.end();
}

std::size_t place_of(const queue& of, std::int8_t who) {
    return static_cast<std::size_t>(std::ranges::find(of, who) - of.begin());
}

int running_in(const scene& m) {
    int runs = 0;
    for (std::int8_t who = 0; who < static_cast<std::int8_t>(m.nodes); ++who) {
        runs += see(m, who).guest == guest_here::runs ? 1 : 0;
    }
    return runs;
}

void count_write(scene& m) {
    for (std::int8_t who = 0; who < static_cast<std::int8_t>(m.nodes); ++who) {
        if (see(m, who).seen.unread_writes < 2) {
            ++at(m, who).seen.unread_writes;
        }
    }
}

model::guest_class class_of(guest_here what) {
    switch (what) {
        case guest_here::none: return model::guest_class::absent;
        case guest_here::runs: return model::guest_class::alive;
        case guest_here::arriving:
        case guest_here::left: break;
    }
    return model::guest_class::incoming;
}

namespace {

// A node that has joined, and knows what there is.
void begin_node(scene& m, std::int8_t who, std::int8_t reference) {
    node& one = at(m, who);
    const bool runs_here = who == 0 && !begins_off(m.what);
    one.guest = runs_here ? guest_here::runs : guest_here::none;
    one.lists_it = runs_here;
    one.observed = class_of(one.guest);
    one.seen.is_known = true;
    one.seen.keys = m.keys;
    one.seen.stable = {true, who == 0, m.keys.state, 0, m.keys.state_changed};
    one.has_memory = who == 0;
    if (who == reference) {
        one.reference.emplace();
        one.reference->noticed = m.keys.state_changed;
        one.reference->state = m.keys.state;
        one.reference->node = 0;
        one.reference->has_handle = runs_here;
        one.seen = {};
        one.observed.reset();
        one.has_memory = false;
        return;
    }
    if (who != 0) {
        return;
    }
    one.memory.adoption.is_adopted = runs_here;
    one.memory.adoption.is_clean = !runs_here;
    one.memory.adoption.state = m.keys.state_changed;
    one.memory.listing.is_listed = runs_here;
    one.memory.migration.has_read_journal = true;
}

}  // namespace

scene beginning(const bounds& of) {
    scene m;
    m.what = of.what;
    m.nodes = of.nodes;
    m.faults_left = of.faults;
    m.writes_left = of.writes;
    m.delays_left = of.delays;
    const bool runs = !begins_off(of.what);
    m.keys.state = runs ? model::vm_state::start : model::vm_state::stop;
    m.last_word = runs ? client_word::run : client_word::off;
    m.disk_locked_by = of.what == subject::start ? nobody : 0;
    for (std::int8_t i = 0; i < static_cast<std::int8_t>(m.nodes); ++i) {
        begin_node(m, i, of.reference);
    }
    client first{client::at::idle, true, model::vm_state::migrate, 1};
    if (begins_off(of.what) || of.what == subject::shutdown) {
        first.state = runs ? model::vm_state::shutdown : model::vm_state::start;
        first.to = nobody;
    }
    m.clients.push_back(first);
    return m;
}

namespace {

// All of it but the nodes.
void put_rest(canonical& out, const scene& of) {
    out.put(of.nodes);
    out.put(of.faults_left);
    out.put(of.writes_left);
    out.put(of.delays_left);
    out.put(of.keys);
    out.put(of.locks);
    out.put(of.job);
    out.put(of.disk_locked_by);
    out.put(of.clients);
    out.put(of.last_word);
    out.put(of.may_fail);
}

const part_identity& identity_of_node(const scene& of, std::size_t which) {
    const auto& node = of.all.at(which);
    if (node.note().taken_at != of.now) {
        canonical out(of.now, of.boot_now(), node_named);
        out.put(node.see());
        node.note() = out.finish();
    }
    return node.note();
}

// Transaction numbers by their order, among all that the state remembers.
class stamp_ranks {
public:
    explicit stamp_ranks(std::int64_t last) : count_(static_cast<std::size_t>(last) + 1) {}

    void add(const part_identity& part) {
        for (const std::int16_t one : part.stamps) {
            ranks_.at(static_cast<std::size_t>(one)) = 1;
        }
    }
    void rank() {
        std::uint8_t next = 0;
        for (std::size_t i = 0; i < count_; ++i) {
            const std::uint8_t is_used = ranks_.at(i);
            ranks_.at(i) = next;
            next = static_cast<std::uint8_t>(next + is_used);
        }
    }
    [[nodiscard]] std::uint8_t of(std::int16_t stamp) const { return ranks_[static_cast<std::size_t>(stamp)]; }

private:
    std::size_t count_;
    std::array<std::uint8_t, 256> ranks_{};
};

}  // namespace

identity identity_of(const scene& of) {
    canonical rest(of.now, of.boot_now(), node_named);
    put_rest(rest, of);
    const part_identity own = rest.finish();
    stamp_ranks ranks(of.last_stamp);
    ranks.add(own);
    for (std::size_t i = 0; i < of.nodes; ++i) {
        ranks.add(identity_of_node(of, i));
    }
    ranks.rank();
    identity_builder out;
    const auto put = [&](const part_identity& part) {
        out.word(part.bytes.a);
        out.word(part.bytes.b);
        for (const std::int16_t one : part.stamps) {
            out.byte(ranks.of(one));
        }
    };
    put(own);
    for (std::size_t i = 0; i < of.nodes; ++i) {
        put(identity_of_node(of, i));
    }
    return out.finish();
}

}  // namespace pvc::explore
