// What the addresses of the primary learn from a session: who is named, and that a peer has started.
#pragma once

#include "pvcnoded/core/session.hpp"
#include "pvcnoded/model/node_payloads.hpp"
#include "role_addresses.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace pvc::networks {

// What a session tells of who is primary, from its first answer on: before S12 too, while a start-up hangs.
class role_addresses::of_session final : public core::session_part {
public:
    of_session(role_addresses& owner, core::session& s) : owner_(owner), session_(s) {
        primary_ =
            s.watches.add(std::string(model::key_path::primary_node), zookeeper::watch_kind::data, owner.changed_);
        owner_.session_ = this;
    }
    ~of_session() override { owner_.session_ = owner_.session_ == this ? nullptr : owner_.session_; }

    async::awaitable<void> run() override {
        const async::latest<std::uint64_t>::observer others(session_.others.changes(), owner_.is_missing_);
        for (;;) {
            if (has_a_peer_started()) {
                owner_.announce_all_again();
            }
            co_await owner_.add_missing(session_);
            co_await owner_.is_missing_.wait(async::wait_note::work("an address of the primary that is missing"));
        }
    }
    [[nodiscard]] std::optional<policy::named_primary> named() const {
        if (!primary_->known() || !session_.zk.is_connected()) {
            return std::nullopt;
        }
        const auto text = primary_->present() ? std::optional<std::string_view>(primary_->data()) : std::nullopt;
        return policy::named_primary{model::parse_primary_node(text)};
    }

private:
    bool has_a_peer_started() {
        using enum model::daemon_state;
        if (!session_.others.known()) {
            return false;
        }
        bool has_one = false;
        for (const auto& peer : session_.others.all()) {
            const auto now = session_.others.daemon_state(peer.name);
            const auto [known, is_new] = states_.try_emplace(peer.name, now);
            has_one = has_one || (!is_new && known->second != now && (now == init || now == run));
            known->second = now;
        }
        return has_one;
    }

    role_addresses& owner_;
    core::session& session_;
    std::unique_ptr<zookeeper::watched> primary_;
    std::map<std::string, std::optional<model::daemon_state>> states_;  // of the peers, when that was looked at last
};

}  // namespace pvc::networks
