// `osd status`, in the layouts of its versions, and figures as it writes them.
#include "ceph_json.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/utf8.hpp"
#include "pvcnoded/model/ceph_health.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

namespace pvc::model {

namespace {

constexpr char escape = '\x1b';
constexpr std::size_t status_columns = 9;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_all_digits(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, is_digit);
}

bool is_ascii_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// How many bytes of the text are one sequence for a terminal; it begins with ESC.
std::size_t sequence_size(std::string_view text) {
    if (text.size() < 2 || (text[1] != '[' && text[1] != ']')) {
        return 1;
    }
    const bool is_title = text[1] == ']';
    for (std::size_t at = 2; at < text.size(); ++at) {
        if (is_title ? text[at] == '\a' : is_ascii_letter(text[at])) {
            return at + 1;
        }
        if (text[at] == '\n' || text[at] == escape) {
            return at;  // it never ended
        }
    }
    return text.size();
}

std::string without_sequences(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const auto plain = text.substr(0, text.find(escape));
        out += plain;
        text.remove_prefix(plain.size());
        text.remove_prefix(text.empty() ? 0 : sequence_size(text));
    }
    return out;
}

std::optional<osd_status_row> row_of(std::string_view id, std::string_view host,
                                     std::span<const std::string_view> figures, std::string_view state) {
    const auto number = is_all_digits(id) ? parse_integer(id) : std::nullopt;
    if (!number || !std::ranges::all_of(figures, is_figure) || has_control(host) || has_control(state)) {
        return std::nullopt;
    }
    const auto text = [&](std::size_t at) { return std::string(figures[at]); };
    return osd_status_row{*number,
                          std::string(host.substr(0, host.find('.'))),
                          {text(0), text(1), text(2), text(3), text(4), text(5)},
                          std::string(state)};
}

std::optional<osd_status_row> row_with_bars(std::string_view line) {
    auto cells = split(line, '|');
    if (cells.size() != status_columns + 2) {
        return std::nullopt;
    }
    for (auto& cell : cells) {
        cell = trim(cell);
    }
    const std::span figures = std::span<const std::string_view>(cells).subspan(3, 6);
    return row_of(cells[1], cells[2], figures, cells[9]);
}

// With one column less the host is blank, if what is there is figures and the state.
std::optional<osd_status_row> plain_row(const std::vector<std::string_view>& tokens) {
    const std::span<const std::string_view> all(tokens);
    if (all.size() == status_columns) {
        return row_of(all[0], all[1], all.subspan(2, 6), all[8]);
    }
    if (all.size() == status_columns - 1 && !is_figure(all[7])) {
        return row_of(all[0], {}, all.subspan(1, 6), all[7]);
    }
    return std::nullopt;
}

bool is_status_header(std::string_view line) {
    const std::string words = lower(line);
    return words.find("id") != std::string::npos && words.find("state") != std::string::npos;
}

std::string scaled_figure(double number, double step) {
    constexpr std::string_view suffixes = "kMGTPE";
    constexpr double four_digits = 9999;
    // Beyond that it is nothing that a cluster does.
    const double most = four_digits * std::pow(step, static_cast<double>(suffixes.size()));
    const double value = number > 0 ? std::floor(std::min(number, most)) : 0;  // not "-0" either
    std::size_t power = 0;
    double unit = 1;
    while (std::floor(value / unit) > four_digits && power < suffixes.size()) {
        unit *= step;
        ++power;
    }
    if (power == 0) {
        return fmt::format("{:.0f}", value);
    }
    std::string text = fmt::format("{:.6f}", value / unit).substr(0, 4);
    if (text.back() == '.') {
        text.pop_back();
    }
    return text + suffixes[power - 1];
}

}  // namespace

bool is_figure(std::string_view text) {
    const auto digits = [&] {
        const auto end = std::ranges::find_if_not(text, is_digit);
        const auto count = static_cast<std::size_t>(end - text.begin());
        text.remove_prefix(count);
        return count != 0;
    };
    if (!digits()) {
        return false;
    }
    if (text.starts_with('.')) {
        text.remove_prefix(1);
        if (!digits()) {
            return false;
        }
    }
    return text.empty() || (text.size() == 1 && is_ascii_letter(text.front()));
}

std::string byte_figure(double bytes) {
    return scaled_figure(bytes, 1024);
}

std::string operation_figure(double operations) {
    return scaled_figure(operations, 1000);
}

result<std::vector<osd_status_row>> parse_osd_status(std::string_view printed) {
    if (printed.size() > ceph_output_max) {
        return failure(errc::too_large, "what Ceph printed");
    }
    if (trim(printed).starts_with('{')) {
        return parse_osd_status_json(printed);
    }
    const std::string text = valid_utf8(without_sequences(printed));
    std::vector<osd_status_row> rows;
    bool has_header = false;
    for (std::string_view rest = text; !rest.empty();) {
        const auto line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        const auto content = trim(line);
        auto row = content.starts_with('|') ? row_with_bars(content) : plain_row(split_blanks(content));
        if (!row) {
            has_header = has_header || is_status_header(content);
            continue;
        }
        if (rows.size() == ceph_osds_max) {
            return failure(errc::too_large, "what Ceph printed", "more OSDs than there can be");
        }
        rows.push_back(*std::move(row));
    }
    if (rows.empty() && !has_header) {
        return failure(errc::invalid, "what Ceph printed", "no table of OSDs");
    }
    return rows;
}

}  // namespace pvc::model
