// A state of the explorer as bytes, so that two that differ in nothing that matters are one: times count from now,
// transaction numbers in their order, texts of messages not at all, and nodes may be renamed. Machines are aggregates:
// their fields are found by Boost.PFR, so none can be forgotten.
#pragma once

#include "pvcnoded/base/clock.hpp"

#include <boost/pfr.hpp>

#include <algorithm>
#include <array>
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

// Two passes over the same fields: the first collects the transaction numbers, the second writes.
class canonical {
public:
    // `names`: of the nodes, each written as its place in this list.
    canonical(time_point now, boot_time boot_now, std::vector<std::string> names)
        : now_(now), boot_now_(boot_now), names_(std::move(names)) {}

    void begin_writing() {
        std::ranges::sort(stamps_);
        stamps_.erase(std::ranges::unique(stamps_).begin(), stamps_.end());
        is_writing_ = true;
    }
    [[nodiscard]] const std::string& bytes() const { return bytes_; }

    void put(bool value) { byte(value ? 1 : 0); }
    void put(time_point value) { put_age(value, now_, time_point{}, time_point::max()); }
    void put(boot_time value) { put_age(value, boot_now_, boot_time{}, boot_time::max()); }
    // A transaction number, as all 64-bit numbers of machines are.
    void put(std::int64_t value) {
        if (!is_writing_) {
            if (value > 0) {
                stamps_.push_back(value);
            }
            return;
        }
        const auto rank = std::ranges::lower_bound(stamps_, value) - stamps_.begin();
        byte(value > 0 ? static_cast<std::uint8_t>(rank + 2) : static_cast<std::uint8_t>(value + 1));
    }
    void put(const std::string& value) {
        const auto found = std::ranges::find(names_, value);
        byte(found != names_.end() ? static_cast<std::uint8_t>(2 + (found - names_.begin())) : value.empty() ? 0 : 1);
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
        byte(3);
        raw(std::max<duration>(value - now, oldest).count());
    }
    template <class Range>
    void put_all(const Range& range) {
        byte(static_cast<std::uint8_t>(range.size()));
        for (const auto& one : range) {
            put(one);
        }
    }
    void byte(std::uint8_t value) {
        if (is_writing_) {
            bytes_.push_back(static_cast<char>(value));
        }
    }
    void raw(std::int64_t value) {
        if (!is_writing_) {
            return;
        }
        // Most are small.
        auto rest = static_cast<std::uint64_t>((value << 1) ^ (value >> 63));
        while (rest >= 0x80) {
            bytes_.push_back(static_cast<char>((rest & 0x7f) | 0x80));
            rest >>= 7;
        }
        bytes_.push_back(static_cast<char>(rest));
    }

    time_point now_;
    boot_time boot_now_;
    std::vector<std::string> names_;
    std::vector<std::int64_t> stamps_;
    bool is_writing_ = false;
    std::string bytes_;
};

}  // namespace pvc::explore
