// What a flush of this node would do with each of its virtual machines: reads what the job reads, takes no lock, and
// writes nothing. A few reads at a time, so that no heartbeat waits behind them. Specification: node-lifecycle.md 8.1.
#include "pvcnoded/policy/domains/explain_flush.hpp"

#include "manager.hpp"
#include "pvcnoded/async/deadline.hpp"
#include "pvcnoded/async/for_each.hpp"
#include "pvcnoded/placement/stored_domain.hpp"
#include "pvcnoded/placement/target.hpp"

namespace pvc::domains {

namespace {

constexpr std::size_t explained_at_once = 8;

struct machine_outlook {
    uuid id;
    bool has_no_guest = false;
    core::explained_fields row{};  // empty: it is gone meanwhile
    std::optional<failure> trouble{};
};

core::explained_value text_or_none(std::string text) {
    return text.empty() ? core::explained_value() : core::explained_value(std::move(text));
}

bool is_of_the_session(const failure& why) {
    return why.code() == errc::suspended || why.code() == errc::session_lost || why.code() == errc::timed_out;
}

async::awaitable<void> look_at_machine(core::session& s, const std::vector<policy::node_offer>& offers,
                                       machine_outlook& one) {
    const std::string& self = s.node.self();
    auto seen = co_await placement::read_domain(s, one.id);
    if (!seen) {
        if (seen.error().code() != errc::not_found) {
            one.trouble = seen.error();
        }
        co_return;
    }
    seen->keys.has_no_guest = one.has_no_guest;
    policy::target_request request;
    if (policy::needs_target(seen->keys, self)) {
        auto rules = co_await placement::read_request(s, one.id, self);
        if (!rules) {
            one.trouble = rules.error();
            co_return;
        }
        request = *std::move(rules);
    }
    const auto outlook = policy::explain_flush(seen->keys, self, request, offers);
    one.row = {{"name", seen->name},
               {"state", std::string(to_text(seen->keys.state))},
               {"would", std::string(to_text(outlook.what))},
               {"target", text_or_none(outlook.target)},
               {"reason", outlook.reason}};
}

async::awaitable<result<core::explanation>> look_at_all_machines(core::session& s, std::vector<machine_outlook> all) {
    core::explanation out;
    PVC_CO_TRY(const auto word, co_await s.zk.get(s.limit(), s.own(model::node_key::domain_state)));
    PVC_CO_TRY(const auto offers, co_await placement::read_offers(s, s.node.self()));
    co_await async::for_each_bounded("looks at virtual machines", explained_at_once, all,
                                     [&](machine_outlook& one) { return look_at_machine(s, offers, one); });
    std::vector<core::explained_fields> rows;
    for (auto& one : all) {
        if (one.trouble && is_of_the_session(*one.trouble)) {
            co_return *one.trouble;
        }
        if (one.trouble) {
            one.row = {{"name", to_text(one.id)},
                       {"state", core::explained_value()},
                       {"would", std::string("unknown")},
                       {"target", core::explained_value()},
                       {"reason", one.trouble->text()}};
        }
        if (!one.row.empty()) {
            rows.push_back(std::move(one.row));
        }
    }
    out.facts = {{"node", s.node.self()}, {"domain_state", word.data}};
    out.lists.emplace_back("machines", std::move(rows));
    co_return out;
}

// Whoever waits is told also when the session ends, or the task before its first step.
struct asked_outlook {
    std::shared_ptr<core::awaited_explanation> answer = std::make_shared<core::awaited_explanation>();
    asked_outlook() = default;
    asked_outlook(const asked_outlook&) = delete;
    asked_outlook& operator=(const asked_outlook&) = delete;
    ~asked_outlook() {
        if (!answer->answer) {
            answer->give(failure(errc::unavailable, "ZooKeeper", "there is no session"));
        }
    }
};

}  // namespace

bool manager::spawn_reading(std::string name, std::function<async::awaitable<void>(core::session&)> body) {
    if (!is_open_ || operations_ == nullptr || operations_->cancelled()) {
        return false;
    }
    operations_->spawn(std::move(name), [s = session_, body = std::move(body)] { return body(*s); });
    return true;
}

std::shared_ptr<core::awaited_explanation> domain_subject::explain(time_point until) {
    const auto asked = std::make_shared<asked_outlook>();
    if (!explains_.expired()) {
        asked->answer->give(failure(errc::unavailable, {}, "somebody asks the same just now; try again"));
        return asked->answer;
    }
    explains_ = asked;
    std::vector<machine_outlook> all;
    for (const auto& id : present()) {
        all.push_back({id, has_no_guest(id)});
    }
    const bool is_begun = manager_->spawn_reading(
        "explain flush", [asked, until, all = std::move(all)](core::session& s) -> async::awaitable<void> {
            auto got = co_await async::with_deadline(s.node.clock(), until, "what a flush would do",
                                                     look_at_all_machines(s, all));
            asked->answer->give(std::move(got));
        });
    if (!is_begun) {
        asked->answer->give(
            failure(errc::unavailable, {}, "the virtual machines of this node are not known: there is no session yet"));
    }
    return asked->answer;
}

}  // namespace pvc::domains
