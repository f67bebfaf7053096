// The file of a listening socket: made beside its place and moved there when it is ready, so that nobody ever finds it
// with other rights than it shall have, or nobody behind it.
#pragma once

#include "pvcnoded/base/result.hpp"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace pvc::services {

class socket_file {
public:
    // Blocking: it may have to ask who is in charge of groups.
    static result<std::shared_ptr<socket_file>> make_blocking(const std::string& path, const std::string& group);
    socket_file(const socket_file&) = delete;
    socket_file& operator=(const socket_file&) = delete;
    // Closes it, and removes the file if it is still this one.
    ~socket_file();

    // It is still at its path.
    [[nodiscard]] bool is_there() const;
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::optional<std::uint32_t> group() const { return group_; }
    // The descriptor, which whoever takes it closes.
    [[nodiscard]] int release();

private:
    socket_file(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
    result<void> publish(const std::string& beside, const std::string& group);

    std::string path_;
    int descriptor_;
    dev_t device_ = 0;
    ino_t inode_ = 0;
    bool is_published_ = false;
    std::optional<std::uint32_t> group_;
};

}  // namespace pvc::services
