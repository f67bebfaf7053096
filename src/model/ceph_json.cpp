// What Ceph prints as JSON. It is parsed once, into memory that has a limit, and read by members that are there and of
// their kind, or the cause names them.
#include "ceph_json.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/utf8.hpp"
#include "pvcnoded/model/ceph_health.hpp"
#include "pvcnoded/model/ceph_pools.hpp"
#include "pvcnoded/model/json_text.hpp"
#include "pvcnoded/model/scalar.hpp"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/value_stack.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <new>
#include <optional>

namespace pvc::model {

namespace json = boost::json;

namespace {

constexpr std::size_t ceph_depth_max = 32;
// A short text can be many values: "[0,0,0,…". Beyond that it is no answer to anything that is asked.
constexpr std::size_t ceph_memory_max = 96UL << 20U;
constexpr std::size_t first_block = 16UL << 10U;
constexpr std::size_t ceph_checks_max = 1'000;

class limited_memory final : public json::memory_resource {
private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (bytes > left_) {
            throw std::bad_alloc();
        }
        left_ -= bytes;
        return ::operator new(bytes, std::align_val_t(alignment));
    }
    void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
        left_ += bytes;
        ::operator delete(memory, std::align_val_t(alignment));
    }
    [[nodiscard]] bool do_is_equal(const json::memory_resource& other) const noexcept override {
        return this == &other;
    }

    std::size_t left_ = ceph_memory_max;
};

failure bad_output(std::string cause) {
    return failure(errc::invalid, "what Ceph printed", std::move(cause));
}

bool is_of_a_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '+' ||
           c == '.';
}

// What printf makes of numbers that are none.
bool is_no_number(std::string_view word) {
    constexpr std::array<std::string_view, 3> words{"nan", "inf", "infinity"};
    if (word.starts_with('-')) {
        word.remove_prefix(1);
    }
    return std::ranges::any_of(words, [&](std::string_view one) { return equal_ignoring_case(word, one); });
}

// The text with 0 in place of such words, outside of strings; empty if there is none of them.
std::optional<std::string> with_numbers_only(std::string_view text) {
    std::string out;
    std::size_t copied = 0;
    for (std::size_t at = 0; at < text.size();) {
        if (text[at] == '"') {
            for (++at; at < text.size() && text[at] != '"'; ++at) {
                at += text[at] == '\\' ? 1 : 0;
            }
            ++at;
        } else if (is_of_a_word(text[at])) {
            const std::size_t begin = at;
            while (at < text.size() && is_of_a_word(text[at])) {
                ++at;
            }
            if (is_no_number(text.substr(begin, at - begin))) {
                out.append(text.substr(copied, begin - copied)).append("0");
                copied = at;
            }
        } else {
            ++at;
        }
    }
    return copied == 0 ? std::nullopt : std::optional(out.append(text.substr(copied)));
}

// Builds values as the library's own parser does, but reads each number with a fraction exactly: the library is off by
// one in the last digit of some, which would then be published.
struct exact_values {
    static constexpr std::size_t max_object_size = json::object::max_size();
    static constexpr std::size_t max_array_size = json::array::max_size();
    static constexpr std::size_t max_key_size = json::string::max_size();
    static constexpr std::size_t max_string_size = json::string::max_size();

    json::value_stack stack;

    explicit exact_values(json::storage_ptr memory) : stack(std::move(memory)) {}

