// The netlink port: addresses of devices, as changes and as the primary role has them (networking.md 2, 6).
#include "contract/netlink/benches.hpp"

namespace pvc::contract {
namespace {

using namespace model;

// ---- as changes of the network
// ---------------------------------------------------------------------------------------

template <class Bench>
class network_addresses : public network_suite<Bench> {};
TYPED_TEST_SUITE(network_addresses, network_benches, bench_names);

TYPED_TEST(network_addresses, added_once_and_removed) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        for (const char* text : {"10.0.0.1/24", "fd00::1/64"}) {
            for (int round = 0; round < 2; ++round) {
                co_await this->done(add_address{"eth0", at(text)});
                const auto seen = co_await this->addresses_of("eth0");
                EXPECT_EQ(seen, text);
            }
            for (int round = 0; round < 2; ++round) {
                co_await this->done(remove_address{"eth0", at(text)});
                const auto seen = co_await this->addresses_of("eth0");
                EXPECT_EQ(seen, "");
            }
        }
    });
}

TYPED_TEST(network_addresses, of_a_device_that_is_not_there) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->fails(add_address{"eth0", at("10.0.0.1/24")}, errc::not_found, "eth0");
        co_await this->done(remove_address{"eth0", at("10.0.0.1/24")});
    });
}

TYPED_TEST(network_addresses, in_the_order_of_the_kernel) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        for (const char* text : {"10.0.1.1/24", "10.0.0.9/24", "10.0.0.2/24"}) {
            co_await this->done(add_address{"eth0", at(text)});
        }
        const auto seen = co_await this->addresses_of("eth0");
        EXPECT_EQ(seen, "10.0.1.1/24 10.0.0.9/24 10.0.0.2/24");
    });
}

// Of IPv4 it is another entry, of IPv6 the same one.
TYPED_TEST(network_addresses, with_another_prefix_length) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        co_await this->done(add_address{"eth0", at("10.0.0.1/24")});
        co_await this->done(add_address{"eth0", at("10.0.0.1/25")});
        auto seen = co_await this->addresses_of("eth0");
        EXPECT_EQ(seen, "10.0.0.1/24 10.0.0.1/25");
        co_await this->done(remove_address{"eth0", at("10.0.0.1/26")});
        co_await this->done(remove_address{"eth0", at("10.0.0.1/24")});
        seen = co_await this->addresses_of("eth0");
        EXPECT_EQ(seen, "10.0.0.1/25");

        co_await this->done(add_address{"eth0", at("fd00::1/64")});
        co_await this->fails(add_address{"eth0", at("fd00::1/48")}, errc::already_exists);
        co_await this->done(remove_address{"eth0", at("fd00::1/48")});
        seen = co_await this->addresses_of("eth0");
        EXPECT_EQ(seen, "10.0.0.1/25 fd00::1/64");
    });
}

// Of IPv4: narrow ones come first, and what is of one network has one scope.
TYPED_TEST(network_addresses, of_another_scope) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        const auto listed = [this]() -> awaitable<std::string> {
            const auto seen = co_await this->look();
            std::string text;
            for (const auto& one : seen.addresses_of(seen.find("eth0")->index)) {
                text += one.address.address.is_v6() ? "" : one.address.text() + " " + scope_text(one.scope) + ", ";
            }
            co_return text;
        };
        for (int round = 0; round < 2; ++round) {
            co_await this->done(add_address{"eth0", at("10.0.0.1/24")});
            co_await this->done(add_address{"eth0", at("10.0.1.1/24"), std::nullopt, link_scope});
            co_await this->done(add_address{"eth0", at("10.0.2.1/24"), std::nullopt, 254});
            co_await this->done(add_address{"eth0", at("10.0.1.2/24"), std::nullopt, link_scope});
            const auto seen = co_await listed();
            EXPECT_EQ(seen, "10.0.2.1/24 host, 10.0.1.1/24 link, 10.0.0.1/24 global, 10.0.1.2/24 link, ");
        }
        co_await this->fails(add_address{"eth0", at("10.0.1.3/24")}, errc::refused, "10.0.1.3/24");
        co_await this->fails(add_address{"eth0", at("10.0.0.3/24"), std::nullopt, link_scope}, errc::refused);
        co_await this->done(remove_address{"eth0", at("10.0.1.1/24")});
        co_await this->done(remove_address{"eth0", at("10.0.2.1/24")});
        const auto seen = co_await listed();
        EXPECT_NE(seen.find("10.0.0.1/24 global, "), std::string::npos) << seen;
    });
}

