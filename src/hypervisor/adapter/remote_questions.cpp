// Questions to the hypervisors of other nodes: a connection each, bounded whatever the other side does.
// Specification: vm-domains.md 17 (TCP connect 5 s, answer 5 s).
#include "hypervisor_state.hpp"

#include <algorithm>

namespace pvc::hypervisor {

using namespace std::chrono_literals;

namespace {

constexpr duration connect_limit = 5s;
constexpr duration answer_limit = 5s;
constexpr duration thread_margin = 50ms;

// Cuts when it goes: by then the answer is here or no longer of interest.
class cut_at_end {
public:
    explicit cut_at_end(std::shared_ptr<breaker> way_out) : way_out_(std::move(way_out)) {}
    cut_at_end(const cut_at_end&) = delete;
    cut_at_end& operator=(const cut_at_end&) = delete;
    ~cut_at_end() { way_out_->cut(); }

private:
    std::shared_ptr<breaker> way_out_;
};

}  // namespace

template <class T>
async::awaitable<call_result<T>> libvirt_hypervisor::state::remote(std::string name, std::string peer,
                                                                   time_point deadline, work<T> what) {
    name += " " + peer;
    auto place = place_of(options.remote_uri, peer);
    if (place.tcp) {
        const time_point until = std::min(deadline, clock.now() + connect_limit);
        std::function<call_result<void>()> knock = [where = *place.tcp, until] { return reach(where, until); };
        // The thread keeps the limit by itself and says more than a missed deadline does.
        const auto reached = co_await on_thread<void>(questions, name, until + thread_margin, std::move(knock));
        if (!reached) {
            co_return reached.error();
        }
    }
    auto way_out = std::make_shared<breaker>();
    const cut_at_end bounded(way_out);
    std::function<call_result<T>()> item = [wishes = wishes_for(std::move(place.uri)), way_out,
                                            what = std::move(what)]() -> call_result<T> {
        auto opened = link::open(wishes, std::make_shared<link_note>(), way_out);
        if (!opened) {
            return opened.error();
        }
        return what(**opened);
    };
    const time_point until = std::min(deadline, clock.now() + answer_limit);
    co_return co_await on_thread<T>(questions, std::move(name), until, std::move(item));
}

async::awaitable<call_result<model::guest_status>> libvirt_hypervisor::ask(std::string peer, uuid id,
                                                                           time_point deadline) {
    co_return co_await state_->remote<model::guest_status>("asking", std::move(peer), deadline,
                                                           [id](const link& on) { return blocking::status(on, id); });
}

async::awaitable<call_result<void>> libvirt_hypervisor::probe(std::string peer, time_point deadline) {
    co_return co_await state_->remote<void>("probing", std::move(peer), deadline,
                                            [](const link&) -> call_result<void> { return {}; });
}

}  // namespace pvc::hypervisor
