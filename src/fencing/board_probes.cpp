#include "pvcnoded/fencing/board_probes.hpp"

#include "zookeeper_away.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/fence_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pvc::fencing {

using namespace std::chrono_literals;

namespace {

constexpr duration resolve_limit = 15s;
constexpr duration own_every = 10min;
constexpr duration look_again = 1min;  // where the list of nodes could not be read
// Where a node's keys could not be read; twice as long each time.
constexpr duration read_again = 5s;
constexpr duration read_again_at_most = 1min;

policy::probe_heard heard_of(const result<power::board_answer>& answer) {
    if (!answer) {
        return {.failed = answer.error().text(), .status = {}, .output = {}, .errors = {}};
    }
    return {.failed = {},
            .status = answer->status,
            .output = answer->output,
            .errors = answer->errors,
            .took = answer->took,
            .as_operator = answer->as_operator};
}

core::explained_value text_or_none(const std::string& text) {
    return text.empty() ? core::explained_value() : core::explained_value(text);
}

}  // namespace

// What it does on the authority of one session.
class probing_part final : public core::session_part {
public:
    probing_part(core::session& s, board_probes& owner)
        : session_(s), node_(s.node), owner_(owner), boards_(*owner.boards_) {
        owner_.part_ = this;
    }
    probing_part(const probing_part&) = delete;
    probing_part& operator=(const probing_part&) = delete;
    ~probing_part() override {
        owner_.part_ = nullptr;
        for (auto& [node, all] : owner_.wanted_) {
            for (const auto& one : all) {
                one->give(zookeeper_away(node));
            }
        }
        owner_.wanted_.clear();
    }

    void open() override {
        is_open_ = true;
        changed_.notify();
    }
    void close() override { is_open_ = false; }
    void wake() { changed_.notify(); }
    [[nodiscard]] bool is_away() const { return !session_.zk.is_connected(); }

    async::awaitable<void> run() override {
        co_await async::with_task_group("boards", [this](async::task_group& scope) -> async::awaitable<void> {
            // One that is silent takes its time, and holds up none of the others.
            scope.spawn("own board", [this] { return tend_own(); });
            const async::latest<std::uint64_t>::observer ticks(session_.ticks, changed_);
            const async::latest<zookeeper::session_state>::observer link(session_.zk.state(), changed_);
            for (;;) {
                co_await changed_.wait(async::wait_note::work("a board that is to be probed"));
                if (is_away()) {  // it went away after they had asked
                    answer_wanted(failure(errc::suspended));
                }
                while (may_probe() && is_due()) {
                    co_await look();
                }
            }
        });
    }

private:
    struct node_keys {
        policy::read_board_entry read;
        bool is_run = false;
        std::optional<std::int64_t> heartbeat;
    };

    [[nodiscard]] bool may_probe() const { return is_open_ && !node_.maintenance && session_.zk.is_connected(); }
    [[nodiscard]] bool is_due() const {
        return !owner_.wanted_.empty() || session_.others.count() != listed_ || node_.clock().now() >= next_;
    }

    // One probe, or none where nothing is due.
    async::awaitable<void> look() {
        const std::size_t count = session_.others.count();
        const auto listed = co_await session_.zk.children(session_.limit(), std::string(model::key_path::nodes));
        if (!listed) {
            next_ = node_.clock().now() + look_again;
            listed_ = count;
            answer_wanted(listed.error());
            co_return;
        }
        listed_ = count;
        boards_.keep_only(listed->names);
        std::erase_if(unread_, [&](const auto& one) {
            return std::ranges::find(listed->names, one.first) == listed->names.end();
        });
        const auto all_candidates = candidates(listed->names);
        const auto due = policy::next_probe(all_candidates, node_.clock().now());
        for (const auto& [node, all] : std::map(owner_.wanted_)) {
            if (const auto why = why_not(node, listed->names); !why.empty()) {
                owner_.answer_all(node, failure(errc::refused, node, why));
            }
        }
        if (!due || due->at) {
            const bool has_others = listed->names.size() > 1;
            next_ = due ? *due->at : has_others ? node_.clock().now() + look_again : time_point::max();
            if (std::ranges::any_of(all_candidates, &policy::probe_candidate::is_being_fenced)) {
                next_ = std::min(next_, node_.clock().now() + look_again);  // it may be back before the others are due
            }
            co_return;
        }
        next_ = node_.clock().now();  // who is due next is looked up then
        co_await probe(due->node);
    }

