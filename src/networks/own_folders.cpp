#include "own_folders.hpp"

#include <algorithm>

namespace pvc::networks {

result<void> may_be_folder(services::host& host, const std::string& parent, const std::string& name) {
    const auto folders = host.list_folders(parent);
    const auto all = host.list_files(parent);
    if (!folders || !all) {
        return {};  // whoever makes it says what is wrong
    }
    const bool is_folder = std::ranges::find(*folders, name) != folders->end();
    return is_folder || std::ranges::find(*all, name) == all->end()
               ? result<void>()
               : failure(errc::refused, parent + "/" + name, std::string(is_no_folder));
}

}  // namespace pvc::networks
