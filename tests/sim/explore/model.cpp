#include "sim/explore/model.hpp"

#include "sim/explore/canonical.hpp"

namespace pvc::explore {

const std::string& name_of(std::int8_t node) {
    static const std::array<std::string, nodes_max> names{"hv1", "hv2", "hv3"};
    static const std::string none;
    return node >= 0 && node < static_cast<std::int8_t>(nodes_max) ? names.at(static_cast<std::size_t>(node)) : none;
}

std::int8_t node_named(std::string_view name) {
    for (std::int8_t i = 0; i < static_cast<std::int8_t>(nodes_max); ++i) {
        if (name_of(i) == name) {
            return i;
        }
    }
    return nobody;
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
void begin_node(scene& m, std::int8_t who) {
    node& one = m.all.at(static_cast<std::size_t>(who));
    const bool runs_here = who == 0 && m.what != subject::start;
    one.guest = runs_here ? guest_here::runs : guest_here::none;
    one.lists_it = runs_here;
    one.observed = class_of(one.guest);
    one.class_since = m.now;
    one.seen.is_known = true;
    one.seen.keys = m.keys;
    one.seen.state_since = m.now;
    one.seen.stable = {true, who == 0, m.keys.state, 0, m.keys.state_changed};
    one.has_memory = who == 0;
    if (who != 0) {
        return;
    }
    one.memory.adoption.is_adopted = runs_here;
    one.memory.adoption.is_clean = !runs_here;
    one.memory.adoption.state = m.keys.state_changed;
    one.memory.listing.is_listed = runs_here;
}

}  // namespace

scene beginning(const bounds& of) {
    scene m;
    m.what = of.what;
    m.nodes = of.nodes;
    m.faults_left = of.faults;
    m.writes_left = of.writes;
    m.delays_left = of.delays;
    const bool runs = of.what != subject::start;
    m.keys.state = runs ? model::vm_state::start : model::vm_state::stop;
    m.last_word = runs ? client_word::run : client_word::off;
    m.disk_locked_by = runs ? 0 : nobody;
    for (std::int8_t i = 0; i < static_cast<std::int8_t>(m.nodes); ++i) {
        begin_node(m, i);
    }
    client first{client::at::idle, true, model::vm_state::migrate, 1};
    if (of.what == subject::start || of.what == subject::shutdown) {
        first.state = runs ? model::vm_state::shutdown : model::vm_state::start;
        first.to = nobody;
    }
    m.clients.push_back(first);
    return m;
}

namespace {

void put_model(canonical& out, const scene& of) {
    out.put(of.nodes);
    out.put(of.faults_left);
    out.put(of.writes_left);
    out.put(of.delays_left);
    out.put(of.keys);
    out.put(of.locks);
    out.put(of.job);
    out.put(of.disk_locked_by);
    for (std::size_t i = 0; i < of.nodes; ++i) {
        out.put(of.all.at(i));
    }
    out.put(of.clients);
    out.put(of.last_word);
    out.put(of.may_fail);
}

}  // namespace

std::string bytes_of(const scene& of) {
    canonical out(of.now, of.boot_now(), {name_of(0), name_of(1), name_of(2)});
    put_model(out, of);
    out.begin_writing();
    put_model(out, of);
    return out.bytes();
}

}  // namespace pvc::explore