    static bool on_document_begin(json::error_code& /*code*/) { return true; }
    static bool on_document_end(json::error_code& /*code*/) { return true; }
    static bool on_object_begin(json::error_code& /*code*/) { return true; }
    static bool on_array_begin(json::error_code& /*code*/) { return true; }
    static bool on_number_part(json::string_view /*text*/, json::error_code& /*code*/) { return true; }
    static bool on_comment_part(json::string_view /*text*/, json::error_code& /*code*/) { return true; }
    static bool on_comment(json::string_view /*text*/, json::error_code& /*code*/) { return true; }
    bool on_object_end(std::size_t members, json::error_code& /*code*/) {
        stack.push_object(members);
        return true;
    }
    bool on_array_end(std::size_t items, json::error_code& /*code*/) {
        stack.push_array(items);
        return true;
    }
    bool on_key_part(json::string_view part, std::size_t /*size*/, json::error_code& /*code*/) {
        stack.push_chars(part);
        return true;
    }
    bool on_key(json::string_view rest, std::size_t /*size*/, json::error_code& /*code*/) {
        stack.push_key(rest);
        return true;
    }
    bool on_string_part(json::string_view part, std::size_t /*size*/, json::error_code& /*code*/) {
        stack.push_chars(part);
        return true;
    }
    bool on_string(json::string_view rest, std::size_t /*size*/, json::error_code& /*code*/) {
        stack.push_string(rest);
        return true;
    }
    bool on_int64(std::int64_t number, json::string_view /*text*/, json::error_code& /*code*/) {
        stack.push_int64(number);
        return true;
    }
    bool on_uint64(std::uint64_t number, json::string_view /*text*/, json::error_code& /*code*/) {
        stack.push_uint64(number);
        return true;
    }
    bool on_double(double number, json::string_view text, json::error_code& /*code*/) {
        stack.push_double(parse_float(std::string_view(text.data(), text.size())).value_or(number));
        return true;
    }
    bool on_bool(bool is, json::error_code& /*code*/) {
        stack.push_bool(is);
        return true;
    }
    bool on_null(json::error_code& /*code*/) {
        stack.push_null();
        return true;
    }
};

// An object that was printed, and what it lives in.
class printed_json {
public:
    // Calls `read` with the object and with its text as it can be published.
    template <class T, class Read>
    static result<T> read(std::string_view printed, Read read) {
        if (printed.size() > ceph_output_max) {
            return failure(errc::too_large, "what Ceph printed");
        }
        std::string as_utf8;
        if (first_invalid_utf8(printed)) {
            as_utf8 = valid_utf8(printed);
            printed = as_utf8;
        }
        const auto repaired = with_numbers_only(printed);
        if (repaired) {
            printed = *repaired;
        }
        try {
            return parsed<T>(printed, read);
        } catch (const std::bad_alloc&) {
            return failure(errc::too_large, "what Ceph printed", "more values than there can be");
        }
    }

private:
    template <class T, class Read>
    static result<T> parsed(std::string_view printed, Read& read) {
        limited_memory memory;
        json::monotonic_resource pool(first_block, &memory);
        json::parse_options how;
        how.max_depth = ceph_depth_max;
        json::basic_parser<exact_values> parser(how, json::storage_ptr(&memory));
        auto& stack = parser.handler().stack;
        stack.reset(&pool);
        json::error_code code;
        const std::size_t read_bytes = parser.write_some(false, printed.data(), printed.size(), code);
        if (!code && read_bytes < printed.size()) {
            code = json::error::extra_data;
        }
        if (code) {
            return bad_output("no JSON: " + code.message());
        }
        const json::value all = stack.release();
        if constexpr (std::is_invocable_v<Read&, const json::array&>) {
            return all.is_array() ? read(all.get_array()) : result<T>(bad_output("no list"));
        } else {
            return parsed_object<T>(all, printed, read);
        }
    }
    template <class T, class Read>
    static result<T> parsed_object(const json::value& all, std::string_view printed, Read& read) {
        if (!all.is_object()) {
            return bad_output("no object");
        }
        return read(all.get_object(), printed);
    }
};

// ---- members: `where` is the object they belong to, for the cause ---------------------------------------------------
struct place {
    const json::object& object;
    std::string_view of;
    std::size_t row;

    [[nodiscard]] failure bad(std::string_view name, std::string_view kind) const {
        return bad_output(std::string(of) + "[" + std::to_string(row) + "]: \"" + std::string(name) + "\" is no " +
                          std::string(kind));
    }
};

