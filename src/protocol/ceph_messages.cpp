#include "pvcnoded/protocol/ceph_messages.hpp"

#include "pvcnoded/base/utf8.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace pvc::protocol::ceph {

namespace json = boost::json;

namespace {

constexpr std::size_t depth_max = 8;

// How a code is spelled between the two; to_text(errc) is for people and may change.
constexpr std::array<std::pair<errc, std::string_view>, 15> code_names{{
    {errc::unspecified, "unspecified"},
    {errc::not_found, "not_found"},
    {errc::already_exists, "already_exists"},
    {errc::not_empty, "not_empty"},
    {errc::version_conflict, "version_conflict"},
    {errc::outcome_unknown, "outcome_unknown"},
    {errc::timed_out, "timed_out"},
    {errc::suspended, "suspended"},
    {errc::session_lost, "session_lost"},
    {errc::invalid, "invalid"},
    {errc::too_large, "too_large"},
    {errc::refused, "refused"},
    {errc::unavailable, "unavailable"},
    {errc::io, "io"},
    {errc::stopped, "stopped"},
}};

std::string_view name_of(errc code) {
    const auto* found = std::ranges::find(code_names, code, [](const auto& one) { return one.first; });
    return found == code_names.end() ? "unspecified" : found->second;
}

// A code of a later version is a failure all the same.
errc code_of(std::string_view name) {
    const auto* found = std::ranges::find(code_names, name, [](const auto& one) { return one.second; });
    return found == code_names.end() ? errc::unspecified : found->first;
}

failure bad_message(std::string cause) {
    return failure(errc::invalid, "message", std::move(cause));
}

result<std::string> framed(const json::object& head, std::string body = {}) {
    frame out{json::serialize(head), std::move(body)};
    if (first_invalid_utf8(out.head)) {
        out.head = valid_utf8(out.head);  // only within texts: everything else of JSON is ASCII
    }
    return protocol::encode(out);
}

result<json::object> head_of(const frame& from) {
    json::parse_options how;
    how.max_depth = depth_max;
    json::error_code code;
    json::value parsed = json::parse(json::string_view(from.head.data(), from.head.size()), code, {}, how);
    if (code) {
        return bad_message("no JSON: " + code.message());
    }
    if (!parsed.is_object()) {
        return bad_message("no object");
    }
    return std::move(parsed.get_object());
}

// ---- members: each is there and of its kind, or the cause names it --------------------------------------------------
result<std::string> text_at(const json::object& from, std::string_view name) {
    const json::value* found = from.if_contains(name);
    if (found == nullptr || !found->is_string()) {
        return bad_message("\"" + std::string(name) + "\" is missing or no text");
    }
    return std::string(found->get_string().data(), found->get_string().size());
}

result<std::int64_t> integer_at(const json::object& from, std::string_view name,
                                std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
    const json::value* found = from.if_contains(name);
    if (found == nullptr || !found->is_int64() || found->get_int64() < 0 || found->get_int64() > most) {
        return bad_message("\"" + std::string(name) + "\" is missing or no whole number from 0 to " +
                           std::to_string(most));
    }
    return found->get_int64();
}

result<std::uint64_t> count_at(const json::object& from, std::string_view name) {
    const json::value* found = from.if_contains(name);
    if (found != nullptr && found->is_uint64()) {
        return found->get_uint64();
    }
    if (found == nullptr || !found->is_int64() || found->get_int64() < 0) {
        return bad_message("\"" + std::string(name) + "\" is missing or no whole number from 0 up");
    }
    return static_cast<std::uint64_t>(found->get_int64());
}

// One that is not there is false.
result<bool> flag_at(const json::object& from, std::string_view name) {
    const json::value* found = from.if_contains(name);
    if (found != nullptr && !found->is_bool()) {
        return bad_message("\"" + std::string(name) + "\" is neither true nor false");
    }
    return found != nullptr && found->get_bool();
}

result<const json::array*> list_at(const json::object& from, std::string_view name) {
    const json::value* found = from.if_contains(name);
    if (found == nullptr || !found->is_array()) {
        return bad_message("\"" + std::string(name) + "\" is missing or no list");
    }
    return &found->get_array();
}

template <class T, class Parse>
result<std::vector<T>> all_of(const json::object& from, std::string_view name, Parse parse) {
    PVC_TRY(const json::array* list, list_at(from, name));
    std::vector<T> out;
    for (const json::value& one : *list) {
        if (!one.is_object()) {
            return bad_message("\"" + std::string(name) + "\" holds something else than objects");
        }
        PVC_TRY(T parsed, parse(one.get_object()));
        out.push_back(std::move(parsed));
    }
    return out;
}

result<std::vector<std::string>> texts_at(const json::object& from, std::string_view name) {
    PVC_TRY(const json::array* list, list_at(from, name));
    std::vector<std::string> out;
    for (const json::value& one : *list) {
        if (!one.is_string()) {
            return bad_message("\"" + std::string(name) + "\" holds something else than texts");
        }
        out.emplace_back(one.get_string().data(), one.get_string().size());
    }
    return out;
}

json::object object_of(const lock& what) {
    return {{"id", what.id}, {"client", what.client}, {"address", what.address}};
}

result<lock> lock_of(const json::object& from) {
    lock out;
    PVC_TRY(out.id, text_at(from, "id"));
    PVC_TRY(out.client, text_at(from, "client"));
    PVC_TRY(out.address, text_at(from, "address"));
    return out;
}

result<watcher> watcher_of(const json::object& from) {
    watcher out;
    PVC_TRY(out.client, text_at(from, "client"));
    PVC_TRY(out.address, text_at(from, "address"));
    return out;
}

constexpr std::array<std::pair<std::string_view, std::uint64_t counters::*>, 9> counter_names{{
    {"object_clones", &counters::object_clones},
    {"object_copies", &counters::object_copies},
    {"objects_missing_on_primary", &counters::objects_missing_on_primary},
    {"objects_unfound", &counters::objects_unfound},
    {"objects_degraded", &counters::objects_degraded},
    {"reads", &counters::reads},
    {"read_kib", &counters::read_kib},
    {"writes", &counters::writes},
    {"written_kib", &counters::written_kib},
}};

json::object object_of(const counters& what) {
    json::object out{{"pool", what.pool}};
    for (const auto& [name, member] : counter_names) {
        out[name] = what.*member;
    }
    return out;
}

result<counters> counters_of(const json::object& from) {
    counters out;
    PVC_TRY(out.pool, text_at(from, "pool"));
    for (const auto& [name, member] : counter_names) {
        PVC_TRY(out.*member, count_at(from, name));
    }
    return out;
}

json::object object_of(const watcher& what) {
    return {{"client", what.client}, {"address", what.address}};
}

template <class T>
json::array array_of(const std::vector<T>& what) {
    json::array out;
    out.reserve(what.size());
    for (const T& one : what) {
        out.push_back(object_of(one));
    }
    return out;
}

// ---- questions ------------------------------------------------------------------------------------------------------
// Each has its word, what is written, and how that is read. A member that is false is left out.
void put_if(json::object& out, std::string_view name, bool is) {
    if (is) {
        out[name] = true;
    }
}
void put(json::object& out, const ask::monitor_command& what) {
    out["ask"] = "monitor_command";
    out["text"] = what.text;
}
void put(json::object& out, const ask::pool_counters& what) {
    out["ask"] = "pool_counters";
    out["pools"] = json::array(what.pools.begin(), what.pools.end());
}
void put(json::object& out, const ask::locks& what) {
    out["ask"] = "locks";
    out["image"] = what.image;
}
void put(json::object& out, const ask::watchers& what) {
    out["ask"] = "watchers";
    out["image"] = what.image;
}
void put(json::object& out, const ask::break_lock& what) {
    out["ask"] = "break_lock";
    out["image"] = what.image;
    out["lock"] = object_of(what.which);
    out["not_after_ns"] = what.not_after_ns;
    out["blocklist_seconds"] = what.blocklist_seconds;
    put_if(out, "is_blocked", what.is_blocked);
}
void put(json::object& out, const ask::prepare_break& what) {
    out["ask"] = "prepare_break";
    out["image"] = what.image;
    out["lock"] = object_of(what.which);
    out["blocklist_seconds"] = what.blocklist_seconds;
    put_if(out, "is_blocked", what.is_blocked);
}
void put(json::object& out, const ask::blocklist& what) {
    out["ask"] = "blocklist";
    out["address"] = what.address;
    out["not_after_ns"] = what.not_after_ns;
    out["seconds"] = what.seconds;
    put_if(out, "by_command", what.by_command);
}
void put(json::object& out, const ask::usage& /*what*/) {
    out["ask"] = "usage";
}

using question = decltype(request::what);
// librados takes them as 32 bits.
constexpr std::int64_t seconds_max = std::numeric_limits<std::uint32_t>::max();

// What both questions about one lock have in common.
template <class Asked>
result<Asked> about_a_lock(const json::object& from) {
    Asked out;
    PVC_TRY(out.image, text_at(from, "image"));
    const json::value* which = from.if_contains("lock");
    if (which == nullptr || !which->is_object()) {
        return bad_message("\"lock\" is missing or no object");
    }
    PVC_TRY(out.which, lock_of(which->get_object()));
    PVC_TRY(out.blocklist_seconds, integer_at(from, "blocklist_seconds", seconds_max));
    PVC_TRY(out.is_blocked, flag_at(from, "is_blocked"));
    return out;
}

result<question> break_lock_of(const json::object& from) {
    PVC_TRY(ask::break_lock out, about_a_lock<ask::break_lock>(from));
    PVC_TRY(out.not_after_ns, integer_at(from, "not_after_ns"));
    return question(std::move(out));
}

result<question> prepare_break_of(const json::object& from) {
    PVC_TRY(ask::prepare_break out, about_a_lock<ask::prepare_break>(from));
    return question(std::move(out));
}

result<question> blocklist_of(const json::object& from) {
    ask::blocklist out;
    PVC_TRY(out.address, text_at(from, "address"));
    PVC_TRY(out.not_after_ns, integer_at(from, "not_after_ns"));
    PVC_TRY(out.seconds, integer_at(from, "seconds", seconds_max));
    PVC_TRY(out.by_command, flag_at(from, "by_command"));
    return question(std::move(out));
}

result<question> question_of(const json::object& from) {
    PVC_TRY(const std::string word, text_at(from, "ask"));
    if (word == "monitor_command") {
        PVC_TRY(std::string text, text_at(from, "text"));
        return question(ask::monitor_command{std::move(text)});
    }
    if (word == "pool_counters") {
        PVC_TRY(std::vector<std::string> pools, texts_at(from, "pools"));
        return question(ask::pool_counters{std::move(pools)});
    }
    if (word == "locks" || word == "watchers") {
        PVC_TRY(std::string image, text_at(from, "image"));
        return word == "locks" ? question(ask::locks{std::move(image)}) : question(ask::watchers{std::move(image)});
    }
    if (word == "break_lock") {
        return break_lock_of(from);
    }
    if (word == "prepare_break") {
        return prepare_break_of(from);
    }
    if (word == "blocklist") {
        return blocklist_of(from);
    }
    if (word == "usage") {
        return question(ask::usage{});
    }
    return bad_message("\"ask\" is no question that is known here");
}

// ---- answers --------------------------------------------------------------------------------------------------------
void put(json::object& out, const say::done& /*what*/) {
    out["say"] = "done";
}
void put(json::object& out, const say::failed& what) {
    out["say"] = "failed";
    out["code"] = name_of(what.code);
    out["cause"] = what.cause;
}
void put(json::object& out, const say::output& /*what*/) {
    out["say"] = "output";
}
void put(json::object& out, const say::counted& what) {
    out["say"] = "counted";
    out["pools"] = array_of(what.pools);
}
void put(json::object& out, const say::locked& what) {
    out["say"] = "locked";
    out["locks"] = array_of(what.locks);
}
void put(json::object& out, const say::watched& what) {
    out["say"] = "watched";
    out["watchers"] = array_of(what.watchers);
}
void put(json::object& out, const say::used& what) {
    out["say"] = "used";
    out["private_bytes"] = what.private_bytes;
    out["threads"] = what.threads;
    out["handles"] = what.handles;
}

using said = decltype(answer::what);

result<said> failed_of(const json::object& from) {
    PVC_TRY(const std::string code, text_at(from, "code"));
    PVC_TRY(std::string cause, text_at(from, "cause"));
    return said(say::failed{code_of(code), std::move(cause)});
}

result<said> used_of(const json::object& from) {
    say::used out;
    PVC_TRY(out.private_bytes, count_at(from, "private_bytes"));
    PVC_TRY(out.threads, count_at(from, "threads"));
    PVC_TRY(out.handles, count_at(from, "handles"));
    return said(out);
}

result<said> said_of(const json::object& from, std::string body) {
    PVC_TRY(const std::string word, text_at(from, "say"));
    if (word == "output") {
        return said(say::output{std::move(body)});
    }
    if (!body.empty()) {
        return bad_message("a body where none belongs");
    }
    if (word == "done") {
        return said(say::done{});
    }
    if (word == "failed") {
        return failed_of(from);
    }
    if (word == "counted") {
        PVC_TRY(std::vector<counters> pools, all_of<counters>(from, "pools", counters_of));
        return said(say::counted{std::move(pools)});
    }
    if (word == "locked") {
        PVC_TRY(std::vector<lock> locks, all_of<lock>(from, "locks", lock_of));
        return said(say::locked{std::move(locks)});
    }
    if (word == "watched") {
        PVC_TRY(std::vector<watcher> watchers, all_of<watcher>(from, "watchers", watcher_of));
        return said(say::watched{std::move(watchers)});
    }
    if (word == "used") {
        return used_of(from);
    }
    return bad_message("\"say\" is no answer that is known here");
}

}  // namespace

