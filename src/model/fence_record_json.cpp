// A fence's record as JSON and back.
#include "pvcnoded/model/fence_record.hpp"
#include "pvcnoded/model/json_text.hpp"

#include <fmt/format.h>
#include <boost/json/parse.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace pvc::model {

namespace {

constexpr std::int64_t record_format = 1;
constexpr std::size_t record_depth = 8;
constexpr std::int64_t most_microseconds = 9'000'000'000'000'000;  // as nanoseconds they still fit

std::int64_t microseconds_of(auto time) {
    return std::chrono::floor<std::chrono::microseconds>(time.time_since_epoch()).count();
}

std::string json_of(const fence_moment& when) {
    return json_object().add("wall_us", microseconds_of(when.wall)).add("boot_us", microseconds_of(when.boot)).text();
}

std::string json_of(const std::vector<std::string>& texts) {
    json_array all;
    for (const auto& one : texts) {
        all.add(one);
    }
    return all.text();
}

std::string json_of(const fence_command& what) {
    json_object out;
    out.add("what", what.what).add_raw("begun", json_of(what.begun)).add_raw("ended", json_of(what.ended));
    out.add_raw("status", what.status ? std::to_string(*what.status) : "null");
    out.add("read_as", what.read_as).add("output", what.output).add("errors", what.errors);
    out.add("times", static_cast<std::int64_t>(what.times));
    return out.text();
}

std::string json_of(const fence_proof& what) {
    return json_object()
        .add("kind", to_text(what.kind))
        .add_raw("at", json_of(what.at))
        .add("text", what.text)
        .add("keepalive_id", what.keepalive_id)
        .add("mark_id", what.mark_id)
        .add_raw("although_on", what.although_on ? "true" : "false")
        .text();
}

std::string json_of(const fence_written& what) {
    return json_object()
        .add("what", what.what)
        .add("transaction", what.transaction)
        .add_raw("at", json_of(what.at))
        .text();
}

std::string json_of(const fence_machine& what) {
    json_object out;
    out.add("uuid", what.id).add("name", what.name);
    out.add_raw("locks", json_of(what.locks)).add_raw("clients", json_of(what.clients));
    if (!what.volumes.empty()) {
        out.add_raw("volumes", json_of(what.volumes));
    }
    out.add("target", what.target).add_raw("steps", json_of(what.steps)).add("outcome", what.outcome);
    out.add_raw("transaction", what.transaction ? std::to_string(*what.transaction) : "null");
    out.add_raw("has_run", what.has_run ? (*what.has_run ? "true" : "false") : "null");
    return out.text();
}

template <class Items>
std::string json_list(const Items& items) {
    json_array all;
    for (const auto& one : items) {
        all.add_raw("\n  " + json_of(one));
    }
    return all.text();
}

// Reads members of one object; the first that is not as it must be is remembered, and everything after it is empty.
class record_reader {
public:
    explicit record_reader(const boost::json::object& from, std::string& problem) : from_(from), problem_(problem) {}

