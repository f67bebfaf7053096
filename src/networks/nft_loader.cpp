#include "nft_loader.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace pvc::networks {

using namespace std::chrono_literals;

namespace {

constexpr duration between_file_looks = 10s;
constexpr duration until_asked_again = 60s;
constexpr async::process_limits nft_limits{.time = 10s, .grace = 1s, .output_bytes = 65536};
constexpr async::process_limits short_nft_limits{.time = 2s, .grace = 1s, .output_bytes = 4096};
constexpr std::size_t most_verdicts = 10'000;
constexpr std::size_t longest_said = 200;
constexpr std::string_view record_name = "static-tables";
constexpr std::string_view loaded_name = "loaded.nft";

// "/dev/stdin:3:40-45: Error: syntax error, unexpected …": from the first error on, one line.
std::string reason_in(std::string_view said) {
    constexpr std::string_view mark = "Error: ";
    if (const auto at = said.find(mark); at != std::string_view::npos) {
        said.remove_prefix(at + mark.size());
    }
    said = said.substr(0, std::min(said.find('\n'), longest_said));
    return said.empty() ? "no" : shown(said);
}

bool is_in(const std::vector<std::string>& all, const std::string& one) {
    return std::ranges::find(all, one) != all.end();
}

}  // namespace

nft_loader::nft_loader(core::node_context& node, async::process_runner& processes, std::string folder)
    : node_(node), processes_(processes), folder_(std::move(folder)) {}

async::awaitable<bool> nft_loader::look_at_files() {
    const time_point now = node_.clock().now();
    if (now < next_look_) {
        co_return false;
    }
    next_look_ = now + between_file_looks;
    const bool may_ask = ask_again_ && *ask_again_ <= now;
    if (may_ask) {
        forget_doubts();
    }
    std::vector<file> found;
    const auto names = node_.port.host.list_files(folder_ + "/static");
    for (const auto& name : names ? *names : std::vector<std::string>()) {
        if (name.starts_with(".")) {
            continue;  // nft's own pattern passes them over
        }
        // It may be a link to wherever.
        auto text = co_await node_.port.host.read_disk_file(folder_ + "/static/" + name);
        const auto before = std::ranges::find(files_, name, [](const file& one) { return one.is.name; });
        const bool has_no_answer =
            !text && (text.error().code() == errc::timed_out || text.error().code() == errc::unavailable);
        if (has_no_answer && before != files_.end()) {
            found.push_back(*before);  // the disk hangs: what was read last is in force
        } else {
            found.push_back(text ? file{{name, *std::move(text)}, {}} : file{{name, {}}, text.error().text()});
        }
    }
    std::ranges::sort(found, {}, [](const file& one) { return one.is.name; });
    if (found == files_) {
        const bool are_some_lost = co_await find_lost_tables();
        co_return may_ask || are_some_lost;
    }
    files_ = std::move(found);
    are_files_judged_ = false;
    knowledge_.verdicts.clear();
    knowledge_.refused_rules.clear();
    forget_refusal(true);
    co_return true;
}

// What says something against it may say no more: it is asked again.
void nft_loader::forget_doubts() {
    ask_again_.reset();
    is_in_trouble_ = false;
    knowledge_.unusable.clear();
    knowledge_.refused_rules.clear();
    may_forget_rules_ = node_.clock().now() + until_asked_again;
    are_files_judged_ = are_files_judged_ && file_problems_.empty();
    for (const auto& text : std::exchange(doubtful_, {})) {
        knowledge_.verdicts.erase(text);
    }
    if (std::exchange(must_forget_texts_, false)) {
        forget_refused_texts();
    }
}