    [[nodiscard]] bool is_being_fenced(const std::string& node) const {
        const auto state = session_.others.daemon_state(node);
        return boards_.is_claimed(node) || state == model::daemon_state::dead || state == model::daemon_state::fenced;
    }
    [[nodiscard]] std::string why_not(const std::string& node, const std::vector<std::string>& names) const {
        if (node == node_.self()) {
            return "that is this node: its own board is looked at when the daemon starts";
        }
        if (std::ranges::find(names, node) == names.end()) {
            return "there is no such node";
        }
        return is_being_fenced(node) ? "the node is dead or fenced: its board is left to whoever fences it"
                                     : std::string();
    }
    [[nodiscard]] std::vector<policy::probe_candidate> candidates(const std::vector<std::string>& names) const {
        std::vector<policy::probe_candidate> all;
        for (const auto& name : names) {
            if (name != node_.self()) {
                const auto known = boards_.known_of(name);
                const auto unread = unread_.find(name);
                all.push_back({.node = name,
                               .probed = known.probed,
                               .is_distrusted = known.is_distrusted,
                               .is_wanted = owner_.wanted_.contains(name),
                               .is_being_fenced = is_being_fenced(name),
                               .again = unread == unread_.end() ? std::nullopt : std::optional(unread->second.again)});
            }
        }
        return all;
    }
    void answer_wanted(const failure& why) {
        for (const auto& [node, all] : std::map(owner_.wanted_)) {
            owner_.answer_all(node, unanswered(why, node));
        }
    }

    async::awaitable<result<node_keys>> read_keys(std::string node) {
        std::vector<zookeeper::read_wish> wishes;
        for (const char* key : {"/ipmihostname", "/ipmiusername", "/ipmipassword", model::node_key::daemon_state}) {
            wishes.push_back({.path = model::node_path(node, key)});
        }
        wishes.push_back({.path = model::node_path(node, model::node_key::keepalive), .with_data = false});
        const auto got = co_await session_.zk.read_together(session_.limit(), std::move(wishes));
        std::array<std::optional<std::string>, 4> values;
        for (std::size_t i = 0; i < got.size(); ++i) {
            if (!got[i] && got[i].error().code() != errc::not_found) {
                co_return got[i].error();
            }
            if (got[i] && i < values.size()) {
                values[i] = got[i]->data;
            }
        }
        node_keys keys{policy::board_entry_of(values[0], values[1], values[2]),
                       values[3] && model::daemon_state_or_fallback(*values[3]) == model::daemon_state::run,
                       {}};
        if (const auto& beat = got.back()) {
            keys.heartbeat = beat->stat.mzxid;
        }
        co_return keys;
    }

    [[nodiscard]] bool is_own_due() const {
        const auto own = boards_.known_of(node_.self());
        return may_probe() && session_.others.count() > 0 &&
               (!own.probed || node_.clock().now() - *own.probed >= own_every);
    }
    async::awaitable<void> tend_own() {
        async::wakeup passed;
        const async::latest<std::uint64_t>::observer ticks(session_.ticks, passed);
        for (;;) {
            while (!is_own_due()) {
                co_await passed.wait(async::wait_note::work("the next look at this node's own board"));
            }
            co_await look_at_own();
            for (const auto& [node, board] : std::map(boards_.known())) {
                if (node != node_.self() && board.probed) {
                    tell(node, board);  // which of them is the same board is known by now
                }
            }
        }
    }

    // The address and the GUID of this node's own board, which no other may have.
    async::awaitable<void> look_at_own() {
        auto own = boards_.known_of(node_.self());
        own.entry.host = node_.config->ipmi.host;
        const auto found = co_await boards_.resolve(own.entry.host, resolve_limit);
        if (found) {
            own.address = found->front();
        }
        if (!own.address.empty()) {
            const auto& ipmi = node_.config->ipmi;
            const auto heard = co_await boards_.question({own.address, ipmi.user, ipmi.pass, ipmi.cipher_suite, false},
                                                         power::board_command::guid);
            const auto guid = heard ? policy::read_board_guid(heard->status, heard->output) : std::string();
            own.guid = guid.empty() ? own.guid : guid;
        }
        own.probed = node_.clock().now();
        boards_.remember(node_.self(), std::move(own));
    }

