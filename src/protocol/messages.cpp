#include "pvcnoded/protocol/messages.hpp"

#include "pvcnoded/base/utf8.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace pvc::protocol {

namespace json = boost::json;

namespace {

constexpr std::size_t name_bytes_max = 64;
constexpr std::size_t request_depth_max = 4;
constexpr std::size_t answer_depth_max = 16;
constexpr double number_max = 1e300;  // of either sign; no figure of a node comes near it

constexpr std::array<std::pair<problem, std::string_view>, 9> problems{{
    {problem::bad_request, "bad-request"},
    {problem::other_version, "version"},
    {problem::unknown_request, "unknown-request"},
    {problem::not_found, "not-found"},
    {problem::refused, "refused"},
    {problem::busy, "busy"},
    {problem::too_large, "too-large"},
    {problem::too_late, "too-late"},
    {problem::defect, "defect"},
}};

failure invalid(std::string cause) {
    return failure(errc::invalid, "message", std::move(cause));
}

std::string line_of(const json::object& what) {
    std::string text = json::serialize(what);
    if (first_invalid_utf8(text)) {
        text = valid_utf8(text);  // only within texts: everything else of JSON is ASCII
    }
    text += '\n';
    return text;
}

result<json::object> object_of(std::string_view line, std::size_t bytes_max, std::size_t depth_max) {
    if (line.size() > bytes_max) {
        return failure(errc::too_large, "message", "the line is too long");
    }
    json::parse_options how;
    how.max_depth = depth_max;
    json::error_code code;
    json::value parsed = json::parse(json::string_view(line.data(), line.size()), code, {}, how);
    if (code) {
        return invalid("no JSON: " + code.message());
    }
    if (!parsed.is_object()) {
        return invalid("no object");
    }
    const json::value* number = parsed.get_object().if_contains("version");
    if (number == nullptr || !number->is_int64()) {
        return invalid("\"version\" is missing or no whole number");
    }
    if (number->get_int64() != version) {
        return failure(errc::unavailable, "message",
                       "version " + std::to_string(number->get_int64()) + " is not spoken here, version " +
                           std::to_string(version) + " is");
    }
    return std::move(parsed.get_object());
}

result<std::int64_t> id_of(const json::object& from) {
    const json::value* id = from.if_contains("id");
    if (id == nullptr || !id->is_int64() || id->get_int64() < 0) {
        return invalid("\"id\" is missing or no whole number from 0 up");
    }
    return id->get_int64();
}

std::string text_of(const json::string& text) {
    return {text.data(), text.size()};
}

// Whether it can be said again: a number beyond what a double holds is read as infinite, which JSON has no word for.
bool has_only_finite_numbers(const json::value& in) {
    if (const double* number = in.if_double()) {
        return std::abs(*number) <= number_max;
    }
    if (const json::array* all = in.if_array()) {
        return std::ranges::all_of(*all, has_only_finite_numbers);
    }
    const json::object* all = in.if_object();
    return all == nullptr ||
           std::ranges::all_of(*all, [](const auto& one) { return has_only_finite_numbers(one.value()); });
}

}  // namespace

std::string_view to_text(problem what) {
    return std::ranges::find(problems, what, [](const auto& one) { return one.first; })->second;
}

std::optional<problem> parse_problem(std::string_view text) {
    const auto* found = std::ranges::find(problems, text, [](const auto& one) { return one.second; });
    return found == problems.end() ? std::nullopt : std::optional(found->first);
}

std::string encode(const request& what) {
    json::object out;
    out["version"] = version;
    out["id"] = what.id;
    out["name"] = what.name;
    out["deadline_ms"] = what.deadline.count();
    out["parameters"] = what.parameters;
    return line_of(out);
}

std::string encode(const answer& what) {
    json::object out;
    out["version"] = version;
    if (what.id) {
        out["id"] = *what.id;
    } else {
        out["id"] = nullptr;
    }
    out["ok"] = !what.error.has_value();
    if (what.error) {
        out["error"] = json::object{{"code", to_text(what.error->what)}, {"text", what.error->text}};
    } else {
        out["result"] = what.result;
    }
    if (what.more) {
        out["more"] = true;
    }
    return line_of(out);
}

result<request> parse_request(std::string_view line) {
    PVC_TRY(json::object from, object_of(line, request_bytes_max, request_depth_max));
    request out;
    PVC_TRY(out.id, id_of(from));
    const json::value* name = from.if_contains("name");
    if (name == nullptr || !name->is_string() || name->get_string().empty() ||
        name->get_string().size() > name_bytes_max) {
        return invalid("\"name\" is missing or no text of 1 to 64 bytes");
    }
    out.name = text_of(name->get_string());
    if (const json::value* deadline = from.if_contains("deadline_ms")) {
        if (!deadline->is_int64() || deadline->get_int64() < 1 || deadline->get_int64() > deadline_max.count()) {
            return invalid("\"deadline_ms\" is no whole number from 1 to 60000");
        }
        out.deadline = std::chrono::milliseconds(deadline->get_int64());
    }
    if (json::value* parameters = from.if_contains("parameters")) {
        if (!parameters->is_object()) {
            return invalid("\"parameters\" is no object");
        }
        for (const auto& one : parameters->get_object()) {
            if (!one.value().is_string() && !one.value().is_int64() && !one.value().is_bool()) {
                return invalid("a parameter is neither a text nor a whole number nor true or false");
            }
        }
        out.parameters = std::move(parameters->get_object());
    }
    return out;
}

result<answer> parse_answer(std::string_view line) {
    PVC_TRY(json::object from, object_of(line, answer_bytes_max, answer_depth_max));
    answer out;
    if (const json::value* id = from.if_contains("id"); id == nullptr || !id->is_null()) {
        PVC_TRY(out.id, id_of(from));
    }
    const json::value* ok = from.if_contains("ok");
    if (ok == nullptr || !ok->is_bool()) {
        return invalid("\"ok\" is missing or neither true nor false");
    }
    if (ok->get_bool()) {
        json::value* result = from.if_contains("result");
        if (result == nullptr || !result->is_object()) {
            return invalid("\"result\" is missing or no object");
        }
        if (!has_only_finite_numbers(*result)) {
            return invalid("a number in \"result\" is too large");
        }
        out.result = std::move(result->get_object());
        const json::value* more = from.if_contains("more");
        out.more = more != nullptr && more->is_bool() && more->get_bool();
        return out;
    }
    const json::value* error = from.if_contains("error");
    const json::object* said = error == nullptr ? nullptr : error->if_object();
    const json::value* code = said == nullptr ? nullptr : said->if_contains("code");
    const json::value* text = said == nullptr ? nullptr : said->if_contains("text");
    if (code == nullptr || !code->is_string() || text == nullptr || !text->is_string()) {
        return invalid("\"error\" is missing or has no code and text");
    }
    // A code of a later version is an error all the same.
    out.error.emplace(refusal{parse_problem(text_of(code->get_string())).value_or(problem::bad_request),
                              text_of(text->get_string())});
    return out;
}

}  // namespace pvc::protocol
