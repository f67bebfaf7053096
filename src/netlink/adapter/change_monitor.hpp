// Listens for changes of links, addresses and routes, or of the packet filter, and tells everybody who watches that
// there may be some. What the events say is not looked at: one that was lost changes nothing. But for the link whose
// settings one is about (network_stack::settings_told): these are files that would be read with each look; and for
// routes of IPv6 on which nothing here hangs, as routing daemons change thousands. The socket exists while anything is
// watched; where there can be none, a look is due every few seconds. Specification: networking.md 2;
// runtime-design.md 4.
#pragma once

#include "pvcnoded/async/wakeup.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace pvc::netlink {

enum class monitored : std::uint8_t { network, packet_filter };

class change_monitor : public std::enable_shared_from_this<change_monitor> {
public:
    change_monitor(boost::asio::any_io_executor executor, async::timers& clock, monitored what = monitored::network);
    change_monitor(const change_monitor&) = delete;
    change_monitor& operator=(const change_monitor&) = delete;
    ~change_monitor() = default;

    void add(async::wakeup& changed);
    void remove(async::wakeup& changed);
    // Once what was seen is old enough to be judged: the kernel has no word for that.
    void tell_later();
    // network_stack.hpp.
    [[nodiscard]] std::uint64_t settings_told(int link);
    // Lets go of loop and clock.
    void close();

private:
    using descriptor = boost::asio::posix::basic_stream_descriptor<boost::asio::any_io_executor>;

    [[nodiscard]] bool open();
    void open_or_retry();
    void listen();
    void drain();
    void tell() const;
    bool note(std::string_view event);

    boost::asio::any_io_executor executor_;
    async::timers& clock_;
    monitored what_;
    std::optional<descriptor> socket_;
    std::uint64_t opened_ = 0;  // tells the handlers of an earlier socket from those of the present one
    std::vector<async::wakeup*> watchers_;
    std::optional<async::timer> retry_;
    std::optional<async::timer> later_;
    std::uint64_t told_ = 0;  // of settings, so far
    std::uint64_t told_of_all_ = 0;
    std::map<int, std::uint64_t> told_of_link_;  // of those that are there
};

}  // namespace pvc::netlink
