#include "acl_statements.hpp"

#include "acl_names.hpp"
#include "acl_values.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <optional>
#include <utility>

namespace pvc::policy {

using namespace model;

namespace {

constexpr std::size_t longest_prefix = 127;   // NF_LOG_PREFIXLEN with its zero
constexpr std::size_t longest_comment = 127;  // as nft

statement_outcome answered(bool is_read, statement_outcome good = statement_outcome::read) {
    return is_read ? good : statement_outcome::failed;
}

// In quotes, or a word that nothing else can be.
bool read_text(acl_cursor& in, std::size_t longest, std::string& text) {
    const auto token = in.next();
    const bool is_text =
        token.is == acl_token::kind::quoted || (token.is == acl_token::kind::word && is_plain_word(token.text));
    if (!is_text || token.text.size() > longest) {
        return in.fail_missing(fmt::format("a text in quotes, at most {} bytes", longest));
    }
    text = in.take().text;
    return true;
}

// prefix "text", level word, in any order.
bool read_log(acl_cursor& in, acl_rule& rule) {
    log_packet log;
    for (;;) {
        if (in.take_word("prefix")) {
            if (!read_text(in, longest_prefix, log.prefix)) {
                return false;
            }
        } else if (in.take_word("level")) {
            log.level = log_level_of(in.next().text);
            if (!log.level) {
                return in.fail_missing("emerg, alert, crit, err, warn, notice, info or debug");
            }
            in.take();
        } else if (in.next().is_word("group") || in.next().is_word("flags") || in.next().is_word("snaplen") ||
                   in.next().is_word("queue-threshold")) {
            return in.fail_beyond("prefix or level");
        } else {
            rule.add(std::move(log));
            return true;
        }
    }
}

// The kernel counts in nanoseconds of 64 bits.
bool can_be_counted(const limit_rate& limit) {
    constexpr std::uint64_t nanoseconds = 1'000'000'000;
    const auto each = limit.unit * nanoseconds / limit.rate;
    return limit.rate <= std::numeric_limits<std::uint64_t>::max() - limit.burst &&
           (each == 0 || limit.burst <= std::numeric_limits<std::uint64_t>::max() / each);
}

// rate [over] 5/second [burst 10 packets]
bool read_limit(acl_cursor& in, acl_rule& rule) {
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    const auto begin = in.next();
    if (!in.take_word("rate")) {
        return in.fail_beyond("rate");
    }
    limit_rate limit;
    limit.is_over = in.take_word("over");
    const auto rate_at = in.next();
    std::string text;
    while (in.is_word() && (text.empty() || text.ends_with('/') || in.next().text.starts_with('/'))) {
        text += in.take().text;
    }
    const auto slash = text.find('/');
    const auto rate = number_of(std::string_view(text).substr(0, slash), most);
    if (rate && slash == std::string::npos) {  // bytes
        return in.fail_beyond("\"/\" and second, minute, hour, day or week");
    }
    const auto unit = slash == std::string::npos ? std::nullopt : seconds_of(std::string_view(text).substr(slash + 1));
    constexpr std::string_view example = "a rate such as 5/second";
    if (text.empty()) {
        return in.fail_missing(example);
    }
    if (!rate || !unit) {
        return in.fail_beyond_at(rate_at, example);
    }
    if (*rate == 0) {
        return in.fail_at(rate_at, example);
    }
    limit.rate = *rate;
    limit.unit = *unit;
    if (in.take_word("burst")) {
        const auto burst =
            in.is_word() ? number_of(in.next().text, std::numeric_limits<std::uint32_t>::max()) : std::nullopt;
        if (!burst || *burst == 0) {
            return burst ? in.fail("a number of packets") : in.fail_missing("a number of packets");
        }
        in.take();
        if (!in.take_word("packets")) {
            return in.fail_missing("packets");
        }
        limit.burst = static_cast<std::uint32_t>(*burst);
    }
    if (!can_be_counted(limit)) {
        return in.fail_at(begin, "a smaller rate or burst");
    }
    rule.add(limit);
    return true;
}

// icmp|icmpv6|icmpx [type] code
bool read_reject_code(acl_cursor& in, acl_rule& rule) {
    struct code_kind {
        std::string_view word;
        std::uint32_t type;
        std::optional<std::uint8_t> family;
        std::optional<std::uint32_t> (*find)(std::string_view name);
        std::string_view expected;
    };
    static constexpr std::array<code_kind, 3> kinds{
        {{"icmp", 0, family_ip4, icmp_code_of,
          "net-unreachable, host-unreachable, prot-unreachable, port-unreachable, net-prohibited, host-prohibited or "
          "admin-prohibited"},
         {"icmpv6", 0, family_ip6, icmp6_code_of,
          "no-route, admin-prohibited, addr-unreachable, port-unreachable, policy-fail or reject-route"},
         {"icmpx", 2, std::nullopt, icmpx_code_of,
          "no-route, port-unreachable, host-unreachable or admin-prohibited"}}};
    for (const auto& kind : kinds) {
        const auto begin = in.next();
        if (!in.take_word(kind.word)) {
            continue;
        }
        in.take_word("type");
        const auto code = kind.find(in.next().text);
        if (!code) {
            return in.fail_beyond(kind.expected);
        }
        in.take();
        if (!rule.need_ahead(kind.family, std::nullopt).is_none_at(in, begin)) {
            return false;
        }
        rule.add(reject_packet{kind.type, static_cast<std::uint8_t>(*code)});
        return true;
    }
    return in.fail_missing("\"tcp reset\", icmp, icmpv6 or icmpx");
}

bool read_reject(acl_cursor& in, acl_rule& rule) {
    if (in.take_word("with")) {
        const auto begin = in.next();
        if (!in.take_word("tcp")) {
            return read_reject_code(in, rule);
        }
        if (!in.take_word("reset")) {
            return in.fail_missing("reset");
        }
        rule.add(reject_packet{1, 0});
        return rule.need_ahead(std::nullopt, protocol_tcp).is_none_at(in, begin);
    }
    // The port is unreachable, as the family of the packet says it.
    constexpr std::uint8_t code_ip4 = 3;
    constexpr std::uint8_t code_ip6 = 4;
    if (rule.family() == family_ip4) {
        rule.add(reject_packet{0, code_ip4});
    } else if (rule.family() == family_ip6) {
        rule.add(reject_packet{0, code_ip6});
    } else {
        rule.add(reject_packet{});
    }
    return true;
}

}  // namespace

statement_outcome read_statement(acl_cursor& in, acl_rule& rule) {
    constexpr std::array<std::pair<std::string_view, filter_verdict>, 3> verdicts{
        {{"accept", filter_verdict::accept}, {"drop", filter_verdict::drop}, {"return", filter_verdict::return_to}}};
    for (const auto& [word, what] : verdicts) {
        if (in.take_word(word)) {
            rule.add(give_verdict{what, ""});
            return statement_outcome::decided;
        }
    }
    if (in.take_word("reject")) {
        return answered(read_reject(in, rule), statement_outcome::decided);
    }
    if (in.take_word("counter")) {
        if (in.next().is_word("packets") || in.next().is_word("name") || in.next().is_word("bytes")) {
            return answered(in.fail_beyond("a counter that begins at nothing"));
        }
        rule.add(count_packet{});
        return statement_outcome::read;
    }
    if (in.take_word("log")) {
        return answered(read_log(in, rule));
    }
    return in.take_word("limit") ? answered(read_limit(in, rule)) : statement_outcome::unknown;
}

bool read_comment(acl_cursor& in) {
    std::string text;
    if (!read_text(in, longest_comment, text)) {
        return false;
    }
    return in.is_end() || in.fail("nothing behind a comment");
}

}  // namespace pvc::policy
