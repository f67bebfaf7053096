#include "nft_loader.hpp"

#include "nft_program.hpp"
#include "own_folders.hpp"
#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace pvc::networks {

using namespace std::chrono_literals;

namespace {

constexpr async::process_limits list_limits{.time = 10s, .grace = 1s, .output_bytes = 1 << 20};
constexpr async::process_limits keep_limits{.time = 20s, .grace = 1s, .output_bytes = 16 << 20};  // sets of a host
constexpr std::size_t most_verdicts = 10'000;
constexpr std::string_view record_name = "static-tables";
constexpr std::string_view loaded_name = "loaded.nft";
constexpr std::string_view changed_name = "changed.nft";

bool is_in(const std::vector<std::string>& all, const std::string& one) {
    return std::ranges::find(all, one) != all.end();
}

}  // namespace

std::string reason_in(std::string_view said) {
    constexpr std::string_view mark = "Error: ";
    constexpr std::size_t longest = 200;
    if (const auto at = said.find(mark); at != std::string_view::npos) {
        said.remove_prefix(at + mark.size());
    }
    said = said.substr(0, std::min(said.find('\n'), longest));
    return said.empty() ? "no" : shown(said);
}

nft_loader::nft_loader(core::node_context& node, async::process_runner& processes, std::string folder)
    : node_(node), processes_(processes), folder_(std::move(folder)) {}

// What says something against it may say no more: it is asked again.
void nft_loader::forget_doubts() {
    ask_again_.reset();
    is_in_trouble_ = false;
    trial_limit_ = {};
    knowledge_.unusable.clear();
    knowledge_.refused_rules.clear();
    may_forget_rules_ = node_.clock().now() + until_asked_again;
    are_files_judged_ = are_files_judged_ && file_problems_.empty();
    const time_point now = node_.clock().now();
    std::erase_if(doubtful_, [&](const auto& one) {
        const bool is_due = one.second <= now;
        if (is_due) {
            knowledge_.verdicts.erase(one.first);
        }
        return is_due;
    });
    if (!doubtful_.empty()) {
        ask_again_ = now + until_asked_again;
    }
    if (std::exchange(must_forget_texts_, false)) {
        forget_refused_texts();
    }
}

void nft_loader::forget_refused_texts() {
    std::erase_if(knowledge_.verdicts,
                  [this](const auto& one) { return !one.second.empty() && !doubtful_.contains(one.first); });
}

void nft_loader::forget_refusal(bool are_networks_others) {
    const time_point now = node_.clock().now();
    if (!is_in_trouble_) {
        knowledge_.unusable.clear();
    }
    if (are_networks_others) {
        forget_refused_texts();
        // Links come later than rules, and a text may name one.
        must_forget_texts_ = true;
        ask_again_ = ask_again_.value_or(now + until_asked_again);
    }
    if (!knowledge_.refused_rules.empty()) {
        // Each of them costs a load that fails.
        if (now >= may_forget_rules_) {
            knowledge_.refused_rules.clear();
            may_forget_rules_ = now + until_asked_again;
        } else if (!ask_again_) {
            ask_again_ = may_forget_rules_;
        }
    }
}

std::string nft_loader::text_of(const policy::wanted_filter& wanted) const {
    return policy::nft_text(wanted, {}, accepted_);
}

async::awaitable<result<nft_loader::answer>> nft_loader::run(std::vector<std::string> arguments, std::string input,
                                                             async::process_limits limits) {
    const std::string source = arguments.back() == "-" ? "/dev/stdin" : arguments.back();
    arguments.insert(arguments.begin(), "nft");
    async::command what{.arguments = std::move(arguments), .input = std::move(input)};
    auto ended = co_await processes_.run(what, limits);
    if (ended && std::holds_alternative<async::signalled>(ended->how)) {
        ended = co_await processes_.run(std::move(what), limits);  // that may have been meant for somebody else
    }
    if (!ended) {
        co_return std::move(ended).error();
    }
    if (std::holds_alternative<async::timed_out>(ended->how)) {
        co_return failure(errc::timed_out, "nft", "it did not end in time");
    }
    answer said{ended->succeeded(),       std::holds_alternative<async::signalled>(ended->how),
                ended->truncated,         {},
                std::move(ended->output), std::move(ended->error_output)};
    if (std::holds_alternative<async::exited>(ended->how) && !said.is_taken) {
        said.line = policy::line_that_nft_refuses(said.said, source);
    }
    if (!said.is_taken && said.said.empty()) {
        said.said = ended->text();
    }
    co_return said;
}

