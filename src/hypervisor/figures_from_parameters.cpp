#include "pvcnoded/hypervisor/figures_from_parameters.hpp"

#include "pvcnoded/hypervisor/domain_numbers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

namespace pvc::hypervisor {

namespace {

// The bulk call's names, and those of the memory statistics that clients know, in the order in which they are shown.
struct memory_name {
    std::string_view bulk;
    std::string_view shown;
};
constexpr std::array<memory_name, 13> memory_names{{{"balloon.current", "actual"},
                                                    {"balloon.swap_in", "swap_in"},
                                                    {"balloon.swap_out", "swap_out"},
                                                    {"balloon.major_fault", "major_fault"},
                                                    {"balloon.minor_fault", "minor_fault"},
                                                    {"balloon.unused", "unused"},
                                                    {"balloon.available", "available"},
                                                    {"balloon.usable", "usable"},
                                                    {"balloon.last-update", "last_update"},
                                                    {"balloon.disk_caches", "disk_caches"},
                                                    {"balloon.hugetlb_pgalloc", "hugetlb_pgalloc"},
                                                    {"balloon.hugetlb_pgfail", "hugetlb_pgfail"},
                                                    {"balloon.rss", "rss"}}};

std::optional<std::uint64_t> number(const parameter& from) {
    if (const auto* natural = std::get_if<std::uint64_t>(&from.value)) {
        return *natural;
    }
    if (const auto* whole = std::get_if<std::int64_t>(&from.value); whole != nullptr && *whole >= 0) {
        return static_cast<std::uint64_t>(*whole);
    }
    return std::nullopt;
}

int small_number(std::uint64_t value) {
    return value > static_cast<std::uint64_t>(std::numeric_limits<int>::max()) ? -1 : static_cast<int>(value);
}

// "net.12.rx.bytes" → 12, "rx.bytes".
struct indexed {
    std::uint32_t index = 0;
    std::string_view field;
};
std::optional<indexed> split(std::string_view name, std::string_view family) {
    if (!name.starts_with(family)) {
        return std::nullopt;
    }
    name.remove_prefix(family.size());
    indexed out;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), out.index);
    if (error != std::errc() || end == name.data() + name.size() || *end != '.') {
        return std::nullopt;
    }
    out.field = name.substr(static_cast<std::size_t>(end - name.data()) + 1);
    return out;
}

template <class Figures>
struct field {
    std::string_view name;
    std::uint64_t Figures::* place;
};
constexpr std::array<field<model::block_figures>, 4> block_fields{{{"rd.reqs", &model::block_figures::read_requests},
                                                                   {"rd.bytes", &model::block_figures::read_bytes},
                                                                   {"wr.reqs", &model::block_figures::write_requests},
                                                                   {"wr.bytes", &model::block_figures::write_bytes}}};
constexpr std::array<field<model::interface_figures>, 8> interface_fields{
    {{"rx.bytes", &model::interface_figures::received_bytes},
     {"rx.pkts", &model::interface_figures::received_packets},
     {"rx.errs", &model::interface_figures::received_errors},
     {"rx.drop", &model::interface_figures::received_drops},
     {"tx.bytes", &model::interface_figures::sent_bytes},
     {"tx.pkts", &model::interface_figures::sent_packets},
     {"tx.errs", &model::interface_figures::sent_errors},
     {"tx.drop", &model::interface_figures::sent_drops}}};

template <class Figures, std::size_t Count>
void set_field(Figures& to, std::string_view name, const parameter& from,
               const std::array<field<Figures>, Count>& known) {
    if (name == "name") {
        if (const auto* text = std::get_if<std::string>(&from.value)) {
            to.target = *text;
        }
        return;
    }
    const auto found = std::ranges::find(known, name, &field<Figures>::name);
    const auto value = number(from);
    if (found != known.end() && value) {
        to.*(found->place) = *value;
    }
}

// Only devices that have a name can be matched with the guest's description.
template <class Figures>
std::vector<Figures> in_order(std::map<std::uint32_t, Figures>&& found) {
    std::vector<Figures> out;
    for (auto& [index, figures] : found) {
        if (!figures.target.empty()) {
            out.push_back(std::move(figures));
        }
    }
    return out;
}

class collector {
public:
    explicit collector(guest of) { out_.of = std::move(of); }

    void add(const parameter& one) {
        if (const auto block = split(one.name, "block.")) {
            add_block(*block, one);
        } else if (const auto interface = split(one.name, "net.")) {
            set_field(interfaces_[interface->index], interface->field, one, interface_fields);
        } else if (const auto value = number(one)) {
            add_number(one.name, *value);
        }
    }

    guest_figures finish() {
        if (state_) {
            out_.of.status = status_from_numbers(*state_, reason_);
        }
        for (std::size_t i = 0; i < memory_names.size(); ++i) {
            if (memory_[i]) {
                out_.memory.emplace_back(memory_names[i].shown, *memory_[i]);
            }
        }
        // A driver that knows the memory of a guest, yet no counter of any kind, was not let in to ask.
        const bool has_memory = std::ranges::any_of(out_.memory, [](const auto& one) { return one.first != "actual"; });
        out_.is_partial = out_.maximum_memory_kib > 0 && !has_memory && !blocks_.empty() && !has_counter_;
        out_.blocks = in_order(std::move(blocks_));
        out_.interfaces = in_order(std::move(interfaces_));
        return std::move(out_);
    }

private:
    void add_block(const indexed& place, const parameter& one) {
        auto& to = blocks_[place.index];
        has_counter_ = has_counter_ || place.field.starts_with("rd.") || place.field.starts_with("wr.");
        set_field(to, place.field, one, block_fields);
        if (const auto value = number(one); place.field == "errors" && value) {
            constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
            to.errors = static_cast<std::int64_t>(std::min(*value, most));
        }
    }

    void add_number(std::string_view name, std::uint64_t value) {
        const auto memory = std::ranges::find(memory_names, name, &memory_name::bulk);
        if (memory != memory_names.end()) {
            memory_[static_cast<std::size_t>(memory - memory_names.begin())] = value;
        }
        if (name == "state.state") {
            state_ = small_number(value);
        } else if (name == "state.reason") {
            reason_ = small_number(value);
        } else if (name == "balloon.maximum") {
            out_.maximum_memory_kib = value;
        } else if (name == "balloon.current") {
            out_.memory_kib = value;
        } else if (name == "vcpu.current") {
            out_.vcpus = static_cast<unsigned>(std::min<std::uint64_t>(value, std::numeric_limits<unsigned>::max()));
        } else if (name == "cpu.time") {
            out_.cpu_time_ns = value;
        } else if (name == "cpu.user") {
            out_.cpu_user_ns = value;
        } else if (name == "cpu.system") {
            out_.cpu_system_ns = value;
        }
    }

    guest_figures out_;
    std::optional<int> state_;
    int reason_ = 0;
    bool has_counter_ = false;  // of any disk
    std::array<std::optional<std::uint64_t>, memory_names.size()> memory_;
    std::map<std::uint32_t, model::block_figures> blocks_;
    std::map<std::uint32_t, model::interface_figures> interfaces_;
};

}  // namespace

guest_figures figures_from_parameters(guest of, std::span<const parameter> list) {
    collector all(std::move(of));
    for (const auto& one : list) {
        all.add(one);
    }
    return all.finish();
}

}  // namespace pvc::hypervisor
