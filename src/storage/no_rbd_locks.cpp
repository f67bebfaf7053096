#include "pvcnoded/storage/rbd_locks.hpp"

namespace pvc::storage {

namespace {
failure no_ceph(std::string image) {
    return failure(errc::unavailable, std::move(image),
                   "this daemon cannot ask Ceph yet (the storage function is not built)");
}
}  // namespace

async::awaitable<result<std::vector<rbd_lock>>> no_rbd_locks::list(std::string image, time_point /*deadline*/) {
    co_return no_ceph(std::move(image));
}

async::awaitable<result<void>> no_rbd_locks::break_lock(std::string image, rbd_lock /*which*/, boot_time /*not_after*/,
                                                        time_point /*deadline*/) {
    co_return no_ceph(std::move(image));
}

}  // namespace pvc::storage
