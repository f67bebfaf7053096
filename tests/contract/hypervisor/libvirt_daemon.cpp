#include "contract/hypervisor/libvirt_daemon.hpp"

#include "contract/hypervisor/sockets.hpp"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace pvc::contract {

namespace {

constexpr const char* program = "/usr/sbin/libvirtd";

}  // namespace

bool libvirt_daemon::is_installed() {
    return ::access(program, X_OK) == 0;
}

libvirt_daemon::libvirt_daemon() {
    use_private_network();
    port_ = free_port();
    std::string name = "/tmp/pvc_libvirt_XXXXXX";  // short: a socket's path has 107 bytes
    folder_ = ::mkdtemp(name.data());
    std::filesystem::create_directory(folder_ + "/drivers");
    std::ofstream settings(folder_ + "/libvirtd.conf");
    settings << "unix_sock_dir = \"" << folder_ << "\"\n"
             << "unix_sock_group = \"root\"\nauth_unix_rw = \"none\"\n"
             << "listen_tls = 0\nlisten_tcp = 1\nauth_tcp = \"none\"\nlisten_addr = \"127.0.0.1\"\n"
             << "tcp_port = \"" << port_ << "\"\n"
             << "log_outputs = \"2:file:" << folder_ << "/log\"\n";
}

libvirt_daemon::~libvirt_daemon() {
    stop();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

void libvirt_daemon::start() {
    const std::string home = "=" + folder_;
    const std::vector<std::string> arguments{"/usr/bin/env",
                                             "LIBVIRT_DRIVER_DIR=" + folder_ + "/drivers",
                                             "XDG_RUNTIME_DIR" + home,
                                             "XDG_CONFIG_HOME" + home,
                                             "XDG_CACHE_HOME" + home,
                                             "XDG_DATA_HOME" + home,
                                             "HOME" + home,
                                             program,
                                             "--listen",
                                             "--config",
                                             folder_ + "/libvirtd.conf",
                                             "--pid-file",
                                             folder_ + "/pid"};
    process_.emplace(arguments, child_process::streams{folder_ + "/output", false}, folder_);
}

void libvirt_daemon::wait_until_it_serves() {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!accepts(socket()) || !accepts("127.0.0.1", port_)) {
        if (!process_->is_alive() || std::chrono::steady_clock::now() > limit) {
            std::ifstream log(folder_ + "/log");
            const std::string said{std::istreambuf_iterator<char>(log), {}};
            throw std::runtime_error("libvirtd does not serve: " + said);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

void libvirt_daemon::stop() {
    if (process_) {
        process_->end(SIGKILL, 5.0);
        process_.reset();
    }
    std::error_code ignored;
    std::filesystem::remove(folder_ + "/pid", ignored);
}

void libvirt_daemon::freeze() {
    process_->signal(SIGSTOP);
}

void libvirt_daemon::thaw() {
    process_->signal(SIGCONT);
}

}  // namespace pvc::contract
