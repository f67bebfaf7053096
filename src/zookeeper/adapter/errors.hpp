// The library's result codes in our terms. One table, tested exhaustively.
#pragma once

#include "pvcnoded/base/result.hpp"

#include <string>

namespace pvc::zookeeper {

// `code` is a ZOO_ERRORS value other than ZOK. For a write, a broken connection means that its outcome is unknown; for
// a read that nothing happened.
[[nodiscard]] errc error_of(int code, bool is_write);
[[nodiscard]] failure failure_of(int code, bool is_write, std::string path);

}  // namespace pvc::zookeeper
