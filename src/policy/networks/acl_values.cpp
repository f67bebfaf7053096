#include "acl_values.hpp"

#include "acl_names.hpp"
#include "pvcnoded/base/address.hpp"
#include "pvcnoded/base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace pvc::policy {

namespace {

constexpr std::size_t name_length = 16;  // with the zero at its end

acl_value single(std::string bytes) {
    acl_value value;
    value.first = value.last = std::move(bytes);
    return value;
}

template <class Bytes>
std::string text_of(const Bytes& bytes) {
    return {bytes.begin(), bytes.end()};
}

template <std::size_t Size>
std::optional<acl_value> literal_number(std::string_view text) {
    const auto number = number_of(text, (std::uint64_t{1} << (8 * Size)) - 1);
    return number ? std::optional(single(network_bytes(*number, Size))) : std::nullopt;
}

template <std::size_t Size, std::optional<std::uint32_t> (*Find)(std::string_view)>
std::optional<acl_value> named_number(std::string_view text) {
    const auto number = Find(text);
    return number ? std::optional(single(network_bytes(*number, Size))) : std::nullopt;
}

std::optional<acl_value> literal_mark(std::string_view text) {
    const auto number = number_of(text, 0xFFFFFFFF);
    return number ? std::optional(single(host_bytes(static_cast<std::uint32_t>(*number)))) : std::nullopt;
}

// Packets of no other family come here.
std::optional<acl_value> literal_family(std::string_view text) {
    const auto number = number_of(text, family_ip6);
    return number == family_ip4 || number == family_ip6 ? std::optional(single(network_bytes(*number, 1)))
                                                        : std::nullopt;
}

std::optional<acl_value> no_name(std::string_view /*text*/) {
    return std::nullopt;
}

// The ends of what begins with so many bits.
acl_value network_of(std::string address, std::size_t prefix) {
    std::string mask(address.size(), '\0');
    for (std::size_t bit = 0; bit < prefix; ++bit) {
        mask[bit / 8] = static_cast<char>(static_cast<unsigned char>(mask[bit / 8]) | (0x80U >> (bit % 8)));
    }
    acl_value value;
    value.is_prefix = true;
    value.first.resize(address.size());
    value.last.resize(address.size());
    for (std::size_t at = 0; at < address.size(); ++at) {
        const auto byte = static_cast<unsigned char>(address[at]);
        const auto kept = static_cast<unsigned char>(mask[at]);
        value.first[at] = static_cast<char>(byte & kept);
        value.last[at] = static_cast<char>(byte | static_cast<unsigned char>(~kept));
    }
    if (prefix < 8 * address.size()) {
        value.mask = std::move(mask);
    }
    return value;
}

std::optional<acl_value> address_of(std::string_view text, bool is_v6) {
    const auto slash = text.find('/');
    const auto host = text.substr(0, slash);
    std::string bytes;
    if (is_v6) {
        const auto parsed = parse_address_v6(host);
        bytes = parsed ? text_of(parsed->to_bytes()) : "";
    } else {
        const auto parsed = parse_address_v4(host);
        bytes = parsed ? text_of(parsed->to_bytes()) : "";
    }
    if (bytes.empty() || slash == std::string_view::npos) {
        return bytes.empty() ? std::nullopt : std::optional(single(bytes));
    }
    const auto prefix = number_of(text.substr(slash + 1), 8 * bytes.size());
    return prefix ? std::optional(network_of(std::move(bytes), static_cast<std::size_t>(*prefix))) : std::nullopt;
}

std::optional<acl_value> literal_ip4(std::string_view text) {
    return address_of(text, false);
}

std::optional<acl_value> literal_ip6(std::string_view text) {
    return address_of(text, true);
}

std::optional<acl_value> literal_ether(std::string_view text) {
    constexpr std::size_t parts = 6;
    const auto all = split(text, ':');
    std::string bytes;
    for (const auto one : all) {
        unsigned byte = 0;
        const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), byte, 16);
        if (one.empty() || one.size() > 2 || error != std::errc() || end != one.data() + one.size()) {
            return std::nullopt;
        }
        bytes += static_cast<char>(byte);
    }
    return bytes.size() == parts ? std::optional(single(bytes)) : std::nullopt;
}

std::optional<acl_value> interface_name(std::string_view text) {
    const bool is_start = text.ends_with('*');
    std::string bytes(is_start ? text.substr(0, text.size() - 1) : text);
    if (bytes.empty() || text.size() >= name_length || bytes.find_first_of("*/:") != std::string::npos) {
        return std::nullopt;
    }
    if (!is_start) {
        bytes.resize(name_length, '\0');
    }
    auto value = single(std::move(bytes));
    value.is_start = is_start;
    return value;
}

std::optional<acl_value> any_single(const value_kind& kind, const acl_token& token, std::string_view text) {
    if (kind.set == model::set_kind::interface_name && token.is == acl_token::kind::word && !is_plain_word(text)) {
        return std::nullopt;
    }
    const auto literal = kind.literal(text);
    return literal ? literal : kind.name(text);
}

