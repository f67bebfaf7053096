// What the suites of the packet filter take from a world: one machine without tables, the port to it twice (ours, and
// that of somebody else on that machine), and a table that is not ours.
#pragma once

#include "contract/netlink/netlink_suite.hpp"
#include "pvcnoded/netlink/packet_filter.hpp"

namespace pvc::contract {

class filter_bench {
public:
    filter_bench() = default;
    filter_bench(const filter_bench&) = delete;
    filter_bench& operator=(const filter_bench&) = delete;
    virtual ~filter_bench() = default;

    virtual async::timers& clock() = 0;
    virtual void run(std::function<awaitable<void>()> body) = 0;
    virtual netlink::packet_filter& filter() = 0;
    virtual netlink::packet_filter& other_filter() = 0;

    // A table of another name, of our name in another family, and one change more to the former.
    virtual void make_foreign_tables() = 0;
    virtual void change_foreign_table() = 0;
    [[nodiscard]] virtual std::string foreign_tables() = 0;
    // Somebody makes our table dormant. Another program makes it and owns it; it ends, and the table with it.
    virtual void make_dormant() = 0;
    virtual void make_owned() = 0;
    virtual void end_owner() = 0;
};

using filter_batch = std::vector<model::filter_change>;

// ---- rules, shortly ----------------------------------------------------------------------------------------------

[[nodiscard]] inline model::filter_rule counting(std::string tag) {
    return {{model::count_packet{}}, std::move(tag)};
}
[[nodiscard]] inline model::filter_rule jumping(std::string chain, std::string tag = {}) {
    return {{model::count_packet{}, model::give_verdict{model::filter_verdict::jump, std::move(chain)}},
            std::move(tag)};
}
[[nodiscard]] inline model::add_rule append(std::string chain, std::string tag) {
    return {std::move(chain), counting(std::move(tag))};
}
[[nodiscard]] inline filter_batch table_with(std::vector<std::string> chains) {
    filter_batch batch{model::make_table{}};
    for (auto& one : chains) {
        batch.emplace_back(model::make_chain{std::move(one)});
    }
    return batch;
}

// ---- values -------------------------------------------------------------------------------------------------------
[[nodiscard]] inline std::string bytes(std::initializer_list<int> values) {
    std::string text;
    for (const int one : values) {
        text += static_cast<char>(one);
    }
    return text;
}
[[nodiscard]] inline model::compare equal(std::string with) {
    return {model::comparison::equal, std::move(with)};
}
[[nodiscard]] inline model::set_element one_value(std::string value) {
    return {value, value};
}

// What a suite says often.
template <class Bench>
class filter_suite : public netlink_suite<Bench> {
protected:
    using netlink_suite<Bench>::bench;
    using netlink_suite<Bench>::soon;

    awaitable<model::filter_state> look() {
        auto seen = co_await bench.filter().look(soon());
        EXPECT_TRUE(seen) << (seen ? "" : seen.error().text());
        co_return seen ? *std::move(seen) : model::filter_state();
    }
    awaitable<void> done(filter_batch changes, std::optional<std::uint32_t> generation = {}) {
        const auto outcome = co_await bench.filter().commit(std::move(changes), generation, soon());
        EXPECT_TRUE(outcome) << (outcome ? "" : outcome.error().text());
        if (outcome) {
            EXPECT_FALSE(*outcome) << (*outcome)->change << ": " << (*outcome)->cause;
        }
    }
    // Refused because of that change of it, with nothing done.
    awaitable<void> refused(filter_batch changes, std::size_t change, std::string_view what = {}) {
        const auto before = co_await look();
        const auto outcome = co_await bench.filter().commit(std::move(changes), std::nullopt, soon());
        EXPECT_TRUE(outcome) << what << ": " << (outcome ? "" : outcome.error().text());
        EXPECT_TRUE(outcome && *outcome) << what;
        if (outcome && *outcome) {
            EXPECT_EQ((*outcome)->change, change) << what << ": " << (*outcome)->cause;
            EXPECT_FALSE((*outcome)->cause.empty()) << what;
        }
        const auto after = co_await look();
        EXPECT_TRUE(before == after) << what;
    }
    awaitable<void> fails(filter_batch changes, std::optional<std::uint32_t> generation, errc code) {
        const auto before = co_await look();
        const auto outcome = co_await bench.filter().commit(std::move(changes), generation, soon());
        EXPECT_FALSE(outcome);
        if (!outcome) {
            EXPECT_EQ(outcome.error().code(), code) << outcome.error().text();
        }
        const auto after = co_await look();
        EXPECT_TRUE(before == after);
    }
    [[nodiscard]] static const model::seen_chain* find(const model::filter_state& state, std::string_view name) {
        const auto found = std::ranges::find(state.chains, name, &model::seen_chain::name);
        return found == state.chains.end() ? nullptr : &*found;
    }
    // "one two": the tags of its rules in order.
    awaitable<std::string> tags(std::string chain) {
        const auto seen = co_await look();
        const auto* const found = find(seen, chain);
        std::string text;
        if (found == nullptr) {
            co_return "no chain";
        }
        for (const auto& one : found->rules) {
            text += (text.empty() ? "" : " ") + one.tag;
        }
        co_return text;
    }
    awaitable<std::uint64_t> handle(std::string chain, std::string tag) {
        const auto seen = co_await look();
        const auto* const found = find(seen, chain);
        if (found != nullptr) {
            for (const auto& one : found->rules) {
                if (one.tag == tag) {
                    co_return one.handle;
                }
            }
        }
        ADD_FAILURE() << "no rule " << tag << " in " << chain;
        co_return 0;
    }
};

}  // namespace pvc::contract