    std::string text(std::string_view name, bool is_required = false) {
        const auto* found = member(name, is_required);
        if (found == nullptr) {
            return {};
        }
        if (!found->is_string()) {
            wrong(name, "no text");
            return {};
        }
        const auto& value = found->get_string();
        return std::string(value.data(), value.size());
    }
    std::optional<std::int64_t> number(std::string_view name, bool is_required = false) {
        const auto* found = member(name, is_required);
        if (found == nullptr) {
            return std::nullopt;
        }
        if (!found->is_int64()) {
            wrong(name, "no whole number");
            return std::nullopt;
        }
        return found->get_int64();
    }
    std::optional<bool> truth(std::string_view name) {
        const auto* found = member(name, false);
        if (found != nullptr && !found->is_bool()) {
            wrong(name, "neither true nor false");
        }
        return found != nullptr && found->is_bool() ? std::optional(found->get_bool()) : std::nullopt;
    }
    std::optional<fence_moment> moment(std::string_view name, bool is_required = false) {
        const auto* found = object(name, is_required);
        if (found == nullptr) {
            return std::nullopt;
        }
        record_reader inside(*found, problem_);
        const auto wall = inside.number("wall_us", true).value_or(0);
        const auto boot = inside.number("boot_us", true).value_or(0);
        if (std::max(wall, boot) > most_microseconds || std::min(wall, boot) < -most_microseconds) {
            wrong(name, "no moment");
            return std::nullopt;
        }
        return fence_moment{wall_time(std::chrono::microseconds(wall)), boot_time(std::chrono::microseconds(boot))};
    }
    const boost::json::object* object(std::string_view name, bool is_required = false) {
        const auto* found = member(name, is_required);
        if (found != nullptr && !found->is_object()) {
            wrong(name, "no object");
        }
        return found == nullptr ? nullptr : found->if_object();
    }
    std::vector<std::string> texts(std::string_view name) {
        std::vector<std::string> all;
        for (const auto& one : list(name)) {
            if (!one.is_string()) {
                wrong(name, "no list of texts");
                return {};
            }
            all.emplace_back(one.get_string().data(), one.get_string().size());
        }
        return all;
    }
    std::span<const boost::json::value> list(std::string_view name) {
        const auto* found = member(name, false);
        if (found != nullptr && !found->is_array()) {
            wrong(name, "no list");
        }
        const auto* all = found == nullptr ? nullptr : found->if_array();
        return all == nullptr ? std::span<const boost::json::value>() : std::span(all->data(), all->size());
    }
    template <class Word, std::size_t Count>
    Word word(std::string_view name, const std::array<Word, Count>& known) {
        const auto said = text(name, true);
        const auto found = std::ranges::find_if(known, [&](Word one) { return to_text(one) == said; });
        if (found == known.end()) {
            wrong(name, "no word that is known");
            return known.front();
        }
        return *found;
    }
    void wrong(std::string_view name, std::string_view what) {
        if (problem_.empty()) {
            problem_ = fmt::format("its \"{}\" is {}", name, what);
        }
    }

private:
    // Null where it is missing or null.
    const boost::json::value* member(std::string_view name, bool is_required) {
        const auto* found = from_.if_contains(boost::json::string_view(name.data(), name.size()));
        if (found == nullptr || found->is_null()) {
            if (is_required) {
                wrong(name, "missing");
            }
            return nullptr;
        }
        return found;
    }

    const boost::json::object& from_;
    std::string& problem_;
};

constexpr std::array ways{fence_way::silence, fence_way::seen_off, fence_way::left_dead,  fence_way::left_fenced,
                          fence_way::resumed, fence_way::proven,   fence_way::recovering, fence_way::operator_word};
constexpr std::array outcomes{fence_outcome::under_way, fence_outcome::done,         fence_outcome::handed_on,
                              fence_outcome::failed,    fence_outcome::passed,       fence_outcome::node_back,
                              fence_outcome::held_back, fence_outcome::unrecordable, fence_outcome::abandoned,
                              fence_outcome::gone};
constexpr std::array proof_kinds{fence_proof_kind::power, fence_proof_kind::lease, fence_proof_kind::operator_word,
                                 fence_proof_kind::storage};

fence_command command_in(record_reader from) {
    fence_command out;
    out.what = from.text("what", true);
    out.begun = from.moment("begun", true).value_or(fence_moment());
    out.ended = from.moment("ended", true).value_or(fence_moment());
    const auto status = from.number("status");
    if (status && (*status < 0 || *status > 255)) {
        from.wrong("status", "no status of a program");
    } else if (status) {
        out.status = static_cast<int>(*status);
    }
    out.read_as = from.text("read_as");
    out.output = from.text("output");
    out.errors = from.text("errors");
    const auto times = from.number("times").value_or(1);
    if (times < 1) {
        from.wrong("times", "no count");
    }
    out.times = static_cast<std::uint64_t>(std::max<std::int64_t>(times, 1));
    return out;
}

fence_proof proof_in(record_reader from) {
    fence_proof out;
    out.kind = from.word("kind", proof_kinds);
    out.at = from.moment("at", true).value_or(fence_moment());
    out.text = from.text("text");
    out.keepalive_id = from.number("keepalive_id").value_or(0);
    out.mark_id = from.number("mark_id").value_or(0);
    out.although_on = from.truth("although_on").value_or(false);
    return out;
}

fence_written write_in(record_reader from) {
    fence_written out;
    out.what = from.text("what", true);
    out.transaction = from.number("transaction", true).value_or(0);
    out.at = from.moment("at", true).value_or(fence_moment());
    return out;
}

fence_machine machine_in(record_reader from) {
    fence_machine out;
    out.id = from.text("uuid", true);
    out.name = from.text("name");
    out.locks = from.texts("locks");
    out.clients = from.texts("clients");
    out.volumes = from.texts("volumes");
    out.target = from.text("target");
    out.steps = from.texts("steps");
    out.outcome = from.text("outcome");
    out.transaction = from.number("transaction");
    out.has_run = from.truth("has_run");
    return out;
}

template <class Item, class Read>
std::vector<Item> items_in(record_reader& from, std::string_view name, std::string& problem, Read read) {
    std::vector<Item> all;
    for (const auto& one : from.list(name)) {
        if (!one.is_object()) {
            from.wrong(name, "no list of objects");
            return {};
        }
        all.push_back(read(record_reader(one.get_object(), problem)));
    }
    return all;
}

fence_record record_in(const boost::json::object& members, std::string& problem) {
    record_reader from(members, problem);
    fence_record out;
    out.id = from.text("id", true);
    if (!is_fence_record_id(out.id)) {
        from.wrong("id", "no name of a record");
    }
    out.coordinator = from.text("coordinator", true);
    out.node = from.text("node", true);
    out.boot_id = from.text("boot_id");
    out.follows = from.text("follows");
    out.way = from.word("way", ways);
    out.begun = from.moment("begun", true).value_or(fence_moment());
    out.keepalive_id = from.number("keepalive_id", true).value_or(0);
    out.mark_id = from.number("mark_id", true).value_or(0);
    out.fenced_id = from.number("fenced_id");
    out.commands = items_in<fence_command>(from, "commands", problem, command_in);
    if (const auto* proof = from.object("proof")) {
        out.proof = proof_in(record_reader(*proof, problem));
    }
    out.writes = items_in<fence_written>(from, "writes", problem, write_in);
    out.machines = items_in<fence_machine>(from, "machines", problem, machine_in);
    out.machines_left_out =
        static_cast<std::uint64_t>(std::max<std::int64_t>(from.number("machines_left_out").value_or(0), 0));
    out.is_shortened = from.truth("is_shortened").value_or(false);
    out.is_left_off = from.truth("is_left_off").value_or(false);
    out.powered_on = from.moment("powered_on");
    out.outcome = from.word("outcome", outcomes);
    out.remark = from.text("remark");
    out.ended = from.moment("ended");
    return out;
}

}  // namespace

