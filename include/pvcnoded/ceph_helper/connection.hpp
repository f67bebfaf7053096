// A handle of the cluster, and the calls on it. Every call blocks, none longer than the limits that it was made with as
// long as the library keeps them: connecting 3 s, what monitors and managers answer 2 s, what OSDs answer 5 s.
// Any thread, several at a time. Specification: storage.md 3.1, 3.3, 6.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/ceph_helper/names.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace pvc::ceph_helper {

struct cluster_files {
    std::string config;
    std::string keyring;
};

// What a call ended with.
struct call_status {
    int error = 0;             // of the library; 0: well
    std::string what{};        // was being done: "opening the image"
    std::string said{};        // by Ceph itself
    bool is_too_late = false;  // its guard said so: nothing was done

    [[nodiscard]] bool is_well() const { return error == 0 && !is_too_late; }
    // "opening the image: timed out: no answer in time (ETIMEDOUT)"
    [[nodiscard]] std::string text() const;
    [[nodiscard]] errc code() const;
};

// Who the helper is to the cluster: none of these is to be kept from it by the helper itself (storage.md 6.3 step 5).
// Any thread.
class own_identities {
public:
    void add(const void* whose, std::uint64_t instance, std::vector<std::string> addresses);
    void remove(const void* whose);
    [[nodiscard]] bool has_client(std::string_view name) const;
    [[nodiscard]] bool has_address(std::string_view address) const;
    [[nodiscard]] std::size_t size() const;

private:
    struct identity {
        std::string client;
        std::vector<std::string> addresses;
    };
    mutable std::mutex mutex_;
    std::map<const void*, identity> all_;
};

enum class purpose : std::uint8_t { figures, locks };

class connection {
public:
    // Errors: timed_out, unavailable; the cause says what is wrong with what.
    [[nodiscard]] static result<std::shared_ptr<connection>> open(const cluster_files& files, purpose what_for,
                                                                  own_identities& identities);
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection();

    // An output that no frame takes is not copied (EMSGSIZE).
    [[nodiscard]] call_status command(const std::string& text, std::string& output);
    // ENOENT: no such pool.
    [[nodiscard]] call_status count(const std::string& pool, protocol::ceph::counters& into);
    [[nodiscard]] call_status list_lockers(const image_name& image, std::vector<protocol::ceph::lock>& into);
    [[nodiscard]] call_status list_watchers(const image_name& image, std::vector<protocol::ceph::watcher>& into);
    // Puts the client on the blocklist for so long (0: as the monitors are configured), then removes its lock; a lock
    // that is gone is well. `may_begin` is asked right before the first of both. One at a time opens its image; who has
    // not had his turn by `until` has timed out.
    [[nodiscard]] call_status break_lock(const image_name& image, const protocol::ceph::lock& which,
                                         std::uint32_t seconds, time_point until,
                                         const std::function<bool()>& may_begin);
    [[nodiscard]] call_status blocklist(const std::string& address, std::uint32_t seconds);

private:
    connection(void* handle, own_identities& identities) : handle_(handle), identities_(identities) {}
    [[nodiscard]] int set_blocklist_seconds(std::uint32_t seconds);

    void* handle_;  // rados_t
    own_identities& identities_;
    std::timed_mutex opening_;  // images that take a setting of the handle with them
};

}  // namespace pvc::ceph_helper
