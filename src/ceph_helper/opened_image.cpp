#include "opened_image.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/ceph_helper/error_table.hpp"

#include <rados/librados.h>
#include <rbd/librbd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

namespace pvc::ceph_helper {

namespace {

constexpr std::size_t line_max = 200;
// What is asked for grows while it is asked for: so often it is asked again.
constexpr int rounds_max = 5;
constexpr std::size_t watchers_at_first = 16;
constexpr std::size_t id_max = 128;

}  // namespace

std::string shown_line(std::string_view text) {
    text = trim(text);
    return text.size() <= line_max ? ascii_only(text) : ascii_only(text.substr(0, line_max)) + "...";
}

opened_pool::opened_pool(void* handle, const std::string& pool, const std::string& space)
    : error_(::rados_ioctx_create(handle, pool.c_str(), &pool_)) {
    if (error_ == 0) {
        ::rados_ioctx_set_namespace(pool_, space.c_str());
    }
}

opened_pool::~opened_pool() {
    if (error_ == 0) {
        ::rados_ioctx_destroy(pool_);
    }
}

opened_image::opened_image(void* handle, const image_name& name)
    : name_(name.image), pool_(handle, name.pool, name.space) {
    status_.error = pool_.error();
    status_.what = "opening pool " + shown(name.pool);
    if (status_.is_well()) {
        status_.what = "opening image " + shown(name.image);
        status_.error = ::rbd_open_read_only(pool_.get(), name.image.c_str(), &image_, nullptr);
        if (!status_.is_well()) {
            image_ = nullptr;
        }
    }
}

opened_image::~opened_image() {
    if (image_ != nullptr) {
        ::rbd_close(image_);
    }
}

call_status opened_image::list_lockers(std::vector<protocol::ceph::lock>& into) const {
    call_status status{.what = "listing locks"};
    locker_lists lists;
    std::string tag;
    std::size_t tag_size = 0;
    int is_exclusive = 0;
    ssize_t count = -ERANGE;
    // The first call has no room at all, and is told how much it takes.
    for (int round = 0; count == -ERANGE && round < rounds_max; ++round) {
        std::size_t clients = lists.clients.size();
        std::size_t cookies = lists.cookies.size();
        std::size_t addresses = lists.addresses.size();
        tag_size = tag.size();
        count = ::rbd_list_lockers(image_, &is_exclusive, tag.data(), &tag_size, lists.clients.data(), &clients,
                                   lists.cookies.data(), &cookies, lists.addresses.data(), &addresses);
        tag.resize(tag_size);
        lists.clients.resize(clients);
        lists.cookies.resize(cookies);
        lists.addresses.resize(addresses);
    }
    if (count < 0) {
        status.error = static_cast<int>(count);
        return status;
    }
    auto parsed = parse_lockers(lists, static_cast<std::size_t>(count));
    if (!parsed) {
        status.error = EIO;
        status.said = parsed.error().cause();
        return status;
    }
    into = *std::move(parsed);
    return status;
}

call_status opened_image::list_watchers(std::vector<protocol::ceph::watcher>& into) const {
    std::vector<rbd_image_watcher_t> room(watchers_at_first);
    std::size_t count = room.size();
    call_status status{.error = -ERANGE, .what = "listing watchers"};
    for (int round = 0; status.error == -ERANGE && round < rounds_max; ++round) {
        room.resize(std::max(room.size(), count));
        count = room.size();
        status.error = ::rbd_watchers_list(image_, room.data(), &count);
    }
    if (status.is_well()) {
        for (std::size_t i = 0; i < count; ++i) {
            into.push_back({client_name(static_cast<std::uint64_t>(room[i].id)), room[i].addr});
        }
        ::rbd_watchers_list_cleanup(room.data(), count);
    }
    return status;
}

bool opened_image::blocklists_for(std::uint32_t seconds) const {
    std::vector<rbd_config_option_t> room;
    int count = 0;
    int error = -ERANGE;
    for (int round = 0; error == -ERANGE && round < rounds_max; ++round) {
        room.resize(static_cast<std::size_t>(count));
        error = ::rbd_config_image_list(image_, room.data(), &count);
    }
    if (error != 0) {
        return false;
    }
    const std::string wanted_seconds = std::to_string(seconds);
    bool is_on = false;
    bool is_for_so_long = false;
    for (const auto& one : std::span(room.data(), static_cast<std::size_t>(count))) {
        const std::string_view name = one.name;
        is_on |= (name == "rbd_blocklist_on_break_lock" || name == "rbd_blacklist_on_break_lock") &&
                 std::string_view(one.value) == "true";
        is_for_so_long |= (name == "rbd_blocklist_expire_seconds" || name == "rbd_blacklist_expire_seconds") &&
                          one.value == wanted_seconds;
    }
    ::rbd_config_image_list_cleanup(room.data(), count);
    return is_on && is_for_so_long;
}

call_status opened_image::break_lock(const protocol::ceph::lock& which) const {
    call_status status{.what = "breaking the lock of " + shown(which.client)};
    status.error = ::rbd_break_lock(image_, which.client.c_str(), which.id.c_str());
    if (is_missing(status.error)) {
        status.error = 0;
    }
    return status;
}

// The object that the locks of an image are on: that of its header.
call_status opened_image::header_object(std::string& into) const {
    call_status status{.what = "asking image " + shown(name_) + " for its id"};
    std::uint8_t is_old = 0;
    status.error = ::rbd_get_old_format(image_, &is_old);
    if (status.is_well() && is_old != 0) {
        into = name_ + ".rbd";
        return status;
    }
    std::array<char, id_max> id{};
    if (status.is_well()) {
        status.error = ::rbd_get_id(image_, id.data(), id.size());
    }
    into = "rbd_header." + std::string(id.data(), ::strnlen(id.data(), id.size()));
    return status;
}

call_status opened_image::take_lock_away(const protocol::ceph::lock& which) const {
    std::string header;
    call_status status = header_object(header);
    if (!status.is_well()) {
        return status;
    }
    status.what = "taking away the lock of " + shown(which.client);
    status.error = ::rados_break_lock(pool_.get(), header.c_str(), "rbd_lock", which.client.c_str(), which.id.c_str());
    if (is_missing(status.error)) {
        status.error = 0;
    }
    return status;
}

}  // namespace pvc::ceph_helper
