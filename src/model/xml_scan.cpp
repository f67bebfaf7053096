#include "xml_scan.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::model {

namespace {

constexpr std::string_view subject = "domain XML";
constexpr std::size_t quote_bytes = 16;

std::string position(std::string_view text, std::size_t offset) {
    const auto before = text.substr(0, offset);
    const auto line = std::ranges::count(before, '\n') + 1;
    const auto line_start = before.rfind('\n') + 1;  // npos + 1 is 0
    return fmt::format("line {}, column {}", line, offset - line_start + 1);
}

std::string quote(std::string_view text, std::size_t offset, bool may_show_tag) {
    const auto rest = text.substr(offset);
    if (rest.empty()) {
        return "the end of the text";
    }
    if (rest.starts_with('\n') || rest.starts_with("\r\n")) {
        return "the end of the line";
    }
    const bool is_tag = rest.front() == '<' && may_show_tag;
    return '"' + ascii_only(rest.substr(0, is_tag ? std::min(quote_bytes, rest.find_first_of(" \t\r\n'\"=")) : 1)) +
           '"';
}

class scanner {
public:
    scanner(std::string_view text, const xml_limits& limits) : text_(text), limits_(limits) {}

    result<void> run() {
        if (text_.starts_with(byte_order_mark)) {
            at_ = byte_order_mark.size();
        }
        for (;;) {
            const auto tag = std::min(text_.find('<', at_), text_.size());
            const auto between = text_.substr(at_, tag - at_);
            if (depth_ == 0 && !trim(between).empty()) {
                return xml_error(text_, at_ + between.find_first_not_of(" \t\r\n\v\f"),
                                 roots_ == 0 ? "an element" : "nothing behind the root element");
            }
            if (tag == text_.size()) {
                return {};
            }
            at_ = tag;
            PVC_TRY(const bool done, step());
            if (!done) {
                return {};  // cut off: the parser says what is missing
            }
        }
    }

private:
    // One construct that begins with '<'. False: the text ends within it.
    result<bool> step() {
        const auto rest = text_.substr(at_);
        if (rest.starts_with("<!--")) {
            return skip_behind("-->", 4);
        }
        if (rest.starts_with("<![CDATA[") && depth_ > 0) {
            return skip_behind("]]>", 9);
        }
        if (rest.starts_with("<?")) {
            return skip_behind("?>", 2);
        }
        if (rest.starts_with("<!")) {
            return xml_error(text_, at_, "no declaration of document types or entities");
        }
        return rest.starts_with("</") ? end_tag() : start_tag();
    }

    bool skip_behind(std::string_view end, std::size_t opening) {
        const auto found = text_.find(end, at_ + opening);
        at_ = std::min(found, text_.size() - end.size()) + end.size();
        return found != std::string_view::npos;
    }

    result<bool> end_tag() {
        if (depth_ == 0) {
            return xml_error(text_, at_, "a start tag");
        }
        --depth_;
        return skip_behind(">", 2);
    }

    result<bool> start_tag() {
        if (depth_ == 0 && ++roots_ > 1) {
            return xml_error(text_, at_, "nothing behind the root element");
        }
        if (++elements_ > limits_.elements) {
            return beyond(fmt::format("more than {} elements", limits_.elements));
        }
        if (depth_ == limits_.depth) {
            return beyond(fmt::format("more than {} levels of elements", limits_.depth));
        }
        const auto end = end_of_tag();
        if (end == std::string_view::npos) {
            return false;
        }
        if (text_[end - 1] != '/') {
            ++depth_;
        }
        at_ = end + 1;
        return true;
    }

    // The '>' that is not inside quotes.
    [[nodiscard]] std::size_t end_of_tag() const {
        auto at = at_;
        for (;;) {
            at = text_.find_first_of("\"'>", at);
            if (at == std::string_view::npos || text_[at] == '>') {
                return at;
            }
            at = text_.find(text_[at], at + 1);
            if (at == std::string_view::npos) {
                return at;
            }
            ++at;
        }
    }

    [[nodiscard]] failure beyond(std::string_view what) const {
        return failure(errc::too_large, std::string(subject), fmt::format("{}: {}", position(text_, at_), what));
    }

    std::string_view text_;
    const xml_limits& limits_;
    std::size_t at_ = 0;
    std::size_t depth_ = 0;
    std::size_t elements_ = 0;
    std::size_t roots_ = 0;
};

}  // namespace

failure xml_error(std::string_view text, std::size_t offset, std::string_view expected, bool may_show_tag) {
    offset = std::min(offset, text.size());
    return failure(
        errc::invalid, std::string(subject),
        fmt::format("{}: expected {}, found {}", position(text, offset), expected, quote(text, offset, may_show_tag)));
}

result<void> scan_xml(std::string_view text, const xml_limits& limits) {
    if (text.size() > limits.bytes) {
        return failure(errc::too_large, std::string(subject),
                       fmt::format("line 1: {} bytes, the limit is {}", text.size(), limits.bytes));
    }
    if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
        return xml_error(text, nul, "text without NUL bytes");
    }
    return scanner(text, limits).run();
}

}  // namespace pvc::model
