// Who else on this host has RBD images open: guests by their live XML, what is being created, and what the host's
// kernel or a program maps as a block device. One look is for all that ask before it begins: it costs the live XML of
// every guest, and after a power cut every machine asks. Specification: README ruling 80.
#pragma once

#include "operations/operation.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pvc::domains {

// What one look saw; what is a guest's has its UUID.
struct seen_disk_users {
    struct user {
        std::optional<uuid> whose;
        policy::disk_user what;
    };
    struct unseen {
        std::optional<uuid> whose;
        policy::disk_users_read::end what = policy::disk_users_read::end::failed;
        std::string reason;
    };
    std::vector<user> users;
    std::vector<unseen> not_seen;

    // Beside the domain `id` itself. What could not be looked at makes all of it unknown.
    [[nodiscard]] policy::disk_users_read answer(const uuid& id, const std::vector<std::string>& volumes) const;
};

class disk_looks {
public:
    disk_looks() = default;
    disk_looks(const disk_looks&) = delete;
    disk_looks& operator=(const disk_looks&) = delete;

    // By a look that began after this was called. Whoever waits takes it over if the one that made it is cancelled.
    async::awaitable<policy::disk_users_read> look(const operation& op, std::vector<std::string> volumes,
                                                   time_point until);

private:
    async::mutex one_at_a_time_;
    std::uint64_t asked_ = 0;
    std::vector<const std::vector<std::string>*> waiting_;  // the volumes that they are about
    std::uint64_t answered_ = 0;                            // all questions up to this one, by `seen_`
    seen_disk_users seen_;
};

}  // namespace pvc::domains
