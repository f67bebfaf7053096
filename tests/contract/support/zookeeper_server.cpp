#include "contract/support/zookeeper_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace pvc::contract {

namespace fs = std::filesystem;

namespace {

constexpr const char* library = "/usr/share/java/zookeeper.jar";
constexpr const char* folder_stem = "pvcnoded-zookeeper-";

sockaddr_in server_address(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

void remove_leftovers() {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(fs::temp_directory_path(), ignored)) {
        const std::string name = entry.path().filename();
        if (!name.starts_with(folder_stem)) {
            continue;
        }
        const std::string_view number = std::string_view(name).substr(std::string_view(folder_stem).size());
        int owner = 0;
        std::from_chars(number.data(), number.data() + number.size(), owner);
        if (owner > 0 && ::kill(owner, 0) != 0) {
            fs::remove_all(entry.path(), ignored);
        }
    }
}

}  // namespace

bool has_zookeeper_server() {
    return fs::exists(library) && std::system("java -version >/dev/null 2>&1") == 0;
}

std::uint16_t free_port() {
    const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = server_address(0);
    socklen_t length = sizeof address;
    const bool is_bound = bind(probe, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                          getsockname(probe, reinterpret_cast<sockaddr*>(&address), &length) == 0;
    close(probe);
    if (!is_bound) {
        throw std::runtime_error("no free port");
    }
    return ntohs(address.sin_port);
}

zookeeper_server::zookeeper_server() : port_(free_port()) {
    remove_leftovers();
    folder_ = fs::temp_directory_path() / (folder_stem + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(fs::path(folder_) / "data");
    std::ofstream(folder_ + "/log4j.properties") << "log4j.rootLogger=INFO, A\n"
                                                    "log4j.appender.A=org.apache.log4j.ConsoleAppender\n"
                                                    "log4j.appender.A.layout=org.apache.log4j.PatternLayout\n"
                                                    "log4j.appender.A.layout.ConversionPattern=%d %p %m%n\n";
    std::ofstream(folder_ + "/zoo.cfg") << "dataDir=" << folder_ << "/data\n"
                                        << "clientPort=" << port_ << "\n"
                                        << "clientPortAddress=127.0.0.1\n"
                                           "4lw.commands.whitelist=*\n"
                                           "admin.enableServer=false\n"
                                           "tickTime=500\n"
                                           "maxSessionTimeout=10000\n"
                                           "maxClientCnxns=0\n"
                                           "forceSync=no\n"
                                           "snapCount=1000000\n";
}

zookeeper_server::~zookeeper_server() {
    process_.reset();
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
}

void zookeeper_server::start() {
    if (is_running()) {
        return;
    }
    is_frozen_ = false;
    child_process::streams streams;
    streams.output_file = folder_ + "/server.log";
    process_ = std::make_unique<child_process>(
        std::vector<std::string>{"java", "-XX:-UseContainerSupport", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                                 "-Xshare:auto", "-Xmx160m", "-Dzookeeper.preAllocSize=4096", "-cp",
                                 folder_ + ":" + library, "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                                 folder_ + "/zoo.cfg"},
        streams, folder_);
}

bool zookeeper_server::is_running() {
    return process_ && process_->is_alive();
}

std::string zookeeper_server::ask(const std::string& word, double seconds) const {
    const int stream = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto whole = static_cast<long>(seconds);
    const timeval limit{whole, static_cast<suseconds_t>((seconds - static_cast<double>(whole)) * 1e6)};
    setsockopt(stream, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(stream, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    const sockaddr_in address = server_address(port_);
    std::string answer;
    if (connect(stream, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        send(stream, word.data(), word.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(word.size())) {
        char buffer[4096];
        for (ssize_t got = 0; (got = recv(stream, buffer, sizeof buffer, 0)) > 0;) {
            answer.append(buffer, static_cast<std::size_t>(got));
        }
    }
    close(stream);
    return answer;
}

bool zookeeper_server::is_serving(double seconds) const {
    return ask("srvr", seconds).find("Mode:") != std::string::npos;
}

void zookeeper_server::wait_serving(double seconds) {
    using namespace std::chrono;
    const auto limit = steady_clock::now() + std::chrono::duration<double>(seconds);
    while (is_running() && steady_clock::now() < limit) {
        if (is_serving()) {
            return;
        }
        std::this_thread::sleep_for(milliseconds(20));
    }
    std::ostringstream log;
    log << std::ifstream(folder_ + "/server.log").rdbuf();
    const std::string text = log.str();
    throw std::runtime_error("the ZooKeeper server does not come up:\n" +
                             text.substr(text.size() > 2000 ? text.size() - 2000 : 0));
}

void zookeeper_server::kill() {
    process_.reset();
    is_frozen_ = false;
}

void zookeeper_server::freeze() {
    process_->signal(SIGSTOP);
    is_frozen_ = true;
}

void zookeeper_server::thaw() {
    if (process_ && is_frozen_) {
        process_->signal(SIGCONT);
    }
    is_frozen_ = false;
}

}  // namespace pvc::contract