void nft_loader::cannot_ask(const std::string& doing, const std::string& why) {
    knowledge_.unusable = doing + ": " + why;
    is_in_trouble_ = true;
    ask_again_ = node_.clock().now() + until_asked_again;
}

void nft_loader::did_nothing() {
    cannot_ask("nft does not load it", "it says that it did, and the table is as it was");
}

// Halves of what is refused are tried, so that one more bad one costs a few runs, and a hundred good ones cost one.
async::awaitable<bool> nft_loader::judge(std::vector<std::string> acls, time_point until) {
    if (knowledge_.verdicts.size() > most_verdicts) {
        knowledge_.verdicts.clear();  // most of them are of texts that are gone
    }
    std::ranges::sort(acls);
    acls.erase(std::ranges::unique(acls).begin(), acls.end());
    std::erase_if(acls, [this](const std::string& one) { return knowledge_.verdicts.contains(one); });
    if (acls.empty() || is_in_trouble_) {
        co_return true;
    }
    const auto there = co_await look_at_tables();
    if (!there) {
        cannot_ask("the nft program cannot be asked", there.error().text());
        co_return true;
    }
    const auto around = policy::nft_trial({}, there->own, accepted_);
    auto limits = nft_limits;
    const duration first_limit = short_nft_limits.time + acls.size() * 10ms;
    // Where it was left off: the one that is looked for is in a group of which each call sees half.
    std::vector<std::span<const std::string>> groups;
    const auto rest = std::ranges::partition(acls, [this](const std::string& one) { return suspects_.contains(one); });
    const std::span<const std::string> suspects(acls.begin(), rest.begin());
    for (const auto group : {std::span<const std::string>(rest.begin(), rest.end()),
                             suspects.subspan(suspects.size() / 2), suspects.first(suspects.size() / 2)}) {
        if (!group.empty()) {
            groups.push_back(group);
        }
    }
    for (bool is_first = true; !groups.empty(); is_first = false) {
        if (!is_first && node_.clock().now() >= until) {
            co_return false;  // however slow nft is, each call knows more than the one before
        }
        const auto group = groups.back();
        groups.pop_back();
        limits.time = std::clamp<duration>(trial_limit_, first_limit, std::max(first_limit, nft_limits.time));
        const auto tried = co_await run({"-c", "-f", "-"}, policy::nft_trial(group, there->own, accepted_), limits);
        // It may hang over a text (a name that it looks up), and a text may be its death.
        const auto is_behind = [&](std::size_t line) {
            return line > static_cast<std::size_t>(std::ranges::count(around, '\n'));
        };
        bool is_of_text = tried && (tried->is_taken || tried->was_killed || (tried->line && is_behind(*tried->line)));
        if (!tried && tried.error().code() == errc::timed_out) {
            // How long it takes without them says how long it may take with them.
            const time_point begun = node_.clock().now();
            const auto without = co_await run({"-c", "-f", "-"}, around, nft_limits);
            const duration longer = std::min(4 * (node_.clock().now() - begun), nft_limits.time);
            is_of_text = without && without->is_taken;
            if (is_of_text && longer > limits.time) {
                trial_limit_ = longer;
                groups.push_back(group);
                continue;
            }
        }
        if (!is_of_text) {
            cannot_ask("the nft program cannot be asked", tried ? reason_in(tried->said) : tried.error().text());
            break;
        }
        const bool is_taken = tried && tried->is_taken;
        if (!is_taken && group.size() > 1) {
            suspects_ = {group.begin(), group.end()};
            groups.push_back(group.subspan(group.size() / 2));
            groups.push_back(group.first(group.size() / 2));
            continue;
        }
        for (const auto& one : group) {
            knowledge_.verdicts.insert_or_assign(one, is_taken ? std::string()
                                                      : tried  ? reason_in(tried->said)
                                                               : tried.error().text());
            if (!tried || tried->was_killed) {
                const time_point now = node_.clock().now();
                doubtful_[one] = now + (tried ? until_asked_again : until_a_hang_is_tried_again);
                ask_again_ = ask_again_.value_or(now + until_asked_again);
            }
        }
    }
    suspects_.clear();
    co_return true;
}

// ---- tables of static files ----

bool nft_loader::has_loaded_files() {
    has_record_ = has_record_ || node_.port.host.read_file(folder_ + "/" + std::string(record_name)).has_value();
    return has_record_;
}

