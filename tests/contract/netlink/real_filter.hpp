// The kernel's packet filter in a network namespace of its own; what is done by hand is done with nft, whose word for
// what is there counts beside the adapter's.
#pragma once

#include "contract/netlink/filter_bench.hpp"
#include "contract/netlink/real_network.hpp"
#include "pvcnoded/async/adapter/thread_offload.hpp"
#include "pvcnoded/netlink/adapter/kernel_packet_filter.hpp"

#include <cstdio>
#include <memory>

namespace pvc::contract {

class real_filter final : public filter_bench {
public:
    async::timers& clock() override { return world_.clock(); }
    void run(std::function<awaitable<void>()> body) override { world_.run(std::move(body)); }
    netlink::packet_filter& filter() override { return *filter_; }
    netlink::packet_filter& other_filter() override { return other_; }
    void make_foreign_tables() override;
    void change_foreign_table() override;
    [[nodiscard]] std::string foreign_tables() override;
    void make_dormant() override;
    void make_owned() override;
    void end_owner() override;

    netlink::kernel_packet_filter& adapter() { return *filter_; }
    async::real_loop& loop() { return world_.loop(); }
    async::offload& pool() { return pool_; }
    void drop_filter() { filter_.reset(); }

private:
    struct end_program {
        void operator()(std::FILE* one) const { EXPECT_EQ(::pclose(one), 0); }
    };
    using program = std::unique_ptr<std::FILE, end_program>;

    own_namespace namespace_;
    real_world world_;
    async::thread_offload pool_{world_.loop().context()};
    std::optional<netlink::kernel_packet_filter> filter_{std::in_place, world_.loop().context().get_executor(),
                                                         world_.clock(), pool_};
    netlink::kernel_packet_filter other_{world_.loop().context().get_executor(), world_.clock(), pool_};
    program owner_;
};

// Lets nft load that text, and expects that it succeeds.
void nft_command(const std::string& text);
// What it prints.
[[nodiscard]] std::string nft_output(const std::string& words);

}  // namespace pvc::contract