    async::awaitable<void> probe(std::string node) {
        const auto before = boards_.known_of(node);
        const auto keys = co_await read_keys(node);
        if (!keys) {
            auto& unread = unread_[node];
            unread.wait = std::clamp(2 * unread.wait, read_again, read_again_at_most);
            unread.again = node_.clock().now() + unread.wait;
            owner_.answer_all(node, unanswered(keys.error(), node));
            co_return;
        }
        unread_.erase(node);
        policy::known_board after = before;
        if (keys->read.trouble.empty()) {
            auto found = co_await ask(node, *keys, before);
            if (!found) {  // a fence has the board
                next_ = node_.clock().now() + look_again;
                co_return;
            }
            after = std::move(*found);
        } else {
            after = policy::known_board();
            after.entry = keys->read.entry;
            after.trouble = keys->read.trouble;
        }
        // What a program said stands in it.
        after.trouble = model::fence_answer_text(std::move(after.trouble), after.entry.password.reveal());
        after.probed = node_.clock().now();
        auto& counts = boards_.counts();
        ++(after.power == policy::board_power::unknown ? counts.probes_failed : counts.probes_answered);
        boards_.remember(node, after);
        tell(node, after);
        owner_.answer_all(node, explain(node, after));
    }

    // Empty: it was given up for a fence.
    async::awaitable<std::optional<policy::known_board>> ask(const std::string& node, const node_keys& keys,
                                                             const policy::known_board& before) {
        const auto configured = node_.config->ipmi.cipher_suite;
        policy::board_probe machine(keys.read.entry, before, configured, keys.is_run);
        for (;;) {
            const auto question = machine.next();
            switch (question.what) {
                case policy::probe_question_kind::none: co_return machine.found;
                case policy::probe_question_kind::resolve: {
                    const auto found = co_await boards_.resolve(keys.read.entry.host, resolve_limit);
                    machine.resolved(found ? *found : std::vector<std::string>(),
                                     found ? std::string() : found.error().cause());
                    break;
                }
                case policy::probe_question_kind::heartbeat: {
                    // From here on: what it wrote before its board said `off`, it may have written with power.
                    const auto then = co_await read_keys(node);
                    co_await async::sleep_for(node_.clock(), 2 * node_.times.keepalive, "the heartbeat of a node");
                    const auto now = co_await read_keys(node);
                    machine.heartbeat_seen(then && now && now->is_run && then->heartbeat && now->heartbeat &&
                                           now->heartbeat != then->heartbeat);
                    break;
                }
                case policy::probe_question_kind::status:
                case policy::probe_question_kind::guid: {
                    const power::board_access to{question.address, keys.read.entry.user, keys.read.entry.password,
                                                 question.suite, question.as_operator};
                    const bool is_status = question.what == policy::probe_question_kind::status;
                    const auto heard = co_await boards_.question(
                        to, is_status ? power::board_command::status : power::board_command::guid);
                    if (!heard && heard.error().code() == errc::stopped) {
                        owner_.answer_all(node, heard.error());
                        co_return std::nullopt;
                    }
                    machine.answered(heard_of(heard));
                    break;
                }
            }
        }
    }

    void tell(const std::string& node, const policy::known_board& after) {
        const auto said = owner_.said_.find(node);
        const auto why = boards_.why_unusable(node);
        const auto news = policy::news_of_probe(node, after, why,
                                                said == owner_.said_.end() ? std::nullopt : std::optional(said->second),
                                                node_.config->ipmi.cipher_suite, node_.clock().now());
        using kind = policy::probe_news::kind;
        switch (news.what) {
            case kind::nothing: return;
            case kind::usable: node_.log.info(news.text); break;
            case kind::unusable: node_.log.warning(message::board_unusable, news.text); break;
            case kind::foreign: node_.log.error(message::board_foreign, news.text); break;
            case kind::slow: node_.log.warning(message::board_slow, news.text); break;
        }
        owner_.said_[node] = {
            .at = node_.clock().now(), .why = why, .is_slow = news.what == policy::probe_news::kind::slow};
    }

