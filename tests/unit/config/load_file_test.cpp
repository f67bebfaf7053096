// Reading the file itself (config.md 1), and the facts about the host that lead to warnings.
#include "config_test_support.hpp"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace pvc::config::test {
namespace {

class scratch {
public:
    scratch() {
        std::string pattern = (std::filesystem::temp_directory_path() / "pvc-config-XXXXXX").string();
        path_ = ::mkdtemp(pattern.data());
    }
    ~scratch() { std::filesystem::remove_all(path_); }
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;

    [[nodiscard]] std::string file(const std::string& name, std::string_view text, ::mode_t mode = 0600) const {
        const std::string path = path_ + "/" + name;
        std::ofstream(path, std::ios::binary) << text;
        ::chmod(path.c_str(), mode);
        return path;
    }
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

host_facts nothing_missing() {
    host_facts facts;
    facts.directory_exists = [](const std::string&) { return true; };
    facts.file_readable = [](const std::string&) { return true; };
    return facts;
}

TEST(load_file, loads) {
    const scratch there;
    const auto path = there.file("pvcnoded.yaml", base());
    const auto got = load_file({path, "pvchv1"}, nothing_missing());
    EXPECT_EQ(messages(got), lines{});
    ASSERT_TRUE(got.config);
    EXPECT_EQ(got.config->file, path);
    EXPECT_FALSE(got.missing_variable);
}

TEST(load_file, mode) {
    const scratch there;
    for (const auto& [mode, text] : {std::pair<::mode_t, std::string>{0640, "0640"}, {0604, "0604"}, {0644, "0644"}}) {
        const auto path = there.file("f" + text, base(), mode);
        EXPECT_EQ(messages(load_file({path, "pvchv1"}, nothing_missing())),
                  lines{"warning: " + path +
                        ": readable by group or others, and holds passwords; expected mode 0600, got " + text});
    }
    EXPECT_EQ(messages(load_file({there.file("g", base(), 0400), "pvchv1"}, nothing_missing())), lines{});
    // Of a file that is refused nothing else is said.
    const auto path = there.file("h", "a: *b\n", 0644);
    EXPECT_EQ(
        messages(load_file({path, "pvchv1"})),
        lines{path + ":1: unknown alias; expected an anchor further up, or quotes around a text that begins with *"});
}

// As the deployment tool of PVC leaves it: a note, and no warning.
TEST(load_file, the_mode_that_a_deployment_leaves) {
    struct row {
        unsigned mode;
        bool is_of_root_and_sudo;
        std::string message;
    };
    const std::string warned = "warning: f: readable by group or others, and holds passwords; expected mode 0600, got ";
    for (const auto& [mode, is_of_root_and_sudo, message] :
         {row{0640, true,
              "info: f: readable by group sudo, as the deployment tool of PVC leaves it, and holds passwords; mode "
              "0600 "
              "is enough for the daemon"},
          row{0640, false, warned + "0640"}, row{0644, true, warned + "0644"}, row{0600, true, ""}}) {
        host_facts facts = nothing_missing();
        facts.watchdog_device = true;
        facts.file_mode = mode;
        facts.is_of_root_and_sudo = is_of_root_and_sudo;
        const auto got = load_text(base(), "f", "pvchv1", facts);
        EXPECT_EQ(messages(got), message.empty() ? lines{} : lines{message});
        ASSERT_TRUE(got.config);
    }
    // What is read from the file system, where this test may give a file away.
    const scratch there;
    const auto path = there.file("p", base(), 0640);
    std::string room(16384, '\0');
    struct group entry{};
    struct group* sudo = nullptr;
    if (::getgrnam_r("sudo", &entry, room.data(), room.size(), &sudo) == 0 && sudo != nullptr &&
        ::chown(path.c_str(), 0, sudo->gr_gid) == 0) {
        const auto got = load_file({path, "pvchv1"}, nothing_missing());
        ASSERT_EQ(got.diagnostics.size(), 1U);
        EXPECT_EQ(got.diagnostics[0].level, severity::info);
    }
}

// What others can write is no configuration for root; a check only says so.
TEST(load_file, what_others_can_change) {
    const scratch there;
    host_facts strict = nothing_missing();
    strict.others_can_change = changeable_file::refused;
    host_facts mild = nothing_missing();
    mild.others_can_change = changeable_file::told;
    const auto said = [](const std::string& path, const std::string& who) {
        return path +
               ": others could change it; expected file and folder to belong to root or to the running user and to be "
               "writable by nobody else, got " +
               who;
    };
    const auto path = there.file("f", base(), 0602);
    const auto refused = load_file({path, "pvchv1"}, strict);
    EXPECT_EQ(messages(refused), lines{said(path, "a file that everybody can write")});
    EXPECT_FALSE(refused.config);
    const auto told = load_file({path, "pvchv1"}, mild);
    EXPECT_TRUE(told.config);
    ASSERT_EQ(messages(told).size(), 1U);
    EXPECT_NE(messages(told)[0].find("warning: " + path + ": others could change it, a daemon would refuse it"),
              std::string::npos);
    EXPECT_EQ(messages(load_file({path, "pvchv1"}, nothing_missing())), lines{});

    ::chmod(path.c_str(), 0600);
    EXPECT_TRUE(load_file({path, "pvchv1"}, strict).config);
    ::chmod(there.path().c_str(), 0707);
    EXPECT_EQ(messages(load_file({path, "pvchv1"}, strict)),
              lines{said(path, "a folder (" + there.path() + ") that everybody can write")});
    ::chmod(there.path().c_str(), 01777);
    EXPECT_TRUE(load_file({path, "pvchv1"}, strict).config) << "as /tmp: nobody replaces what is not theirs";

    // Through a link the folder of the file counts, too.
    const scratch other;
    ::chmod(there.path().c_str(), 0707);
    const std::string link = other.path() + "/link";
    ASSERT_EQ(::symlink(path.c_str(), link.c_str()), 0);
    EXPECT_EQ(messages(load_file({link, "pvchv1"}, strict)),
              lines{said(link, "a folder (" + there.path() + ") that everybody can write")});
    ::chmod(there.path().c_str(), 0700);
    EXPECT_TRUE(load_file({link, "pvchv1"}, strict).config);
}

TEST(load_file, what_belongs_to_somebody_else) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root gives files away";
    }
    const scratch there;
    host_facts strict = nothing_missing();
    strict.others_can_change = changeable_file::refused;
    const auto path = there.file("f", base());
    ASSERT_EQ(::chown(path.c_str(), 4711, 0), 0);
    const auto of_another = messages(load_file({path, "pvchv1"}, strict));
    ASSERT_EQ(of_another.size(), 1U);
    EXPECT_NE(of_another[0].find("got a file of user 4711"), std::string::npos) << of_another[0];
    ASSERT_EQ(::chown(path.c_str(), 0, 4711), 0);
    EXPECT_TRUE(load_file({path, "pvchv1"}, strict).config);
    ::chmod(path.c_str(), 0620);
    const auto of_a_group = messages(load_file({path, "pvchv1"}, strict));
    ASSERT_EQ(of_a_group.size(), 1U);
    EXPECT_NE(of_a_group[0].find("got a file that group 4711 can write"), std::string::npos) << of_a_group[0];
}