std::string text_of(const json::string& text) {
    return {text.data(), text.size()};
}

result<std::string> printed_text(const place& in, std::string_view name) {
    const json::value* found = in.object.if_contains(name);
    if (found == nullptr || !found->is_string()) {
        return in.bad(name, "text");
    }
    std::string text = text_of(found->get_string());
    if (has_control(text)) {
        return in.bad(name, "text that can be shown");
    }
    return text;
}

result<json_figure> printed_figure(const place& in, std::string_view name) {
    const json::value* found = in.object.if_contains(name);
    switch (found == nullptr ? json::kind::null : found->kind()) {
        case json::kind::int64: return json_figure(found->get_int64());
        case json::kind::uint64: return json_figure(found->get_uint64());
        case json::kind::double_: return json_figure(found->get_double());
        default: return in.bad(name, "number");
    }
}

result<std::int64_t> printed_whole(const place& in, std::string_view name) {
    PVC_TRY(const auto number, printed_figure(in, name));
    return whole_number(number);
}

result<double> printed_double(const place& in, std::string_view name) {
    PVC_TRY(const auto number, printed_figure(in, name));
    return as_double(number);
}

// 0 or 1: clients look words up with it.
result<bool> printed_flag(const place& in, std::string_view name) {
    const json::value* found = in.object.if_contains(name);
    if (found != nullptr && found->is_bool()) {
        return found->get_bool();
    }
    if (found == nullptr || !found->is_int64() || found->get_int64() < 0 || found->get_int64() > 1) {
        return in.bad(name, "0 or 1");
    }
    return found->get_int64() == 1;
}

// A list of words, joined; "" if it is not there.
result<std::string> printed_words(const place& in, std::string_view name) {
    const json::value* found = in.object.if_contains(name);
    if (found == nullptr) {
        return std::string();
    }
    if (!found->is_array()) {
        return in.bad(name, "list of words");
    }
    std::vector<std::string> words;
    for (const json::value& word : found->get_array()) {
        if (!word.is_string()) {
            return in.bad(name, "list of words");
        }
        words.push_back(text_of(word.get_string()));
        if (has_control(words.back())) {
            return in.bad(name, "list of words that can be shown");
        }
    }
    return join(words, ",");
}

// Every object of a list, read by `row`; rows for which it gives nothing are left out.
template <class T, class Row>
result<std::vector<T>> rows_of(const json::array& list, std::string_view name, std::size_t most, Row& row) {
    if (list.size() > most) {
        return failure(errc::too_large, "what Ceph printed", std::string(name) + ": more than " + std::to_string(most));
    }
    std::vector<T> rows;
    rows.reserve(list.size());
    for (std::size_t at = 0; at < list.size(); ++at) {
        if (!list[at].is_object()) {
            return bad_output(std::string(name) + "[" + std::to_string(at) + "] is no object");
        }
        PVC_TRY(std::optional<T> one, row(place{list[at].get_object(), name, at}));
        if (one) {
            rows.push_back(*std::move(one));
        }
    }
    return rows;
}

// Of the list of that name.
template <class T, class Row>
result<std::vector<T>> printed_rows(std::string_view printed, std::string_view name, std::size_t most, Row row) {
    return printed_json::read<std::vector<T>>(
        printed, [&](const json::object& all, std::string_view /*text*/) -> result<std::vector<T>> {
            const json::value* found = all.if_contains(name);
            if (found == nullptr || !found->is_array()) {
                return bad_output("\"" + std::string(name) + "\" is no list");
            }
            return rows_of<T>(found->get_array(), name, most, row);
        });
}

