// What is logged: a record. The sinks (node/) turn it into the bytes of config.md 5.6 and zookeeper-schema.md 11.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/base/message.hpp"

#include <cstdint>
#include <string>

namespace pvc {

// The reference's message types; each has a prompt and a colour of its own (node/log_format.hpp).
enum class log_level : std::uint8_t {
    ok,       // "o": a step succeeded
    error,    // "e": someone must act
    warning,  // "w": something is degraded and we go on
    info,     // "i": a state change that an operator would tell a colleague
    state,    // "s": start-up, phases, roles ("system")
    tick,     // "t": the keepalive line
    debug,    // "d": steps; only with `debug: True`
};

struct log_record {
    log_level level = log_level::info;
    wall_time when{};
    std::string prefix;  // what it is about ("hv2", "schema"); may be empty
    std::string text;
};

// Where actors log. Never blocks, never fails; may drop when a sink is behind (the sink counts what it dropped).
class logger {
public:
    logger() = default;
    logger(const logger&) = delete;
    logger& operator=(const logger&) = delete;
    virtual ~logger() = default;

    virtual void write(log_level level, std::string text, std::string prefix = {}) = 0;

    void ok(std::string text, std::string prefix = {}) { write(log_level::ok, std::move(text), std::move(prefix)); }
    void error(message id, const std::string& text, std::string prefix = {}) {
        write(log_level::error, with_identifier(text, id), std::move(prefix));
    }
    void warning(message id, const std::string& text, std::string prefix = {}) {
        write(log_level::warning, with_identifier(text, id), std::move(prefix));
    }
    void info(std::string text, std::string prefix = {}) { write(log_level::info, std::move(text), std::move(prefix)); }
    void state(std::string text, std::string prefix = {}) {
        write(log_level::state, std::move(text), std::move(prefix));
    }
    void debug(std::string text, std::string prefix = {}) {
        write(log_level::debug, std::move(text), std::move(prefix));
    }

private:
    static std::string with_identifier(const std::string& text, message id) { return text + " [" + to_text(id) + "]"; }
};

}  // namespace pvc
