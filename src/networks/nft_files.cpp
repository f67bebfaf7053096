// Static files, before they are loaded: read, looked at, tried by dry runs; and found out where only a load fails.
#include "nft_loader.hpp"
#include "nft_program.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace pvc::networks {

using namespace std::chrono_literals;

namespace {
constexpr duration between_file_looks = 10s;
constexpr auto hanging_text = "nft does not come to an end with it";

// The disk hangs: nothing is known about what it holds.
bool is_no_answer(errc why) {
    return why == errc::timed_out || why == errc::unavailable;
}

}  // namespace

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
    const bool is_listed = names || names.error().code() == errc::not_found;
    const std::string trouble = is_listed ? std::string() : names.error().text();
    const bool is_news = std::exchange(unlisted_, trouble) != trouble;
    if (!is_listed) {
        const bool are_tables_lost = co_await find_lost_tables();
        co_return may_ask || are_tables_lost || is_news;  // what was read last is in force
    }
    for (const auto& name : names ? *names : std::vector<std::string>()) {
        if (name.starts_with(".")) {
            continue;  // nft's own pattern passes them over
        }
        // It may be a link to wherever.
        auto text = co_await node_.port.host.read_disk_file(folder_ + "/static/" + name);
        const auto before = std::ranges::find(files_, name, [](const file& one) { return one.is.name; });
        if (!text && is_no_answer(text.error().code()) && before != files_.end()) {
            found.push_back(*before);  // the disk hangs: what was read last is in force
        } else {
            file one = text ? file{{name, *std::move(text), {}}, {}} : file{{name, {}, {}}, text.error().text()};
            if (one.is.text.find('\0') != std::string::npos) {
                one = {{name, {}, {}}, "expected text, it holds a NUL byte"};
            }
            included_text included;
            const auto names_in_it = co_await names_of(one.is.text, &included);
            one.is.included = included.is + names_in_it.objection;
            if (!included.has_answers && before != files_.end() && before->is.text == one.is.text) {
                one.is.included = before->is.included;
            }
            found.push_back(std::move(one));
        }
    }
    std::ranges::sort(found, {}, [](const file& one) { return one.is.name; });
    if (found == files_) {
        const bool are_some_lost = co_await find_lost_tables();
        co_return may_ask || are_some_lost || is_news;
    }
    files_ = std::move(found);
    are_files_judged_ = false;
    knowledge_.verdicts.clear();
    knowledge_.refused_rules.clear();
    forget_refusal(true);
    co_return true;
}

async::awaitable<policy::static_names> nft_loader::names_of(std::string text, included_text* included,
                                                            int depth) const {
    constexpr int deepest = 4;
    constexpr std::string_view default_folder = "/etc/";  // of nft, for paths that are none from the root
    auto found = policy::names_in(text);
    for (const auto& path : found.included) {
        if (!found.objection.empty()) {
            break;
        }
        if (depth >= deepest) {
            found.objection = fmt::format("its includes are more than {} deep", deepest);
            break;
        }
        auto read =
            co_await node_.port.host.read_disk_file(path.starts_with('/') ? path : std::string(default_folder) + path);
        if (!read) {
            if (included != nullptr && is_no_answer(read.error().code())) {
                included->has_answers = false;
            }
            found.objection = fmt::format("include \"{}\": {}", shown(path), read.error().text());
            break;
        }
        if (included != nullptr) {
            included->is += *read + '\0';
        }
        auto more = co_await names_of(*std::move(read), included, depth + 1);
        std::ranges::move(more.tables, std::back_inserter(found.tables));
        std::ranges::move(more.chains, std::back_inserter(found.chains));
        found.objection = std::move(more.objection);
    }
    co_return found;
}