// With the first of a network those go that came after it, as the kernel has it unless it is told to promote them.
TYPED_TEST(network_addresses, the_first_of_a_network_is_removed) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->plug_in_up("eth0");
        for (const char* promotes : {"1", "0"}) {
            co_await this->done(set_sysctl{"net/ipv4/conf/eth0/promote_secondaries", promotes});
            for (const char* text : {"10.0.0.9/24", "10.0.0.2/24", "10.0.1.1/24"}) {
                co_await this->done(add_address{"eth0", at(text)});
            }
            co_await this->done(remove_address{"eth0", at("10.0.0.9/24")});
            const auto seen = co_await this->addresses_of("eth0");
            EXPECT_EQ(seen, promotes[0] == '1' ? "10.0.1.1/24 10.0.0.2/24" : "10.0.1.1/24");
            co_await this->done(remove_address{"eth0", at("10.0.0.2/24")});
            co_await this->done(remove_address{"eth0", at("10.0.1.1/24")});
        }
    });
}

// A device that is down keeps its addresses of IPv4, and loses those of IPv6.
TYPED_TEST(network_addresses, of_a_device_that_goes_down) {
    this->bench.run([this]() -> awaitable<void> {
        this->bench.plug_in("eth0");
        co_await this->done(add_address{"eth0", at("10.0.0.1/24")});
        co_await this->done(add_address{"eth0", at("fd00::1/64")});
        auto seen = co_await this->addresses_of("eth0");
        EXPECT_EQ(seen, "10.0.0.1/24 fd00::1/64");
        co_await this->done(set_up{"eth0"});
        seen = co_await this->addresses_of("eth0");
        EXPECT_EQ(seen, "10.0.0.1/24 fd00::1/64");
        co_await this->done(set_down{"eth0"});
        seen = co_await this->addresses_of("eth0");
        EXPECT_EQ(seen, "10.0.0.1/24");
    });
}

TYPED_TEST(network_addresses, a_device_without_ipv6_takes_none) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done(make_bridge{"vmbr200"});
        co_await this->done(set_sysctl{"net/ipv6/conf/vmbr200/disable_ipv6", "1"});
        co_await this->done(set_up{"vmbr200"});
        co_await this->fails(add_address{"vmbr200", at("fd00::1/64")}, errc::refused);
        co_await this->done(add_address{"vmbr200", at("10.0.0.1/24")});
        const auto seen = co_await this->addresses_of("vmbr200");
        EXPECT_EQ(seen, "10.0.0.1/24");
    });
}

TYPED_TEST(network_addresses, a_removed_device_takes_its_addresses_with_it) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done(make_bridge{"br0"});
        co_await this->done(add_address{"br0", at("10.0.0.1/24")});
        co_await this->done(delete_link{"br0"});
        co_await this->done(make_bridge{"br0"});
        const auto seen = co_await this->addresses_of("br0");
        EXPECT_EQ(seen, "");
    });
}

// ---- as the primary has them
// -----------------------------------------------------------------------------------------

template <class Bench>
class primary_addresses : public network_suite<Bench> {
protected:
    [[nodiscard]] boot_time in_time() { return this->bench.clock().boot_now() + 10s; }

