#include "pvcnoded/ceph/ceph_subject.hpp"

#include "collection.hpp"
#include "helper_news.hpp"
#include "objects.hpp"
#include "osd_commands.hpp"
#include "osd_devices.hpp"
#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <utility>

namespace pvc::ceph {

using namespace std::chrono_literals;

class ceph_subject::of_session final : public core::session_part {
public:
    of_session(core::session& s, ceph_subject& owner)
        : session_(s), owner_(owner), objects_(s), figures_(s, objects_, owner.outside_.helper, *owner.known_) {
        owner_.present_ = &objects_;
        owner_.collecting_ = &figures_;
    }
    ~of_session() override {
        owner_.present_ = nullptr;
        owner_.collecting_ = nullptr;
    }

    [[nodiscard]] bool is_of_one_schema() const override { return true; }
    async::awaitable<void> run() override {
        return async::with_task_group("ceph", [this](async::task_group& group) -> async::awaitable<void> {
            group.spawn("objects", [this] { return objects_.run(); });
            group.spawn("OSD devices", [this] { return follow_devices(); });
            group.spawn("OSD commands", [this] { return serve_commands(); });
            co_return;
        });
    }
    void open() override { is_open_.set(true); }
    void close() override { is_open_.set(false); }
    async::awaitable<void> wait_loaded(time_point deadline) override {
        async::wakeup changed;
        const async::latest<std::uint64_t>::observer watch(objects_.changes(), changed);
        while (!objects_.is_loaded()) {
            const bool is_told = co_await changed.wait_until(session_.node.clock(), deadline, "what is below /ceph");
            if (!is_told) {
                session_.node.log.warning(message::start_ceph_slow,
                                          "the OSDs and pools could not all be looked at, going on");
                co_return;
            }
        }
    }

private:
    async::awaitable<void> wait_open() {
        async::wakeup changed;
        const async::latest<bool>::observer watch(is_open_, changed);
        while (!is_open_.value()) {
            co_await changed.wait(async::wait_note::work("the node to run"));
        }
    }
    async::awaitable<void> follow_devices() {
        co_await wait_open();
        osd_devices devices(session_, objects_, owner_.outside_.processes);
        co_await devices.run();
    }
    async::awaitable<void> serve_commands() {
        co_await wait_open();
        osd_commands commands(session_, objects_, owner_.outside_.processes);
        co_await commands.run();
    }

    core::session& session_;
    ceph_subject& owner_;
    objects objects_;
    collection figures_;
    async::latest<bool> is_open_{false};
};

ceph_subject::ceph_subject(core::node_context& node, ceph_ports outside)
    : node_(node),
      outside_(std::move(outside)),
      teller_(std::make_unique<helper_teller>(node)),
      known_(std::make_unique<ceph_knowledge>()) {}
ceph_subject::~ceph_subject() = default;

async::awaitable<result<void>> ceph_subject::prepare(core::preparation in) {
    in.attempt.spawn("ceph helper", [this] {
        const auto& files = node_.config->storage;
        return outside_.helper.run({outside_.helper_program, files.ceph_config_file, files.ceph_admin_keyring},
                                   [this](const storage::helper_news& news) { teller_->tell(news); });
    });
    co_return result<void>();
}

std::unique_ptr<core::session_part> ceph_subject::begin(core::session& s) {
    return std::make_unique<of_session>(s, *this);
}

async::awaitable<void> ceph_subject::collect(core::session& /*s*/, time_point /*deadline*/) {
    if (collecting_ != nullptr) {
        co_await collecting_->collect();
    }
}

void ceph_subject::put(core::figure_sheet& sheet) const {
    sheet.osds = present_ == nullptr ? 0 : present_->local_osds();
}

void ceph_subject::report(std::vector<std::string>& lines) const {
    lines.push_back(helper_text(outside_.helper.view()));
    if (present_ != nullptr) {
        lines.push_back(fmt::format("objects: {} OSDs, {} of them here, {} pools", present_->osds().size(),
                                    present_->local_osds(), present_->pools().size()));
    }
    report_figures(lines);
}

// Where this node collects: what Ceph said last and how old that is, what fails and since when.
void ceph_subject::report_figures(std::vector<std::string>& lines) const {
    const time_point now = node_.clock().now();
    if (!known_->is_collecting) {
        lines.emplace_back("figures: the primary collects them");
    } else if (!known_->heard) {
        lines.emplace_back("figures: Ceph has said nothing yet");
    } else {
        lines.push_back(fmt::format("figures: {}, {:.0f} s old", shown(known_->status),
                                    core::metric_seconds(now - *known_->heard)));
    }
    for (const auto& [topic, one] : known_->conditions.all()) {
        lines.push_back(fmt::format("for {:.0f} s: {}", core::metric_seconds(now - one.since), one.text));
    }
}

void ceph_subject::put_metrics(core::metrics_sheet& sheet) const {
    const auto seen = outside_.helper.view();
    sheet.gauge("ceph_helper_running", "1: the helper for Ceph runs", seen.is_running ? 1 : 0);
    sheet.counter("ceph_helper_starts_total", "how often the helper for Ceph was started", seen.starts);
    sheet.counter("ceph_helper_killed_total", "how often it was given up: no answer, or nonsense", seen.killed);
    sheet.gauge("ceph_helper_memory_bytes", "its private memory, as it last said; 0: not known",
                static_cast<double>(seen.private_bytes.value_or(0)));
    sheet.gauge("ceph_questions_waiting", "questions to Ceph without an answer", static_cast<double>(seen.waiting));
    const bool has_health = known_->is_collecting && known_->heard;
    sheet.gauge("ceph_health_age_seconds", "age of Ceph's last health; 0: this node does not collect it, or has none",
                has_health ? core::metric_seconds(node_.clock().now() - *known_->heard) : 0);
    sheet.counter("ceph_rounds_total", "how often Ceph was asked for its figures", known_->rounds);
    constexpr std::string_view failed = "ceph_questions_failed_total";
    constexpr std::string_view failed_help = "questions to Ceph that were not answered, or not to any use";
    sheet.counter(failed, failed_help, known_->unanswered, {{"why", "unanswered"}});
    sheet.counter(failed, failed_help, known_->unusable, {{"why", "unusable"}});
}

}  // namespace pvc::ceph
