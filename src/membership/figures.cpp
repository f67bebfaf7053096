#include "pvcnoded/membership/figures.hpp"

#include "pvcnoded/membership/registration.hpp"
#include "pvcnoded/model/scalar.hpp"
#include "pvcnoded/model/system_figures.hpp"

#include <algorithm>

namespace pvc::membership {

namespace {
// Whatever becomes of the collecting, the figures are written in their tick.
constexpr duration writing_time = std::chrono::seconds(1);
}  // namespace

std::span<const std::string_view> system_figures::figure_keys() const {
    static constexpr std::string_view keys[] = {model::node_key::mem_total, model::node_key::mem_used,
                                                model::node_key::mem_free, model::node_key::cpu_load};
    return keys;
}

void system_figures::put(core::figure_sheet& sheet) const {
    auto& host = session_.node.port.host;
    auto meminfo = host.meminfo();
    const auto memory = meminfo ? model::parse_memory_info(*meminfo) : std::nullopt;
    if (memory) {
        const auto now = model::figures_of(*memory, session_.table.version());
        sheet.used_mib = now.used_mib;
        sheet.free_mib = now.free_mib;
        sheet.add(model::node_key::mem_total, std::to_string(now.total_mib));
        sheet.add(model::node_key::mem_used, std::to_string(now.used_mib));
        sheet.add(model::node_key::mem_free, std::to_string(now.free_mib));
    }
    auto loadavg = host.loadavg();
    if (const auto load = loadavg ? model::parse_load_average(*loadavg) : std::nullopt) {
        sheet.load = model::cpu_load_text(*load);
        sheet.add(model::node_key::cpu_load, sheet.load);
    }
}

// What the figures' transaction should leave behind: the constant keys, computed once a schema version, then the
// figures. Kept from tick to tick, so that a tick only puts numbers into it.
class figures::board final : public core::figure_sheet {
public:
    explicit board(core::session& s) : session_(s), root_size_(s.own().size()) {}

    void begin(const std::vector<core::figure_source*>& sources) {
        if (std::exchange(constants_of_, session_.table.version()) != session_.table.version()) {
            wanted_.keys = constant_keys(session_, sources);
            wanted_.constant_count = wanted_.keys.size();
        }
        at_ = wanted_.constant_count;
    }
    void add(std::string_view suffix, std::string value) override {
        auto& keys = wanted_.keys;
        const std::size_t size = root_size_ + suffix.size();
        if (at_ == keys.size() || keys[at_].path.size() != size || !keys[at_].path.ends_with(suffix)) {
            keys.resize(at_);  // the first tick, or other figures could be read last time
            keys.push_back({session_.own(suffix), {}});
        }
        keys[at_].value = std::move(value);
        ++at_;
    }
    const core::own_record::wanted_keys& end() {
        wanted_.keys.resize(at_);
        return wanted_;
    }

private:
    core::session& session_;
    std::size_t root_size_;  // of the entry's path
    core::own_record::wanted_keys wanted_;
    int constants_of_ = -1;  // schema version
    std::size_t at_ = 0;
};

// A source and its child, which is asked by the tick.
struct figures::collector {
    core::figure_source& source;
    time_point deadline{};
    bool is_asked = false;
    async::wakeup asked{};
};

figures::figures(core::session& s, std::vector<core::figure_source*> sources)
    : session_(s), system_(s), sources_(std::move(sources)), board_(std::make_unique<board>(s)) {
    for (auto* one : sources_) {
        collectors_.push_back(std::make_unique<collector>(*one));
    }
    sources_.insert(sources_.begin(), &system_);  // at hand at any time, so that nobody collects it
}

figures::~figures() = default;

const core::figure_sheet& figures::sheet() const {
    return *board_;
}

void figures::spawn_into(async::task_group& scope) {
    for (auto& one : collectors_) {
        const auto* subject = dynamic_cast<const core::subject*>(&one->source);
        scope.spawn("figures of " + std::string(subject != nullptr ? subject->name() : "a source"),
                    [this, &one = *one] { return follow(one); });
    }
}

async::awaitable<void> figures::follow(collector& one) {
    for (;;) {
        co_await one.asked.wait(async::wait_note::work("the next tick"));
        co_await one.source.collect(session_, one.deadline);
        one.is_asked = false;
        returned_.notify();
    }
}

async::awaitable<void> figures::collect(time_point deadline) {
    auto& clock = session_.node.clock();
    for (auto& one : collectors_) {
        if (!one->is_asked) {  // or it still hangs in what was asked of it before
            one->is_asked = true;
            one->deadline = deadline;
            one->asked.notify();
        }
    }
    const auto is_out = [](const auto& one) { return one->is_asked; };
    while (std::ranges::any_of(collectors_, is_out) && clock.now() < deadline) {
        co_await returned_.wait_until(clock, deadline, "the sources of figures");
    }
}

async::awaitable<void> figures::tick(time_point deadline) {
    if (is_ticking_) {
        const auto is_free = [this] { return !is_ticking_; };
        const bool has_turn =
            co_await ticked_.wait_until(is_free, session_.node.clock(), deadline, "another tick's figures");
        if (!has_turn) {
            co_return;
        }
    }
    struct ticking {
        figures& owner;
        ~ticking() {
            owner.is_ticking_ = false;
            owner.ticked_.notify_all();
        }
    };
    is_ticking_ = true;
    const ticking guard{*this};
    if (!collectors_.empty()) {
        const duration left = deadline - session_.node.clock().now();
        co_await collect(deadline - std::min<duration>(writing_time, left / 4));
    }
    co_await session_.record.write_all(
        [this]() -> const core::own_record::wanted_keys& {
            board_->begin(sources_);
            for (const auto* one : sources_) {
                one->put(*board_);
            }
            return board_->end();
        },
        deadline);
}

}  // namespace pvc::membership
