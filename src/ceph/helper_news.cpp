#include "helper_news.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/core/metrics.hpp"

#include <fmt/format.h>

namespace pvc::ceph {

using namespace std::chrono_literals;

void helper_teller::tell(const storage::helper_news& news) {
    constexpr duration again = 60s;
    using kind = storage::helper_news::kind;
    if (news.what == kind::started || news.what == kind::idle) {
        return node_.log.debug(news.what == kind::idle ? "Ceph's helper is ended: nobody asks"
                                                       : "Ceph's helper is started");
    }
    const time_point now = node_.clock().now();
    const auto known = told_.find(news.what);
    if (known != told_.end() && now - known->second < again) {
        return;
    }
    told_.insert_or_assign(news.what, now);
    if (news.what == kind::refused) {
        node_.log.error(message::ceph_helper_missing, "Ceph's helper cannot be started: " + news.text);
    } else {
        node_.log.warning(message::ceph_helper_gone, "Ceph's helper is gone, it is started again: " + news.text);
    }
}

std::string helper_text(const storage::helper_view& seen) {
    if (seen.is_running) {
        std::string line = "ceph: helper: it runs";
        if (seen.waiting > 0) {
            line += fmt::format(", {} question{} without an answer, the oldest for {:.1f} s", seen.waiting,
                                seen.waiting == 1 ? "" : "s", core::metric_seconds(seen.oldest_wait.value_or(0s)));
        }
        return line;
    }
    return seen.why_not.empty() ? "ceph: helper: not needed yet"
                                : fmt::format("ceph: helper: not there: {}", shown(seen.why_not));
}

}  // namespace pvc::ceph