async::awaitable<void> nft_loader::record(std::vector<std::string> tables) {
    if (own_tables_ == tables && is_recorded_ && (accepted_.empty() || has_loaded_files())) {
        co_return;
    }
    own_tables_ = std::move(tables);
    auto written = may_be_folder(node_.port.host, node_.config->directories.dynamic, "nft");
    if (written) {
        written = co_await node_.port.host.replace_file(folder_ + "/" + std::string(record_name),
                                                        fmt::format("{}\n", fmt::join(*own_tables_, "\n")));
    }
    is_recorded_ = written.has_value();
    if (!written) {
        node_.log.debug("the tables of static files were not noted: " + written.error().text());
    }
}

async::awaitable<result<std::string>> nft_loader::list_table() {
    auto listed = co_await run({"list", "table", "inet", "filter"}, "", keep_limits);
    if (!listed) {
        co_return std::move(listed).error();
    }
    if (!listed->is_taken) {
        co_return failure(errc::io, "nft", reason_in(listed->said));
    }
    if (listed->is_cut) {
        co_return failure(errc::too_large, "nft", "it lists more than can be kept");
    }
    co_return std::move(listed->output);
}

async::awaitable<result<nft_loader::tables>> nft_loader::look_at_tables() {
    const auto listed = co_await run({"list", "tables"}, "", list_limits);
    if (!listed) {
        co_return listed.error();
    }
    if (!listed->is_taken) {
        co_return failure(errc::io, "nft", reason_in(listed->said));
    }
    if (listed->is_cut) {
        co_return failure(errc::too_large, "nft", "it lists more tables than can be read");
    }
    tables seen;
    constexpr std::string_view begin = "table ";
    for (const auto line : split(listed->output, '\n')) {
        if (line.starts_with(begin)) {
            seen.all.emplace_back(trim(line.substr(begin.size())));
        }
    }
    if (!own_tables_) {
        own_tables_.emplace();
        const auto text = node_.port.host.read_file(folder_ + "/" + std::string(record_name));
        for (const auto line : split(text ? std::string_view(*text) : std::string_view(), '\n')) {
            if (!line.empty()) {
                own_tables_->emplace_back(line);
            }
        }
    }
    seen.own = *own_tables_;
    std::erase_if(seen.own, [&seen](const std::string& one) { return !is_in(seen.all, one); });
    co_return seen;
}

// All of it is in force. What was made before and is not made any more is nobody's from now on.
async::awaitable<void> nft_loader::take_loaded(std::vector<std::string> own) {
    co_await record(own);
    made_tables_.clear();
    if (!own.empty()) {
        const auto after = co_await look_at_tables();
        made_tables_ = after ? after->own : made_tables_;
    }
    proven_ = accepted_;
    blamed_.clear();
    is_without_files_ = false;
    if (!pending_.empty()) {
        add_pending();
        co_await note_chains();
    }
}

async::awaitable<bool> nft_loader::find_lost_tables() {
    if (made_tables_.empty() || !can_load_files() || !std::exchange(must_check_tables_, false)) {
        co_return false;
    }
    const auto there = co_await look_at_tables();
    if (!there) {
        must_check_tables_ = true;  // whatever loads next says what is wrong
        co_return false;
    }
    lost_tables_ = made_tables_;
    std::erase_if(lost_tables_, [&there](const std::string& one) { return is_in(there->all, one); });
    co_return !lost_tables_.empty();
}

// ---- the load ----

// From a file: of a text in a pipe nft would load the beginning, if this daemon were killed while it writes it.
async::awaitable<result<nft_loader::answer>> nft_loader::load_file(std::string_view name, const std::string& text) {
    const std::string path = fmt::format("{}/{}", folder_, name);
    auto written = may_be_folder(node_.port.host, node_.config->directories.dynamic, "nft");
    if (!written) {
        co_return failure(errc::unavailable, path, written.error().text());
    }
    written = co_await node_.port.host.replace_file(path, text);
    if (!written) {
        constexpr unsigned mode = 0755;
        auto made = co_await node_.port.host.make_directory(folder_, mode, "");  // somebody may have removed it
        ignore(made, "the next try says what is wrong");
        written = co_await node_.port.host.replace_file(path, text);
    }
    if (!written) {
        co_return failure(errc::unavailable, path, written.error().text());  // whatever the disk does is not nft's
    }
    co_return co_await run({"-f", path}, {}, nft_limits);
}

