#include "pvcnoded/fencing/capacity.hpp"

#include "assigned_machines.hpp"
#include "recovery_planning.hpp"
#include "zookeeper_away.hpp"

#include "pvcnoded/async/deadline.hpp"
#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/domain_payloads.hpp"
#include "pvcnoded/policy/fencing/explain_capacity.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace pvc::fencing {

using namespace std::chrono_literals;

namespace {

using asked_capacity = std::shared_ptr<core::awaited_explanation>;
using key_read = result<zookeeper::read_reply>;

// So many definitions are in memory at once, and are asked for before a heartbeat may have its turn.
constexpr std::size_t definitions_at_once = 16;
constexpr duration capacity_before_limit = 500ms;  // who asks is told what it was that took so long

// Ends it with a failure where nothing else did: with the session, for one.
struct capacity_question {
    asked_capacity answer;
    explicit capacity_question(asked_capacity which) : answer(std::move(which)) {}
    capacity_question(const capacity_question&) = delete;
    capacity_question& operator=(const capacity_question&) = delete;
    ~capacity_question() {
        if (!answer->answer) {
            answer->give(zookeeper_away("capacity"));
        }
    }
};

policy::guest_of_node guest_from(core::session& s, const owned_machine& one, std::span<const key_read> keys,
                                 const std::string& cluster_selector) {
    const auto text = [](const key_read& key) { return key ? key->data : std::string(); };
    policy::guest_of_node out;
    out.node = one.node;
    out.name = text(keys[0]).empty() ? to_text(one.id) : shown(text(keys[0]));
    out.guest.id = one.id;
    out.guest.request = request_for(s, text(keys[2]), text(keys[3]), cluster_selector, one.node);
    if (!keys[1]) {
        out.trouble = "it has no definition";
    } else if (const auto parsed = model::parse_domain_xml(keys[1]->data)) {
        out.guest.memory = parsed->memory_mib;
        out.guest.vcpus = parsed->vcpus;
    } else {
        out.trouble = "its definition cannot be read: " + parsed.error().text();
    }
    return out;
}

async::awaitable<result<std::vector<policy::guest_of_node>>> guests_of(core::session& s,
                                                                       std::vector<owned_machine> machines,
                                                                       std::string cluster_selector, time_point until) {
    constexpr std::size_t keys_each = 4;
    std::vector<policy::guest_of_node> out;
    for (std::size_t first = 0; first < machines.size(); first += definitions_at_once) {
        const auto part = std::span(machines).subspan(first, std::min(definitions_at_once, machines.size() - first));
        std::vector<zookeeper::read_wish> wishes;
        for (const auto& one : part) {
            const std::string id = to_text(one.id);
            wishes.push_back({.path = model::domain_path(id, {})});
            wishes.push_back({.path = model::domain_path(id, model::domain_key::xml)});
            wishes.push_back({.path = model::domain_path(id, model::domain_key::node_limit)});
            wishes.push_back({.path = model::domain_path(id, model::domain_key::node_selector)});
        }
        const auto answers = co_await s.zk.read_together(until, std::move(wishes));
        if (const auto trouble = unread_of(answers)) {
            co_return *trouble;
        }
        for (std::size_t i = 0; i < part.size(); ++i) {
            const auto keys = std::span(answers).subspan(i * keys_each, keys_each);
            if (keys[0]) {  // else it was removed meanwhile
                out.push_back(guest_from(s, part[i], keys, cluster_selector));
            }
        }
    }
    co_return out;
}

std::set<std::string> names_of(const rooms_read& rooms) {
    std::set<std::string> out;
    for (const auto& one : rooms.rooms) {
        out.insert(one.offer.name);
    }
    return out;
}

async::awaitable<result<core::explanation>> look_at_capacity(core::session& s, hypervisor::hypervisor* hypervisors,
                                                             time_point until) {
    PVC_CO_TRY(auto rooms, co_await read_rooms(s));
    note_silent(rooms, co_await silent_libvirtds(s, hypervisors, takers_of(rooms)));
    PVC_CO_TRY(auto machines, co_await running_machines(s, names_of(rooms), {}, until));
    assigned_machines by_keys(s);
    PVC_CO_TRY(const auto assigned, co_await by_keys.read(takers_of(rooms), {}, rooms.written_at, until));
    PVC_CO_TRY(const auto guests, co_await guests_of(s, std::move(machines), rooms.cluster_selector, until));
    const auto& fencing = s.node.config->fencing;
    const auto outlook =
        policy::explain_capacity(rooms.rooms, guests, fencing.overcommit, s.node.times.keepalive, assigned);
    core::explanation out;
    out.facts = {{"all_have_room", outlook.left.empty()}, {"overcommit", static_cast<double>(fencing.overcommit)}};
    std::vector<core::explained_fields> nodes;
    for (const auto& one : outlook.nodes) {
        nodes.push_back({{"node", shown(one.node)},
                         {"machines", static_cast<double>(one.machines)},
                         {"memory_mib", static_cast<double>(one.memory)},
                         {"would_start_elsewhere", static_cast<double>(one.placed)}});
    }
    std::vector<core::explained_fields> left;
    for (const auto& one : outlook.left) {
        left.push_back({{"node", shown(one.node)}, {"name", one.name}, {"reason", one.reason}});
    }
    out.lists.emplace_back("nodes", std::move(nodes));
    out.lists.emplace_back("without_place", std::move(left));
    co_return out;
}

}  // namespace

class capacity_part final : public core::session_part {
public:
    capacity_part(core::session& s, capacity& owner) : session_(s), owner_(owner) { owner_.part_ = this; }
    ~capacity_part() override { owner_.part_ = nullptr; }

    async::awaitable<void> run() override {
        co_await async::with_task_group("capacity", [&](async::task_group& scope) -> async::awaitable<void> {
            scope_ = &scope;
            struct leaving {
                capacity_part& of;
                ~leaving() { of.scope_ = nullptr; }
            };
            const leaving guard{*this};
            async::wakeup nothing;
            for (;;) {
                co_await nothing.wait(async::wait_note::work("a question"));
            }
        });
    }

    void ask(const asked_capacity& answer, time_point until) {
        if (!session_.zk.is_connected()) {
            answer->give(zookeeper_away("capacity"));
            return;
        }
        if (scope_ == nullptr || scope_->cancelled()) {
            answer->give(failure(errc::unavailable, "capacity", "this node does not run yet, or stops"));
            return;
        }
        if (!asked_.expired()) {
            answer->give(failure(errc::unavailable, {}, "somebody asks the same just now; try again"));
            return;
        }
        const auto question = std::make_shared<capacity_question>(answer);
        asked_ = question;
        scope_->spawn("explain capacity", [this, question, until]() -> async::awaitable<void> {
            auto got = co_await async::with_deadline(session_.node.clock(), until, "the room for machines",
                                                     look_at_capacity(session_, owner_.hypervisors_, until));
            question->answer->give(got ? std::move(got) : unanswered(got.error(), "capacity"));
        });
    }

private:
    core::session& session_;
    capacity& owner_;
    async::task_group* scope_ = nullptr;
    std::weak_ptr<capacity_question> asked_;
};

std::unique_ptr<core::session_part> capacity::begin(core::session& s) {
    return std::make_unique<capacity_part>(s, *this);
}

std::shared_ptr<core::awaited_explanation> capacity::explain(time_point until) {
    auto answer = std::make_shared<core::awaited_explanation>();
    if (part_ == nullptr) {
        answer->give(zookeeper_away("capacity"));
    } else {
        part_->ask(answer, until - capacity_before_limit);
    }
    return answer;
}

}  // namespace pvc::fencing