// "nosuch", "-nosuch", "22-nosuch"
bool has_name(std::string_view text) {
    bool is_begin = true;
    for (const char c : text) {
        if (is_begin && is_letter(c)) {
            return true;
        }
        is_begin = c == '-' || c == '/';
    }
    return false;
}

// What has letters in it, other than those of a number or of an address with colons, is the name of a host.
bool may_be_host(std::string_view text) {
    constexpr std::string_view hexadecimal = "0123456789abcdefABCDEF:/-";
    constexpr std::string_view decimal = "0123456789.:/-";
    if (text.starts_with("0x") || text.starts_with("0X")) {
        return text.find_first_not_of(hexadecimal, 2) != std::string_view::npos;
    }
    if (text.find(':') == std::string_view::npos) {
        return text.find_first_not_of(decimal) != std::string_view::npos;
    }
    const auto point = std::min(text.find('.'), text.size());  // behind it are decimal numbers
    return text.substr(0, point).find_first_not_of(hexadecimal) != std::string_view::npos ||
           text.find_first_not_of(decimal, point) != std::string_view::npos;
}

// A network as the end of a range says nothing.
std::optional<acl_value> range_of(const std::optional<acl_value>& first, const std::optional<acl_value>& last) {
    if (!first || !last || first->is_prefix || last->is_prefix) {
        return std::nullopt;
    }
    acl_value value;
    value.first = first->first;
    value.last = last->last;
    value.is_range = true;
    return value;
}

// "22-80": what stands before the dash is no name, as names have dashes too.
std::optional<acl_value> range_in_word(const value_kind& kind, const acl_token& token) {
    for (auto dash = token.text.find('-'); dash != std::string_view::npos; dash = token.text.find('-', dash + 1)) {
        const auto value =
            range_of(kind.literal(token.text.substr(0, dash)), any_single(kind, token, token.text.substr(dash + 1)));
        if (value) {
            return value;
        }
    }
    return std::nullopt;
}

class value_reader {
public:
    value_reader(acl_cursor& in, const value_kind& kind) : in_(in), kind_(kind) {}

    bool read(acl_values& values) {
        const auto begin = in_.next();
        if (!is_value()) {
            return in_.fail_missing(kind_.expected);
        }
        is_of_node_ = false;
        auto value = read_value();
        if (!value) {
            return is_of_node_ ? in_.fail_at(begin, kind_.expected) : in_.fail_beyond_at(begin, kind_.expected);
        }
        if (value->is_range && !kind_.has_order) {
            return in_.fail_beyond_at(begin, "a single value, as there are no ranges of these");
        }
        if (value->last < value->first) {
            return in_.fail_at(begin, "a range that begins with its lower end");
        }
        values.all.push_back(*std::move(value));
        return true;
    }

private:
    [[nodiscard]] bool is_value() const { return in_.is_word() || in_.next().is == acl_token::kind::quoted; }

    acl_token take() {
        const auto token = in_.take();
        is_of_node_ =
            is_of_node_ || (kind_.is_of_node != nullptr && kind_.is_of_node(token.text) && !kind_.name(token.text) &&
                            !(token.is == acl_token::kind::word && is_word_of_nft(token.text)));
        return token;
    }

    std::optional<acl_value> read_value() {
        const auto token = take();
        if (kind_.set == model::set_kind::interface_name) {
            return any_single(kind_, token, token.text);
        }
        const auto text = with_prefix(token);
        auto value = any_single(kind_, token, text);
        if (in_.is_word() && in_.next().text.starts_with('-')) {
            return range_of(value, after_dash(take()));
        }
        if (value || token.is == acl_token::kind::quoted) {
            return value;
        }
        if (text.ends_with('-')) {
            return range_of(kind_.literal(std::string_view(text).substr(0, text.size() - 1)), single_token());
        }
        return range_in_word(kind_, token);
    }

    // "10.0.0.0 / 8"
    std::string with_prefix(const acl_token& token) {
        std::string text(token.text);
        while (token.is == acl_token::kind::word && in_.is_word() &&
               (text.ends_with('/') || in_.next().text.starts_with('/'))) {
            text += take().text;
        }
        return text;
    }

    std::optional<acl_value> after_dash(const acl_token& dash) {
        return dash.text == "-" ? single_token() : any_single(kind_, dash, dash.text.substr(1));
    }

    std::optional<acl_value> single_token() {
        if (!is_value()) {
            return std::nullopt;
        }
        const auto token = take();
        return any_single(kind_, token, token.text);
    }

    acl_cursor& in_;
    const value_kind& kind_;
    bool is_of_node_ = false;
};

}  // namespace

const value_kind ip4_addresses{
    model::set_kind::ip4_address, "an IPv4 address or network", literal_ip4, no_name, true, may_be_host};