async::awaitable<void> nft_loader::judge_files() {
    if (are_files_judged_ || is_in_trouble_) {
        co_return;
    }
    accepted_.clear();
    pending_.clear();
    blamed_.clear();
    is_without_files_ = false;
    file_problems_.clear();
    std::vector<policy::static_file> readable;
    const auto files = files_;
    for (const auto& one : files) {
        if (!one.unreadable.empty()) {
            file_problems_.emplace(one.is.name, one.unreadable);
            continue;
        }
        if (is_hanging(one.is)) {
            file_problems_.emplace(one.is.name, hanging_text);
            continue;
        }
        const auto found = co_await names_of(one.is.text);
        if (!found.objection.empty()) {
            file_problems_.emplace(one.is.name, found.objection);
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
    if (!is_in_trouble_) {
        co_await note_chains();
    }
}

// To which ACLs may jump.
async::awaitable<void> nft_loader::note_chains() {
    std::vector<std::string> chains;
    const auto files = accepted_;
    for (const auto& one : files) {
        auto found = co_await names_of(one.text);
        std::ranges::move(found.chains, std::back_inserter(chains));
    }
    knowledge_.static_chains = std::move(chains);
}

bool nft_loader::is_hanging(const policy::static_file& one) const {
    const auto found = hanging_files_.find(one.name);
    return found != hanging_files_.end() && found->second.first == one.text &&
           node_.clock().now() < found->second.second;
}

void nft_loader::leave_out_file(const policy::static_file& one, std::string why) {
    file_problems_.insert_or_assign(one.name, std::move(why));
    are_files_others_ = true;
    if (!ask_again_) {
        ask_again_ = node_.clock().now() + until_asked_again;
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
        const bool is_verdict = tried && (tried->is_taken || tried->line || tried->was_killed);
        if (!is_verdict) {
            // Of the file only if nft does without it what it does not with it.
            const auto one_less = std::span<const policy::static_file>(accepted_).first(accepted_.size() - 1);
            const auto without =
                co_await run({"-c", "-f", "-"}, policy::nft_text(there->own, one_less), short_nft_limits);
            if (!without || !without->is_taken) {
                accepted_.clear();
                cannot_ask("the nft program cannot be asked", tried ? reason_in(tried->said) : tried.error().text());
                co_return;
            }
            if (!tried) {
                hanging_files_[accepted_.back().name] = {accepted_.back().text,
                                                         node_.clock().now() + until_a_hang_is_tried_again};
            }
            leave_out_file(accepted_.back(), tried ? reason_in(tried->said) : hanging_text);
            accepted_.pop_back();
            continue;
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

// A load failed, and nothing says over what: over a file that was not loaded before, if there is one.
async::awaitable<void> nft_loader::suspect_files(std::string why, bool is_hang) {
    std::vector<policy::static_file> known;
    std::vector<policy::static_file> candidates;
    for (auto& one : std::exchange(accepted_, {})) {
        auto& to = std::ranges::find(proven_, one) == proven_.end() ? candidates : known;
        to.push_back(std::move(one));
    }
    are_files_others_ = true;
    if (candidates.size() == 1) {
        if (is_hang) {
            hanging_files_[candidates.front().name] = {candidates.front().text,
                                                       node_.clock().now() + until_a_hang_is_tried_again};
        }
        leave_out_file(candidates.front(), std::move(why));
        blamed_.push_back(std::move(candidates.front()));
        accepted_ = std::move(known);
        add_pending();
    } else if (!candidates.empty()) {
        accepted_ = std::move(known);
        pending_ = std::move(candidates);
        add_pending();
    } else if (!known.empty() && !is_without_files_) {
        is_without_files_ = true;  // all of them could be loaded once: is it one of them at all?
        pending_ = std::move(known);
        proven_.clear();
    } else {
        // Nor without any: it is not over them.
        for (auto& one : std::exchange(blamed_, {})) {
            file_problems_.erase(one.name);
            hanging_files_.erase(one.name);
            pending_.push_back(std::move(one));
        }
        accepted_ = std::exchange(pending_, {});
        std::ranges::sort(accepted_, {}, &policy::static_file::name);
        is_without_files_ = false;
        cannot_ask("nft does not load all of it", why);
        is_in_trouble_ = is_hang;  // another wish may do
    }
    co_await note_chains();
}

// The next one that is to be tried, at its place.
void nft_loader::add_pending() {
    if (pending_.empty()) {
        return;
    }
    const auto place = std::ranges::upper_bound(accepted_, pending_.front().name, {}, &policy::static_file::name);
    accepted_.insert(place, std::move(pending_.front()));
    pending_.erase(pending_.begin());
    are_files_others_ = true;
}

}  // namespace pvc::networks
