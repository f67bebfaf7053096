// Benches of the service ports, real and simulated.
#pragma once

#include "contract/process_bench.hpp"
#include "pvcnoded/services/adapter/systemctl.hpp"
#include "sim/sim_services.hpp"

#include <sys/stat.h>
#include <unistd.h>
#include <cstdlib>
#include <fstream>

namespace pvc::contract {

// An executable that plays systemctl: files of its folder say how it answers, `calls` is what it was asked.
class real_services : public real_world {
public:
    real_services() {
        folder_.write("systemctl", R"sh(#!/bin/sh
cd "$PVC_STANDIN" || exit 99
echo "$*" >> calls
[ -f hang ] && exec sleep 1000
[ -f answer ] && { cat answer >&2; exit "$(cat status)"; }
verb=$1
for unit; do :; done
case "$verb" in
  is-active) [ -f "active.$unit" ] && { echo active; exit 0; }; echo inactive; exit 3 ;;
esac
[ -f "refuse.$unit" ] && { cat "refuse.$unit" >&2; exit 5; }
case "$verb" in
  start | restart) [ -f "never.$unit" ] || touch "active.$unit" ;;
  enable) touch "enabled.$unit"; [ -f "never.$unit" ] || touch "active.$unit" ;;
  stop) rm -f "active.$unit" ;;
  disable) rm -f "enabled.$unit" "active.$unit" ;;
esac
)sh");
        ::chmod((folder_ / "systemctl").c_str(), 0755);
        old_path_ = std::getenv("PATH");
        ::setenv("PATH", (folder_.path() + ':' + old_path_).c_str(), 1);
        ::setenv("PVC_STANDIN", folder_.path().c_str(), 1);
    }
    ~real_services() { ::setenv("PATH", old_path_.c_str(), 1); }
    real_services(const real_services&) = delete;
    real_services& operator=(const real_services&) = delete;

    services::service_manager& services() { return services_; }
    void never_active(const std::string& unit) { folder_.write("never." + unit, ""); }
    void refuse(const std::string& unit, const std::string& words) { folder_.write("refuse." + unit, words + '\n'); }
    [[nodiscard]] bool is_enabled(const std::string& unit) const {
        return ::access((folder_ / ("enabled." + unit)).c_str(), F_OK) == 0;
    }
    void remove_manager() { ::setenv("PATH", "/nonexistent", 1); }
    void hang() {
        folder_.write("hang", "");
        patient_ = false;
    }
    void answer(int status, const std::string& words) {
        folder_.write("answer", words);
        folder_.write("status", std::to_string(status));
    }
    [[nodiscard]] std::vector<std::string> calls() const {
        std::vector<std::string> lines;
        std::ifstream file(folder_ / "calls");
        for (std::string line; std::getline(file, line);) {
            lines.push_back(line);
        }
        return lines;
    }

private:
    // Shortens the limit of a run that is meant to hang.
    class limited_runner final : public async::process_runner {
    public:
        limited_runner(async::posix_process& processes, const bool& patient)
            : processes_(processes), patient_(patient) {}
        awaitable<result<async::process_outcome>> run(async::command what, async::process_limits limits) override {
            if (!patient_) {
                limits.time = std::chrono::milliseconds(300);
            } else {
                limits.time = std::chrono::seconds(50);
            }
            return processes_.run(std::move(what), limits);
        }

    private:
        async::posix_process& processes_;
        const bool& patient_;
    };

    scratch_folder folder_;
    std::string old_path_;
    bool patient_ = true;
    async::posix_process processes_{loop().context(), clock()};
    limited_runner runner_{processes_, patient_};
    services::systemctl services_{runner_};
};

class sim_services : public sim_world {
public:
    services::service_manager& services() { return services_; }
    sim::sim_service_manager& manager() { return services_; }
    void never_active(const std::string& unit) { services_[unit].never_active = true; }
    void refuse(const std::string& unit, const std::string& words) {
        services_[unit].refuses = failure(errc::refused, unit, words);
    }
    [[nodiscard]] bool is_enabled(const std::string& unit) const { return services_.is_enabled(unit); }
    void remove_manager() { services_.set_present(false); }
    void hang() { services_.set_answer_time(std::chrono::hours(1)); }

private:
    sim::sim_service_manager services_{clock()};
};

}  // namespace pvc::contract
