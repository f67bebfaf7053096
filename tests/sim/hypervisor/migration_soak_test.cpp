// Migrations between three machines with everything that can go wrong, at random times: no guest ever runs twice, and
// whatever happens ends.
#include "pvcnoded/base/random.hpp"
#include "sim/hypervisor/hypervisor_fixture.hpp"

#include <algorithm>
#include <array>

namespace pvc::sim {
namespace {

class soak {
public:
    explicit soak(std::uint64_t seed) : random_(seed) {
        loop_.context().shuffle(seed);
        for (std::size_t i = 0; i < names_.size(); ++i) {
            ports_[i].emplace(dc_, names_[i], loop_.clock());
        }
    }

    void run() {
        appear();
        loop_.run([this]() -> awaitable<void> {
            co_await async::with_task_group("soak", [this](async::task_group& group) -> awaitable<void> {
                for (auto& port : ports_) {
                    group.spawn("hypervisor", [&port] { return port->run(); });
                    group.spawn("driver", [this, &port] { return drive(*port); });
                }
                for (int i = 0; i < 300; ++i) {
                    co_await loop_.sleep(random_.below(400) * 1ms);
                    disturb();
                }
                calm();
                co_await loop_.sleep(60s);
                group.cancel();
            });
        });
    }
    [[nodiscard]] std::size_t double_runs() const { return dc_.double_runs(); }
    [[nodiscard]] std::size_t moves() const { return moves_; }
    [[nodiscard]] std::string state() {
        std::string text;
        for (const auto* name : names_) {
            const sim_guest& one = dc_.machine(name).guest(id_);
            text += one.is_migrating() ? " migrating" : one.executes() ? " runs" : one.is_there() ? " there" : " -";
        }
        return text;
    }
    [[nodiscard]] bool is_migrating() {
        return std::ranges::any_of(names_,
                                   [this](const auto* name) { return dc_.machine(name).guest(id_).is_migrating(); });
    }

private:
    // One guest: it appears anew when no machine has it.
    void appear() {
        if (std::ranges::none_of(names_,
                                 [this](const auto* name) { return dc_.machine(name).guest(id_).is_there(); }) &&
            dc_.machine("hv1").is_powered()) {
            dc_.machine("hv1").put_running(id_, "web", "<domain><name>web</name></domain>");
        }
    }
    awaitable<void> drive(sim_hypervisor& port) {
        for (;;) {
            const std::string peer = names_[random_.below(names_.size())];
            const auto moved = co_await port.migrate(
                id_, {.peer = peer, .data_uri = "tcp://" + peer, .connect_within = 5s, .begun = {}});
            moves_ += moved ? 1U : 0U;
            co_await loop_.sleep(random_.below(300) * 1ms + 1ms);
        }
    }
    void disturb() {
        const std::string one = names_[random_.below(names_.size())];
        const std::string other = names_[random_.below(names_.size())];
        auto& machine = dc_.machine(one);
        sim_guest& guest = machine.guest(id_);
        switch (random_.below(16)) {
            case 0: dc_.cut(one, other); break;
            case 1: machine.stop_libvirtd(); break;
            case 2: machine.kill_libvirtd(); break;
            case 3: machine.lose_power(); break;
            case 4: guest.crash(); break;
            case 5: guest.power_off(); break;
            case 6: guest.set_kind(random_.below(2) == 0 ? guest_kind::dirty : guest_kind::acpi); break;
            case 7: guest.suspend(); break;
            case 8: guest.fail_migration(migration_step::copy, {hypervisor::call_error::other, "told"}); break;
            case 9: machine.break_connection(); break;
            default: calm(); break;
        }
        appear();
    }
    void calm() {
        for (const auto* name : names_) {
            auto& machine = dc_.machine(name);
            machine.continue_libvirtd();
            machine.power_on();
            machine.start_libvirtd();
            machine.guest(id_).set_kind(guest_kind::acpi);
            for (const auto* other : names_) {
                dc_.join(name, other);
            }
        }
    }

    const uuid id_ = *parse_uuid("11111111-1111-1111-1111-111111111111");
    const std::array<const char*, 3> names_{"hv1", "hv2", "hv3"};
    sim_loop loop_;
    random_source random_;
    sim_datacentre dc_{loop_.clock()};
    std::array<std::optional<sim_hypervisor>, 3> ports_;
    std::size_t moves_ = 0;
};

TEST(migration_soak, never_two_that_run) {
    std::size_t moves = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        soak one(seed);
        one.run();
        EXPECT_EQ(one.double_runs(), 0U) << seed;
        EXPECT_FALSE(one.is_migrating()) << seed << one.state();
        moves += one.moves();
    }
    EXPECT_GT(moves, 500U);
}

}  // namespace
}  // namespace pvc::sim
