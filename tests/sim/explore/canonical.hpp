// A state of the explorer as what it is known by, so that two that differ in nothing that matters are one: times count
// from now, transaction numbers in their order, texts of messages not at all, and nodes may be renamed. Machines are
// aggregates: their fields are found by Boost.PFR, so none can be forgotten.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "sim/explore/identity.hpp"

#include <boost/pfr.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace pvc::explore {

class canonical {
public:
    // `node_named`: the number of a node that is meant by a text, or below zero: none.
    canonical(time_point now, boot_time boot_now, std::int8_t (*node_named)(std::string_view))
        : now_(now), boot_now_(boot_now), node_named_(node_named) {}

    [[nodiscard]] part_identity finish() {
        part_.bytes = out_.finish();
        part_.taken_at = now_;
        return part_;
    }

    void put(bool value) { byte(value ? 1 : 0); }
    void put(time_point value) { put_age(value, now_, time_point{}, time_point::max()); }
    void put(boot_time value) { put_age(value, boot_now_, boot_time{}, boot_time::max()); }
    // A transaction number, as all 64-bit numbers of machines are.
    void put(std::int64_t value) {
        byte(value > 0 ? 2 : static_cast<std::uint8_t>(value + 1));
        if (value > 0) {
            part_.stamps.push_back(static_cast<std::int16_t>(value));
        }
    }
    void put(const std::string& value) {
        const std::int8_t node = node_named_(value);
        byte(node >= 0 ? static_cast<std::uint8_t>(2 + node) : value.empty() ? 0 : 1);
    }
    void put(std::string_view /*value*/) {}  // static words: said with what they belong to
    void put(duration value) { raw(value.count()); }
    template <class T>
        requires std::is_enum_v<T>
    void put(T value) {
        byte(static_cast<std::uint8_t>(value));
    }
    template <class T>
        requires(std::is_integral_v<T> && !std::is_same_v<T, std::int64_t> && !std::is_same_v<T, bool>)
    void put(T value) {
        raw(static_cast<std::int64_t>(value));
    }
    template <class T>
    void put(const std::optional<T>& value) {
        put(value.has_value());
        if (value) {
            put(*value);
        }
    }
    template <class T>
    void put(const std::vector<T>& value) {
        put_all(value);
    }
    template <class T, std::size_t N>
    void put(const boost::container::static_vector<T, N>& value) {
        put_all(value);
    }
    template <class T>
    void put(const std::set<T>& value) {
        put_all(value);
    }
    template <class K, class V>
    void put(const std::map<K, V>& value) {
        put_all(value);
    }
    template <class A, class B>
    void put(const std::pair<A, B>& value) {
        put(value.first);
        put(value.second);
    }
    template <class T, std::size_t N>
    void put(const std::array<T, N>& value) {
        put_all(value);
    }
    template <class... T>
    void put(const std::variant<T...>& value) {
        byte(static_cast<std::uint8_t>(value.index()));
        std::visit([this](const auto& one) { this->put(one); }, value);
    }
    // What says itself which fields it has.
    template <class T>
        requires requires(const T& of) { of.fields(); }
    void put(const T& value) {
        std::apply([this](const auto&... field) { (this->put(field), ...); }, value.fields());
    }
    template <class T>
        requires(std::is_aggregate_v<T> && !requires(const T& of) { of.fields(); })
    void put(const T& value) {
        // Most parts of a machine have not begun: that is one byte.
        if constexpr (sizeof(T) >= 64 && std::equality_comparable<T>) {
            static const T not_begun{};
            const bool has_begun = !(value == not_begun);
            put(has_begun);
            if (!has_begun) {
                return;
            }
        }
        if constexpr (!std::is_empty_v<T>) {
            boost::pfr::for_each_field(value, [this](const auto& field) { this->put(field); });
        }
    }

private:
    template <class Clock>
    void put_age(Clock value, Clock now, Clock none, Clock never) {
        // An age beyond every limit of a machine is one age.
        constexpr duration oldest = std::chrono::seconds(-130);
        if (value == none || value == never) {
            byte(value == none ? 1 : 2);
            return;
        }
        const std::int64_t age = std::max<duration>(value - now, oldest).count();
        constexpr std::int64_t millisecond = 1'000'000;
        if (age % millisecond == 0) {  // all but all are
            byte(3);
            out_.half_word(static_cast<std::uint32_t>(age / millisecond));
        } else {
            byte(4);
            raw(age);
        }
    }
    template <class Range>
    void put_all(const Range& range) {
        byte(static_cast<std::uint8_t>(range.size()));
        for (const auto& one : range) {
            put(one);
        }
    }
    void byte(std::uint8_t value) { out_.byte(value); }
    void raw(std::int64_t value) { out_.word(static_cast<std::uint64_t>(value)); }

    time_point now_;
    boot_time boot_now_;
    std::int8_t (*node_named_)(std::string_view);
    identity_builder out_;
    part_identity part_;
};

}  // namespace pvc::explore
