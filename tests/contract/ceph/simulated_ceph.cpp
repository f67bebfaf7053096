// The daemon's client on the simulated helper, which asks the simulated cluster.
#include "contract/ceph/ceph_bench.hpp"
#include "sim/ceph/sim_ceph_cluster.hpp"
#include "sim/ceph/sim_ceph_helper.hpp"
#include "sim/ceph/sim_rbd_locks.hpp"
#include "sim/ceph/sim_talker.hpp"

namespace pvc::contract {

namespace {

class simulated_client final : public image_client {
public:
    simulated_client(sim::sim_rbd_store& store, async::timers& clock, std::string image, int number)
        : store_(store), clock_(clock), image_(std::move(image)), address_("10.254.0.2:0/" + std::to_string(number)) {
        store_.watch(image_, {"client." + std::to_string(number), address_});
    }
    void begin_writing() override { ignore(store_.write(image_, address_), "whether it may, is asked later"); }
    awaitable<bool> is_writing() override {
        co_await async::sleep_for(clock_, 50ms, "its next write");
        co_return store_.write(image_, address_).has_value();
    }
    awaitable<bool> is_kept_out() override {
        co_await async::sleep_for(clock_, 50ms, "its next write");
        const auto written = store_.write(image_, address_);
        co_return !written && store_.is_blocklisted(address_);
    }
    void kill() override {}

private:
    sim::sim_rbd_store& store_;
    async::timers& clock_;
    std::string image_;
    std::string address_;
};

// Clients that are kept out stand in the store of images; the monitors list them, as those of Ceph 16 do.
class monitors final : public storage::ceph_cluster {
public:
    monitors(storage::ceph_cluster& others, const sim::sim_rbd_store& store) : others_(others), store_(store) {}
    awaitable<result<std::string>> command(std::string command, time_point deadline) override {
        const bool is_blocklist = command.find("osd blocklist ls") != std::string::npos;
        auto answer = co_await others_.command(is_blocklist ? R"({"prefix":"health"})" : std::move(command), deadline);
        if (!answer || !is_blocklist) {
            co_return answer;
        }
        std::string out;
        for (const auto& address : store_.blocklist()) {
            out += (out.empty() ? "" : ",") + (R"({"addr":")" + address + R"(","until":"2026-11-24T07:56:45"})");
        }
        co_return "[" + out + "][]";
    }
    awaitable<result<std::vector<model::pool_counters>>> counters(std::vector<std::string> pools,
                                                                  time_point deadline) override {
        return others_.counters(std::move(pools), deadline);
    }
    awaitable<result<void>> measure(time_point deadline) override { return others_.measure(deadline); }
    [[nodiscard]] storage::helper_view view() const override { return {}; }

private:
    storage::ceph_cluster& others_;
    const sim::sim_rbd_store& store_;
};

class simulated_ceph final : public ceph_bench {
public:
    simulated_ceph() {
        ceph_.pools["vms"] = {.id = 1};
        ceph_.osds[0] = {.host = "hv1"};
        talk_through(talker_, {"pvcnoded-ceph", "ceph.conf", "keyring"});
    }
    async::timers& clock() override { return world_.clock(); }
    void understand_times(bool does) override { store_.sends_times_as_text = !does; }
    void make_image(const std::string& image) override { store_.add_image(image); }
    std::unique_ptr<image_client> open(const std::string& image) override {
        return std::make_unique<simulated_client>(store_, clock(), image, ++clients_);
    }
    void pause(part what) override {
        switch (what) {
            case part::monitor: ceph_.hangs = true; break;
            case part::manager: ceph_.has_manager = false; break;
            case part::osds: store_.hangs = true; break;
        }
    }
    void resume() override {
        ceph_.hangs = false;
        ceph_.has_manager = true;
        store_.hangs = false;
    }
    void use_wrong_key() override {
        ceph_.refusal = failure(errc::unavailable, "Ceph", "the cluster does not take the key: permission denied");
    }
    void kill_helper() override { talker_.kill(); }
    void freeze_helper() override { helper_.is_frozen = true; }

private:
    void run(std::function<awaitable<void>()> body) override { world_.run(std::move(body)); }
    // Another one is not frozen.
    awaitable<std::string> live(services::stream_connection& with) {
        helper_.is_frozen = false;
        return helper_.live(with);
    }

    sim_world world_;
    sim::sim_ceph ceph_;
    sim::sim_rbd_store store_;
    sim::sim_ceph_cluster cluster_{ceph_, "hv1", world_.clock()};
    sim::sim_rbd_locks locks_{store_, "hv1", world_.clock()};
    monitors monitors_{cluster_, store_};
    sim::sim_ceph_helper helper_{monitors_, locks_, world_.clock()};
    sim::sim_talker talker_{world_.clock(), [this](services::stream_connection& with) { return live(with); }};
    int clients_ = 4100;
};

}  // namespace

std::unique_ptr<ceph_bench> make_simulated_ceph() {
    return std::make_unique<simulated_ceph>();
}

}  // namespace pvc::contract