result<std::optional<pool_room>> pool_of(const place& in) {
    pool_room one;
    PVC_TRY(one.pool, printed_text(in, "name"));
    PVC_TRY(one.id, printed_whole(in, "id"));
    const json::value* stats = in.object.if_contains("stats");
    if (stats == nullptr || !stats->is_object()) {
        return in.bad("stats", "object");
    }
    const place inside{stats->get_object(), in.of, in.row};
    PVC_TRY(one.stored, printed_figure(inside, "stored"));
    PVC_TRY(one.available, printed_figure(inside, "max_avail"));
    PVC_TRY(one.used, printed_figure(inside, "bytes_used"));
    PVC_TRY(one.used_fraction, printed_figure(inside, "percent_used"));
    PVC_TRY(one.objects, printed_figure(inside, "objects"));
    return std::optional(std::move(one));
}

result<std::optional<pool_recovery>> recovery_of(const place& in) {
    pool_recovery one;
    PVC_TRY(one.pool, printed_text(in, "pool_name"));
    const json::value* found = in.object.if_contains("recovery");
    if (found == nullptr || !found->is_object()) {
        return in.bad("recovery", "object");
    }
    if (found->get_object().contains("degraded_objects")) {
        PVC_TRY(one.objects_degraded, printed_whole({found->get_object(), in.of, in.row}, "degraded_objects"));
    }
    return std::optional(std::move(one));
}

result<std::optional<osd_map_row>> map_row_of(const place& in) {
    osd_map_row one;
    PVC_TRY(one.id, printed_whole(in, "osd"));
    PVC_TRY(one.uuid, printed_text(in, "uuid"));
    PVC_TRY(one.is_up, printed_flag(in, "up"));
    PVC_TRY(one.is_in, printed_flag(in, "in"));
    PVC_TRY(one.primary_affinity, printed_figure(in, "primary_affinity"));
    PVC_TRY(one.state, printed_words(in, "state"));
    return std::optional(std::move(one));
}

result<std::optional<osd_room_row>> room_row_of(const place& in) {
    osd_room_row one;
    PVC_TRY(one.id, printed_whole(in, "id"));
    if (one.id < 0) {
        return std::optional<osd_room_row>();  // a host or a root
    }
    PVC_TRY(one.utilization, printed_figure(in, "utilization"));
    PVC_TRY(one.variance, printed_figure(in, "var"));
    PVC_TRY(one.pgs, printed_whole(in, "pgs"));
    PVC_TRY(one.kib, printed_whole(in, "kb"));
    PVC_TRY(one.used, printed_whole(in, "kb_used"));
    PVC_TRY(one.used_data, printed_whole(in, "kb_used_data"));
    PVC_TRY(one.used_omap, printed_whole(in, "kb_used_omap"));
    PVC_TRY(one.used_meta, printed_whole(in, "kb_used_meta"));
    PVC_TRY(one.available, printed_whole(in, "kb_avail"));
    PVC_TRY(one.weight, printed_figure(in, "crush_weight"));
    PVC_TRY(one.reweight, printed_figure(in, "reweight"));
    if (in.object.if_contains("device_class") != nullptr) {
        PVC_TRY(one.device_class, printed_text(in, "device_class"));
    }
    return std::optional(std::move(one));
}

// The two sizes are bytes, whatever they are called.
result<std::optional<osd_status_row>> status_row_of(const place& in) {
    osd_status_row one;
    PVC_TRY(one.id, printed_whole(in, "id"));
    PVC_TRY(const std::string host, printed_text(in, "host name"));
    PVC_TRY(const double used, printed_double(in, "kb used"));
    PVC_TRY(const double available, printed_double(in, "kb available"));
    PVC_TRY(const double writes, printed_double(in, "write ops rate"));
    PVC_TRY(const double written, printed_double(in, "write byte rate"));
    PVC_TRY(const double reads, printed_double(in, "read ops rate"));
    PVC_TRY(const double read, printed_double(in, "read byte rate"));
    PVC_TRY(one.state, printed_words(in, "state"));
    one.host = host.substr(0, host.find('.'));
    one.columns = {byte_figure(used),    byte_figure(available),  operation_figure(writes),
                   byte_figure(written), operation_figure(reads), byte_figure(read)};
    return std::optional(std::move(one));
}