TEST(load_file, what_cannot_be_read) {
    const scratch there;
    const std::string fifo = there.path() + "/fifo";
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    EXPECT_EQ(messages(load_file({there.path(), "pvchv1"})),
              lines{there.path() + ": cannot be read; expected a readable file, got: Is a directory"});
    EXPECT_EQ(messages(load_file({fifo, "pvchv1"})),
              lines{fifo + ": cannot be read; expected a readable file, got: Not a regular file"});
}

// Case 44 through the file: exactly the limit, and one byte more.
TEST(load_file, one_mebibyte) {
    const scratch there;
    const std::string text = base() + "#";
    const std::string full = text + std::string(1048576 - text.size(), 'x');
    EXPECT_EQ(messages(load_file({there.file("full", full), "pvchv1"}, nothing_missing())), lines{});
    const auto path = there.file("more", full + "x");
    EXPECT_EQ(messages(load_file({path, "pvchv1"}, nothing_missing())),
              lines{path + ":93: file too large; expected at most 1 MiB"});
}

TEST(load_file, missing_directories_and_files) {
    const scratch there;
    const auto missing = there.path() + "/missing";
    auto text = base_with("\"/usr/share/pvc/plugins\"", missing);
    text = edited(text, "\"/var/log/libvirt\"", there.path());
    text = edited(text, "    configuration:\n",
                  "    configuration:\n      health:\n        extra_directories: [" + there.path() + ", " + missing +
                      "]\n" + "      storage:\n        ceph_config_file: " + there.file("ceph.conf", "") +
                      "\n        ceph_admin_keyring: " + missing + "\n");
    const auto path = there.file("pvcnoded.yaml", text);
    const std::string start = "warning: " + path;
    EXPECT_EQ(messages(load_file({path, "pvchv1"})),
              (lines{start +
                         ":60: pvc.system.configuration.health.extra_directories[1]: no such directory; expected an "
                         "existing directory, got " +
                         missing,
                     start +
                         ":63: pvc.system.configuration.storage.ceph_admin_keyring: not readable; expected a readable "
                         "file, got " +
                         missing,
                     start +
                         ":65: pvc.system.configuration.directories.plugin_directory: no such directory; expected an "
                         "existing directory, got " +
                         missing}));
    // Without the storage function nobody reads the two files.
    const auto other = there.file("other.yaml", edited(text, "enable_storage: True", "enable_storage: False"));
    EXPECT_EQ(messages(load_file({other, "pvchv1"})).size(), 2U);
}

}  // namespace
}  // namespace pvc::config::test
