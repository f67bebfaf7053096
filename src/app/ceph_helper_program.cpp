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
    const std::string beside = failed ? std::string() : (self.parent_path() / "pvcnoded-ceph").string();
    return ::access(beside.c_str(), X_OK) == 0 ? beside : PVC_CEPH_HELPER;
}

}  // namespace pvc::app
