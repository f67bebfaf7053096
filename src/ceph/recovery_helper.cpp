#include "pvcnoded/ceph/recovery_helper.hpp"

#include "helper_news.hpp"

namespace pvc::ceph {

using namespace std::chrono_literals;

recovery_helper::recovery_helper(core::node_context& node, ceph_ports outside)
    : node_(node), outside_(std::move(outside)), teller_(std::make_unique<helper_teller>(node)) {}
recovery_helper::~recovery_helper() = default;

async::awaitable<result<void>> recovery_helper::can_ask() const {
    const auto& files = node_.config->storage;
    const auto settings = co_await node_.port.host.can_read(files.ceph_config_file);
    if (!settings) {
        co_return settings;
    }
    const auto keys = co_await node_.port.host.can_read(files.ceph_admin_keyring);
    co_return keys;
}

async::awaitable<result<void>> recovery_helper::prepare(core::preparation in) {
    in.attempt.spawn("ceph helper", [this] {
        const auto& files = node_.config->storage;
        storage::helper_settings settings{outside_.helper_program, files.ceph_config_file, files.ceph_admin_keyring};
        settings.serves = storage::helper_service::recovery;
        settings.idle_limit = 60s;
        settings.may_start = [this] { return can_ask(); };
        return outside_.helper.run(std::move(settings),
                                   [this](const storage::helper_news& news) { teller_->tell(news); });
    });
    co_return result<void>();
}

void recovery_helper::report(std::vector<std::string>& lines) const {
    lines.push_back(helper_text(outside_.helper.view()) + " (for the locks of dead nodes alone)");
}

}  // namespace pvc::ceph
