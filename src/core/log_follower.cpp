#include "pvcnoded/core/log_follower.hpp"

#include "pvcnoded/base/utf8.hpp"
#include "pvcnoded/core/log_hub.hpp"

#include <utility>

namespace pvc::core {

namespace {

std::size_t bytes_of(const log_record& record) {
    return record.text.size() + record.prefix.size() + sizeof(log_record);
}

}  // namespace

log_follower::log_follower(log_hub& hub) : hub_(hub) {
    hub_.followers_.push_back(this);
}

log_follower::~log_follower() {
    std::erase(hub_.followers_, this);
}

// The newest are dropped, until those before them were read: what is missed is one gap, and the reader is told where.
void log_follower::push(const log_record& record) {
    log_record kept{record.level, record.when, std::string(start_to_character(record.prefix, text_bytes_max)),
                    std::string(start_to_character(record.text, text_bytes_max))};
    const bool is_full = records_.size() >= records_max || bytes_ + bytes_of(kept) > bytes_max;
    if (is_full || missed_ != 0) {
        ++missed_;
        return;
    }
    bytes_ += bytes_of(kept);
    records_.push_back(std::move(kept));
    work_.notify();
}

async::awaitable<log_follower::batch> log_follower::next(std::size_t most) {
    while (records_.empty() && missed_ == 0) {
        co_await work_.wait(async::wait_note::work("log records"));
    }
    batch taken;
    if (records_.empty()) {
        taken.missed = std::exchange(missed_, 0);
    }
    while (!records_.empty() && taken.records.size() < most) {
        bytes_ -= bytes_of(records_.front());
        taken.records.push_back(std::move(records_.front()));
        records_.pop_front();
    }
    co_return taken;
}

}  // namespace pvc::core
