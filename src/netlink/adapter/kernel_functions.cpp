#include "pvcnoded/netlink/adapter/kernel_functions.hpp"

#include "adapter/blocking_requests.hpp"
#include "adapter/messages.hpp"
#include "adapter/system_files.hpp"
#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>
#include <linux/rtnetlink.h>

#include <utility>

namespace pvc::netlink {

namespace {

// What follows is done on threads of the pool, and owns what it touches.

bool is_card_name(const std::string& name) {
    return is_device_name(name) && name.find('/') == std::string::npos && name != "." && name != "..";
}

std::string device_folder(const std::string& sysfs, const std::string& card) {
    return sysfs + "/class/net/" + card + "/device";
}

failure no_card(const std::string& card) {
    return failure(errc::not_found, card, "No such device");
}

result<kernel_link> find_link(const std::string& name) {
    std::optional<kernel_link> found;
    const kernel_requests::taker take = [&](const reply_message& one) -> result<void> {
        if (one.type == RTM_NEWLINK) {
            PVC_TRY(found, parse_link(one.body));
        }
        return {};
    };
    PVC_TRY(const auto answer, ask_and_wait(get_link_message(name), take));
    if (!found) {
        return answer.error == 0 ? no_card(name) : refusal(name, answer);
    }
    return *std::move(found);
}

// Its folder in sysfs is called by its own name.
std::string own_name(const std::string& sysfs, const std::string& card) {
    if (!is_card_name(card) || is_there(device_folder(sysfs, card))) {
        return card;
    }
    const auto found = find_link(card);
    return found ? found->link.name : card;
}

result<int> count_functions(const std::string& sysfs, const std::string& card) {
    if (!is_card_name(card)) {
        return no_card(card);
    }
    PVC_TRY(const auto text, read_system_file(device_folder(sysfs, card) + "/sriov_numvfs"));
    const auto count = parse_integer(text);
    if (!count || *count < 0 || *count > 65'535) {
        return failure(errc::io, card, "the number of its functions cannot be understood: " + shown(text));
    }
    return static_cast<int>(*count);
}

result<void> make_functions(const std::string& sysfs, const std::string& card, int count) {
    if (!is_card_name(card)) {
        return no_card(card);
    }
    return write_system_file(device_folder(sysfs, card) + "/sriov_numvfs", std::to_string(count));
}

// By the link of the card to its function; else by the device of that name, as udev may have called it.
std::string find_pci(const std::string& sysfs, const std::string& card, int index) {
    if (const auto end = link_end(fmt::format("{}/virtfn{}", device_folder(sysfs, card), index))) {
        return *end;
    }
    constexpr std::string_view key = "PCI_SLOT_NAME=";
    const auto text = read_system_file(device_folder(sysfs, fmt::format("{}v{}", card, index)) + "/uevent");
    for (const auto line : split(text ? std::string_view(*text) : std::string_view(), '\n')) {
        if (line.starts_with(key)) {
            return std::string(line.substr(key.size()));
        }
    }
    return {};
}

result<model::physical_function> ask_for_functions(const std::string& card) {
    model::physical_function found;
    const kernel_requests::taker take = [&](const reply_message& one) -> result<void> {
        if (one.type == RTM_NEWLINK) {
            PVC_TRY(found, parse_functions(one.body));
        }
        return {};
    };
    PVC_TRY(const auto answer, ask_and_wait(get_functions_message(card), take));
    if (answer.error != 0 || found.link == 0) {
        auto why = refusal(card, answer);
        return why.code() == errc::refused ? failure(errc::io, card, answer.cause()) : why;
    }
    return found;
}

result<model::physical_function> look_at(const std::string& sysfs, const std::string& card) {
    if (!is_card_name(card)) {
        return no_card(card);
    }
    PVC_TRY(auto found, ask_for_functions(card));
    for (auto& one : found.functions) {
        one.pci = find_pci(sysfs, card, one.index);
    }
    return found;
}

result<void> carry_out(const std::string& about, std::string message) {
    PVC_TRY(const auto answer,
            ask_and_wait(std::move(message), [](const reply_message& /*one*/) { return result<void>(); }));
    return answer.error == 0 ? result<void>() : driver_refusal(about, answer);
}

result<void> set_one(const model::function_name& which, const model::function_setting& setting) {
    if (!is_card_name(which.card)) {
        return no_card(which.card);
    }
    PVC_TRY(const auto card, find_link(which.card));
    return carry_out(model::to_text(which), set_function_message(card.link.index, which.index, setting));
}

result<void> set_mtu_of(const std::string& sysfs, const model::function_name& which, int mtu) {
    if (!is_card_name(which.card)) {
        return no_card(which.card);
    }
    const auto folder = device_folder(sysfs, own_name(sysfs, which.card));
    const auto names = names_in(fmt::format("{}/virtfn{}/net", folder, which.index), 1);
    if (!names || names->empty() || !is_card_name(names->front())) {
        return failure(errc::not_found, model::to_text(which), "it has no link here");
    }
    PVC_TRY(const auto link, find_link(names->front()));
    return link.link.mtu == mtu ? result<void>() : carry_out(names->front(), set_mtu_message(link.link.index, mtu));
}

}  // namespace

kernel_functions::kernel_functions(async::timers& clock, async::offload& pool, async::process_runner& processes,
                                   std::string sysfs)
    : clock_(clock), pool_(pool), processes_(processes), sysfs_(std::move(sysfs)) {}

template <class T>
async::awaitable<result<T>> kernel_functions::on_thread(std::string about, std::function<result<T>()> work,
                                                        time_point deadline) {
    if (const auto last = last_.lock(); last && !*last) {
        co_return failure(errc::unavailable, about, "a driver of a network card does not come back");
    }
    const auto is_back = std::make_shared<std::atomic<bool>>(false);
    last_ = is_back;
    std::function<result<T>()> whole = [work = std::move(work), is_back] {
        auto outcome = work();
        *is_back = true;
        return outcome;
    };
    co_return co_await pool_.run(clock_, deadline, std::move(about), std::move(whole));
}

async::awaitable<result<void>> kernel_functions::allow_unsafe_interrupts(time_point deadline) {
    const std::string module = "vfio_iommu_type1";
    const std::string key = sysfs_ + "/module/" + module + "/parameters/allow_unsafe_interrupts";
    if (!is_there(key)) {
        async::command load{{"modprobe", module, "allow_unsafe_interrupts=1"}};
        async::process_limits limits;
        limits.time = std::max<duration>(deadline - clock_.now(), duration::zero());
        auto loaded = co_await processes_.run(std::move(load), limits);
        if (!loaded) {
            co_return failure(errc::refused, "modprobe", loaded.error().text());
        }
        if (!loaded->succeeded()) {
            co_return failure(errc::refused, "modprobe " + module,
                              loaded->text() + ": " + shown(trim(loaded->error_output)));
        }
    }
    auto written = write_system_file(key, "Y");
    co_return written ? written : failure(errc::refused, key, written.error().cause());
}

async::awaitable<result<int>> kernel_functions::count(std::string card, time_point deadline) {
    std::function<result<int>()> work = [sysfs = sysfs_, card] {
        return count_functions(sysfs, own_name(sysfs, card));
    };
    return on_thread("the functions of " + card, std::move(work), deadline);
}

async::awaitable<result<void>> kernel_functions::make(std::string card, int count, time_point deadline) {
    std::function<result<void>()> work = [sysfs = sysfs_, card, count] {
        return make_functions(sysfs, own_name(sysfs, card), count);
    };
    return on_thread("making the functions of " + card, std::move(work), deadline);
}

async::awaitable<result<model::physical_function>> kernel_functions::look(std::string card, time_point deadline) {
    std::function<result<model::physical_function>()> work = [sysfs = sysfs_, card] {
        return look_at(sysfs, own_name(sysfs, card));
    };
    return on_thread("a look at " + card, std::move(work), deadline);
}

async::awaitable<result<void>> kernel_functions::set(model::function_name which, model::function_setting setting,
                                                     time_point deadline) {
    std::string about = model::to_text(which) + ", " + model::to_text(setting);
    std::function<result<void>()> work = [which = std::move(which), setting] { return set_one(which, setting); };
    return on_thread(std::move(about), std::move(work), deadline);
}

async::awaitable<result<void>> kernel_functions::set_mtu(model::function_name which, int mtu, time_point deadline) {
    std::string about = "the MTU of " + model::to_text(which);
    std::function<result<void>()> work = [sysfs = sysfs_, which = std::move(which), mtu] {
        return set_mtu_of(sysfs, which, mtu);
    };
    return on_thread(std::move(about), std::move(work), deadline);
}

}  // namespace pvc::netlink
