// The host port on Linux: /proc, uname(2), files. What may hang on a disk runs on the offload pool; /proc does not.
#pragma once

#include "pvcnoded/async/offload.hpp"
#include "pvcnoded/services/host.hpp"

namespace pvc::services {

// Where the kernel's files are; other places in tests.
struct host_paths {
    std::string proc = "/proc";
    std::string devices = "/dev";
};

// `pool` and `clock` must outlive it.
class linux_host final : public host {
public:
    linux_host(async::offload& pool, async::timers& clock, host_paths paths = {});

    [[nodiscard]] machine_facts facts() const override;
    [[nodiscard]] result<std::string> meminfo() override;
    [[nodiscard]] result<std::string> loadavg() override;
    async::awaitable<result<void>> make_directory(std::string path, std::uint32_t mode, std::string owner) override;
    async::awaitable<result<void>> replace_file(std::string path, std::string text) override;
    async::awaitable<result<void>> remove_file(std::string path) override;
    async::awaitable<result<void>> remove_folder(std::string path) override;
    async::awaitable<result<void>> can_read(std::string path) override;
    async::awaitable<result<std::string>> read_disk_file(std::string path, std::size_t most) override;
    async::awaitable<result<std::vector<std::string>>> list_disk_files(std::string directory) override;
    result<std::string> read_file(std::string path) override;
    result<std::vector<std::string>> list_files(std::string directory) override;
    result<std::vector<std::string>> list_folders(std::string directory) override;
    result<void> set_sysctl(std::string key, std::string value) override;
    result<std::unique_ptr<file_lock>> lock(std::string path) override;
    [[nodiscard]] bool has_watchdog() const override;

private:
    async::offload& pool_;
    async::timers& clock_;
    host_paths paths_;
};

}  // namespace pvc::services
