#include "watched_acls.hpp"

#include <algorithm>

namespace pvc::networks {

namespace {

bool is_read(const zookeeper::watched& one) {
    return one.known() && !one.is_outdated();
}

}  // namespace

watched_acls::watched_acls(zookeeper::watch_set& watches, std::string_view network, std::string_view direction,
                           async::wakeup& changed, zookeeper::watch_rank rank)
    : watches_(watches),
      changed_(changed),
      folder_(std::string("/firewall_rules/").append(direction)),
      rank_(rank),
      list_(watches_.add(std::string(network).append(folder_), zookeeper::watch_kind::children, changed_, rank)) {}

void watched_acls::set_rank(zookeeper::watch_rank rank) {
    rank_ = rank;
    watches_.set_rank(*list_, rank);
    for (const auto& [name, one] : acls_) {
        watches_.set_rank(*one.order, rank);
        watches_.set_rank(*one.rule, rank);
    }
}

void watched_acls::follow() {
    if (!list_->known() || list_->changes() == followed_) {
        return;
    }
    followed_ = list_->changes();
    const auto& names = list_->names();
    std::erase_if(acls_, [&](const auto& one) { return !std::ranges::binary_search(names, one.first); });
    for (const auto& name : names) {
        if (!acls_.contains(name)) {
            const auto path = list_->path() + "/" + name;
            acls_.emplace(name, acl{watches_.add(path + "/order", zookeeper::watch_kind::data, changed_, rank_),
                                    watches_.add(path + "/rule", zookeeper::watch_kind::data, changed_, rank_)});
        }
    }
}

// As long as the list is the same, so are the keys, and each only counts up.
watched_acls::version watched_acls::now() const {
    version all{followed_, 0};
    for (const auto& [name, one] : acls_) {
        all.keys += one.order->changes() + one.rule->changes();
    }
    return all;
}

bool watched_acls::is_settled() const {
    return is_read(*list_) && std::ranges::all_of(acls_, [](const auto& one) {
               return is_read(*one.second.order) && is_read(*one.second.rule);
           });
}

void watched_acls::add_to(std::map<std::string, std::string, std::less<>>& stored) const {
    for (const auto& [name, one] : acls_) {
        const auto path = folder_ + "/" + name;
        if (one.order->present()) {
            stored.emplace(path + "/order", one.order->data());
        }
        if (one.rule->present()) {
            stored.emplace(path + "/rule", one.rule->data());
        }
    }
}

}  // namespace pvc::networks
