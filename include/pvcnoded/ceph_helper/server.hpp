// The helper's life: a thread that reads requests and writes answers and never asks Ceph, and threads that do.
// Specification: ruling 3, storage.md 3.2.
#pragma once

#include "pvcnoded/ceph_helper/connection.hpp"

#include <string>

namespace pvc::ceph_helper {

enum class ending : std::uint8_t {
    socket_ended,
    not_understood,  // `why` says what
};

struct end_of_service {
    ending what = ending::socket_ended;
    std::string why{};
};

// Until the socket ends. The process must end without tidying up then: threads may hang in the library.
[[nodiscard]] end_of_service serve(int socket, const cluster_files& files, const std::string& build);

}  // namespace pvc::ceph_helper
