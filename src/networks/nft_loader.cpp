#include "nft_loader.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pvc::networks {

using namespace std::chrono_literals;

namespace {

constexpr duration between_file_looks = 10s;
constexpr duration until_asked_again = 60s;
constexpr async::process_limits nft_limits{.time = 10s, .grace = 1s, .output_bytes = 65536};
constexpr std::size_t most_verdicts = 10'000;
constexpr std::size_t longest_said = 200;
constexpr std::string_view record_name = "static-tables";

// "/dev/stdin:3:40-45: Error: syntax error, unexpected …": from the first error on, one line.
std::string reason_in(std::string_view said) {
    constexpr std::string_view mark = "Error: ";
    if (const auto at = said.find(mark); at != std::string_view::npos) {
        said.remove_prefix(at + mark.size());
    }
    said = said.substr(0, std::min(said.find('\n'), longest_said));
    return said.empty() ? "no" : shown(said);
}

}  // namespace

nft_loader::nft_loader(core::node_context& node, async::process_runner& processes, std::string folder)
    : node_(node), processes_(processes), folder_(std::move(folder)) {}

bool nft_loader::look_at_files() {
    const time_point now = node_.clock().now();
    if (now < next_look_) {
        return false;
    }
    next_look_ = now + between_file_looks;
    bool has_changed = false;
    if (ask_again_ && *ask_again_ <= now) {
        forget_refusal();
        has_changed = true;
    }
    std::vector<file> found;
    const auto names = node_.port.host.list_files(folder_ + "/static");
    for (const auto& name : names ? *names : std::vector<std::string>()) {
        if (name.starts_with(".")) {
            continue;  // nft's own pattern passes them over
        }
        auto text = node_.port.host.read_file(folder_ + "/static/" + name);
        found.push_back({name, text ? *std::move(text) : text.error().text()});
    }
    std::ranges::sort(found, {}, &file::name);
    if (found == files_) {
        return has_changed;
    }
    files_ = std::move(found);
    forget_refusal();
    knowledge_.verdicts.clear();
    knowledge_.static_chains.clear();
    for (const auto& one : files_) {
        for (auto& chain : policy::names_in(one.text).chains) {
            knowledge_.static_chains.push_back(std::move(chain));
        }
    }
    return true;
}

void nft_loader::forget_refusal() {
    knowledge_.unusable.clear();
    ask_again_.reset();
}

std::string nft_loader::signature() const {
    std::string all;
    for (const auto& one : files_) {
        all += fmt::format("{}\n{}\n", one.name, one.text);
    }
    return all;
}

async::awaitable<result<nft_loader::answer>> nft_loader::run(std::vector<std::string> arguments, std::string input) {
    arguments.insert(arguments.begin(), "nft");
    async::command what{.arguments = std::move(arguments), .input = std::move(input)};
    auto ended = co_await processes_.run(std::move(what), nft_limits);
    if (!ended) {
        co_return std::move(ended).error();
    }
    if (std::holds_alternative<async::timed_out>(ended->how)) {
        co_return failure(errc::timed_out, "nft", "it did not end in time");
    }
    answer said{ended->succeeded(), std::move(ended->output), std::move(ended->error_output)};
    if (!said.is_taken && said.said.empty()) {
        said.said = ended->text();
    }
    co_return said;
}

void nft_loader::cannot_ask(std::string why) {
    knowledge_.unusable = std::move(why);
    ask_again_ = node_.clock().now() + until_asked_again;
}

async::awaitable<void> nft_loader::judge(std::vector<policy::unjudged_acl> all) {
    if (knowledge_.verdicts.size() > most_verdicts) {
        knowledge_.verdicts.clear();  // most of them are of texts that are gone
    }
    for (const auto& one : all) {
        if (knowledge_.verdicts.contains(one.rule)) {
            continue;
        }
        const auto tried = co_await run({"-c", "-f", "-"}, policy::nft_trial(one));
        if (!tried) {
            cannot_ask("the nft program cannot be asked: " + tried.error().text());
            co_return;
        }
        knowledge_.verdicts.emplace(one.rule, tried->is_taken ? std::string() : reason_in(tried->said));
    }
}

std::vector<std::string> nft_loader::recorded() const {
    std::vector<std::string> tables;
    const auto text = node_.port.host.read_file(folder_ + "/" + std::string(record_name));
    for (const auto line : split(text ? std::string_view(*text) : std::string_view(), '\n')) {
        if (!line.empty()) {
            tables.emplace_back(line);
        }
    }
    return tables;
}

async::awaitable<void> nft_loader::record(const std::vector<std::string>& tables) {
    if (tables == recorded()) {
        co_return;
    }
    auto written = co_await node_.port.host.replace_file(folder_ + "/" + std::string(record_name),
                                                         fmt::format("{}\n", fmt::join(tables, "\n")));
    if (!written) {
        node_.log.debug("the tables of static files were not noted: " + written.error().text());
    }
}

async::awaitable<result<std::vector<std::string>>> nft_loader::own_tables() {
    const auto listed = co_await run({"list", "tables"}, "");
    if (!listed) {
        co_return listed.error();
    }
    std::vector<std::string> there;
    constexpr std::string_view begin = "table ";
    for (const auto line : split(listed->output, '\n')) {
        if (line.starts_with(begin)) {
            there.emplace_back(trim(line.substr(begin.size())));
        }
    }
    const auto is_in = [](const std::vector<std::string>& all, const std::string& one) {
        return std::ranges::find(all, one) != all.end();
    };
    auto known = recorded();
    std::erase_if(known, [&](const std::string& one) { return !is_in(there, one); });
    const auto own = known;
    shared_tables_.clear();
    // Noted before they are made: who is killed in between leaves no table behind that is nobody's.
    for (const auto& one : files_) {
        for (auto& table : policy::names_in(one.text).tables) {
            if (!is_in(known, table)) {
                (is_in(there, table) ? shared_tables_ : known).push_back(std::move(table));
            }
        }
    }
    co_await record(known);
    co_return own;
}

async::awaitable<bool> nft_loader::load(const policy::wanted_filter& wanted) {
    const auto tables = co_await own_tables();
    if (!tables) {
        cannot_ask("the nft program cannot be asked: " + tables.error().text());
        co_return false;
    }
    const std::string text = policy::nft_text(wanted, node_.config->directories.dynamic, *tables);
    const auto loaded = co_await run({"-f", "-"}, text);
    if (!loaded) {
        cannot_ask("nft does not load all of it: " + loaded.error().text());
    } else if (loaded->is_taken) {
        co_return true;
    } else if (auto guilty = policy::acl_that_nft_refuses(text, loaded->said, knowledge_)) {
        // What a chain with a hook must not lead to, and loops: the kernel says so of the whole only.
        knowledge_.verdicts[*std::move(guilty)] = reason_in(loaded->said);
    } else {
        cannot_ask("nft does not load all of it: " + reason_in(loaded->said));
    }
    co_return false;
}

async::awaitable<void> nft_loader::remove_tables() {
    shared_tables_.clear();
    if (recorded().empty()) {
        co_return;
    }
    const auto tables = co_await own_tables();
    if (!tables) {
        co_return;
    }
    std::string text;
    for (const auto& one : *tables) {
        text += fmt::format("delete table {}\n", one);
    }
    bool is_done = text.empty();
    if (!is_done) {
        const auto removed = co_await run({"-f", "-"}, text);
        is_done = removed && removed->is_taken;
    }
    if (is_done) {
        co_await record({});
    }
}

}  // namespace pvc::networks
