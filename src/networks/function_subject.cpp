#include "function_subject.hpp"

#include "function_keeper.hpp"

namespace pvc::networks {

async::awaitable<result<void>> function_subject::prepare(core::preparation /*in*/) {
    co_await cards_.prepare();
    co_return result<void>();
}

std::unique_ptr<core::session_part> function_subject::begin(core::session& s) {
    return std::make_unique<function_keeper>(s, cards_, stack_, counts_);
}

}  // namespace pvc::networks