std::string to_text(const fence_record& what) {
    const auto moment_or_null = [](const std::optional<fence_moment>& when) {
        return when ? json_of(*when) : std::string("null");
    };
    json_object out;
    out.add("format", record_format).add("id", what.id);
    out.add("coordinator", what.coordinator).add("node", what.node).add("boot_id", what.boot_id);
    out.add("follows", what.follows).add("way", to_text(what.way)).add_raw("begun", json_of(what.begun));
    out.add("keepalive_id", what.keepalive_id).add("mark_id", what.mark_id);
    out.add_raw("fenced_id", what.fenced_id ? std::to_string(*what.fenced_id) : "null");
    out.add("outcome", to_text(what.outcome)).add("remark", what.remark);
    out.add_raw("ended", moment_or_null(what.ended));
    out.add_raw("proof", what.proof ? json_of(*what.proof) : "null");
    out.add_raw("is_left_off", what.is_left_off ? "true" : "false");
    out.add_raw("powered_on", moment_or_null(what.powered_on));
    out.add_raw("commands", json_list(what.commands));
    out.add_raw("writes", json_list(what.writes));
    if (what.machines_left_out > 0) {
        out.add("machines_left_out", static_cast<std::int64_t>(what.machines_left_out));
    }
    if (what.is_shortened) {
        out.add_raw("is_shortened", "true");
    }
    out.add_raw("machines", json_list(what.machines));
    return out.text() + "\n";
}

result<fence_record> parse_fence_record(std::string_view text) {
    const auto bad = [](std::string why) { return failure(errc::invalid, "fence record", std::move(why)); };
    if (text.size() > fence_record_bytes) {
        return failure(errc::too_large, "fence record");
    }
    boost::json::parse_options options;
    options.max_depth = record_depth;
    boost::json::error_code error;
    const auto parsed = boost::json::parse(boost::json::string_view(text.data(), text.size()), error, {}, options);
    if (error) {
        return bad("it is cut off, or no JSON");
    }
    const auto* members = parsed.if_object();
    const auto* format = members == nullptr ? nullptr : members->if_contains("format");
    if (format == nullptr || !format->is_int64()) {
        return bad("it is no record of a fence");
    }
    if (format->get_int64() > record_format) {
        return failure(
            errc::refused, "fence record",
            fmt::format("it has format {}, of a later version; this one reads {}", format->get_int64(), record_format));
    }
    std::string problem;
    auto record = record_in(*members, problem);
    if (format->get_int64() != record_format || !problem.empty()) {
        return bad(problem.empty() ? "it has a format that never was" : problem);
    }
    return record;
}

}  // namespace pvc::model
