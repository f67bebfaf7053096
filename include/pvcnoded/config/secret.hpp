// Secrets of the configuration.
#pragma once

#include "pvcnoded/base/secret.hpp"

namespace pvc::config {

using pvc::secret;

}  // namespace pvc::config
