// tidy-allow-file(io_context): the pools take it
#include "pvcnoded/hypervisor/adapter/libvirt_hypervisor.hpp"

#include "hypervisor_state.hpp"

// Scopes, pools and deadlines keep the callable they are given until its coroutine has ended.

namespace pvc::hypervisor {

using namespace std::chrono_literals;

namespace {

async::offload_limits pool_of(std::size_t threads) {
    async::offload_limits limits;
    limits.threads = threads;
    limits.farewell = 250ms;
    limits.stack_bytes = std::size_t{512} * 1024;
    return limits;
}

}  // namespace

event_loop_load libvirt_event_load() {
    return {event_loop::instance().handles(), event_loop::instance().timeouts()};
}

libvirt_hypervisor::state::state(libvirt_hypervisor& owner, boost::asio::io_context& context, async::timers& timers,
                                 libvirt_options given)
    : port(owner),
      clock(timers),
      options(std::move(given)),
      attached(context.get_executor(), timers),
      self(std::make_shared<hub>(this)),
      open_links(std::make_shared<link_count>()),
      links(context, pool_of(2)),
      queries(context, pool_of(2)),
      details(context, pool_of(4)),
      changes(context, pool_of(call_limits().creations)),
      hurry(context, pool_of(4)),
      migrations(context, pool_of(call_limits().migrations)),
      questions(context, pool_of(32)) {
    open_links->tell_closed = waker();
}

libvirt_hypervisor::state::~state() {
    self->owner = nullptr;
    if (control) {  // only a world that was cut gets here with a connection
        control->note()->tell_event = nullptr;
        control->way_out()->cut();
    }
}

libvirt_hypervisor::libvirt_hypervisor(boost::asio::io_context& context, async::timers& clock, libvirt_options options)
    : state_(std::make_unique<state>(*this, context, clock, std::move(options))) {
    connection().set({false, 0, state_->down_reason});
}

libvirt_hypervisor::~libvirt_hypervisor() = default;

void libvirt_hypervisor::allow(call_limits limits) {
    state_->changes.allow_threads(std::max(limits.creations, calls_of_lane));
    state_->migrations.allow_threads(limits.migrations);
}

std::vector<call_pool> libvirt_hypervisor::pools() const {
    const auto of = [](std::string_view kind, const async::thread_offload& pool) {
        return call_pool{kind, pool.threads(), pool.waiting()};
    };
    return {of("connections", state_->links),  of("queries", state_->queries), of("details", state_->details),
            of("changes", state_->changes),    of("urgent", state_->hurry),    of("migrations", state_->migrations),
            of("questions", state_->questions)};
}

link_wishes libvirt_hypervisor::state::wishes_for(std::string uri, link_access access) const {
    return {std::move(uri), options.keepalive_seconds, options.keepalive_count, open_links, access};
}

std::function<void()> libvirt_hypervisor::state::waker() const {
    return [hub = self] {
        event_loop::instance().post([hub] {
            if (hub->owner != nullptr) {
                hub->owner->changed.notify();
            }
        });
    };
}

std::shared_ptr<lanes> libvirt_hypervisor::state::new_lanes() const {
    return std::make_shared<lanes>(wishes_for(options.local_uri));
}

call_failure libvirt_hypervisor::state::why_unavailable() const {
    return {call_error::unavailable, down_reason};
}

void libvirt_hypervisor::state::heed(const call_failure& error) {
    if (error.code == call_error::timed_out || error.code == call_error::unavailable) {
        doubted = true;
        changed.notify();
    }
}

async::awaitable<call_result<void>> libvirt_hypervisor::state::change(std::string name, time_point deadline,
                                                                      work<void> what) {
    co_return co_await on_lane<void>(changes, change_lanes, std::move(name), deadline, std::move(what));
}

async::awaitable<call_result<void>> libvirt_hypervisor::state::urgent(std::string name, time_point deadline,
                                                                      work<void> what) {
    co_return co_await on_lane<void>(hurry, urgent_lanes, std::move(name), deadline, std::move(what));
}

// ---- the port's calls -----------------------------------------------------------------------------------------------

async::awaitable<call_result<std::vector<guest>>> libvirt_hypervisor::list(time_point deadline) {
    co_return co_await state_->query<std::vector<guest>>("listing guests", deadline, &blocking::list);
}

async::awaitable<call_result<std::vector<guest_figures>>> libvirt_hypervisor::survey(time_point deadline) {
    co_return co_await state_->query<std::vector<guest_figures>>("figures of guests", deadline, &blocking::survey);
}

async::awaitable<call_result<model::guest_status>> libvirt_hypervisor::status(uuid id, time_point deadline) {
    co_return co_await state_->detail<model::guest_status>("state of a guest", deadline,
                                                           [id](const link& on) { return blocking::status(on, id); });
}

async::awaitable<call_result<std::string>> libvirt_hypervisor::live_xml(uuid id, time_point deadline) {
    co_return co_await state_->detail<std::string>("description of a guest", deadline,
                                                   [id](const link& on) { return blocking::live_xml(on, id); });
}

async::awaitable<call_result<migration_progress>> libvirt_hypervisor::progress(uuid id, time_point deadline) {
    co_return co_await state_->detail<migration_progress>("progress of a migration", deadline,
                                                          [id](const link& on) { return blocking::progress(on, id); });
}

async::awaitable<call_result<void>> libvirt_hypervisor::set_maximum_downtime(uuid id, std::uint64_t milliseconds,
                                                                             time_point deadline) {
    co_return co_await state_->detail<void>("setting the downtime", deadline, [id, milliseconds](const link& on) {
        return blocking::set_maximum_downtime(on, id, milliseconds);
    });
}

async::awaitable<call_result<void>> libvirt_hypervisor::create(uuid id, std::string xml, boot_time not_after,
                                                               time_point deadline) {
    co_return co_await state_->change(
        "creating a guest", deadline,
        [id, xml = std::move(xml), not_after](const link& on) { return blocking::create(on, id, xml, not_after); });
}

async::awaitable<call_result<void>> libvirt_hypervisor::shutdown(uuid id, shutdown_way way, time_point deadline) {
    co_return co_await state_->change("asking a guest to shut down", deadline,
                                      [id, way](const link& on) { return blocking::shutdown(on, id, way); });
}

async::awaitable<call_result<void>> libvirt_hypervisor::resume(uuid id, boot_time not_after, time_point deadline) {
    co_return co_await state_->change("resuming a guest", deadline,
                                      [id, not_after](const link& on) { return blocking::resume(on, id, not_after); });
}

async::awaitable<call_result<void>> libvirt_hypervisor::attach_device(uuid id, std::string xml, boot_time not_after,
                                                                      time_point deadline) {
    co_return co_await state_->change("attaching a device", deadline,
                                      [id, xml = std::move(xml), not_after](const link& on) {
                                          return blocking::attach_device(on, id, xml, not_after);
                                      });
}

async::awaitable<call_result<void>> libvirt_hypervisor::detach_device(uuid id, std::string xml, boot_time not_after,
                                                                      time_point deadline) {
    co_return co_await state_->change("detaching a device", deadline,
                                      [id, xml = std::move(xml), not_after](const link& on) {
                                          return blocking::detach_device(on, id, xml, not_after);
                                      });
}

async::awaitable<call_result<void>> libvirt_hypervisor::destroy(uuid id, time_point deadline) {
    co_return co_await state_->urgent("destroying a guest", deadline,
                                      [id](const link& on) { return blocking::destroy(on, id); });
}

async::awaitable<call_result<void>> libvirt_hypervisor::abort_migration(uuid id, time_point deadline) {
    state_->note_abort(id);
    co_return co_await state_->urgent("aborting a migration", deadline,
                                      [id](const link& on) { return blocking::abort_migration(on, id); });
}

}  // namespace pvc::hypervisor
