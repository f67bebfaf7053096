// The library's result codes, each of them, for reads and for writes.
// tidy-allow(include-path): a table that is private to the adapter, tested exhaustively
#include "../src/zookeeper/adapter/errors.hpp"

#include <gtest/gtest.h>
#include <zookeeper/zookeeper.h>

#include <set>
#include <vector>

namespace pvc::zookeeper {
namespace {

struct row {
    int code;
    errc read;
    errc write;
};

const std::vector<row> table{
    {ZNONODE, errc::not_found, errc::not_found},
    {ZNODEEXISTS, errc::already_exists, errc::already_exists},
    {ZBADVERSION, errc::version_conflict, errc::version_conflict},
    {ZNOTEMPTY, errc::not_empty, errc::not_empty},
    {ZNOAUTH, errc::refused, errc::refused},
    {ZAUTHFAILED, errc::refused, errc::refused},
    {ZBADARGUMENTS, errc::invalid, errc::invalid},
    {ZINVALIDACL, errc::invalid, errc::invalid},
    {ZMARSHALLINGERROR, errc::invalid, errc::invalid},
    {ZUNIMPLEMENTED, errc::invalid, errc::invalid},
    {ZNOCHILDRENFOREPHEMERALS, errc::invalid, errc::invalid},
    // The connection broke: a read has done nothing, a write may have been done.
    {ZCONNECTIONLOSS, errc::suspended, errc::outcome_unknown},
    {ZOPERATIONTIMEOUT, errc::suspended, errc::outcome_unknown},
    {ZRUNTIMEINCONSISTENCY, errc::suspended, errc::outcome_unknown},
    {ZDATAINCONSISTENCY, errc::suspended, errc::outcome_unknown},
    {ZCLOSING, errc::suspended, errc::outcome_unknown},
    {ZSESSIONEXPIRED, errc::session_lost, errc::outcome_unknown},
    {ZSESSIONMOVED, errc::session_lost, errc::outcome_unknown},
    {ZINVALIDSTATE, errc::session_lost, errc::outcome_unknown},
    // What this daemon never provokes: nothing is known about a write.
    {ZSYSTEMERROR, errc::unspecified, errc::outcome_unknown},
    {ZAPIERROR, errc::unspecified, errc::outcome_unknown},
    {ZNOTHING, errc::unspecified, errc::outcome_unknown},
    {ZINVALIDCALLBACK, errc::unspecified, errc::outcome_unknown},
    {ZNEWCONFIGNOQUORUM, errc::unspecified, errc::outcome_unknown},
    {ZRECONFIGINPROGRESS, errc::unspecified, errc::outcome_unknown},
    {ZNOTREADONLY, errc::unspecified, errc::outcome_unknown},
    {ZEPHEMERALONLOCALSESSION, errc::unspecified, errc::outcome_unknown},
    {ZNOWATCHER, errc::unspecified, errc::outcome_unknown},
    {ZRECONFIGDISABLED, errc::unspecified, errc::outcome_unknown},
    {ZSESSIONCLOSEDREQUIRESASLAUTH, errc::unspecified, errc::outcome_unknown},
    {ZTHROTTLEDOP, errc::unspecified, errc::outcome_unknown},
};

TEST(zookeeper_errors, every_code_of_the_library) {
    for (const auto& one : table) {
        EXPECT_EQ(error_of(one.code, false), one.read) << zerror(one.code);
        EXPECT_EQ(error_of(one.code, true), one.write) << zerror(one.code);
    }
}

TEST(zookeeper_errors, the_table_of_this_test_is_complete) {
    std::set<int> known;
    for (const auto& one : table) {
        known.insert(one.code);
    }
    for (int code = -1; code >= -200; --code) {
        if (std::string(zerror(code)) != "unknown error") {
            EXPECT_TRUE(known.contains(code)) << code << ' ' << zerror(code);
        }
    }
}

TEST(zookeeper_errors, a_failure_names_the_path_and_the_librarys_words) {
    const failure what = failure_of(ZNONODE, false, "/a");
    EXPECT_EQ(what.subject(), "/a");
    EXPECT_EQ(what.cause(), "no node");
}

}  // namespace
}  // namespace pvc::zookeeper
