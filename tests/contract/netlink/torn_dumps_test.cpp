// What changes while the kernel tells of it: a dump comes in several datagrams, and what goes in between shifts the
// others, so that some are told twice or not at all. The kernel says so (NLM_F_DUMP_INTR, or EINTR at the end); what is
// missing in such a dump is unknown, and never gone (networking.md 2).
#include "adapter/kernel_requests.hpp"
#include "adapter/messages.hpp"
#include "contract/netlink/benches.hpp"

#include <fmt/format.h>

#include <linux/rtnetlink.h>

#include <atomic>
#include <cstdlib>
#include <set>
#include <thread>

namespace pvc::contract {
namespace {

using namespace model;

template <class Bench>
class torn_looks : public network_suite<Bench> {};
TYPED_TEST_SUITE(torn_looks, network_benches, bench_names);

TYPED_TEST(torn_looks, have_all_that_stays_or_fail) {
    this->bench.run([this]() -> awaitable<void> {
        std::set<std::string> staying;
        for (int number = 0; number < 200; ++number) {
            const auto name = "br" + std::to_string(number);
            staying.insert(name);
            co_await this->done(make_bridge{name});
        }
        this->bench.let_links_change(true);
        int whole = 0;
        bool is_right = true;
        const auto limit = this->bench.clock().now() + 60s;
        while (is_right && (this->bench.torn_dumps() < 3 || whole < 3) && this->bench.clock().now() < limit) {
            const auto seen = co_await this->bench.stack().look(this->soon());
            if (!seen) {
                EXPECT_EQ(seen.error().code(), errc::unavailable) << seen.error().text();
                continue;
            }
            ++whole;
            std::multiset<std::string> found;
            for (const auto& one : seen->links()) {
                if (staying.contains(one.name)) {
                    found.insert(one.name);
                }
            }
            is_right = std::ranges::equal(found, staying);
            EXPECT_TRUE(is_right) << found.size();
        }
        this->bench.let_links_change(false);
        EXPECT_GE(this->bench.torn_dumps(), 3U);
        EXPECT_GE(whole, 3);
        const auto seen = co_await this->look();
        EXPECT_EQ(std::ranges::count_if(seen.links(), [&](const auto& one) { return staying.contains(one.name); }),
                  200);
    });
}

// Each kind of dump, with a change between its first datagram and its last: in small ones, so that there are many.
class torn_dumps : public network_suite<real_network> {
protected:
    static constexpr std::size_t small = 4096;
    static constexpr int entries = 300;

    // How often what was told was thrown away; and how much there was at the end.
    struct outcome {
        int begun_anew = -1;
        std::size_t told = 0;
        int error = 0;
    };
    outcome dump(std::string message, std::uint16_t type, const std::string& change) {
        netlink::kernel_requests requests(small);
        const netlink::errand by(async::thread_now() + 20s);
        outcome got;
        const auto begin_anew = [&] {
            ++got.begun_anew;
            got.told = 0;
        };
        const netlink::kernel_requests::taker take = [&](const netlink::reply_message& one) -> result<void> {
            if (got.begun_anew == 0 && got.told == 0) {
                ip_command(change);
            }
            got.told += one.type == type ? 1 : 0;
            return {};
        };
        const auto answer = requests.dump(std::move(message), begin_anew, take, by);
        EXPECT_TRUE(answer) << (answer ? "" : answer.error().text());
        got.error = answer ? answer->error : -1;
        EXPECT_EQ(requests.interrupted(), static_cast<std::uint64_t>(got.begun_anew));
        return got;
    }
};

TEST_F(torn_dumps, are_begun_anew) {
    std::string batch = "link add br0 up type bridge\n";
    for (int number = 0; number < entries; ++number) {
        const std::string host = fmt::format("{}.{}", number / 200, number % 200 + 1);
        batch += fmt::format("link add b{} type bridge\naddress add 10.9.{}/32 dev br0\n", number, host);
    }
    const scratch_folder folder;
    folder.write("batch", batch);
    ip_command("-batch " + folder / "batch");
    const auto links = dump(netlink::dump_links_message(), RTM_NEWLINK, "link delete b7");
    EXPECT_EQ(links.begun_anew, 1);
    EXPECT_EQ(links.told, static_cast<std::size_t>(entries - 1 + 2)) << "br0 and lo, and all but one";
    const auto addresses = dump(netlink::dump_addresses_message(0), RTM_NEWADDR, "address delete 10.9.0.8/32 dev br0");
    EXPECT_EQ(addresses.begun_anew, 1);
    EXPECT_GE(addresses.told, static_cast<std::size_t>(entries - 1));
}

// Of packet filters too: which devices their rules name is told whole, or not at all.
class torn_filters : public network_suite<real_network> {};

TEST_F(torn_filters, tell_of_all_rules_or_fail) {
    constexpr int rules = 400;
    std::string text = "table inet fw {\n chain a { }\n chain b {\n";
    for (int number = 0; number < rules; ++number) {
        text += fmt::format("  iifname \"d{}\" drop\n", number);
    }
    const scratch_folder folder;
    folder.write("rules", text + " }\n}\n");
    ASSERT_EQ(std::system(("nft -f " + folder / "rules").c_str()), 0);
    std::atomic<bool> is_over = false;
    // One comes and goes in front of all others, which are a place further each time.
    std::thread other_hand([&is_over] {
        while (!is_over) {
            EXPECT_EQ(std::system("nft add rule inet fw a accept"), 0);
            EXPECT_EQ(std::system("nft flush chain inet fw a"), 0);
        }
    });
    bench.run([this]() -> awaitable<void> {
        int whole = 0;
        bool is_right = true;
        const auto limit = bench.clock().now() + 60s;
        for (int looks = 0; is_right && (looks < 1000 || whole < 3) && bench.clock().now() < limit; ++looks) {
            const auto seen = co_await bench.stack().device_rules(soon());
            whole += seen ? 1 : 0;
            is_right = !seen || seen->size() == static_cast<std::size_t>(rules);
            EXPECT_TRUE(is_right) << seen->size();
        }
        EXPECT_GE(whole, 3);
    });
    is_over = true;
    other_hand.join();
}

}  // namespace
}  // namespace pvc::contract
