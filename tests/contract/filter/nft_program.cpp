#include "contract/filter/nft_program.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace pvc::contract {

namespace {

nft_answer run(const std::string& command) {
    nft_answer answer;
    FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
    if (pipe == nullptr) {
        return answer;
    }
    std::array<char, 4096> part{};
    for (std::size_t size = 0; (size = fread(part.data(), 1, part.size(), pipe)) > 0;) {
        answer.output.append(part.data(), size);
    }
    const int status = pclose(pipe);
    answer.is_accepted = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return answer;
}

class text_file {
public:
    explicit text_file(const std::string& text)
        : path_((std::filesystem::temp_directory_path() / ("acl-" + std::to_string(getpid()) + ".nft")).string()) {
        std::ofstream(path_) << text;
    }
    text_file(const text_file&) = delete;
    text_file& operator=(const text_file&) = delete;
    ~text_file() { std::filesystem::remove(path_); }
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

}  // namespace

nft_answer nft_check(const std::string& text) {
    const text_file file(text);
    return run("unshare --net nft --check --debug=netlink -f " + file.path());
}

nft_answer nft_load_and_list(const std::string& text) {
    const text_file file(text);
    return run("unshare --net sh -c 'nft -f " + file.path() + " && nft list table inet filter'");
}

bool has_nft() {
    static const bool is_there = run("unshare --net nft --version").is_accepted;
    return is_there;
}

}  // namespace pvc::contract
