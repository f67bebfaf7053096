#include "domain_migration_fixture.hpp"
namespace pvc::node { namespace {
class zz : public migration_fixture {};
TEST_F(zz, D52) {
    hv1_runs_it();
    pass(30s);
    for (auto& c : ensemble.trace()) if (c.path.starts_with("/nodes/hv1/") && c.when > time_point(4s) &&c.when < time_point(16s))
        std::cout << std::chrono::duration<double>(c.when.time_since_epoch()).count() << " " << c.owner << " " << c.zxid << " " << c.text() << "\n";
}
}}
