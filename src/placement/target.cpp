#include "pvcnoded/placement/target.hpp"

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/model/scalar.hpp"

namespace pvc::placement {

namespace {

struct offer {
    policy::node_offer node;
    std::optional<std::int32_t> daemon_version{};  // empty: there is no such key
    std::optional<std::int32_t> domain_version{};
    std::optional<failure> trouble;
};

// A key that is not there counts as empty; other failures are noted.
async::awaitable<std::optional<zookeeper::read_reply>> read_key(core::session& s, offer& one, std::string_view suffix) {
    auto read = co_await s.zk.get(s.limit(), model::node_path(one.node.name, suffix));
    if (!read && read.error().code() != errc::not_found) {
        one.trouble = read.error();
    }
    co_return read ? std::optional(*std::move(read)) : std::nullopt;
}

async::awaitable<std::string> read_text(core::session& s, offer& one, std::string_view suffix,
                                        std::optional<std::int32_t>& version) {
    auto read = co_await read_key(s, one, suffix);
    if (!read) {
        co_return std::string();
    }
    version = read->stat.version;
    co_return std::move(read->data);
}

// The figures of a node that does not take domains are of no interest.
async::awaitable<void> read_offer(core::session& s, offer& one) {
    const auto daemon = co_await read_text(s, one, model::node_key::daemon_state, one.daemon_version);
    const auto domain = co_await read_text(s, one, model::node_key::domain_state, one.domain_version);
    one.node.daemon = model::daemon_state_or_fallback(daemon);
    one.node.domain = model::domain_state_or_fallback(domain);
    if (!policy::takes_domains(one.node)) {
        co_return;
    }
    const auto figure = [&](std::string_view suffix, std::string& into) -> async::awaitable<void> {
        auto read = co_await read_key(s, one, suffix);
        into = read ? std::move(read->data) : std::string();
    };
    co_await figure(model::node_key::mem_free, one.node.memfree);
    co_await figure(model::node_key::mem_used, one.node.memused);
    co_await figure(model::node_key::mem_prov, one.node.memprov);
    co_await figure(model::node_key::cpu_load, one.node.cpuload);
    co_await figure(model::node_key::vcpu_alloc, one.node.vcpualloc);
    co_await figure(model::node_key::domains_count, one.node.domainscount);
}

// Reads a key that may be missing, and notes the version that the choice rests on.
async::awaitable<result<std::string>> read_rule(core::session& s, std::string path, zookeeper::transaction& checks) {
    auto read = co_await s.zk.get(s.limit(), path);
    if (read) {
        checks.check(std::move(path), read->stat.version);
        co_return std::move(read->data);
    }
    if (read.error().code() == errc::not_found) {
        co_return std::string();
    }
    co_return read.error();
}

// Errors: those of a session that broke. Versions of what the choice rests on go into `checks`.
async::awaitable<result<policy::target_request>> read_rules(core::session& s, const uuid& id,
                                                            const std::string& current,
                                                            zookeeper::transaction& checks) {
    const std::string root = model::domain_path(to_text(id));
    PVC_CO_TRY(const auto limit, co_await read_rule(s, root + model::domain_key::node_limit, checks));
    PVC_CO_TRY(const auto selector, co_await read_rule(s, root + model::domain_key::node_selector, checks));
    zookeeper::transaction unchecked;  // the cluster's default may change at any time, and harms nobody
    PVC_CO_TRY(const auto common,
               co_await read_rule(s, std::string(model::key_path::migration_target_selector), unchecked));
    policy::target_request request;
    request.selector = policy::effective_selector(selector, common, s.node.config->target_selector);
    request.limit = model::parse_comma_list(limit);
    request.current = current;
    co_return request;
}

async::awaitable<result<std::vector<offer>>> read_all(core::session& s, const std::string& current) {
    PVC_CO_TRY(const auto names, co_await s.zk.children(s.limit(), std::string(model::key_path::nodes)));
    std::vector<offer> all(names.names.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].node.name = names.names[i];
    }
    co_await async::with_task_group("offers of nodes", [&](async::task_group& group) -> async::awaitable<void> {
        for (auto& one : all) {
            if (one.node.name != current) {
                group.spawn(one.node.name, [&s, &one] { return read_offer(s, one); });
            }
        }
        co_return;
    });
    for (const auto& one : all) {
        if (one.trouble) {
            co_return *one.trouble;
        }
    }
    co_return all;
}

void rest_on(zookeeper::transaction& checks, const std::string& node, std::string_view key,
             std::optional<std::int32_t> version) {
    if (version) {
        checks.check(model::node_path(node, key), *version);
    }
}

std::vector<policy::node_offer> offered_by(const std::vector<offer>& all) {
    std::vector<policy::node_offer> offered;
    for (const auto& one : all) {
        offered.push_back(one.node);
    }
    return offered;
}

}  // namespace

async::awaitable<result<target>> choose_target(core::session& s, const uuid& id, const std::string& current,
                                               const std::set<std::string>& but) {
    target out;
    PVC_CO_TRY(const auto request, co_await read_rules(s, id, current, out.checks));
    PVC_CO_TRY(const auto all, co_await read_all(s, current));
    auto offered = offered_by(all);
    std::erase_if(offered, [&](const policy::node_offer& one) { return but.contains(one.name); });
    out.choice = policy::select_target(request, std::move(offered));
    for (const auto& one : all) {
        if (one.node.name == current) {
            continue;
        }
        const bool may_go_there = policy::is_allowed(request, one.node.name);
        out.nodes.push_back({one.node.name, may_go_there, policy::takes_domains(one.node)});
        if (out.choice ? one.node.name == out.choice->node : may_go_there) {
            rest_on(out.checks, one.node.name, model::node_key::daemon_state, one.daemon_version);
            rest_on(out.checks, one.node.name, model::node_key::domain_state, one.domain_version);
        }
    }
    co_return out;
}

async::awaitable<result<std::vector<policy::node_offer>>> read_offers(core::session& s, const std::string& current) {
    PVC_CO_TRY(const auto all, co_await read_all(s, current));
    co_return offered_by(all);
}

async::awaitable<result<policy::target_request>> read_request(core::session& s, const uuid& id,
                                                              const std::string& current) {
    zookeeper::transaction unchecked;
    co_return co_await read_rules(s, id, current, unchecked);
}

}  // namespace pvc::placement
