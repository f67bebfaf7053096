#include "adapter/announcer.hpp"

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace pvc::netlink {

namespace {
using namespace std::chrono_literals;
constexpr duration pause = 20ms;
}  // namespace

void announcer::announce(place on, const hardware_address& device, const ip::address& address) {
    std::string frame = announcement(device, address);
    send(on.link, frame);
    waiting_.push_back({clock_.now() + pause, std::move(on), address, std::move(frame)});
    if (!again_.armed()) {
        again_.arm(waiting_.front().when, [this] { repeat_due(); });
    }
}

void announcer::forget(const std::string& name, const ip::address& address) {
    std::erase_if(waiting_, [&](const repetition& one) { return one.on.name == name && one.address == address; });
}

void announcer::repeat_due() {
    while (!waiting_.empty() && waiting_.front().when <= clock_.now()) {
        send(waiting_.front().on.link, waiting_.front().frame);
        waiting_.pop_front();
    }
    if (!waiting_.empty()) {
        again_.arm(waiting_.front().when, [this] { repeat_due(); });
    }
}

void announcer::send(int link, const std::string& frame) {
    if (socket_.number() < 0) {
        // Protocol 0: it hears nothing.
        socket_ = owned_descriptor(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    }
    sockaddr_ll to{};
    to.sll_family = AF_PACKET;
    to.sll_ifindex = link;
    to.sll_halen = ETH_ALEN;
    std::memcpy(&to.sll_protocol, frame.data() + 2UL * ETH_ALEN, sizeof to.sll_protocol);
    std::memcpy(to.sll_addr, frame.data(), ETH_ALEN);
    while (::sendto(socket_.number(), frame.data(), frame.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to),
                    sizeof to) < 0 &&
           errno == EINTR) {
    }
}

}  // namespace pvc::netlink
