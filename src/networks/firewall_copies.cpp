#include "firewall_copies.hpp"

#include "pvcnoded/policy/networks/filter_copies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pvc::networks {

namespace {

constexpr duration between_copying = std::chrono::seconds(10);
constexpr std::size_t most_of_copy = 16UL << 20;  // what one is read of, and the first one has
constexpr std::size_t most_of_another = 4UL << 20;
const std::string copies_folder = "/var/lib/pvc";  // outlives a boot (README ruling 36)
constexpr std::uint32_t copies_mode = 0700;
constexpr std::string_view head_of_copy =
    "# Table inet filter of this host, as it was before pvcnoded made it that of its client networks.\n"
    "# What shall be in force beside it belongs into a table of another name.\n";

}  // namespace

async::awaitable<result<firewall_copies::written>> firewall_copies::write(std::string listing) {
    auto& host = node_.port.host;
    auto made = co_await host.make_directory(copies_folder, copies_mode, "");
    if (!made) {
        co_return std::move(made).error();
    }
    PVC_CO_TRY(const auto names, co_await host.list_disk_files(copies_folder));
    std::vector<policy::filter_copy> there;
    for (std::size_t number = 0; number < policy::most_filter_copies; ++number) {
        auto name = policy::name_of_copy(number);
        if (std::ranges::find(names, name) == names.end()) {
            continue;
        }
        auto text = co_await host.read_disk_file(copies_folder + "/" + name, most_of_copy);
        there.push_back({std::move(name), text ? std::optional(*std::move(text)) : std::nullopt});
    }
    const auto place = policy::place_for(listing, there);
    written done{copies_folder + "/" + place.name, !place.is_there};
    if (place.is_there) {
        co_return done;
    }
    if (listing.size() > most_of_another && place.name != policy::name_of_copy(0)) {
        co_return failure(errc::too_large, done.path, "it is larger than 4 MiB");
    }
    auto replaced = co_await host.replace_file(done.path, std::move(listing));
    if (!replaced) {
        co_return std::move(replaced).error();
    }
    co_return done;
}

// Where it is until the next boot; empty: nowhere.
async::awaitable<std::string> firewall_copies::write_for_now(std::size_t number) {
    const std::string path = node_.config->directories.dynamic + "/" + policy::name_of_copy(number);
    const auto done = co_await node_.port.host.replace_file(path, unkept_[number]);
    co_return done ? path : std::string();
}

async::awaitable<firewall_copies::outcome> firewall_copies::keep() {
    const auto failed = [](const failure& why) {
        return fmt::format("could not be kept in {}/{}: {}", copies_folder, policy::name_of_copy(0), why.text());
    };
    auto listed = co_await loader_.list_table();
    if (!listed) {
        co_return outcome{.where = failed(listed.error())};
    }
    auto text = std::string(head_of_copy) + *listed;
    auto done = co_await write(text);
    if (done) {
        co_return outcome{true, done->is_new, "is kept in " + done->path};
    }
    const auto rules = policy::rules_in_listing(text);
    auto same = std::ranges::find(unkept_, rules, &policy::rules_in_listing);
    if (same == unkept_.end() && unkept_.size() == policy::most_filter_copies) {
        same = unkept_.end() - 1;
    }
    if (same == unkept_.end()) {
        unkept_.push_back(std::move(text));
        same = unkept_.end() - 1;
    } else {
        *same = std::move(text);
    }
    again_ = node_.clock().now() + between_copying;
    const auto meanwhile = co_await write_for_now(static_cast<std::size_t>(same - unkept_.begin()));
    co_return outcome{.where = failed(done.error()) +
                               (meanwhile.empty() ? "" : ", it is in " + meanwhile + " until the next boot")};
}

async::awaitable<void> firewall_copies::keep_again() {
    if (unkept_.empty() || !again_ || node_.clock().now() < *again_) {
        co_return;
    }
    again_ = node_.clock().now() + between_copying;
    while (!unkept_.empty()) {
        auto done = co_await write(unkept_.front());
        if (!done) {
            co_return;
        }
        unkept_.erase(unkept_.begin());
        node_.log.ok("firewall: what table inet filter of this host held is now kept in " + done->path);
    }
    again_.reset();
}

}  // namespace pvc::networks
