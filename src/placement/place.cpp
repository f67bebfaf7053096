#include "pvcnoded/placement/place.hpp"

#include "pvcnoded/model/scalar.hpp"

#include <algorithm>
#include <array>

namespace pvc::placement {

using namespace std::chrono_literals;

namespace {

constexpr duration client_lock_limit = 30s;

// The conditional write of a decision, in the order in which clients write these keys.
zookeeper::transaction write_of(const order& by, const std::string& root, const stored_domain& seen,
                                decision&& decided) {
    const policy::placement& wanted = *decided.write;
    zookeeper::transaction write;
    const auto put = [&](std::string_view suffix, const std::optional<std::string>& value, std::int32_t version) {
        if (value && version < 0) {
            write.create(root + std::string(suffix), *value);
        } else if (value) {
            write.set(root + std::string(suffix), *value, version);
        } else if (version >= 0) {
            write.check(root + std::string(suffix), version);
        }
    };
    const auto state = wanted.state ? std::optional(std::string(to_text(*wanted.state))) : std::optional<std::string>();
    const auto autostart = wanted.autostart ? std::optional(std::string(model::boolean_text(*wanted.autostart)))
                                            : std::optional<std::string>();
    put(model::domain_key::state, state, seen.state_version);
    put(model::domain_key::node, wanted.node, seen.node_version);
    put(model::domain_key::last_node, wanted.last_node, seen.last_node_version);
    put(model::domain_key::node_autostart, autostart, seen.autostart_version);
    write.append(std::move(decided.checks));
    if (by.add_checks) {
        by.add_checks(write);
    }
    return write;
}

attempt refused(const failure& why, const std::string& root) {
    attempt out;
    out.why = why.text();
    if (why.code() == errc::version_conflict || why.code() == errc::already_exists) {
        out.what = attempt::kind::conflict;
    } else if (why.code() == errc::not_found) {
        // What it cannot be without: the lock, the rules of placement and the nodes may come and go.
        constexpr std::array<std::string_view, 3> own{"", model::domain_key::state, model::domain_key::node};
        const bool is_domain =
            std::ranges::any_of(own, [&](std::string_view key) { return why.subject() == root + std::string(key); });
        out.what = is_domain ? attempt::kind::gone : attempt::kind::conflict;
    }
    return out;
}

}  // namespace

async::awaitable<attempt> place_domain(const order& by, const uuid& id, decide how) {
    const std::string root = model::domain_path(to_text(id));
    core::session& s = by.s;
    attempt out;
    bool had_lock = false;
    zookeeper::lock_request lock;
    lock.path = root + model::domain_key::state;
    lock.deadline = s.limit(client_lock_limit);
    lock.task = std::string(by.task);
    lock.reason = "placing " + to_text(id);
    auto done =
        co_await s.locks.with_lock(std::move(lock), [&](zookeeper::held_lock& held) -> async::awaitable<result<void>> {
            had_lock = true;
            PVC_CO_TRY(const auto seen, co_await read_domain(s, id));
            PVC_CO_TRY(auto decided, co_await how(seen));
            if (!decided.write) {
                out.what = attempt::kind::needless;
                co_return result<void>();
            }
            auto write = write_of(by, root, seen, std::move(decided));
            held.add_check(write);
            PVC_CO_TRY(const auto written, co_await s.zk.commit(s.limit(), std::move(write)));
            out.what = attempt::kind::written;
            out.zxid = written.zxid();
            co_return result<void>();
        });
    if (done) {
        co_return out;
    }
    if (!had_lock && done.error().code() == errc::timed_out) {
        co_return attempt{attempt::kind::locked, 0, done.error().text()};
    }
    co_return refused(done.error(), root);
}

}  // namespace pvc::placement
