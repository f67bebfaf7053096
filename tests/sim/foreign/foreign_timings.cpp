#include "sim/foreign/foreign_timings.hpp"

#include <algorithm>

namespace pvc::sim {

namespace {

duration drawn(duration earliest, duration latest, random_source& random) {
    const auto width = std::max<duration>(latest - earliest, duration(0)).count();
    return earliest + duration(static_cast<duration::rep>(random.below(static_cast<std::uint64_t>(width) + 1)));
}

constexpr std::array single_durations{
    &foreign_timings::services_settle,  &foreign_timings::links_settle,
    &foreign_timings::connect,          &foreign_timings::objects,
    &foreign_timings::last_steps,       &foreign_timings::new_session,
    &foreign_timings::collect,          &foreign_timings::storage_status,
    &foreign_timings::storage_health,   &foreign_timings::storage_usage,
    &foreign_timings::storage_pools,    &foreign_timings::storage_osds,
    &foreign_timings::after_collection, &foreign_timings::reaction,
    &foreign_timings::transition_delay, &foreign_timings::contention_limit,
    &foreign_timings::unflush,          &foreign_timings::flush,
    &foreign_timings::take_over_starts, &foreign_timings::relinquish_starts,
    &foreign_timings::lock_setup,       &foreign_timings::read_lock_limit_long,
    &foreign_timings::read_lock_limit,  &foreign_timings::settle,
    &foreign_timings::per_network,      &foreign_timings::write_done,
};

}  // namespace

foreign_timings drawn_between(const foreign_timings& earliest, const foreign_timings& latest, random_source& random) {
    foreign_timings all = earliest;
    for (const auto member : single_durations) {
        all.*member = drawn(earliest.*member, latest.*member, random);
    }
    for (std::size_t i = 0; i < hand_over_phases; ++i) {
        for (const auto member : {&writer_durations::hold, &writer_durations::work, &writer_durations::pause}) {
            all.writer.at(i).*member = drawn(earliest.writer.at(i).*member, latest.writer.at(i).*member, random);
        }
        for (const auto member : {&reader_durations::wake, &reader_durations::let_go, &reader_durations::work}) {
            all.reader.at(i).*member = drawn(earliest.reader.at(i).*member, latest.reader.at(i).*member, random);
        }
    }
    return all;
}

}  // namespace pvc::sim
