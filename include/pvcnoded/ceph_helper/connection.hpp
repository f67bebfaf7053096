// A handle of the cluster, and the calls on it. Every call blocks, none longer than the limits that it was made with as
// long as the library keeps them: connecting 3 s, what monitors and managers answer 2 s, what OSDs answer 5 s.
// Any thread, several at a time. Specification: storage.md 3.1, 3.3, 6.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/ceph_helper/names.hpp"
#include "pvcnoded/ceph_helper/setting_gate.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
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

class connection;

// An image that is open, with a lock on it that is to be broken; it keeps its handle. Any thread.
class ready_break {
public:
    ready_break() = default;
    ready_break(const ready_break&) = delete;
    ready_break& operator=(const ready_break&) = delete;
    virtual ~ready_break() = default;

    // Puts the client on the blocklist, unless it is there, then removes its lock; a lock that is gone is well.
    // `may_begin` is asked right before the first of both.
    [[nodiscard]] virtual call_status carry_out(const std::function<bool()>& may_begin) = 0;
    [[nodiscard]] virtual bool is_of(const connection& one) const = 0;
};

class connection : public std::enable_shared_from_this<connection> {
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
    // Opens the image and looks for the lock, whose client is to be on the blocklist for so long (0: as the monitors
    // are configured; none: it is there already). Nothing is left in `into` where the lock or the image is gone, which
    // is well. Those that want another time on the blocklist wait for each other; who has not had his turn by `until`
    // has timed out.
    [[nodiscard]] call_status prepare_break(const image_name& image, const protocol::ceph::lock& which,
                                            std::optional<std::uint32_t> seconds, time_point until,
                                            std::shared_ptr<ready_break>& into);
    [[nodiscard]] call_status blocklist(const std::string& address, std::uint32_t seconds);
    // By the command of the monitors, with the time as a number, which the library of some releases sends as a text.
    [[nodiscard]] call_status blocklist_by_command(const std::string& address, std::uint32_t seconds);

private:
    connection(void* handle, own_identities& identities) : handle_(handle), identities_(identities) {}
    [[nodiscard]] int set_blocklist_seconds(std::uint32_t seconds);

    void* handle_;  // rados_t
    own_identities& identities_;
    setting_gate opening_;  // images take the time on the blocklist with them
};

}  // namespace pvc::ceph_helper