const value_kind ip6_addresses{
    model::set_kind::ip6_address, "an IPv6 address or network", literal_ip6, no_name, true, may_be_host};
const value_kind ether_addresses{model::set_kind::ether_address, "an address such as 52:54:00:00:00:01", literal_ether,
                                 no_name};
const value_kind protocols{model::set_kind::protocol_number,
                           "the number or the name of a protocol",
                           literal_number<1>,
                           named_number<1, protocol_of>,
                           true,
                           has_name};
const value_kind ports{model::set_kind::port,
                       "a port or the name of a service",
                       literal_number<2>,
                       named_number<2, port_of>,
                       true,
                       has_name};
const value_kind icmp_types{model::set_kind::icmp_type, "a type of ICMP", literal_number<1>,
                            named_number<1, icmp_type_of>};
const value_kind icmp6_types{model::set_kind::icmp6_type, "a type of ICMPv6", literal_number<1>,
                             named_number<1, icmp6_type_of>};
const value_kind marks{model::set_kind::mark, "a number of 32 bits", literal_mark, no_name, false, has_name};
const value_kind interface_names{model::set_kind::interface_name, "the name of an interface", no_name, interface_name,
                                 false};
const value_kind netfilter_families{model::set_kind::netfilter_protocol, "ipv4 or ipv6", literal_family,
                                    named_number<1, family_of>};

acl_operator read_operator(acl_cursor& in) {
    struct spelling {
        std::string_view symbol;
        std::string_view word;
        acl_operator meaning;
    };
    constexpr std::array<spelling, 6> spellings{{{"==", "eq", acl_operator::equal},
                                                 {"!=", "ne", acl_operator::unequal},
                                                 {"<", "lt", acl_operator::less},
                                                 {"<=", "le", acl_operator::at_most},
                                                 {">", "gt", acl_operator::more},
                                                 {">=", "ge", acl_operator::at_least}}};
    for (const auto& one : spellings) {
        if (in.take_symbol(one.symbol) || in.take_word(one.word)) {
            return one.meaning;
        }
    }
    return acl_operator::none;
}

bool read_values(acl_cursor& in, const value_kind& kind, acl_values& values) {
    value_reader reader(in, kind);
    if (!in.take_symbol("{")) {
        return reader.read(values);
    }
    do {
        if (!reader.read(values)) {
            return false;
        }
        if (in.take_symbol("}")) {
            return true;
        }
        if (!in.take_symbol(",")) {
            return in.fail_missing("\",\" or \"}\"");
        }
    } while (!in.take_symbol("}"));
    return true;
}

model::in_set set_of(const value_kind& kind, const acl_values& values, bool is_inverted) {
    model::in_set set;
    set.is_inverted = is_inverted;
    set.kind = kind.set;
    bool is_merged = false;
    for (const auto& one : values.all) {
        set.elements.push_back({one.first, one.last});
        is_merged = is_merged || one.is_range || one.is_prefix;
    }
    std::ranges::sort(set.elements);
    std::vector<model::set_element> merged;
    for (auto& one : set.elements) {
        const auto touches = [&](const model::set_element& before) {
            const auto after = next_after(before.last);
            return is_merged ? !after || one.first <= *after : one.first == before.first;
        };
        if (!merged.empty() && touches(merged.back())) {
            merged.back().last = std::max(merged.back().last, one.last);
        } else {
            merged.push_back(std::move(one));
        }
    }
    set.elements = std::move(merged);
    set.is_interval = std::ranges::any_of(set.elements, [](const auto& one) { return one.first != one.last; });
    return set;
}

std::optional<std::string> next_after(std::string bytes) {
    for (std::size_t at = bytes.size(); at > 0; --at) {
        const auto byte = static_cast<unsigned char>(bytes[at - 1]);
        bytes[at - 1] = static_cast<char>(byte + 1U);
        if (byte != 0xFF) {
            return bytes;
        }
    }
    return std::nullopt;
}

std::optional<std::uint64_t> number_of(std::string_view text, std::uint64_t most) {
    const int base = text.starts_with("0x") ? 16 : 10;
    const auto digits = base == 16 ? text.substr(2) : text;
    const bool is_ambiguous = base == 10 && digits.size() > 1 && digits.front() == '0';  // nft: octal
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
    if (digits.empty() || is_ambiguous || error != std::errc() || end != digits.data() + digits.size() ||
        number > most) {
        return std::nullopt;
    }
    return number;
}

std::string network_bytes(std::uint64_t number, std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t at = size; at > 0; --at) {
        bytes[at - 1] = static_cast<char>(number & 0xFFU);
        number >>= 8U;
    }
    return bytes;
}

std::string host_bytes(std::uint32_t number) {
    std::string bytes(sizeof number, '\0');
    std::memcpy(bytes.data(), &number, sizeof number);
    return bytes;
}

}  // namespace pvc::policy
