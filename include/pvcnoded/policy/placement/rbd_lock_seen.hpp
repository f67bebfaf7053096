// RBD locks as they were listed: what is decided on, asked for and told. Specification: storage.md 6.3.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

// Whether that names an image: pool/[namespace/]image. What does not is no image of RBD, and has no locks.
[[nodiscard]] inline bool names_an_image(std::string_view volume) {
    return volume.find('/') != std::string_view::npos;
}

struct held_lock {
    std::string id;
    std::string client;
    std::string address;  // as stored

    friend bool operator==(const held_lock&, const held_lock&) = default;
};

// What a listing of one volume gave. A volume that does not exist has no locks: creating the domain reports it.
struct volume_locks {
    std::string volume;  // pool/[namespace/]image
    std::vector<held_lock> locks;
    std::optional<std::string> error;  // it could not be listed: what was wrong
    bool may_pass = false;             // the error: to be listed once more
    bool is_missing = false;           // there is no such volume
    bool is_cephs = false;             // the error: Ceph, or the way to it, was silent; it says nothing of the volume

    friend bool operator==(const volume_locks&, const volume_locks&) = default;
};

struct lock_to_break {
    std::string volume;
    held_lock lock;

    friend bool operator==(const lock_to_break&, const lock_to_break&) = default;
};

}  // namespace pvc::policy
