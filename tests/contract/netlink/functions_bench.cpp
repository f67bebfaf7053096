#include "contract/netlink/functions_bench.hpp"

#include "contract/netlink/real_network.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace pvc::contract {

namespace {

const std::string card_folder = "/sys/class/net/eth0/device";

void write(const std::string& file, const std::string& text) {
    std::ofstream stream(file);
    stream << text << std::flush;
    EXPECT_TRUE(stream) << file;
}

std::string read(const std::string& file) {
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    return line;
}

std::string folder_of(int index) {
    return card_folder + "/virtfn" + std::to_string(index);
}

}  // namespace

real_card::real_card() : is_there_(std::getenv("PVC_GUEST_IGB") != nullptr) {
    if (is_there_) {
        have_none();
    }
}

real_card::~real_card() {
    if (is_there_) {
        have_none();
        ip_command("link set eth0 down");
    }
}

void real_card::run(std::function<awaitable<void>()> body) {
    ASSERT_TRUE(is_there_) << "this takes the guest of tests/guest/run --igb";
    world_.run(std::move(body));
}

std::string real_card::address_of(int index) {
    return std::filesystem::read_symlink(folder_of(index)).filename();
}

void real_card::have_none() {
    write(card_folder + "/sriov_numvfs", "0");
}

void real_card::set_mac(int index, const std::string& mac) {
    ip_command("link set eth0 vf " + std::to_string(index) + " mac " + mac);
}

void real_card::set_card_mtu(int mtu) {
    ip_command("link set eth0 mtu " + std::to_string(mtu));
}

int real_card::mtu_of(int index) {
    return std::atoi(read(folder_of(index) + "/net/" + device_of(index) + "/mtu").c_str());
}

awaitable<void> real_card::begin_carrier() {
    ip_command("link set wire up");
    ip_command("link set eth0 up");
    for (int times = 0; times < 500 && read("/sys/class/net/eth0/carrier") != "1"; ++times) {
        co_await async::sleep_for(clock(), 10ms, "the carrier");
    }
}

void real_card::pull_out() {
    write(card_folder + "/remove", "1");
}

void real_card::plug_in() {
    write("/sys/bus/pci/rescan", "1");
}

void real_card::give_away(int index) {
    EXPECT_EQ(std::system("modprobe vfio-pci"), 0);
    const auto address = address_of(index);
    write("/sys/bus/pci/devices/" + address + "/driver_override", "vfio-pci");
    write("/sys/bus/pci/devices/" + address + "/driver/unbind", address);
    write("/sys/bus/pci/drivers/vfio-pci/bind", address);
}

std::string real_card::device_of(int index) {
    for (const auto& one : std::filesystem::directory_iterator(folder_of(index) + "/net")) {
        return one.path().filename();
    }
    return "no device";
}

std::string real_card::shown(int index) {
    const auto text = ip_output("-d link show dev eth0");
    const auto at = text.find("vf " + std::to_string(index) + " ");
    return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
}

// As the driver of the real one is.
simulated_card::simulated_card() {
    port_.add_card("eth0");
    port_.driver.hides = {"RSS query"};
    port_.driver.lacks = {"RSS query", "link state"};
}

void simulated_card::set_card_mtu(int mtu) {
    EXPECT_TRUE(machine_.apply(model::set_mtu{"eth0", mtu}));
}

int simulated_card::mtu_of(int index) {
    const auto found = port_.mtus.find("eth0v" + std::to_string(index));
    return found == port_.mtus.end() ? 1500 : found->second;
}

}  // namespace pvc::contract
