#include "errors.hpp"

#include <zookeeper/zookeeper.h>

namespace pvc::zookeeper {

errc error_of(int code, bool is_write) {
    switch (code) {
        case ZNONODE: return errc::not_found;
        case ZNODEEXISTS: return errc::already_exists;
        case ZBADVERSION: return errc::version_conflict;
        case ZNOTEMPTY: return errc::not_empty;
        case ZNOAUTH:
        case ZAUTHFAILED: return errc::refused;
        case ZBADARGUMENTS:
        case ZINVALIDACL:
        case ZMARSHALLINGERROR:
        case ZUNIMPLEMENTED:
        case ZNOCHILDRENFOREPHEMERALS: return errc::invalid;
        // Sent or not, executed or not: nobody knows (-2: the replies no longer match the requests).
        case ZCONNECTIONLOSS:
        case ZOPERATIONTIMEOUT:
        case ZRUNTIMEINCONSISTENCY:
        case ZDATAINCONSISTENCY:
        case ZCLOSING: return is_write ? errc::outcome_unknown : errc::suspended;
        case ZSESSIONEXPIRED:
        case ZSESSIONMOVED:
        case ZINVALIDSTATE: return is_write ? errc::outcome_unknown : errc::session_lost;
        default: return is_write ? errc::outcome_unknown : errc::unspecified;
    }
}

failure failure_of(int code, bool is_write, std::string path) {
    return failure(error_of(code, is_write), std::move(path), zerror(code));
}

}  // namespace pvc::zookeeper
