#include "contract/hypervisor/qemu_host.hpp"

#include "contract/hypervisor/sockets.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace pvc::contract {

namespace {

// What the boot sectors do stands in vm-domains.md B.9.
const std::map<std::string, std::string> sectors{
    {"hang", "FA F4 EB FD"},
    {"acpi", "FA BA 02 06 B8 00 01 EF BA 00 06 ED F6 C4 01 74 F7 BA 04 06 B8 00 20 EF F4 EB FD"},
    {"dirty",
     "FA 31 C0 8E D8 0F 01 16 50 7C 0F 20 C0 0C 01 0F 22 C0 EB 00 BB 08 00 8E E3 24 FE 0F 22 C0 66 BF 00 00 20 00 64 "
     "67 "
     "66 FF 07 66 81 C7 00 10 00 00 66 81 FF 00 00 80 03 72 EB EB E3 00 00 00 00 00 00 00 00 00 00 00 00 00 FF FF 00 "
     "00 "
     "00 92 CF 00 0F 00 40 7C 00 00"}};

constexpr std::size_t sector_bytes = 512;
constexpr std::size_t floppy_bytes = 1474560;

struct image_folder {
    image_folder() {
        std::string name = "/tmp/pvc_guests_XXXXXX";
        path = ::mkdtemp(name.data());
    }
    image_folder(const image_folder&) = delete;
    image_folder& operator=(const image_folder&) = delete;
    ~image_folder() { std::filesystem::remove_all(path); }
    std::string path;
};

}  // namespace

std::string qemu_host::image(const std::string& kind) {
    static const image_folder folder;
    std::string path = folder.path + '/' + kind + ".img";
    if (!std::filesystem::exists(path)) {
        std::string sector;
        std::istringstream bytes(sectors.at(kind));
        for (std::string byte; bytes >> byte;) {
            sector += static_cast<char>(std::stoi(byte, nullptr, 16));
        }
        sector.resize(sector_bytes - 2);
        sector += "\x55\xAA";
        sector.resize(floppy_bytes);
        std::ofstream(path) << sector;
    }
    return path;
}

bool qemu_host::is_possible() {
    constexpr std::array needed{"/usr/sbin/libvirtd", "/usr/bin/qemu-system-x86_64", "/usr/bin/unshare",
                                "/usr/lib/x86_64-linux-gnu/libvirt/connection-driver/libvirt_driver_qemu.so"};
    for (const char* path : needed) {
        if (::access(path, R_OK | X_OK) != 0 && ::access(path, R_OK) != 0) {
            return false;
        }
    }
    return ::geteuid() == 0;
}

qemu_host::qemu_host(const std::string& name, const std::string& address, std::uint16_t port)
    : address_(address), port_(port) {
    std::string folder = "/tmp/pvc_qemu_XXXXXX";  // short: a socket's path has 107 bytes
    folder_ = ::mkdtemp(folder.data());
    std::filesystem::create_directory(folder_ + "/etc");
    std::ofstream(folder_ + "/etc/libvirtd.conf")
        << "unix_sock_group = \"root\"\nauth_unix_rw = \"none\"\nlisten_tls = 0\nlisten_tcp = 1\nauth_tcp = \"none\"\n"
        << "listen_addr = \"" << address << "\"\ntcp_port = \"" << port << "\"\n"
        << "host_uuid = \"7f0c0a38-9d7e-4f7e-8c6b-0000" << address.substr(address.rfind('.') + 1) << std::string(7, '0')
        << "\"\nlog_outputs = \"2:file:/var/log/libvirtd.log\"\n";
    std::ofstream(folder_ + "/etc/qemu.conf")
        << "user = \"root\"\ngroup = \"root\"\nremember_owner = 0\nnamespaces = []\ncgroup_controllers = []\n"
        << "security_driver = \"none\"\nstdio_handler = \"file\"\n";
    const std::string script = std::string(PVC_SOURCE_DIR) + "/tests/contract/hypervisor/qemu_host.sh";
    const std::vector<std::string> arguments{"/usr/bin/unshare",     "--mount",   "--uts", "--pid", "--fork",
                                             "--kill-child=SIGKILL", "/bin/bash", script,  folder_, name};
    process_.emplace(arguments, child_process::streams{"", true});
}

qemu_host::~qemu_host() {
    process_.reset();
    // Processes of the host may still be on their way out, and write.
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
    while (std::filesystem::exists(folder_, ignored) && std::chrono::steady_clock::now() < limit) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        std::filesystem::remove_all(folder_, ignored);
    }
}

void qemu_host::command(const std::string& what) {
    const std::string line = what + '\n';
    std::string answer;
    if (::write(process_->input(), line.data(), line.size()) == static_cast<ssize_t>(line.size())) {
        pollfd ready{process_->output(), POLLIN, 0};
        std::array<char, 64> part{};
        while (!answer.ends_with(line) && ::poll(&ready, 1, 60'000) > 0) {
            const ssize_t count = ::read(process_->output(), part.data(), part.size());
            if (count <= 0) {
                break;
            }
            answer.append(part.data(), static_cast<std::size_t>(count));
        }
    }
    if (!answer.ends_with(line)) {
        throw std::runtime_error("the host of the test does not obey: " + what + ": " + answer);
    }
}

void qemu_host::wait_until_it_serves() {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(90);
    while (!accepts(socket()) || !accepts(address_, port_)) {
        if (!process_->is_alive() || std::chrono::steady_clock::now() > limit) {
            std::ifstream log(folder_ + "/log/libvirtd.log");
            throw std::runtime_error("libvirtd does not serve: " +
                                     std::string(std::istreambuf_iterator<char>(log), {}));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

}  // namespace pvc::contract