// A control character in a text, as JSON spells it: a client would send it to its terminal.
bool has_escaped_control(std::string_view json_text) {
    constexpr std::size_t none = std::string_view::npos;
    for (auto at = json_text.find('\\'); at != none && at + 1 < json_text.size(); at = json_text.find('\\', at + 2)) {
        const char kind = json_text[at + 1];
        if (kind == 'b' || kind == 'f') {
            return true;
        }
        unsigned code = 0;
        const auto digits = json_text.substr(at + 2, 4);
        const bool is_code =
            kind == 'u' && std::from_chars(digits.data(), digits.data() + digits.size(), code, 16).ec == std::errc{};
        if (is_code && is_control(static_cast<char32_t>(code)) && code != '\n' && code != '\t' && code != '\r') {
            return true;
        }
    }
    return false;
}

// What the status of every client breaks on.
result<void> verify_check(std::string_view name, const json::value& check) {
    const auto bad = [&](std::string_view what) {
        return bad_output("checks[" + shown(name) + "]: " + std::string(what));
    };
    if (!check.is_object()) {
        return bad("no object");
    }
    const json::object& one = check.get_object();
    const json::value* severity = one.if_contains("severity");
    if (severity == nullptr || !severity->is_string() ||
        (severity->get_string() != "HEALTH_WARN" && severity->get_string() != "HEALTH_ERR")) {
        return bad("no severity");
    }
    const json::value* summary = one.if_contains("summary");
    const json::value* words =
        summary == nullptr || !summary->is_object() ? nullptr : summary->get_object().if_contains("message");
    return words == nullptr || !words->is_string() ? bad("no message") : result<void>();
}

result<ceph_health> health_of(const json::object& all, std::string_view text) {
    const json::value* status = all.if_contains("status");
    if (status == nullptr || !status->is_string() || !status->get_string().starts_with("HEALTH_")) {
        return bad_output("\"status\" is no word of health");
    }
    const json::value* checks = all.if_contains("checks");
    if (checks == nullptr || !checks->is_object()) {
        return bad_output("\"checks\" is no object");
    }
    if (checks->get_object().size() > ceph_checks_max) {
        return failure(errc::too_large, "what Ceph printed", "too many checks");
    }
    for (const auto& check : checks->get_object()) {
        const auto verified = verify_check(std::string_view(check.key().data(), check.key().size()), check.value());
        if (!verified) {
            return verified.error();
        }
    }
    if (has_escaped_control(text)) {
        return bad_output("a control character");
    }
    return ceph_health{text_of(status->get_string()), std::string(text)};
}

}  // namespace

result<ceph_health> parse_ceph_health(std::string_view printed) {
    return printed_json::read<ceph_health>(printed, health_of);
}

result<std::vector<pool_room>> parse_pool_rooms(std::string_view printed) {
    return printed_rows<pool_room>(printed, "pools", ceph_pools_max, pool_of);
}

result<std::vector<pool_recovery>> parse_pool_recovery(std::string_view printed) {
    return printed_json::read<std::vector<pool_recovery>>(printed, [](const json::array& all) {
        return rows_of<pool_recovery>(all, "pools", ceph_pools_max, recovery_of);
    });
}

result<std::vector<osd_map_row>> parse_osd_dump(std::string_view printed) {
    return printed_rows<osd_map_row>(printed, "osds", ceph_osds_max, map_row_of);
}

result<std::vector<osd_room_row>> parse_osd_df(std::string_view printed) {
    return printed_rows<osd_room_row>(printed, "nodes", 2 * ceph_osds_max, room_row_of);
}

result<std::vector<osd_status_row>> parse_osd_status_json(std::string_view printed) {
    return printed_rows<osd_status_row>(printed, "OSDs", ceph_osds_max, status_row_of);
}

}  // namespace pvc::model