void nft_loader::forget_refused_texts() {
    std::erase_if(knowledge_.verdicts, [](const auto& one) { return !one.second.empty(); });
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
    answer said{ended->succeeded(),
                std::holds_alternative<async::signalled>(ended->how),
                {},
                std::move(ended->output),
                std::move(ended->error_output)};
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

async::awaitable<nft_loader::names> nft_loader::names_of(std::string text, int depth) const {
    constexpr int deepest = 4;
    constexpr std::string_view default_folder = "/etc/";  // of nft, for paths that are none from the root
    names found{policy::names_in(text)};
    for (const auto& path : found.all.included) {
        const bool is_pattern = path.find_first_of("*?[") != std::string::npos;
        if (is_pattern || depth >= deepest) {
            found.are_some_unknown = true;
            continue;
        }
        auto read =
            co_await node_.port.host.read_disk_file(path.starts_with('/') ? path : std::string(default_folder) + path);
        if (!read) {
            found.are_some_unknown = true;
            continue;
        }
        auto more = co_await names_of(*std::move(read), depth + 1);
        std::ranges::move(more.all.tables, std::back_inserter(found.all.tables));
        std::ranges::move(more.all.chains, std::back_inserter(found.all.chains));
        found.all.flushes_all = found.all.flushes_all || more.all.flushes_all;
        found.are_some_unknown = found.are_some_unknown || more.are_some_unknown;
    }
    co_return found;
}

// ---- what is tried before it is loaded ----

async::awaitable<void> nft_loader::judge_files() {
    if (are_files_judged_ || is_in_trouble_) {
        co_return;
    }
    knowledge_.static_chains.clear();
    knowledge_.are_chains_unknown = false;
    accepted_.clear();
    file_problems_.clear();
    std::vector<policy::static_file> readable;
    const auto files = files_;
    for (const auto& one : files) {
        if (!one.unreadable.empty()) {
            file_problems_.emplace(one.is.name, one.unreadable);
            continue;
        }
        const auto found = co_await names_of(one.is.text);
        if (found.all.flushes_all) {
            file_problems_.emplace(one.is.name, "\"flush ruleset\" would remove the tables of others");
        } else {
            readable.push_back(one.is);
        }
    }
    if (!readable.empty()) {
        co_await try_files(std::move(readable));
    }
    are_files_judged_ = !is_in_trouble_;
    if (!file_problems_.empty() && !ask_again_) {
        ask_again_ = node_.clock().now() + until_asked_again;  // a device may be there then
    }
    for (const auto& one : accepted_) {
        auto found = co_await names_of(one.text);
        std::ranges::move(found.all.chains, std::back_inserter(knowledge_.static_chains));
        knowledge_.are_chains_unknown = knowledge_.are_chains_unknown || found.are_some_unknown;
    }
}

// All at once, as one may need another; if that fails each behind those that were taken.
async::awaitable<void> nft_loader::try_files(std::vector<policy::static_file> readable) {
    const auto there = co_await look_at_tables();
    if (!there) {
        cannot_ask("the nft program cannot be asked", there.error().text());
        co_return;
    }
    auto tried = co_await run({"-c", "-f", "-"}, policy::nft_text(there->own, readable), nft_limits);
    if (tried && tried->is_taken) {
        accepted_ = std::move(readable);
        co_return;
    }
    for (auto& one : readable) {
        accepted_.push_back(std::move(one));
        if (readable.size() > 1) {
            tried = co_await run({"-c", "-f", "-"}, policy::nft_text(there->own, accepted_), nft_limits);
        }
        if (!tried || (!tried->is_taken && !tried->line && !tried->was_killed)) {
            accepted_.clear();
            cannot_ask("the nft program cannot be asked", tried ? reason_in(tried->said) : tried.error().text());
            co_return;
        }
        if (!tried->is_taken) {
            const auto place = tried->line ? policy::place_in_files(*tried->line, there->own, accepted_) : std::nullopt;
            file_problems_.emplace(
                accepted_.back().name,
                (place ? fmt::format("line {}: ", place->line) : std::string()) + reason_in(tried->said));
            accepted_.pop_back();
        }
    }
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
        const auto tried = co_await run({"-c", "-f", "-"}, policy::nft_trial(group, there->own, accepted_), nft_limits);
        // A name that nft looks up may take all of its time, and a text may be its death.
        const auto is_behind = [&](std::size_t line) {
            return line > static_cast<std::size_t>(std::ranges::count(around, '\n'));
        };
        bool is_of_text = tried && (tried->is_taken || tried->was_killed || (tried->line && is_behind(*tried->line)));
        if (!tried && tried.error().code() == errc::timed_out) {
            const auto without = co_await run({"-c", "-f", "-"}, around, short_nft_limits);
            is_of_text = without && without->is_taken;
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
                doubtful_.insert(one);
                ask_again_ = node_.clock().now() + until_asked_again;
            }
        }
    }
    suspects_.clear();
    co_return true;
}

// ---- tables of static files ----

