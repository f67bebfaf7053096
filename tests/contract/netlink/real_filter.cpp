#include "contract/netlink/real_filter.hpp"

#include <cstdlib>

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

void nft_command(const std::string& text) {
    const scratch_folder folder;
    folder.write("text", text);
    EXPECT_EQ(std::system(("nft -f " + folder / "text").c_str()), 0) << text;
}

std::string nft_output(const std::string& words) {
    return output_of("nft " + words);
}

}  // namespace pvc::contract
