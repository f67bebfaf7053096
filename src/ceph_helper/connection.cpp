#include "pvcnoded/ceph_helper/connection.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/ceph_helper/error_table.hpp"

#include "opened_image.hpp"

#include <dlfcn.h>
#include <rados/librados.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <utility>

namespace pvc::ceph_helper {

namespace {

constexpr std::size_t said_max = 300;

struct buffer {
    char* bytes = nullptr;
    std::size_t size = 0;
    buffer() = default;
    buffer(const buffer&) = delete;
    buffer& operator=(const buffer&) = delete;
    ~buffer() {
        if (bytes != nullptr) {
            ::rados_buffer_free(bytes);
        }
    }
    [[nodiscard]] std::string_view view() const { return {bytes, bytes == nullptr ? 0 : size}; }
};

struct setting {
    const char* name;
    const char* value;
};
// Without the limits a call waits for ever. Two handles in one process would fight for one administration socket, and
// what the library says by itself would end up in the daemon's log. Fewer threads than usual do for so few calls.
constexpr std::array<setting, 9> settings_of_all{{{"client_mount_timeout", "3"},
                                                  {"rados_mon_op_timeout", "2"},
                                                  {"rados_osd_op_timeout", "5"},
                                                  {"admin_socket", ""},
                                                  {"log_file", ""},
                                                  {"log_to_stderr", "false"},
                                                  {"err_to_stderr", "false"},
                                                  {"ms_async_op_threads", "1"},
                                                  {"rbd_cache", "false"}}};

// By the name of Ceph 16, or the one before it.
int set_either(rados_t handle, const char* name, const char* older, const char* value) {
    const int error = ::rados_conf_set(handle, name, value);
    return error == -ENOENT ? ::rados_conf_set(handle, older, value) : error;
}

int apply_settings(rados_t handle, const cluster_files& files, purpose what_for) {
    int error = ::rados_conf_set(handle, "keyring", files.keyring.c_str());
    for (const auto& [name, value] : settings_of_all) {
        if (error == 0) {
            error = ::rados_conf_set(handle, name, value);
        }
    }
    if (error == 0 && what_for == purpose::figures) {
        error = ::rados_conf_set(handle, "librados_thread_count", "1");
    }
    if (error == 0 && what_for == purpose::locks) {
        error = set_either(handle, "rbd_blocklist_on_break_lock", "rbd_blacklist_on_break_lock", "true");
    }
    return error;
}

connect_facts facts_of(rados_t handle, const cluster_files& files) {
    std::array<char, 1024> monitors{};
    const bool is_read = ::rados_conf_get(handle, "mon_host", monitors.data(), monitors.size()) == 0;
    return {.config = files.config,
            .keyring = files.keyring,
            .unread = ::access(files.keyring.c_str(), R_OK) == 0 ? 0 : errno,
            .monitors = is_read ? monitors.data() : "too long to be shown"};
}

using blocklist_call = int (*)(rados_t, char*, std::uint32_t);
// Named otherwise before Ceph 16; a program linked to one of the names would not start with the other library.
blocklist_call find_blocklist_call() {
    for (const char* name : {"rados_blocklist_add", "rados_blacklist_add"}) {
        if (void* found = ::dlsym(RTLD_DEFAULT, name); found != nullptr) {
            return reinterpret_cast<blocklist_call>(found);
        }
    }
    return nullptr;
}

std::string blocklist_command(const std::string& word, const std::string& address, std::uint32_t seconds) {
    const std::string time = seconds == 0 ? std::string() : R"(,"expire":)" + std::to_string(seconds) + ".0";
    return R"({"prefix":"osd )" + word + R"(","blocklistop":"add",)" + R"("addr":")" + address + '"' + time + "}";
}

}  // namespace

std::string call_status::text() const {
    if (is_too_late) {
        return what + ": it is too late for it";
    }
    const std::string words = trim(said).empty() ? std::string() : shown_line(said) + ": ";
    return what + ": " + words + words_of(error);
}

errc call_status::code() const {
    return is_too_late ? errc::stopped : code_of(error);
}

// ---- who we are -----------------------------------------------------------------------------------------------------

void own_identities::add(const void* whose, std::uint64_t instance, std::vector<std::string> addresses) {
    const std::lock_guard guard(mutex_);
    all_[whose] = {client_name(instance), std::move(addresses)};
}

void own_identities::remove(const void* whose) {
    const std::lock_guard guard(mutex_);
    all_.erase(whose);
}

