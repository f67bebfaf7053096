// Pools and images of the library, closed with their scope.
#pragma once

#include "pvcnoded/ceph_helper/connection.hpp"

#include <string>
#include <vector>

namespace pvc::ceph_helper {

// One line of at most 200 printable characters.
[[nodiscard]] std::string shown_line(std::string_view text);

class opened_pool {
public:
    opened_pool(void* handle, const std::string& pool, const std::string& space);
    opened_pool(const opened_pool&) = delete;
    opened_pool& operator=(const opened_pool&) = delete;
    ~opened_pool();
    [[nodiscard]] int error() const { return error_; }
    [[nodiscard]] void* get() const { return pool_; }  // rados_ioctx_t

private:
    void* pool_ = nullptr;
    int error_;
};

// Read-only: it registers no watch and takes no lock.
class opened_image {
public:
    opened_image(void* handle, const image_name& name);
    opened_image(const opened_image&) = delete;
    opened_image& operator=(const opened_image&) = delete;
    ~opened_image();
    [[nodiscard]] bool is_open() const { return image_ != nullptr; }
    [[nodiscard]] const call_status& status() const { return status_; }

    [[nodiscard]] call_status list_lockers(std::vector<protocol::ceph::lock>& into) const;
    [[nodiscard]] call_status list_watchers(std::vector<protocol::ceph::watcher>& into) const;
    // Whether breaking a lock here puts its client on the blocklist for so long, as the handle is set to do.
    [[nodiscard]] bool blocklists_for(std::uint32_t seconds) const;
    // ENOENT, a lock that is gone, is well.
    [[nodiscard]] call_status break_lock(const protocol::ceph::lock& which) const;
    // The same without the library's own blocklisting, whatever handle and metadata say.
    [[nodiscard]] call_status take_lock_away(const protocol::ceph::lock& which) const;

private:
    [[nodiscard]] call_status header_object(std::string& into) const;

    std::string name_;
    opened_pool pool_;
    void* image_ = nullptr;  // rbd_image_t
    call_status status_;
};

}  // namespace pvc::ceph_helper
