#include "contract/filter/meaning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

namespace pvc::contract {

using namespace model;

namespace {

std::string hex(const std::string& bytes) {
    std::string text;
    for (const char c : bytes) {
        text += fmt::format("{:02x}", static_cast<unsigned char>(c));
    }
    return text;
}

std::string stepped(std::string bytes, int step) {
    for (std::size_t at = bytes.size(); at > 0; --at) {
        const int byte = static_cast<unsigned char>(bytes[at - 1]) + step;
        bytes[at - 1] = static_cast<char>(byte);
        if (byte >= 0 && byte <= 255) {
            break;
        }
    }
    return bytes;
}

// Statements in order, and between them conditions, sorted, each once.
class rule_words {
public:
    // What is compared from now on: "link", "network", "transport" with an offset, or another name.
    void load(const std::string& what, std::uint32_t offset, std::size_t length) {
        what_ = what;
        offset_ = offset;
        length_ = length;
        mask_.clear();
    }
    [[nodiscard]] std::size_t length() const { return length_; }
    void mask(const std::string& bytes) { mask_ = bytes; }

    void compare(const std::string& how, const std::string& with) {
        if (how != "eq" || what_.find("name") != std::string::npos) {
            conditions_.insert(fmt::format("{} {} {} {}", what_, offset_, hex(mask_), how + " " + hex(with)));
            return;
        }
        for (std::size_t at = 0; at < with.size(); ++at) {
            const auto kept = mask_.empty() ? 0xFFU : static_cast<unsigned char>(mask_[at]);
            if (kept != 0) {
                conditions_.insert(fmt::format("{} {} {:02x} eq {:02x}", what_, offset_ + at, kept,
                                               static_cast<unsigned char>(with[at])));
            }
        }
    }
    void condition(const std::string& words) {
        conditions_.insert(fmt::format("{} {} {} {}", what_, offset_, hex(mask_), words));
    }
    void statement(const std::string& words) {
        finish_conditions();
        text_ += words + "\n";
    }
    std::string finish() {
        finish_conditions();
        return text_;
    }

private:
    void finish_conditions() {
        // Behind a match of an address of Ethernet nft asks its header for the family.
        const auto family = [&](const char* first, const char* second, const char* means) {
            if (conditions_.contains(first) && conditions_.contains(second)) {
                conditions_.erase(first);
                conditions_.erase(second);
                conditions_.insert(means);
            }
        };
        family("link 12 ff eq 08", "link 13 ff eq 00", "nfproto 0 ff eq 02");
        family("link 12 ff eq 86", "link 13 ff eq dd", "nfproto 0 ff eq 0a");
        for (const auto& one : conditions_) {
            text_ += "if " + one + "\n";
        }
        conditions_.clear();
    }

    std::string what_;
    std::uint32_t offset_ = 0;
    std::size_t length_ = 0;
    std::string mask_;
    std::set<std::string> conditions_;
    std::string text_;
};

std::string set_words(const std::set<std::string>& elements, bool is_inverted) {
    std::string text = is_inverted ? "not in" : "in";
    for (const auto& one : elements) {
        text += " " + one;
    }
    return text;
}

struct describer {
    rule_words& to;

    void operator()(const load_meta& one) const {
        static const std::map<meta_key, std::pair<std::string, std::size_t>> names{
            {meta_key::protocol, {"nfproto", 1}},  {meta_key::l4_protocol, {"l4proto", 1}},
            {meta_key::mark, {"mark", 4}},         {meta_key::in_name, {"iifname", 16}},
            {meta_key::out_name, {"oifname", 16}}, {meta_key::in_type, {"iiftype", 2}}};
        to.load(names.at(one.key).first, 0, names.at(one.key).second);
    }
    void operator()(const load_payload& one) const {
        to.load(one.of == header::link      ? "link"
                : one.of == header::network ? "network"
                                            : "transport",
                one.offset, one.length);
    }
    void operator()(const load_ct_state& /*one*/) const { to.load("ct state", 0, 4); }
    void operator()(const mask_bits& one) const { to.mask(one.mask); }
    void operator()(const compare& one) const {
        const char* const how = one.how == comparison::equal      ? "eq"
                                : one.how == comparison::unequal  ? "neq"
                                : one.how == comparison::at_least ? "gte"
                                : one.how == comparison::at_most  ? "lte"
                                : one.how == comparison::less     ? "lt"
                                                                  : "gt";
        to.compare(how, one.with);
    }
    void operator()(const in_range& one) const {
        to.condition(fmt::format("range {} {} {}", one.is_inverted ? "neq" : "eq", hex(one.first), hex(one.last)));
    }
    void operator()(const in_set& one) const {
        std::set<std::string> elements;
        for (const auto& element : one.elements) {
            elements.insert(hex(element.first));
            if (one.is_interval) {
                const bool is_last = element.last.find_first_not_of('\xFF') == std::string::npos;
                if (!is_last) {
                    elements.insert(hex(stepped(element.last, 1)) + "!");
                }
            }
        }
        const std::string zero(one.elements.front().first.size(), '\0');
        if (one.is_interval && one.elements.front().first != zero) {
            elements.insert(hex(zero) + "!");
        }
        to.condition(set_words(elements, one.is_inverted));
    }
    void operator()(const limit_rate& one) const {
        static const std::map<std::uint64_t, std::string> units{
            {1, "second"}, {60, "minute"}, {3600, "hour"}, {86400, "day"}, {604800, "week"}};
        to.statement(fmt::format("limit rate {}/{} burst {} type packets flags 0x{}", one.rate, units.at(one.unit),
                                 one.burst, one.is_over ? 1 : 0));
    }
    void operator()(const log_packet& one) const {
        to.statement("log" + (one.prefix.empty() ? "" : " prefix " + one.prefix) +
                     (one.level ? " level " + std::to_string(*one.level) : ""));
    }
    void operator()(const reject_packet& one) const {
        to.statement(fmt::format("reject type {} code {}", one.type, one.code));
    }
    void operator()(const count_packet& /*one*/) const { to.statement("counter pkts 0 bytes 0"); }
    void operator()(const give_verdict& one) const {
        static const std::map<filter_verdict, std::string> names{{filter_verdict::accept, "accept"},
                                                                 {filter_verdict::drop, "drop"},
                                                                 {filter_verdict::return_to, "return"},
                                                                 {filter_verdict::jump, "jump -> "},
                                                                 {filter_verdict::go_to, "goto -> "}};
        to.statement("immediate reg 0 " + names.at(one.what) + one.chain);
    }
};

// "0x0100000a 0x00000000", "0100000a": words of this machine, the last one filled up.
std::string bytes_of(const std::string& words, std::size_t length) {
    std::istringstream in(words);
    std::string bytes;
    for (std::string word; in >> word;) {
        auto number = std::stoul(word, nullptr, 16);
        for (int i = 0; i < 4; ++i) {
            bytes += static_cast<char>(number & 0xFFU);
            number >>= 8U;
        }
    }
    bytes.resize(std::min(length, bytes.size()));
    return bytes;
}

class nft_reader {
public:
    std::string read(const std::string& output) {
        std::istringstream in(output);
        for (std::string line; std::getline(in, line);) {
            read_line(line);
        }
        return words_.finish();
    }

private:
    void read_line(const std::string& line) {
        static const std::regex expression(R"(^  \[ (.*) \]$)");
        std::smatch found;
        if (line.starts_with("__set%d")) {
            if (line.find("size") != std::string::npos) {
                sets_.emplace_back();
            }
        } else if (line.starts_with("\telement")) {
            sets_.back() = line;
        } else if (std::regex_match(line, found, expression)) {
            read_expression(found[1]);
        }
    }