bool own_identities::has_client(std::string_view name) const {
    const std::lock_guard guard(mutex_);
    return std::ranges::any_of(all_, [&](const auto& one) { return one.second.client == name; });
}

bool own_identities::has_address(std::string_view address) const {
    const auto plain = plain_addresses(address);
    const std::lock_guard guard(mutex_);
    return std::ranges::any_of(all_, [&](const auto& one) {
        return std::ranges::find_first_of(one.second.addresses, plain) != one.second.addresses.end();
    });
}

std::size_t own_identities::size() const {
    const std::lock_guard guard(mutex_);
    return all_.size();
}

// ---- the handle -----------------------------------------------------------------------------------------------------

result<std::shared_ptr<connection>> connection::open(const cluster_files& files, purpose what_for,
                                                     own_identities& identities) {
    const auto bad = [](errc code, std::string cause) { return failure(code, "Ceph", std::move(cause)); };
    rados_t handle = nullptr;
    if (const int error = ::rados_create2(&handle, "ceph", "client.admin", 0); error != 0) {
        return bad(errc::unavailable, "no handle of the library: " + words_of(error));
    }
    // Not shared yet: whatever fails now is ended with it.
    std::shared_ptr<connection> made(new connection(handle, identities));
    if (const int error = ::rados_conf_read_file(handle, files.config.c_str()); error != 0) {
        return bad(errc::unavailable, "configuration " + files.config + " cannot be used: " + words_of(error));
    }
    if (const int error = apply_settings(handle, files, what_for); error != 0) {
        return bad(errc::unavailable, "the library does not take a setting: " + words_of(error));
    }
    if (const int error = ::rados_connect(handle); error != 0) {
        return bad(code_of_connecting(error), why_not_connected(facts_of(handle, files), error));
    }
    char* addresses = nullptr;
    std::vector<std::string> own;
    if (::rados_getaddrs(handle, &addresses) == 0) {
        own = plain_addresses(addresses);
        ::free(addresses);
    }
    identities.add(made.get(), ::rados_get_instance_id(handle), std::move(own));
    return made;
}

connection::~connection() {
    identities_.remove(this);
    ::rados_shutdown(handle_);
}

call_status connection::command(const std::string& text, std::string& output) {
    buffer out;
    buffer said;
    const char* words = text.c_str();
    const int error = ::rados_mon_command(handle_, &words, 1, "", 0, &out.bytes, &out.size, &said.bytes, &said.size);
    call_status status{.error = error, .what = shown_line(text)};
    if (error != 0) {
        status.said = said.view().substr(0, said_max);
    } else if (out.size > protocol::frame_body_max) {
        status.error = EMSGSIZE;
        status.said = "an output of " + std::to_string(out.size) + " bytes, " +
                      std::to_string(protocol::frame_body_max) + " are the most";
    } else {
        output = out.view();
    }
    return status;
}

call_status connection::count(const std::string& pool, protocol::ceph::counters& into) {
    const opened_pool opened(handle_, pool, {});
    call_status status{.error = opened.error(), .what = "counters of pool " + shown(pool)};
    if (status.is_well()) {
        rados_pool_stat_t found{};
        status.error = ::rados_ioctx_pool_stat(opened.get(), &found);
        into = {.pool = pool,
                .object_clones = found.num_object_clones,
                .object_copies = found.num_object_copies,
                .objects_missing_on_primary = found.num_objects_missing_on_primary,
                .objects_unfound = found.num_objects_unfound,
                .objects_degraded = found.num_objects_degraded,
                .reads = found.num_rd,
                .read_kib = found.num_rd_kb,
                .writes = found.num_wr,
                .written_kib = found.num_wr_kb};
    }
    return status;
}

call_status connection::list_lockers(const image_name& image, std::vector<protocol::ceph::lock>& into) {
    const opened_image opened(handle_, image);
    return opened.is_open() ? opened.list_lockers(into) : opened.status();
}

call_status connection::list_watchers(const image_name& image, std::vector<protocol::ceph::watcher>& into) {
    const opened_image opened(handle_, image);
    return opened.is_open() ? opened.list_watchers(into) : opened.status();
}

int connection::set_blocklist_seconds(std::uint32_t seconds) {
    return set_either(handle_, "rbd_blocklist_expire_seconds", "rbd_blacklist_expire_seconds",
                      std::to_string(seconds).c_str());
}