std::string_view pool_of(const request& what) {
    return std::visit(
        [](const auto& one) -> std::string_view {
            if constexpr (requires { one.image; }) {
                return std::string_view(one.image).substr(0, one.image.find('/'));
            } else {
                return {};
            }
        },
        what.what);
}

result<std::string> encode(const greeting& what) {
    return framed({{"greeting", what.version}, {"build", what.build}});
}

result<std::string> encode(const request& what) {
    json::object head{{"id", what.id}, {"limit_ms", what.limit.count()}};
    std::visit([&](const auto& one) { put(head, one); }, what.what);
    return framed(head);
}

result<std::string> encode(const answer& what) {
    json::object head{{"id", what.id}};
    std::visit([&](const auto& one) { put(head, one); }, what.what);
    const auto* output = std::get_if<say::output>(&what.what);
    return framed(head, output == nullptr ? std::string() : output->bytes);
}

result<greeting> parse_greeting(const frame& from) {
    PVC_TRY(const json::object head, head_of(from));
    greeting out;
    PVC_TRY(out.version, integer_at(head, "greeting"));
    PVC_TRY(out.build, text_at(head, "build"));
    if (!from.body.empty()) {
        return bad_message("a body where none belongs");
    }
    return out;
}

result<request> parse_request(const frame& from) {
    PVC_TRY(const json::object head, head_of(from));
    request out;
    PVC_TRY(out.id, integer_at(head, "id"));
    PVC_TRY(const std::int64_t limit, integer_at(head, "limit_ms", limit_max.count()));
    out.limit = std::chrono::milliseconds(limit);
    PVC_TRY(out.what, question_of(head));
    if (!from.body.empty()) {
        return bad_message("a body where none belongs");
    }
    return out;
}

result<answer> parse_answer(frame from) {
    PVC_TRY(const json::object head, head_of(from));
    answer out;
    PVC_TRY(out.id, integer_at(head, "id"));
    PVC_TRY(out.what, said_of(head, std::move(from.body)));
    return out;
}

}  // namespace pvc::protocol::ceph