    awaitable<result<void>> add(std::string device, std::string_view which) {
        auto outcome = co_await this->bench.addresses().add(std::move(device), at(which), in_time(), this->soon());
        co_return outcome;
    }
    awaitable<result<void>> remove(std::string device, std::string_view which) {
        auto outcome = co_await this->bench.addresses().remove(std::move(device), at(which), this->soon());
        co_return outcome;
    }
    awaitable<std::string> list(std::string device) {
        const auto listed = co_await this->bench.addresses().list(std::move(device), this->soon());
        if (!listed) {
            co_return to_text(listed.error().code());
        }
        std::string text;
        for (const auto& one : *listed) {
            const bool is_link_local = one.address.is_v6() && one.address.to_v6().is_link_local();
            text += is_link_local ? "" : (text.empty() ? "" : " ") + one.text();
        }
        co_return text;
    }
};
TYPED_TEST_SUITE(primary_addresses, network_benches, bench_names);

TYPED_TEST(primary_addresses, added_listed_and_removed) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done(make_bridge{"brcluster"});
        co_await this->done(set_up{"brcluster"});
        for (int round = 0; round < 2; ++round) {
            const auto added = co_await this->add("brcluster", "10.0.0.254/24");
            EXPECT_TRUE(added);
            const auto listed = co_await this->list("brcluster");
            EXPECT_EQ(listed, "10.0.0.254/24");
        }
        const auto six = co_await this->add("brcluster", "fd00::1/64");
        EXPECT_TRUE(six);
        const auto both = co_await this->list("brcluster");
        EXPECT_EQ(both, "10.0.0.254/24 fd00::1/64");
        for (int round = 0; round < 2; ++round) {
            const auto removed = co_await this->remove("brcluster", "10.0.0.254/24");
            EXPECT_TRUE(removed);
            const auto listed = co_await this->list("brcluster");
            EXPECT_EQ(listed, "fd00::1/64");
        }
    });
}

TYPED_TEST(primary_addresses, on_the_loopback_device) {
    this->bench.run([this]() -> awaitable<void> {
        const auto before = co_await this->list("lo");
        const auto added = co_await this->add("lo", "169.254.169.254/32");
        EXPECT_TRUE(added);
        const auto listed = co_await this->list("lo");
        EXPECT_NE(listed.find("169.254.169.254/32"), std::string::npos) << listed;
        const auto removed = co_await this->remove("lo", "169.254.169.254/32");
        EXPECT_TRUE(removed);
        const auto after = co_await this->list("lo");
        EXPECT_EQ(after, before);
    });
}

TYPED_TEST(primary_addresses, of_a_device_that_is_not_there) {
    this->bench.run([this]() -> awaitable<void> {
        const auto added = co_await this->add("brupstream", "10.0.0.254/24");
        EXPECT_TRUE(!added && added.error().code() == errc::not_found);
        const auto removed = co_await this->remove("brupstream", "10.0.0.254/24");
        EXPECT_TRUE(removed);
        const auto listed = co_await this->list("brupstream");
        EXPECT_EQ(listed, "not found");
    });
}

TYPED_TEST(primary_addresses, another_prefix_length) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done(make_bridge{"br0"});
        co_await this->done(set_up{"br0"});
        const auto added = co_await this->add("br0", "10.0.0.254/24");
        EXPECT_TRUE(added);
        const auto other = co_await this->add("br0", "10.0.0.254/25");
        EXPECT_TRUE(other);
        const auto removed = co_await this->remove("br0", "10.0.0.254/24");
        EXPECT_TRUE(removed);
        const auto listed = co_await this->list("br0");
        EXPECT_EQ(listed, "10.0.0.254/25");
        const auto six = co_await this->add("br0", "fd00::1/64");
        EXPECT_TRUE(six);
        const auto other_six = co_await this->add("br0", "fd00::1/48");
        EXPECT_TRUE(!other_six && other_six.error().code() == errc::refused);
        const auto listed_six = co_await this->list("br0");
        EXPECT_EQ(listed_six, "10.0.0.254/25 fd00::1/64");
    });
}