    void read_expression(std::string text) {
        static const std::regex meta(R"(^(?:meta|ct) load (\w+) => reg 1$)");
        static const std::regex payload(R"(^payload load (\d+)b @ (\w+) header \+ (\d+) => reg 1$)");
        static const std::regex masked(R"(^bitwise reg 1 = \( reg 1 & ([^)]*) \) \^ .*$)");
        static const std::regex compared(R"(^cmp (\w+) reg 1 (.*)$)");
        static const std::regex range(R"(^range (\w+) reg 1 (.*)$)");
        static const std::regex lookup(R"(^lookup reg 1 set __set%d(.*)$)");
        std::smatch found;
        if (std::regex_match(text, found, meta)) {
            static const std::map<std::string, std::size_t> lengths{{"nfproto", 1},  {"l4proto", 1},  {"mark", 4},
                                                                    {"iifname", 16}, {"oifname", 16}, {"iiftype", 2},
                                                                    {"state", 4}};
            const std::string name = found[1];
            words_.load(name == "state" ? "ct state" : name, 0, lengths.contains(name) ? lengths.at(name) : 4);
        } else if (std::regex_match(text, found, payload)) {
            words_.load(found[2], static_cast<std::uint32_t>(std::stoul(found[3])), std::stoul(found[1]));
        } else if (std::regex_match(text, found, masked)) {
            words_.mask(bytes_of(found[1], words_.length()));
        } else if (std::regex_match(text, found, compared)) {
            read_compare(found[1], found[2]);
        } else if (std::regex_match(text, found, range)) {
            const std::string words = found[2];
            words_.condition(fmt::format("range {} {} {}", found[1].str(),
                                         hex(bytes_of(words.substr(0, words.size() / 2), words_.length())),
                                         hex(bytes_of(words.substr(words.size() / 2), words_.length()))));
        } else if (std::regex_match(text, found, lookup)) {
            read_lookup(found[1].str().find("0x1") != std::string::npos);
        } else {
            words_.statement(text == "log prefix " ? "log" : text);
        }
    }

    void read_compare(const std::string& how, const std::string& words) {
        auto with = bytes_of(words, words_.length());
        if (words_.length() == 16 && with.size() < 16 && words.size() < 40) {  // the beginning of a name
            with.erase(with.find_last_not_of('\0') + 1);
        }
        words_.compare(how, with);
    }

    void read_lookup(bool is_inverted) {
        static const std::regex element(R"(element ([0-9a-f ]*[0-9a-f]) +: (\d) \[end\])");
        std::set<std::string> elements;
        const auto line = sets_.front();
        sets_.erase(sets_.begin());
        for (std::sregex_iterator one(line.begin(), line.end(), element), end; one != end; ++one) {
            elements.insert(hex(bytes_of((*one)[1], words_.length())) + ((*one)[2] == "1" ? "!" : ""));
        }
        words_.condition(set_words(elements, is_inverted));
    }

    rule_words words_;
    std::vector<std::string> sets_;
};

}  // namespace

std::string meaning_of(const std::vector<filter_expression>& rule) {
    rule_words words;
    for (const auto& one : rule) {
        std::visit(describer{words}, one);
    }
    return words.finish();
}

std::string meaning_of_nft(const std::string& output) {
    return nft_reader().read(output);
}

}  // namespace pvc::contract
