// The port's calls about the guests of its own machine, but for migrations.
#include "sim/hypervisor/sim_call.hpp"

#include <fmt/format.h>

namespace pvc::sim {

using pvc::hypervisor::call_error;
using pvc::hypervisor::call_failure;

namespace {
// The text between <tag> and </tag>, without blanks around it.
std::optional<std::string> element(const std::string& xml, const std::string& tag) {
    const auto from = xml.find("<" + tag + ">");
    const auto to = xml.find("</" + tag + ">");
    if (from == std::string::npos || to == std::string::npos || to < from) {
        return std::nullopt;
    }
    const std::string text = xml.substr(from + tag.size() + 2, to - from - tag.size() - 2);
    const auto first = text.find_first_not_of(" \t\n");
    const auto last = text.find_last_not_of(" \t\n");
    return first == std::string::npos ? std::string() : text.substr(first, last - first + 1);
}

// A bridge that it names and the machine does not have.
std::optional<std::string> missing_bridge(const sim_machine_guests& machine, const std::string& xml) {
    constexpr std::string_view mark = "<source bridge='";
    for (auto at = xml.find(mark); machine.has_bridge && at != std::string::npos; at = xml.find(mark, at)) {
        at += mark.size();
        const std::string name = xml.substr(at, xml.find('\'', at) - at);
        if (!machine.has_bridge(name)) {
            return name;
        }
    }
    return std::nullopt;
}

bool is_active(const sim_guest& guest) {
    return guest.is_there() && guest.status().state != model::run_state::shut_off;
}
}  // namespace

async::awaitable<pvc::hypervisor::call_result<std::vector<pvc::hypervisor::guest>>> sim_hypervisor::list(
    time_point deadline) {
    using guests = std::vector<pvc::hypervisor::guest>;
    return call<guests>("list", {}, "list", true, deadline, simple<guests>(machine_, [this_machine = &machine_] {
                            guests all;
                            for (const uuid& id : this_machine->guests()) {
                                const sim_guest& one = this_machine->guest(id);
                                if (is_active(one)) {
                                    all.push_back({id, one.name(), one.status()});
                                }
                            }
                            return pvc::hypervisor::call_result<guests>(std::move(all));
                        }));
}

async::awaitable<pvc::hypervisor::call_result<std::vector<pvc::hypervisor::guest_figures>>> sim_hypervisor::survey(
    time_point deadline) {
    using figures = std::vector<pvc::hypervisor::guest_figures>;
    return call<figures>("survey", {}, "survey", true, deadline, simple<figures>(machine_, [this_machine = &machine_] {
                             figures all;
                             const time_point now = this_machine->centre().clock().now();
                             for (const uuid& id : this_machine->guests()) {
                                 const sim_guest& one = this_machine->guest(id);
                                 if (is_active(one)) {
                                     auto& row = all.emplace_back(one.figures);
                                     row.of = {id, one.name(), one.status()};
                                     if (row.cpu_time_ns == 0) {
                                         row.cpu_time_ns = static_cast<std::uint64_t>((now - one.since()).count()) / 10;
                                     }
                                 }
                             }
                             return pvc::hypervisor::call_result<figures>(std::move(all));
                         }));
}

async::awaitable<pvc::hypervisor::call_result<model::guest_status>> sim_hypervisor::status(uuid id,
                                                                                           time_point deadline) {
    using answer = call_result<model::guest_status>;
    sim_guest& guest = machine_.guest(id);
    return call<model::guest_status>("status", id, "status " + centre_.name_of(id), true, deadline,
                                     simple<model::guest_status>(machine_, [&guest] {
                                         return guest.is_there() ? answer(guest.status()) : answer(not_there(guest.id));
                                     }));
}

async::awaitable<pvc::hypervisor::call_result<std::string>> sim_hypervisor::live_xml(uuid id, time_point deadline) {
    using answer = call_result<std::string>;
    sim_guest& guest = machine_.guest(id);
    return call<std::string>("live_xml", id, "live_xml " + centre_.name_of(id), true, deadline,
                             simple<std::string>(machine_, [&guest] {
                                 return guest.is_there() ? answer(guest.live_xml()) : answer(not_there(guest.id));
                             }));
}

async::awaitable<pvc::hypervisor::call_result<void>> sim_hypervisor::create(uuid id, std::string xml,
                                                                            boot_time not_after, time_point deadline) {
    // A thread of the pool takes it up; that is the moment which counts.
    co_await async::yield();
    if (clock_.boot_now() > not_after) {
        co_return call_failure(call_error::too_late, "it could not start in time");
    }
    const auto serve = [this_machine = &machine_, id, xml](std::optional<duration> takes, sim_guest::answer done) {
        const auto name = element(xml, "name");
        if (xml.find("<domain") == std::string::npos || !name || name->empty()) {
            done(call_failure(call_error::other, "XML error: Extra content at the end of the document"));
            return;
        }
        if (const auto bridge = missing_bridge(*this_machine, xml)) {
            done(call_failure(call_error::other, "Cannot get interface MTU on '" + *bridge + "': No such device"));
            return;
        }
        const uuid own = parse_any_uuid(element(xml, "uuid").value_or("")).value_or(id);
        sim_guest& guest = this_machine->guest(own);
        guest.create(*name, xml, takes.value_or(guest.create_time), std::move(done));
    };
    co_return co_await call<void>("create", id, "create " + centre_.name_of(id), false, deadline, serve);
}

async::awaitable<pvc::hypervisor::call_result<void>> sim_hypervisor::shutdown(uuid id,
                                                                              pvc::hypervisor::shutdown_way way,
                                                                              time_point deadline) {
    const std::string text = way == pvc::hypervisor::shutdown_way::acpi ? "shutdown_acpi " : "shutdown ";
    sim_guest& guest = machine_.guest(id);
    return call<void>("shutdown", id, text + centre_.name_of(id), false, deadline,
                      after_delay(machine_, [&guest](sim_guest::answer done) { guest.shutdown(std::move(done)); }));
}

async::awaitable<pvc::hypervisor::call_result<void>> sim_hypervisor::destroy(uuid id, time_point deadline) {
    sim_guest& guest = machine_.guest(id);
    return call<void>(
        "destroy", id, "destroy " + centre_.name_of(id), false, deadline,
        [&guest](std::optional<duration> takes, sim_guest::answer done) { guest.destroy(takes, std::move(done)); });
}

async::awaitable<pvc::hypervisor::call_result<void>> sim_hypervisor::resume(uuid id, boot_time not_after,
                                                                            time_point deadline) {
    co_await async::yield();
    if (clock_.boot_now() > not_after) {
        co_return call_failure(call_error::too_late, "it could not start in time");
    }
    sim_guest& guest = machine_.guest(id);
    const auto serve = after_delay(machine_, [&guest](sim_guest::answer done) { guest.resume_call(std::move(done)); });
    co_return co_await call<void>("resume", id, "resume " + centre_.name_of(id), false, deadline, serve);
}

async::awaitable<pvc::hypervisor::call_result<void>> sim_hypervisor::attach_device(uuid id, std::string xml,
                                                                                   boot_time not_after,
                                                                                   time_point deadline) {
    co_await async::yield();
    if (clock_.boot_now() > not_after) {
        co_return call_failure(call_error::too_late, "it could not start in time");
    }
    sim_guest& guest = machine_.guest(id);
    const auto serve =
        after_delay(machine_, [&guest, xml](sim_guest::answer done) { guest.attach_device(xml, std::move(done)); });
    co_return co_await call<void>("attach_device", id, "attach_device " + centre_.name_of(id) + " " + xml, false,
                                  deadline, serve);
}

async::awaitable<pvc::hypervisor::call_result<void>> sim_hypervisor::detach_device(uuid id, std::string xml,
                                                                                   boot_time not_after,
                                                                                   time_point deadline) {
    co_await async::yield();
    if (clock_.boot_now() > not_after) {
        co_return call_failure(call_error::too_late, "it could not start in time");
    }
    sim_guest& guest = machine_.guest(id);
    const auto serve =
        after_delay(machine_, [&guest, xml](sim_guest::answer done) { guest.detach_device(xml, std::move(done)); });
    co_return co_await call<void>("detach_device", id, "detach_device " + centre_.name_of(id) + " " + xml, false,
                                  deadline, serve);
}

async::awaitable<pvc::hypervisor::call_result<void>> sim_hypervisor::set_maximum_downtime(uuid id,
                                                                                          std::uint64_t milliseconds,
                                                                                          time_point deadline) {
    sim_guest& guest = machine_.guest(id);
    const std::string text = fmt::format("set_maximum_downtime {} {}", centre_.name_of(id), milliseconds);
    return call<void>("set_maximum_downtime", id, text, false, deadline, simple<void>(machine_, [&guest] {
                          if (!guest.is_there()) {
                              return call_result<void>(not_there(guest.id));
                          }
                          if (!guest.executes() || guest.is_migrating()) {
                              return call_result<void>(call_failure(
                                  call_error::wrong_state, "Requested operation is not valid: domain is not running"));
                          }
                          return call_result<void>();
                      }));
}

}  // namespace pvc::sim
