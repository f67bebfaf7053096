// rbd_writer CONFIG KEYRING POOL/IMAGE: a client as a guest's disk is one. Says "open" when it has the image open for
// writing; after a byte on standard input it writes and says "wrote", again and again, or "refused NUMBER" and ends.
// Ends with its standard input.
#include <rados/librados.h>  // tidy-allow(foreign): it is a client of Ceph, and nothing else
#include <rbd/librbd.h>      // tidy-allow(foreign): likewise

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>

namespace {

int say(const char* what, int error) {
    std::printf("%s %d\n", what, -error);
    std::fflush(stdout);
    ::_exit(error == 0 ? 0 : 1);
}

bool has_ended(pollfd& input) {
    char unused = 0;
    return (input.revents & (POLLIN | POLLHUP)) != 0 && ::read(STDIN_FILENO, &unused, 1) <= 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        return 2;
    }
    const std::string path = argv[3];
    const auto slash = path.find('/');
    rados_t cluster = nullptr;
    rados_ioctx_t pool = nullptr;
    rbd_image_t image = nullptr;
    ::rados_create2(&cluster, "ceph", "client.admin", 0);
    ::rados_conf_read_file(cluster, argv[1]);
    for (const auto& [name, value] :
         {std::pair{"keyring", static_cast<const char*>(argv[2])}, std::pair{"log_to_stderr", "false"},
          std::pair{"err_to_stderr", "false"}, std::pair{"log_file", ""}, std::pair{"admin_socket", ""},
          std::pair{"rbd_cache", "false"}}) {
        ::rados_conf_set(cluster, name, value);
    }
    if (const int error = ::rados_connect(cluster); error != 0) {
        return say("connect", error);
    }
    if (const int error = ::rados_ioctx_create(cluster, path.substr(0, slash).c_str(), &pool); error != 0) {
        return say("pool", error);
    }
    if (const int error = ::rbd_open(pool, path.substr(slash + 1).c_str(), &image, nullptr); error != 0) {
        return say("image", error);
    }
    std::puts("open");
    std::fflush(stdout);
    pollfd input{STDIN_FILENO, POLLIN, 0};
    ::poll(&input, 1, -1);
    if (has_ended(input)) {
        ::_exit(0);
    }
    const std::array<char, 512> data{};
    for (;;) {
        const ssize_t written = ::rbd_write(image, 0, data.size(), data.data());
        if (written < 0) {
            return say("refused", static_cast<int>(written));
        }
        std::puts("wrote");
        std::fflush(stdout);
        ::poll(&input, 1, 20);
        if (has_ended(input)) {
            ::_exit(0);
        }
    }
}
