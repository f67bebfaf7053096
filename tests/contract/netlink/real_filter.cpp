#include "contract/netlink/real_filter.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace pvc::contract {

void real_filter::make_foreign_tables() {
    nft_command(
        "table ip filter { \n chain vxlan1-in { \n counter packets 1 bytes 2\n }\n }\n"
        "table inet other { \n chain input { \n type filter hook input priority 0\n tcp dport { 22, 23-30 } accept\n "
        "}\n}\n");
}

void real_filter::change_foreign_table() {
    nft_command("add rule inet other input counter packets 3 bytes 4\n");
}

std::string real_filter::foreign_tables() {
    return nft_output("-a list table ip filter") + nft_output("-a list table inet other");
}

void real_filter::make_dormant() {
    nft_command("add table inet filter { flags dormant; }\n");
}

// It owns what it made until its input ends.
void real_filter::make_owned() {
    owner_.reset(::popen("nft -i > /dev/null", "we"));
    ASSERT_NE(owner_, nullptr);
    std::fputs("add table inet filter { flags owner; }\n", owner_.get());
    std::fflush(owner_.get());
    for (int round = 0; round < 1000 && nft_output("list tables").find("inet filter") == std::string::npos; ++round) {
        std::this_thread::sleep_for(10ms);
    }
}

void real_filter::end_owner() {
    owner_.reset();
}

void nft_command(const std::string& text) {
    const scratch_folder folder;
    folder.write("text", text);
    EXPECT_EQ(std::system(("nft -f " + folder / "text").c_str()), 0) << text;
}

std::string nft_output(const std::string& words) {
    return output_of("nft " + words);
}

}  // namespace pvc::contract
