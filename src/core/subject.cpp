#include "pvcnoded/core/subject.hpp"

namespace pvc::core {

async::awaitable<void> prepared_subject::end(time_point /*deadline*/) {
    co_return;
}

async::awaitable<void> session_part::wait_loaded(time_point /*deadline*/) {
    co_return;
}

async::awaitable<void> session_part::stop(time_point /*deadline*/) {
    co_return;
}

async::awaitable<void> figure_source::collect(session& /*s*/, time_point /*deadline*/) {
    co_return;
}

}  // namespace pvc::core