// That a broken lock's client is kept out, and for how long, are settings of the handle, of which an image takes a copy
// as it is opened: so the time is set and the image opened while nobody wants another one. Metadata of the image or of
// its pool has the last word, though ("do not blocklist at all", "for a minute"): where it says otherwise the client is
// put on the list by ourselves, before the lock is broken and after it. In all other cases the library does that, with
// the lock, since each takes the monitors most of a second.
namespace {

class open_for_a_break final : public ready_break {
public:
    open_for_a_break(std::shared_ptr<connection> on, void* handle, const image_name& image,
                     std::optional<std::uint32_t> seconds)
        : on_(std::move(on)), opened_(handle, image), seconds_(seconds) {}

    // Looks for the lock. False: it is not there, or `status` says why nobody knows.
    bool find(const protocol::ceph::lock& which, call_status& status) {
        std::vector<protocol::ceph::lock> present;
        status = opened_.is_open() ? opened_.list_lockers(present) : opened_.status();
        if (!status.is_well()) {
            status.error = is_missing(status.error) ? 0 : status.error;  // with the image its locks are gone
            return false;
        }
        const auto found = std::ranges::find_if(
            present, [&](const auto& one) { return one.id == which.id && one.client == which.client; });
        if (found == present.end()) {
            return false;
        }
        which_ = *found;
        is_left_to_library_ = seconds_ && opened_.blocklists_for(*seconds_);
        return true;
    }

    call_status carry_out(const std::function<bool()>& may_begin) override {
        if (!may_begin()) {
            return {.what = "breaking the lock of " + shown(which_.client), .is_too_late = true};
        }
        if (!seconds_) {
            return opened_.take_lock_away(which_);
        }
        call_status status;
        if (!is_left_to_library_) {
            status = on_->blocklist(which_.address, *seconds_);
        }
        if (status.is_well()) {
            status = opened_.break_lock(which_);
        }
        if (status.is_well() && !is_left_to_library_) {
            status = on_->blocklist(which_.address, *seconds_);
        }
        return status;
    }
    [[nodiscard]] bool is_of(const connection& one) const override { return on_.get() == &one; }

private:
    std::shared_ptr<connection> on_;  // outlives the image
    opened_image opened_;
    std::optional<std::uint32_t> seconds_;
    protocol::ceph::lock which_;
    bool is_left_to_library_ = false;
};

}  // namespace

call_status connection::prepare_break(const image_name& image, const protocol::ceph::lock& which,
                                      std::optional<std::uint32_t> seconds, time_point until,
                                      std::shared_ptr<ready_break>& into) {
    into.reset();
    // Without a time it matters to nobody.
    const std::uint32_t time = seconds.value_or(0);
    const auto entry = opening_.enter(time, until, [&] { return set_blocklist_seconds(time); });
    if (entry.how == setting_gate::outcome::late) {
        return {.error = ETIMEDOUT, .what = "waiting for others that open an image"};
    }
    if (entry.error != 0) {
        return {.error = entry.error, .what = "setting the time on the blocklist"};
    }
    const auto opened = std::make_shared<open_for_a_break>(shared_from_this(), handle_, image, seconds);
    opening_.leave();
    call_status status;
    if (opened->find(which, status)) {
        into = opened;
    }
    return status;
}

call_status connection::blocklist(const std::string& address, std::uint32_t seconds) {
    static const blocklist_call add = find_blocklist_call();
    call_status status{.what = "putting " + shown(address) + " on the blocklist"};
    std::string room = address;
    status.error = add == nullptr ? -EOPNOTSUPP : add(handle_, room.data(), seconds);
    return status;
}

// As the library does it: what is done on this handle from then on comes after it on each OSD.
call_status connection::blocklist_by_command(const std::string& address, std::uint32_t seconds) {
    const auto is_plain = [](char c) { return c > ' ' && c <= '~' && c != '"' && c != '\\'; };
    if (!std::ranges::all_of(address, is_plain)) {
        return {.error = EINVAL, .what = "putting " + shown(address) + " on the blocklist", .said = "no address"};
    }
    call_status first;
    for (const char* word : {"blocklist", "blacklist"}) {  // the name until Ceph 15
        std::string output;
        call_status status = command(blocklist_command(word, address, seconds), output);
        status.what = "putting " + shown(address) + " on the blocklist by command";
        if (status.is_well()) {
            status.error = ::rados_wait_for_latest_osdmap(handle_);
            return status;
        }
        if (std::abs(status.error) != EINVAL) {
            return status;
        }
        first = first.is_well() ? status : first;
    }
    return first;
}

}  // namespace pvc::ceph_helper
