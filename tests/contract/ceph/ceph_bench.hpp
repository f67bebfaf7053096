// What the suite of the storage port takes from a world: a cluster with the pool "vms", the daemon's side of the
// helper, clients of images, and what can befall all of them. One for real Ceph, one for the simulated cluster.
#pragma once

#include "contract/process_bench.hpp"
#include "pvcnoded/storage/ceph_helper.hpp"

#include <functional>
#include <memory>
#include <string>

namespace pvc::contract {

enum class part : std::uint8_t { monitor, manager, osds };

// Who has an image open for writing, as a guest has its disk.
class image_client {
public:
    image_client() = default;
    image_client(const image_client&) = delete;
    image_client& operator=(const image_client&) = delete;
    virtual ~image_client() = default;

    virtual void begin_writing() = 0;
    // Whether a write of its is done from now on, in time.
    virtual awaitable<bool> is_writing() = 0;
    // Whether a write of its is refused, in time, since the cluster keeps it out.
    virtual awaitable<bool> is_kept_out() = 0;
    // Ends it without a word.
    virtual void kill() = 0;
};

class ceph_bench {
public:
    ceph_bench() = default;
    ceph_bench(const ceph_bench&) = delete;
    ceph_bench& operator=(const ceph_bench&) = delete;
    virtual ~ceph_bench() = default;

    // `test` beside the daemon's client of the helper, which has ended when this returns.
    void play(const std::function<awaitable<void>()>& test);
    virtual async::timers& clock() = 0;
    [[nodiscard]] storage::ceph_helper& port() { return *port_; }
    [[nodiscard]] const std::vector<storage::helper_news>& news() const { return news_; }

    virtual void make_image(const std::string& image) = 0;
    virtual std::unique_ptr<image_client> open(const std::string& image) = 0;
    virtual void pause(part what) = 0;
    virtual void resume() = 0;  // all
    // Before play.
    virtual void use_wrong_key() = 0;
    void use_program(std::string path) { settings_.program = std::move(path); }
    [[nodiscard]] const storage::helper_settings& settings() const { return settings_; }
    // False: a time on the blocklist is refused with -22 but by command. The real one understands.
    virtual void understand_times(bool /*does*/) {}
    virtual void kill_helper() = 0;
    virtual void freeze_helper() = 0;  // the one that runs

protected:
    virtual void run(std::function<awaitable<void>()> body) = 0;
    void talk_through(services::talking_programs& programs, storage::helper_settings settings);
    storage::helper_settings settings_;

private:
    std::unique_ptr<storage::ceph_helper> port_;
    std::vector<storage::helper_news> news_;
};

// Those that a machine can have: null, the test is skipped.
std::unique_ptr<ceph_bench> make_real_ceph();
std::unique_ptr<ceph_bench> make_simulated_ceph();

// For what only the real one has. Exit status 0, or the test fails with what was said; its output.
std::string run_on_real_ceph(const std::string& program, const std::string& arguments);

}  // namespace pvc::contract