    [[nodiscard]] core::explanation explain(const std::string& node, const policy::known_board& found) const {
        const auto why = boards_.why_unusable(node);
        const bool has_answered = found.power != policy::board_power::unknown;
        core::explanation told;
        told.facts = {
            {"node", node},
            {"can_be_fenced", why.empty()},
            {"why_not", text_or_none(why)},
            {"host", text_or_none(shown(found.entry.host))},
            {"address", text_or_none(found.address)},
            {"power", std::string(policy::to_text(found.power))},
            {"took_s", has_answered ? core::explained_value(std::chrono::duration<double>(found.latency).count())
                                    : core::explained_value()},
            {"cipher_suite",
             found.suite ? core::explained_value(static_cast<double>(*found.suite)) : core::explained_value()},
            {"as_operator", found.as_operator},
            {"guid", text_or_none(found.guid)}};
        return told;
    }

    core::session& session_;
    core::node_context& node_;
    board_probes& owner_;
    boards& boards_;
    async::wakeup changed_;
    bool is_open_ = false;
    std::size_t listed_ = 0;  // other nodes, when the list was read last
    struct unread_keys {
        time_point again;
        duration wait{};
    };
    std::map<std::string, unread_keys> unread_;  // nodes whose keys could not be read
    time_point next_ = time_point::min();
};

std::unique_ptr<core::session_part> board_probes::begin(core::session& s) {
    return std::make_unique<probing_part>(s, *this);
}

void board_probes::answer_all(const std::string& node, const result<core::explanation>& what) {
    const auto found = wanted_.find(node);
    if (found == wanted_.end()) {
        return;
    }
    const auto all = std::move(found->second);
    wanted_.erase(found);
    for (const auto& one : all) {
        one->give(what);
    }
}

std::shared_ptr<core::awaited_explanation> board_probes::probe_board(std::string node, time_point /*until*/) {
    auto said = std::make_shared<core::awaited_explanation>();
    if (part_ == nullptr || part_->is_away()) {
        said->give(zookeeper_away(node));
    } else if (node_.maintenance) {
        said->give(failure(errc::refused, node, "maintenance mode is on: no board is asked"));
    } else {
        wanted_[node].push_back(said);
        part_->wake();
    }
    return said;
}

void board_probes::report(std::vector<std::string>& lines) const {
    std::size_t asked = 0;
    std::size_t usable = 0;
    std::vector<std::string> others;
    for (const auto& [node, board] : boards_->known()) {
        if (node == node_.self()) {
            continue;
        }
        const auto why = boards_->why_unusable(node);
        ++asked;
        usable += why.empty() ? 1 : 0;
        if (!why.empty()) {
            others.push_back(fmt::format("node {} could not be fenced now: {}", node, why));
        }
    }
    lines.push_back(fmt::format("boards: {} of {} other nodes asked so far could be fenced now", usable, asked));
    lines.insert(lines.end(), others.begin(), others.end());
}

void board_probes::put_metrics(core::metrics_sheet& sheet) const {
    const auto& counts = boards_->counts();
    std::size_t usable = 0;
    std::size_t unusable = 0;
    for (const auto& one : boards_->known()) {
        const bool is_usable = boards_->why_unusable(one.first).empty();
        usable += is_usable && one.first != node_.self() ? 1U : 0U;
        unusable += !is_usable && one.first != node_.self() ? 1U : 0U;
    }
    const auto number = [](std::size_t count) { return static_cast<double>(count); };
    sheet.gauge("fence_boards_usable", "other nodes that could be fenced, by the last probe of their board",
                number(usable));
    sheet.gauge("fence_boards_unusable", "other nodes that could not", number(unusable));
    constexpr std::string_view probes = "fence_board_probes_total";
    constexpr std::string_view probes_help = "how often the board of another node was probed";
    sheet.counter(probes, probes_help, counts.probes_answered, {{"outcome", "answered"}});
    sheet.counter(probes, probes_help, counts.probes_failed, {{"outcome", "failed"}});
    sheet.times("fence_board_answer_seconds", "how long boards took to say whether their node is on", counts.answers);
}

}  // namespace pvc::fencing
