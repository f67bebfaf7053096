// Records of one kind on this host's disk, a file for each domain, which the daemon after this one reads. They are
// written behind the operations' backs: a disk that hangs holds up no domain. Of each domain only the newest wish
// counts; what a session leaves undone is done in the next.
#pragma once

#include "pvcnoded/async/condition.hpp"
#include "pvcnoded/base/uuid.hpp"
#include "pvcnoded/core/node_context.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pvc::domains {

class disk_records {
public:
    // `directory` is below the dynamic directory; `what` names a record in messages: "the record of its migration".
    disk_records(core::node_context& node, std::string directory, std::string what)
        : node_(node), directory_(std::move(directory)), what_(std::move(what)) {}

    void write(const uuid& id, std::string text) { wish(id, std::move(text)); }
    void remove(const uuid& id) { wish(id, std::nullopt); }
    // Suspends until what was wished of this domain was carried out, or tried, or the deadline.
    async::awaitable<void> settled(uuid id, time_point deadline);
    // One after another, until cancelled.
    async::awaitable<void> run();

    // What is on the disk: of a daemon before this one, or of this one.
    [[nodiscard]] std::vector<uuid> stored() const;
    [[nodiscard]] std::optional<std::string> read(const uuid& id) const;

private:
    struct pending {
        std::optional<std::string> text;  // none: removed
        std::uint64_t number = 0;
    };
    void wish(const uuid& id, std::optional<std::string> text) {
        pending_[id] = {std::move(text), ++last_number_};
        work_.notify();
    }
    async::awaitable<void> carry_out(uuid id, std::optional<std::string> text);
    [[nodiscard]] std::string directory() const;
    [[nodiscard]] std::string path_of(const uuid& id) const;

    core::node_context& node_;
    const std::string directory_;
    const std::string what_;
    std::map<uuid, pending> pending_;
    std::uint64_t last_number_ = 0;
    async::wakeup work_;
    async::condition done_;
};

}  // namespace pvc::domains
