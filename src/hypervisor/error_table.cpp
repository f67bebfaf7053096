#include "pvcnoded/hypervisor/error_table.hpp"

namespace pvc::hypervisor {

namespace {

// virErrorNumber; the adapter asserts that these are the library's numbers.
constexpr int no_support = 3;
constexpr int no_connect = 5;
constexpr int operation_failed = 9;
constexpr int rpc = 39;
constexpr int no_domain = 42;
constexpr int operation_invalid = 55;
constexpr int operation_aborted = 78;
constexpr int migrate_unsafe = 81;
constexpr int operation_unsupported = 84;

constexpr std::size_t uuid_length = 36;

}  // namespace

call_error classify(int number, link_state link) {
    switch (number) {
        case no_domain: return call_error::no_domain;
        case operation_invalid: return call_error::wrong_state;
        case no_support:
        case operation_unsupported: return call_error::unsupported;
        case migrate_unsafe: return call_error::unsafe;
        case operation_aborted: return call_error::aborted;
        case rpc:
        case no_connect: return call_error::unavailable;
        default: break;
    }
    // "Cannot recv data" is 38, "client socket is closed" is 1: whatever it is called, nobody has answered.
    return link == link_state::dead ? call_error::unavailable : call_error::other;
}

removal_hint hint_of_create_error(std::string_view text, const uuid& id) {
    if (text.find("being removed") != std::string_view::npos) {
        return removal_hint::being_removed;
    }
    // "domain 'web' already exists with uuid …": the name belongs to another guest.
    constexpr std::string_view before = "already exists with uuid ";
    const std::size_t at = text.find(before);
    if (at == std::string_view::npos) {
        return removal_hint::unclear;
    }
    const auto named = parse_any_uuid(text.substr(at + before.size(), uuid_length));
    return named == id ? removal_hint::unclear : removal_hint::other_domain;
}

call_error classify_create(const library_error& error, link_state link, const uuid& id, bool exists) {
    if (error.number != operation_failed || link == link_state::dead) {
        return classify(error.number, link);
    }
    switch (hint_of_create_error(error.text, id)) {
        case removal_hint::being_removed: return call_error::being_removed;
        case removal_hint::other_domain: return call_error::other;
        case removal_hint::unclear: break;
    }
    return exists ? call_error::being_removed : call_error::other;
}

}  // namespace pvc::hypervisor