async::awaitable<bool> nft_loader::load(const policy::wanted_filter& wanted) {
    const auto before = co_await look_at_tables();
    if (!before) {
        cannot_ask("the nft program cannot be asked", before.error().text());
        co_return false;
    }
    shared_tables_.clear();
    std::vector<std::string> own;
    const auto files = accepted_;
    for (const auto& one : files) {
        auto found = co_await names_of(one.text);
        if (!found.objection.empty()) {
            are_files_judged_ = false;  // what it includes is another file now
            co_return false;
        }
        for (auto& table : found.tables) {
            const bool is_anothers = is_in(before->all, table) && !is_in(before->own, table);
            auto& to = is_anothers ? shared_tables_ : own;
            if (!is_in(to, table)) {
                to.push_back(std::move(table));
            }
        }
    }
    // Noted before they are made: who is killed in between leaves no table behind that is nobody's.
    auto noted = before->own;
    std::ranges::copy_if(own, std::back_inserter(noted), [&](const auto& one) { return !is_in(noted, one); });
    co_await record(std::move(noted));
    const std::string text = policy::nft_text(wanted, before->own, accepted_);
    const auto loaded = co_await load_file(loaded_name, text);
    if (loaded && loaded->is_taken) {
        co_await take_loaded(std::move(own));
        co_return true;
    }
    // Who was ended in the middle may have made them: those that are there are. Others may be somebody else's next
    // time.
    const bool is_unknown = loaded ? loaded->was_killed : loaded.error().code() == errc::timed_out;
    const auto after = is_unknown ? co_await look_at_tables() : before;
    if (after) {
        co_await record(after->own);
    }
    if (loaded) {
        co_await note_refusal(*loaded, text, before->own);
    } else if (loaded.error().code() == errc::timed_out) {
        co_await suspect_files(loaded.error().text(), true);
    } else {
        cannot_ask("nft does not load all of it", loaded.error().text());
    }
    co_return false;
}

async::awaitable<nft_loader::change_end> nft_loader::change(std::string text) {
    const auto changed = co_await load_file(changed_name, text);
    if (!changed) {
        co_return change_end{.is_trouble = true, .reason = changed.error().text()};
    }
    co_return change_end{.is_done = changed->is_taken,
                         .guilty = changed->line ? policy::acl_in_line(text, *changed->line, knowledge_) : std::nullopt,
                         .is_trouble = !changed->is_taken && !changed->line,
                         .reason = reason_in(changed->said)};
}

void nft_loader::take_failure(change_end end) {
    if (end.guilty) {
        leave_out_rule(*std::move(end.guilty), std::move(end.reason));
    } else if (end.is_trouble) {
        cannot_ask("nft does not change it", end.reason);
    }
}

// What a chain with a hook must not lead to, and loops: the kernel may say so of the whole only.
void nft_loader::leave_out_rule(std::string guilty, std::string reason) {
    if (knowledge_.refused_rules.empty()) {
        may_forget_rules_ = node_.clock().now() + until_asked_again;
    }
    knowledge_.refused_rules.insert_or_assign(std::move(guilty), std::move(reason));
}

async::awaitable<void> nft_loader::note_refusal(const answer& said, const std::string& text,
                                                std::span<const std::string> own) {
    std::string reason = reason_in(said.said);
    if (auto guilty = said.line ? policy::acl_in_line(text, *said.line, knowledge_) : std::nullopt) {
        leave_out_rule(*std::move(guilty), std::move(reason));
        co_return;
    }
    const auto place = said.line ? policy::place_in_files(*said.line, own, accepted_) : std::nullopt;
    if (place) {
        leave_out_file(accepted_[place->file], fmt::format("line {}: {}", place->line, reason));
        accepted_.erase(accepted_.begin() + static_cast<std::ptrdiff_t>(place->file));
        co_await note_chains();
        co_return;
    }
    co_await suspect_files(reason, false);
}

async::awaitable<bool> nft_loader::remove_tables() {
    shared_tables_.clear();
    made_tables_.clear();
    if (!are_files_judged_) {
        co_return false;
    }
    const bool is_none =
        own_tables_ ? own_tables_->empty() : !node_.port.host.read_file(folder_ + "/" + std::string(record_name));
    if (is_none) {
        co_return true;
    }
    const auto there = co_await look_at_tables();
    if (!there) {
        co_return false;
    }
    std::string text;
    for (const auto& one : there->own) {
        text += fmt::format("delete table {}\n", one);
    }
    bool is_done = text.empty();
    if (!is_done) {
        const auto removed = co_await run({"-f", "-"}, text, nft_limits);
        is_done = removed && removed->is_taken;
    }
    if (is_done) {
        co_await record({});
    }
    co_return is_done;
}

}  // namespace pvc::networks