async::awaitable<void> nft_loader::record(std::vector<std::string> tables) {
    if (own_tables_ == tables && is_recorded_) {
        co_return;
    }
    own_tables_ = std::move(tables);
    auto written = co_await node_.port.host.replace_file(folder_ + "/" + std::string(record_name),
                                                         fmt::format("{}\n", fmt::join(*own_tables_, "\n")));
    is_recorded_ = written.has_value();
    if (!written) {
        node_.log.debug("the tables of static files were not noted: " + written.error().text());
    }
}

async::awaitable<result<nft_loader::tables>> nft_loader::look_at_tables() {
    const auto listed = co_await run({"list", "tables"}, "", nft_limits);
    if (!listed) {
        co_return listed.error();
    }
    if (!listed->is_taken) {
        co_return failure(errc::io, "nft", reason_in(listed->said));
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

// Also those of files that static files include. Made by somebody else meanwhile: then it is not told apart.
async::awaitable<void> nft_loader::note_made_tables(const tables& before, bool are_some_unknown) {
    made_tables_.clear();
    const auto after = co_await look_at_tables();
    if (!after) {
        co_return;
    }
    made_tables_ = after->own;
    if (!are_some_unknown) {
        co_return;
    }
    auto own = after->own;
    for (const auto& one : after->all) {
        if (one != "inet filter" && !is_in(before.all, one) && !is_in(own, one)) {
            own.push_back(one);
        }
    }
    made_tables_ = own;
    co_await record(std::move(own));
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
async::awaitable<result<nft_loader::answer>> nft_loader::load_file(const std::string& text) {
    const std::string path = folder_ + "/" + std::string(loaded_name);
    const auto written = co_await node_.port.host.replace_file(path, text);
    if (!written) {
        co_return written.error();
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
    // Noted before they are made: who is killed in between leaves no table behind that is nobody's.
    auto noted = before->own;
    bool are_some_unknown = false;
    for (const auto& one : accepted_) {
        auto found = co_await names_of(one.text);
        if (found.all.flushes_all) {
            are_files_judged_ = false;  // what it includes is another file now
            co_return false;
        }
        are_some_unknown = are_some_unknown || found.are_some_unknown;
        for (auto& table : found.all.tables) {
            if (!is_in(noted, table)) {
                (is_in(before->all, table) ? shared_tables_ : noted).push_back(std::move(table));
            }
        }
    }
    co_await record(std::move(noted));
    const std::string text = policy::nft_text(wanted, before->own, accepted_);
    const auto loaded = co_await load_file(text);
    if (loaded && loaded->is_taken) {
        if (!accepted_.empty()) {
            co_await note_made_tables(*before, are_some_unknown);
        }
        co_return true;
    }
    // Who was ended in the middle may have made them. Otherwise they may be somebody else's next time.
    const bool is_unknown = loaded ? loaded->was_killed : loaded.error().code() == errc::timed_out;
    if (!is_unknown) {
        co_await record(before->own);
    }
    if (loaded) {
        note_refusal(*loaded, text, before->own);
    } else {
        cannot_ask("nft does not load all of it", loaded.error().text());
    }
    co_return false;
}

// What a chain with a hook must not lead to, and loops: the kernel may say so of the whole only.
void nft_loader::note_refusal(const answer& said, const std::string& text, std::span<const std::string> own) {
    const std::string reason = reason_in(said.said);
    const std::string doing = "nft does not load all of it";
    if (!said.line) {
        cannot_ask(doing, reason);
        return;
    }
    if (auto guilty = policy::acl_in_line(text, *said.line, knowledge_)) {
        if (knowledge_.refused_rules.empty()) {
            may_forget_rules_ = node_.clock().now() + until_asked_again;
        }
        knowledge_.refused_rules.insert_or_assign(*std::move(guilty), reason);
        return;
    }
    const auto place = policy::place_in_files(*said.line, own, accepted_);
    cannot_ask(doing, place ? fmt::format("static file {}: line {}: {}", shown(accepted_[place->file].name),
                                          place->line, reason)
                            : reason);
    is_in_trouble_ = false;  // another wish may do
}

async::awaitable<void> nft_loader::remove_tables() {
    shared_tables_.clear();
    made_tables_.clear();
    if (!are_files_judged_ || (own_tables_ && own_tables_->empty())) {
        co_return;
    }
    if (!own_tables_ && !node_.port.host.read_file(folder_ + "/" + std::string(record_name))) {
        co_return;
    }
    const auto there = co_await look_at_tables();
    if (!there) {
        co_return;
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
}

}  // namespace pvc::networks
