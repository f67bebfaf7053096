#include "rule_tag.hpp"

#include "pvcnoded/base/utf8.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace pvc::policy {

using namespace model;

namespace {

constexpr std::size_t longest_name = 100;  // of 200 bytes in all

// FNV-1a of 64 bits. Each part is told apart from its neighbours: texts come with their lengths.
class content_hash {
public:
    void number(std::uint64_t value) {
        for (int byte = 0; byte < 8; ++byte) {
            add(static_cast<unsigned char>(value & 0xFFU));
            value >>= 8U;
        }
    }
    void text(std::string_view value) {
        number(value.size());
        for (const char c : value) {
            add(static_cast<unsigned char>(c));
        }
    }
    template <class Enum>
    void word(Enum value) {
        number(static_cast<std::uint64_t>(value));
    }
    [[nodiscard]] std::uint64_t value() const { return hash_; }

private:
    void add(unsigned char byte) { hash_ = (hash_ ^ byte) * 1'099'511'628'211ULL; }
    std::uint64_t hash_ = 14'695'981'039'346'656'037ULL;
};

struct hasher {
    content_hash& to;

    void operator()(const load_meta& one) const { to.word(one.key); }
    void operator()(const load_payload& one) const {
        to.word(one.of);
        to.number(one.offset);
        to.number(one.length);
    }
    void operator()(const load_ct_state& /*one*/) const {}
    void operator()(const mask_bits& one) const { to.text(one.mask); }
    void operator()(const compare& one) const {
        to.word(one.how);
        to.text(one.with);
    }
    void operator()(const in_range& one) const {
        to.word(one.is_inverted);
        to.text(one.first);
        to.text(one.last);
    }
    void operator()(const in_set& one) const {
        to.word(one.is_inverted);
        to.word(one.kind);
        to.word(one.is_interval);
        to.number(one.elements.size());
        for (const auto& element : one.elements) {
            to.text(element.first);
            to.text(element.last);
        }
    }
    void operator()(const limit_rate& one) const {
        to.number(one.rate);
        to.number(one.unit);
        to.number(one.burst);
        to.word(one.is_over);
    }
    void operator()(const log_packet& one) const {
        to.text(one.prefix);
        to.number(one.level ? std::uint64_t{*one.level} + 1 : 0);
    }
    void operator()(const reject_packet& one) const {
        to.number(one.type);
        to.number(one.code);
    }
    void operator()(const count_packet& /*one*/) const {}
    void operator()(const give_verdict& one) const {
        to.word(one.what);
        to.text(one.chain);
    }
};

}  // namespace

namespace {

std::string tag_with(std::string_view where, std::string_view name, const content_hash& hash) {
    return fmt::format("{}1 {} {} {:016x}", tag_begin, where, start_to_character(name, longest_name), hash.value());
}

}  // namespace

std::string tag_of(std::string_view where, std::string_view name, const std::vector<filter_expression>& says) {
    content_hash hash;
    hash.text(where);
    hash.text(name);
    for (const auto& one : says) {
        hash.number(one.index());
        std::visit(hasher{hash}, one);
    }
    return tag_with(where, name, hash);
}

std::string tag_of(std::string_view where, std::string_view name, std::string_view says) {
    content_hash hash;
    hash.text(where);
    hash.text(name);
    hash.text("by nft");
    hash.text(says);
    return tag_with(where, name, hash);
}

}  // namespace pvc::policy
