// The blocking file work of linux_host: plain functions that own all they touch, so that they may run on a pool thread.
#pragma once

#include "pvcnoded/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::services {

// not_found for ENOENT and ENOTDIR, else io; with the system's words.
failure os_failure(std::string subject, int error);
// Always io; with the system's words.
failure io_failure(std::string subject, int error);

class file_descriptor {
public:
    explicit file_descriptor(int number) : number_(number) {}
    file_descriptor(const file_descriptor&) = delete;
    file_descriptor& operator=(const file_descriptor&) = delete;
    file_descriptor(file_descriptor&& other) noexcept : number_(other.release()) {}
    file_descriptor& operator=(file_descriptor&&) = delete;
    ~file_descriptor();
    [[nodiscard]] int get() const { return number_; }
    [[nodiscard]] bool is_open() const { return number_ >= 0; }
    int release();

private:
    int number_;
};

// Zero or an error number.
int write_all(int descriptor, std::string_view bytes);

result<void> make_directory_blocking(const std::string& path, std::uint32_t mode, const std::string& owner);
result<void> replace_file_blocking(const std::string& path, const std::string& text);
result<void> remove_file_blocking(const std::string& path);
result<void> remove_folder_blocking(const std::string& path);
result<void> can_read_blocking(const std::string& path);
result<std::vector<std::string>> file_names(const std::string& directory);
result<std::vector<std::string>> folder_names(const std::string& directory);
// Whether the path itself may be a symbolic link (the folders above may always).
enum class links : std::uint8_t { are_followed, are_refused };
// A regular file of at most `limit` bytes, else too_large or io.
result<std::string> read_small_file(const std::string& path, std::size_t limit, links by_links = links::are_followed);

}  // namespace pvc::services
