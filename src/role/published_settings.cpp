#include "pvcnoded/role/published_settings.hpp"

#include "pvcnoded/model/node_payloads.hpp"

#include <utility>
#include <vector>

namespace pvc::role {

namespace {

struct setting {
    std::string path;
    std::string value;
};

std::vector<setting> settings_of(const config::node_config& config) {
    std::vector<setting> all;
    if (config.functions.hypervisor) {
        all.push_back({std::string(model::key_path::migration_target_selector), config.target_selector});
    }
    if (config.functions.networking && !config.upstream_floating_ip.empty()) {
        all.push_back({std::string(model::key_path::upstream_ip), config.upstream_floating_ip});
    }
    return all;
}

class publication final : public core::session_part {
public:
    explicit publication(core::session& s) : session_(s), settings_(settings_of(*s.node.config)) {}

    async::awaitable<void> run() override {
        const async::latest<std::uint64_t>::observer ticks(session_.ticks, changed_);
        for (;;) {
            co_await changed_.wait(async::wait_note::work("a tick of a primary"));
            if (!is_open_ || settings_.empty() || !session_.node.role.is_primary()) {
                keys_.clear();
                primary_node_.reset();
            } else if (!primary_node_) {
                watch();
            } else if (may_write() && tick_ != session_.ticks.value()) {
                co_await publish();
            }
        }
    }
    void open() override { is_open_ = true; }
    void close() override { is_open_ = false; }

private:
    void watch() {
        tick_ = 0;
        primary_node_ =
            session_.watches.add(std::string(model::key_path::primary_node), zookeeper::watch_kind::data, changed_);
        for (const auto& one : settings_) {
            keys_.push_back(session_.watches.add(one.path, zookeeper::watch_kind::data, changed_));
        }
    }
    [[nodiscard]] bool may_write() const {
        return primary_node_->present() && model::parse_primary_node(primary_node_->data()) == session_.node.self();
    }
    // Once a tick at the most: somebody may write all the time.
    async::awaitable<void> publish() {
        for (std::size_t i = 0; i < settings_.size(); ++i) {
            const auto& key = *keys_[i];
            const auto& wanted = settings_[i].value;
            if (!key.known() || key.is_outdated() || (key.present() && key.data() == wanted)) {
                continue;
            }
            tick_ = session_.ticks.value();
            zookeeper::transaction write;
            write.check(primary_node_->path(), primary_node_->stat().version);
            if (key.present()) {
                write.set(key.path(), wanted, key.stat().version);
            } else {
                write.create(key.path(), wanted);
            }
            auto done = co_await session_.zk.commit(session_.limit(), std::move(write));
            if (!done) {
                session_.node.log.debug(done.error().text() + ", the next tick looks again");
            }
            if (!may_write()) {
                co_return;
            }
        }
    }

    core::session& session_;
    const std::vector<setting> settings_;
    bool is_open_ = false;
    std::unique_ptr<zookeeper::watched> primary_node_;
    std::vector<std::unique_ptr<zookeeper::watched>> keys_;  // of a primary only
    std::uint64_t tick_ = 0;                                 // of the last write
    async::wakeup changed_;
};

}  // namespace

std::unique_ptr<core::session_part> published_settings::begin(core::session& s) {
    return std::make_unique<publication>(s);
}

}  // namespace pvc::role
