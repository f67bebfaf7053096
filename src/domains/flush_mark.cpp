#include "flush_mark.hpp"

#include "pvcnoded/model/scalar.hpp"

namespace pvc::domains {

using namespace std::chrono_literals;

namespace {
constexpr int mark_tries_max = 3;
constexpr duration mark_patience = 30s;
}  // namespace

async::awaitable<void> end_flush_mark(core::session& s, uuid id, std::int64_t since) {
    const std::string key = model::domain_path(to_text(id), model::domain_key::node_autostart);
    for (int tries = 0; tries < mark_tries_max; ++tries) {
        auto stored = co_await s.zk.get(s.limit(), key);
        if (!stored && stored.error().code() == errc::not_found) {
            co_return;
        }
        if (stored) {
            const bool is_over = model::parse_boolean(stored->data).value_or(false) && stored->stat.mzxid < since;
            if (!is_over) {
                co_return;  // there is none, or it came after that word
            }
            zookeeper::transaction what;
            what.set(key, std::string(model::boolean_text(false)), stored->stat.version);
            auto done = co_await s.zk.commit(s.limit(), std::move(what));
            if (done) {
                co_return;
            }
        }
        auto is_back = co_await s.zk.wait_connected(s.limit(mark_patience));
        ignore(is_back, "the next try tells");
    }
}

}  // namespace pvc::domains
