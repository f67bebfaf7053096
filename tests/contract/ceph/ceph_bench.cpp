#include "contract/ceph/ceph_bench.hpp"

#include "pvcnoded/async/task_group.hpp"

#include <utility>

namespace pvc::contract {

void ceph_bench::talk_through(services::talking_programs& programs, storage::helper_settings settings) {
    settings_ = std::move(settings);
    port_ = std::make_unique<storage::ceph_helper>(programs, clock());
}

void ceph_bench::play(const std::function<awaitable<void>()>& test) {
    run([this, &test]() -> awaitable<void> {
        co_await async::with_task_group("daemon", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("helper", [&] {
                return port_->run(settings_, [this](const storage::helper_news& what) { news_.push_back(what); });
            });
            co_await async::yield();
            co_await test();
            group.cancel();
        });
    });
}

}  // namespace pvc::contract
