// Which route of a dump comes before which others of its place (model::link_route::place).
#pragma once

#include "pvcnoded/netlink/replies.hpp"

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace pvc::netlink {

class route_order {
public:
    // The next one, whatever it is; what it gave to the list begins at `first`. `link`: 0 if it is over several links,
    // or no list has it.
    void take(std::string_view body, int link, std::vector<model::link_route>& list, std::size_t first) {
        const auto place = read_place_of_route(body);
        if (count_ == 0 || place != place_) {
            place_ = place;
            count_ = 0;
            before_.clear();
        }
        for (const std::size_t at : before_) {
            list[at].is_before_others = list[at].is_before_others || list[at].link != link;
        }
        for (std::size_t at = first; at < list.size(); ++at) {
            list[at].place = count_;
            before_.push_back(at);
        }
        count_ += count_ < std::numeric_limits<std::uint16_t>::max() ? 1 : 0;
    }

private:
    place_of_route place_;
    std::uint16_t count_ = 0;
    std::vector<std::size_t> before_;  // in the list
};

}  // namespace pvc::netlink