// As one errand, in this order; what is refused keeps no other.
TYPED_TEST(primary_addresses, many_at_once) {
    this->bench.run([this]() -> awaitable<void> {
        auto& port = this->bench.addresses();
        const auto nothing = co_await port.add_all({}, this->in_time(), this->soon());
        EXPECT_TRUE(nothing.empty());
        for (const auto* bridge : {"br0", "br1"}) {
            co_await this->done(make_bridge{bridge});
            co_await this->done(set_up{bridge});
        }
        std::vector<netlink::address_place> all;
        for (int i = 1; i <= 20; ++i) {
            all.push_back({"br0", at("10.0." + std::to_string(i) + ".254/24")});
        }
        all.push_back({"br2", at("10.1.0.254/24")});
        all.push_back({"br1", at("10.0.0.254/24")});
        for (int round = 0; round < 2; ++round) {
            const auto outcome = co_await port.add_all(all, this->in_time(), this->soon());
            EXPECT_EQ(outcome.size(), all.size());
            for (std::size_t i = 0; i < outcome.size(); ++i) {
                EXPECT_EQ(outcome[i].has_value(), all[i].device != "br2") << i;
            }
            EXPECT_TRUE(!outcome[20] && outcome[20].error().code() == errc::not_found);
        }
        const auto listed = co_await this->list("br1");
        EXPECT_EQ(listed, "10.0.0.254/24");
        const auto others = co_await port.list("br0", this->soon());
        EXPECT_TRUE(others && others->size() >= 20);
        const auto late =
            co_await port.add_all({{"br1", at("10.2.0.254/24")}}, this->bench.clock().boot_now() - 1ns, this->soon());
        EXPECT_TRUE(late.size() == 1 && !late[0] && late[0].error().code() == errc::stopped);
        const auto too_late =
            co_await port.add_all({{"br1", at("10.2.0.254/24")}}, this->in_time(), this->bench.clock().now());
        EXPECT_TRUE(too_late.size() == 1 && !too_late[0] && too_late[0].error().code() == errc::timed_out);
        const auto still = co_await this->list("br1");
        EXPECT_EQ(still, "10.0.0.254/24");
    });
}

TYPED_TEST(primary_addresses, a_guarded_step_that_is_too_late_is_not_begun) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done(make_bridge{"br0"});
        const boot_time passed = this->bench.clock().boot_now() - 1ns;
        const auto added = co_await this->bench.addresses().add("br0", at("10.0.0.254/24"), passed, this->soon());
        EXPECT_TRUE(!added && added.error().code() == errc::stopped);
        const auto listed = co_await this->list("br0");
        EXPECT_EQ(listed, "");
    });
}

TYPED_TEST(primary_addresses, a_deadline_that_has_passed) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done(make_bridge{"br0"});
        const auto now = this->bench.clock().now();
        auto& port = this->bench.addresses();
        const auto added = co_await port.add("br0", at("10.0.0.254/24"), this->in_time(), now);
        EXPECT_TRUE(!added && added.error().code() == errc::timed_out);
        const auto removed = co_await port.remove("br0", at("10.0.0.254/24"), now);
        EXPECT_TRUE(!removed && removed.error().code() == errc::timed_out);
        const auto listed = co_await port.list("br0", now);
        EXPECT_TRUE(!listed && listed.error().code() == errc::timed_out);
        const auto changed = co_await this->bench.stack().apply(set_up{"br0"}, now);
        EXPECT_TRUE(!changed && changed.error().code() == errc::timed_out);
        const auto seen = co_await this->bench.stack().look(now);
        EXPECT_TRUE(!seen && seen.error().code() == errc::timed_out);
    });
}

// In the order in which they were begun: the removal stands.
TYPED_TEST(primary_addresses, a_removal_that_was_begun_later_stands) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->done(make_bridge{"br0"});
        for (int round = 0; round < 20; ++round) {
            co_await async::with_task_group("calls", [this](async::task_group& group) -> awaitable<void> {
                group.spawn("addition", [this]() -> awaitable<void> {
                    const auto added = co_await this->add("br0", "10.0.0.254/24");
                    EXPECT_TRUE(added);
                });
                group.spawn("removal", [this]() -> awaitable<void> {
                    const auto removed = co_await this->remove("br0", "10.0.0.254/24");
                    EXPECT_TRUE(removed);
                });
                co_return;
            });
            const auto listed = co_await this->list("br0");
            EXPECT_EQ(listed, "");
        }
    });
}

}  // namespace
}  // namespace pvc::contract
