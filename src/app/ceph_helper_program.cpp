#include "ceph_helper_program.hpp"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#ifndef PVC_CEPH_HELPER
#define PVC_CEPH_HELPER "pvcnoded-ceph"
#endif

namespace pvc::app {

std::string ceph_helper_program() {
    std::error_code failed;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
    if (!failed) {
        // Of a build, and of an installation, wherever that was put.
        for (const auto* place : {"pvcnoded-ceph", "../libexec/pvcnoded/pvcnoded-ceph"}) {
            const std::string found = (self.parent_path() / place).lexically_normal().string();
            if (::access(found.c_str(), X_OK) == 0) {
                return found;
            }
        }
    }
    return PVC_CEPH_HELPER;
}

}  // namespace pvc::app
