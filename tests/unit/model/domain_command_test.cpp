// Commands about one machine and their answers (vm-domains.md 14, node-lifecycle.md 13).
#include "pvcnoded/model/domain_command.hpp"

#include <gtest/gtest.h>

#include <array>

namespace pvc::model {
namespace {

const std::string id = "00000001-aaaa-4bbb-8ccc-000000000001";
const std::string disk = "<disk type='file'><target dev='vdb'/></disk>";

domain_command parsed(std::string_view text) {
    const auto command = parse_domain_command(text);
    EXPECT_TRUE(command) << text;
    return command.value_or(domain_command{});
}

TEST(domain_command, well_formed) {
    const auto flush = parsed("flush_locks " + id);
    EXPECT_EQ(flush, (domain_command{domain_verb::flush_locks, parse_uuid(id), "", ""}));
    EXPECT_EQ(parsed("attach_device " + id + " " + disk),
              (domain_command{domain_verb::attach_device, parse_uuid(id), disk, ""}));
    EXPECT_EQ(parsed("detach_device " + id + " " + disk),
              (domain_command{domain_verb::detach_device, parse_uuid(id), disk, ""}));
    EXPECT_EQ(parsed(" flush_locks\t" + id + " \n"), flush);
    EXPECT_EQ(parsed("flush_locks 00000001-AAAA-4BBB-8CCC-000000000001"), flush);
}

TEST(domain_command, blank_runs_of_a_device_become_one_space) {
    EXPECT_EQ(parsed("attach_device " + id + "  <disk\n\ttype='file'>\r\n  <a  b='1'/> </disk>\n ").device,
              "<disk type='file'> <a b='1'/> </disk>");
    EXPECT_EQ(parsed("attach_device " + id + " <a b='größer'/>").device, "<a b='größer'/>");
}

TEST(domain_command, not_ours) {
    const std::array texts{std::string(),
                           std::string(" \n"),
                           std::string("osd_add hv1,/dev/sdb,1.0,False,0.05"),
                           "success-flush_locks " + id,
                           "failure-attach_device " + id + " " + disk,
                           "success- flush_locks " + id,
                           "Flush_locks " + id,
                           "flush_locks," + id,
                           "flush_lock " + id,
                           std::string("\0flush_locks ", 13) + id};
    for (const auto& text : texts) {
        EXPECT_FALSE(parse_domain_command(text)) << text;
    }
}

TEST(domain_command, malformed) {
    struct row {
        std::string text;
        bool has_id;
        std::string fault;
    };
    const std::string attach = "attach_device " + id;
    const std::array rows{
        row{"flush_locks", false, "it names no UUID"},
        row{"attach_device " + disk, false, "it names no UUID"},
        row{"detach_device web " + disk, false, "it names no UUID"},
        row{"flush_locks " + id + "x", false, "it names no UUID"},
        row{"flush_locks " + id + " now", true, "something stands behind its UUID"},
        row{attach, true, "it names no device"},
        row{attach + " \n ", true, "it names no device"},
        row{attach + " disk", true, "its device is no XML element"},
        row{attach + " <disk", true, "its device is no XML element"},
        row{attach + " <disk/> x", true, "its device is no XML element"},
        row{attach + " <!DOCTYPE d [<!ENTITY x SYSTEM 'file:///etc/shadow'>]><d>&x;</d>", true,
            "its device has a document type"},
        row{attach + std::string(" <a/>\0<b/>", 10), true, "it has control characters"},
        row{attach + " <a>\x1b[2J</a>", true, "it has control characters"},
        row{"flush_locks " + id + "\x01", false, "it names no UUID"},
        row{"flush_locks " + id + " \x7f", true, "it has control characters"},
        row{attach + " <a>" + std::string(command_bytes_max, 'x') + "</a>", true, "it is longer than 128 KiB"},
        row{std::string(command_bytes_max, ' ') + "flush_locks " + id, true, "it is longer than 128 KiB"},
    };
    for (const auto& [text, has_id, fault] : rows) {
        const auto command = parsed(text);
        EXPECT_EQ(command.id.has_value(), has_id) << text.substr(0, 100);
        EXPECT_EQ(command.fault, fault) << text.substr(0, 100);
        EXPECT_EQ(command.device, "");
    }
    const std::string most = attach + " <a>" + std::string(command_bytes_max - attach.size() - 8, 'x') + "</a>";
    EXPECT_EQ(most.size(), command_bytes_max);
    EXPECT_EQ(parsed(most).fault, "");
}

TEST(domain_command, answers) {
    EXPECT_EQ(command_answer(true, "flush_locks " + id), "success-flush_locks " + id);
    EXPECT_EQ(command_answer(false, ""), "failure-");
    const auto cut = command_answer(false, "attach_device " + std::string(10'000'000, 'x'));
    EXPECT_EQ(cut.size(), answer_bytes_max);
    EXPECT_TRUE(cut.starts_with("failure-attach_device xxx"));
    EXPECT_FALSE(parse_domain_command(cut));
}

}  // namespace
}  // namespace pvc::model
