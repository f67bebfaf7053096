// Texts of ACLs: of each production and operator of the grammar, and made up of its words by chance.
#pragma once

#include "pvcnoded/base/random.hpp"

#include <string>
#include <vector>

namespace pvc::contract {

[[nodiscard]] const std::vector<std::string>& accepted_acls();
[[nodiscard]] const std::vector<std::string>& refused_acls();  // by nft too
[[nodiscard]] const std::vector<std::string>& beyond_acls();   // nft accepts them, and it alone knows them

class acl_writer {
public:
    explicit acl_writer(std::uint64_t seed) : random_(seed) {}
    // Mostly of whole matches and statements, some of them torn.
    std::string next();

private:
    random_source random_;
};

}  // namespace pvc::contract
