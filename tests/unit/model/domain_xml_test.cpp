// vm-domains.md 7, 11.1, 12; cases D21, D96, D97.
#include "pvcnoded/model/domain_xml.hpp"

#include "pvcnoded/base/text.hpp"
#include "sample_domain.hpp"

#include <gtest/gtest.h>

namespace pvc::model {
namespace {

using names = std::vector<std::string>;

domain_xml parsed_domain(std::string_view text) {
    auto view = parse_domain_xml(text);
    EXPECT_TRUE(view) << view.error().text();
    return view ? *std::move(view) : domain_xml{};
}

std::int64_t memory_of(std::string_view element) {
    return parsed_domain("<domain>" + std::string(element) + "</domain>").memory_mib;
}

std::string vnc_of(std::string_view devices) {
    return vnc_text(parsed_domain(domain_with(devices)));
}

TEST(domain_xml, figures_are_clamped_so_that_sums_stay_numbers) {
    const std::int64_t most = std::int64_t{1} << 40;
    for (const char* unit : {"MiB", "KiB", "GiB"}) {
        const auto memory = memory_of("<memory unit='" + std::string(unit) + "'>9223372036854775807</memory>");
        EXPECT_GT(memory, 0) << unit;
        EXPECT_LE(memory, most) << unit;
    }
    EXPECT_EQ(memory_of("<memory unit='MiB'>9223372036854775807</memory>"), most);
}

TEST(domain_xml, a_stored_machine) {
    const auto view = parsed_domain(stored_domain);
    EXPECT_EQ(view.name, "web");
    EXPECT_EQ(view.uuid, "8b5c6f2e-0d1a-4c3b-9e7f-00a1b2c3d4e5");
    EXPECT_EQ(view.memory_mib, 2048);
    EXPECT_EQ(view.vcpus, 2U);
    ASSERT_EQ(view.disks.size(), 4U);
    EXPECT_EQ(view.disks[0].source, "vms/web_sda");
    EXPECT_EQ(view.disks[0].target, "sda");
    EXPECT_TRUE(view.disks[0].is_rbd);
    EXPECT_EQ(view.disks[1].source, "vms/web_sdb");
    EXPECT_TRUE(view.disks[1].is_rbd);
    EXPECT_EQ(view.disks[2].source, "");
    EXPECT_EQ(view.disks[2].target, "hdc");
    EXPECT_FALSE(view.disks[2].is_rbd);
    EXPECT_EQ(view.disks[3].source, "/srv/boot/hang.img");
    EXPECT_FALSE(view.disks[3].is_rbd);
    ASSERT_EQ(view.interfaces.size(), 3U);
    EXPECT_EQ(view.interfaces[0].type, "bridge");
    EXPECT_EQ(view.interfaces[0].bridge, "vmbr100");
    EXPECT_EQ(view.interfaces[0].target, "");
    EXPECT_EQ(view.interfaces[1].type, "direct");
    EXPECT_EQ(view.interfaces[2].type, "hostdev");
    EXPECT_EQ(view.interfaces[0].mac, "52:54:00:11:22:33");
    EXPECT_EQ(view.interfaces[1].function, "") << "others may share its device";
    EXPECT_EQ(view.interfaces[2].function, "ens1f0v1");
    ASSERT_TRUE(view.graphics);
    EXPECT_EQ(view.graphics->port, "-1");
}

TEST(domain_xml, only_network_disks_of_protocol_rbd_are_rbd) {
    const auto view =
        parsed_domain(domain_with("<disk type='network'><source protocol='iscsi' name='iqn/1'/></disk>"
                                  "<disk type='file'><source protocol='rbd' name='vms/x'/></disk>"
                                  "<disk type='network'><source protocol='rbd'/></disk>"
                                  "<disk type='network'><mirror><source protocol='rbd' name='vms/m'/></mirror>"
                                  "<backingStore><source protocol='rbd' name='vms/b'/></backingStore></disk>"));
    ASSERT_EQ(view.disks.size(), 4U);
    for (const auto& disk : view.disks) {
        EXPECT_FALSE(disk.is_rbd) << disk.source;
    }
    EXPECT_EQ(view.disks[0].source, "iqn/1");
    EXPECT_EQ(view.disks[3].source, "");
}

TEST(domain_xml, the_source_of_a_disk) {
    const auto live = parse_domain_xml(
        "<domain><devices><disk type='block'><source dev='/dev/sdx'/><target dev='sda'/></disk>"
        "<disk type='file'><source file='/a.img' dev='/no'/><target dev='sdb'/></disk>"
        "<disk type='block' device='cdrom'><target dev='sdc'/></disk></devices></domain>");
    ASSERT_TRUE(live);
    EXPECT_EQ(live->disks[0].source, "/dev/sdx");
    EXPECT_FALSE(live->disks[0].is_rbd);
    EXPECT_EQ(live->disks[1].source, "/a.img");
    EXPECT_EQ(live->disks[2].source, "");
}

TEST(domain_xml, the_virtual_function_that_an_interface_is) {
    const auto function_of = [](const std::string& interface) {
        return parsed_domain("<domain><devices>" + interface + "</devices></domain>").interfaces.at(0).function;
    };
    EXPECT_EQ(function_of("<interface type='direct'><source dev='ens8v1' mode='passthrough'/></interface>"), "ens8v1");
    EXPECT_EQ(function_of("<interface type='direct'><source dev='ens8v1' mode='vepa'/></interface>"), "");
    EXPECT_EQ(function_of("<interface type='direct'><source dev='ens8v1'/></interface>"), "");
    EXPECT_EQ(function_of("<interface type='direct'><sriov_device>ens8v1</sriov_device></interface>"), "");
    EXPECT_EQ(function_of("<interface type='bridge'><source dev='ens8v1' mode='passthrough'/></interface>"), "");
    EXPECT_EQ(function_of("<interface type='bridge'><sriov_device>ens8v1</sriov_device></interface>"), "");
    EXPECT_EQ(function_of("<interface type='hostdev'><sriov_device>\n ens8v1\n</sriov_device></interface>"), "ens8v1");
    EXPECT_EQ(function_of("<interface type='hostdev'><source dev='ens8v1' mode='passthrough'/></interface>"), "");
    EXPECT_EQ(function_of("<interface type='network'/>"), "");
}

TEST(domain_xml, what_an_xml_writer_may_do) {
    const auto view = parsed_domain(
        "\xef\xbb\xbf<?xml version='1.0' encoding=\"utf-8\"?>\r\n<!-- <domain> -->\n"
        "<domain\txmlns:qemu = 'http://libvirt.org/schemas/domain/qemu/1.0' type=\"kvm\">"
        "<name><![CDATA[w<e>b]]></name>"
        "<uuid>\n  8b5c6f2e-<!-- cut -->0d1a-4c3b-9e7f-00a1b2c3d4e5\n</uuid>"
        "<memory unit=\"GiB\"\n>\n1<!-- x -->6\n</memory><vcpu><![CDATA[4]]></vcpu>"
        "<devices><disk type='network'><source name=\"vms/a&amp;b'c&#x41;\" protocol='rbd'></source>"
        "<target bus='virtio' dev='vda' ></target ></disk></devices>"
        "<devices><interface type=\"bridge\"/></devices>"
        "<qemu:commandline><qemu:arg value='a > b'/></qemu:commandline></domain>\n<!-- end --> \n");
    EXPECT_EQ(view.name, "w<e>b");
    EXPECT_EQ(view.uuid, "8b5c6f2e-0d1a-4c3b-9e7f-00a1b2c3d4e5");
    EXPECT_EQ(view.memory_mib, 16 * 1024);
    EXPECT_EQ(view.vcpus, 4U);
    ASSERT_EQ(view.disks.size(), 1U);
    EXPECT_EQ(view.disks[0].source, "vms/a&b'cA");
    EXPECT_TRUE(view.disks[0].is_rbd);
    EXPECT_EQ(view.interfaces.size(), 1U);
}

TEST(domain_xml, memory_units) {
    EXPECT_EQ(memory_of("<memory unit='KiB'>2097152</memory>"), 2048);
    EXPECT_EQ(memory_of("<memory unit='KiB'>1023</memory>"), 0);
    EXPECT_EQ(memory_of("<memory unit='MiB'>512</memory>"), 512);
    EXPECT_EQ(memory_of("<memory unit='GiB'>4</memory>"), 4096);
    // Those of libvirt, none of which is KiB.
    EXPECT_EQ(memory_of("<memory>4194304</memory>"), 4096);
    EXPECT_EQ(memory_of("<memory unit=''>4194304</memory>"), 4096);
    struct row {
        std::string unit;
        std::int64_t value;
        std::int64_t mib;
    };
    for (const auto& [unit, value, mib] : {row{"b", 1 << 20, 1},
                                           row{"byte", 1 << 20, 1},
                                           row{"bytes", (1 << 20) - 1, 0},
                                           row{"KB", 1'048'576, 1000},
                                           row{"MB", 1'048'576, 1'000'000},
                                           row{"GB", 1000, 953'674},
                                           row{"TB", 1, 953'674},
                                           row{"PB", 1, 953'674'316},
                                           row{"EB", 1, 953'674'316'406},
                                           row{"k", 2048, 2},
                                           row{"KiB", 2048, 2},
                                           row{"M", 7, 7},
                                           row{"MiB", 7, 7},
                                           row{"G", 4, 4096},
                                           row{"GiB", 4, 4096},
                                           row{"T", 1, 1 << 20},
                                           row{"TiB", 1, 1 << 20},
                                           row{"P", 1, 1 << 30},
                                           row{"PiB", 1, 1 << 30},
                                           row{"E", 1, std::int64_t{1} << 40},
                                           row{"EiB", 1, std::int64_t{1} << 40},
                                           row{"EiB", 2, std::int64_t{1} << 40},
                                           row{"x", 1 << 20, 0},
                                           row{"KiBs", 1 << 20, 0},
                                           row{"i", 1 << 20, 0},
                                           row{"Kbyte", 1 << 20, 0},
                                           row{" KiB", 1 << 20, 0}}) {
        for (const auto& spelled : {unit, lower(unit)}) {
            EXPECT_EQ(memory_of("<memory unit='" + spelled + "'>" + std::to_string(value) + "</memory>"), mib)
                << value << " " << spelled;
        }
    }
    for (const char* bad : {"", "<memory/>", "<memory>x</memory>", "<memory>-5</memory>", "<memory>1.5</memory>",
                            "<memory>99999999999999999999</memory>", "<memory><value>5</value></memory>"}) {
        EXPECT_EQ(memory_of(bad), 0) << bad;
    }
}

TEST(domain_xml, a_count_of_processors_that_makes_no_sense_is_none) {
    for (const char* bad : {"-1", "4294967296", "two", "", "1 2"}) {
        EXPECT_EQ(parsed_domain("<domain><vcpu>" + std::string(bad) + "</vcpu></domain>").vcpus, 0U) << bad;
    }
}

TEST(domain_xml, D97_vnc_of_the_first_graphics_element) {
    EXPECT_EQ(vnc_text(parsed_domain(live_domain)), "0.0.0.0:5901");
    EXPECT_EQ(vnc_text(parsed_domain("<domain/>")), "");
    EXPECT_EQ(vnc_of(""), "");
    EXPECT_EQ(vnc_of("<graphics type='vnc' port='5900'/>"), ":5900");
    EXPECT_EQ(vnc_of("<graphics type='vnc' listen='10.0.0.1'/>"), "10.0.0.1:");
    EXPECT_EQ(vnc_of("<graphics/>"), ":");
    EXPECT_EQ(vnc_of("<graphics port='5900'><listen type='network' address='1.1.1.1'/><listen type='address' "
                     "address='2.2.2.2'/><listen type='address' address='3.3.3.3'/></graphics>"),
              "2.2.2.2:5900");
    EXPECT_EQ(vnc_of("<graphics port='1' listen='4.4.4.4'><listen type='address' address='2.2.2.2'/></graphics>"),
              "4.4.4.4:1");
}

TEST(domain_xml, D96_an_address_with_colons_is_not_published) {
    const auto view = parsed_domain(domain_with("<graphics type='vnc' listen='::1' port='5900'/>"));
    EXPECT_TRUE(has_unusable_vnc_address(view));
    EXPECT_EQ(vnc_text(view), "");
    EXPECT_FALSE(has_unusable_vnc_address(parsed_domain(live_domain)));
    EXPECT_FALSE(has_unusable_vnc_address(parsed_domain("<domain/>")));
}

TEST(domain_xml, D21_volumes_of_the_list_and_of_the_text) {
    const auto view = parsed_domain(stored_domain);
    EXPECT_EQ(rbd_volumes("vms/old_sda, vms/web_sdb ,,vms/old_sda", view),
              (names{"vms/old_sda", "vms/web_sdb", "vms/web_sda"}));
    EXPECT_EQ(rbd_volumes("", view), (names{"vms/web_sda", "vms/web_sdb"}));
    EXPECT_EQ(rbd_volumes(" , ", parsed_domain("<domain/>")), names{});
    EXPECT_EQ(rbd_volumes("vms/one", domain_xml{}), names{"vms/one"});
}

// Who else has an image open: also of what a disk is copied to or based on (README ruling 80).
TEST(domain_xml, disks_that_are_shared_and_images_below_them) {
    const auto view = parse_domain_xml(
        "<domain><devices>"
        "<disk type='network'><source protocol='rbd' name='vms/a'/><shareable/></disk>"
        "<disk type='network'><source protocol='rbd' name='vms/b'/><readonly/></disk>"
        "<disk type='file'><source file='/x'/><backingStore type='file'><source file='/y'/>"
        "<backingStore type='network'><source protocol='rbd' name='vms/base'/></backingStore></backingStore>"
        "<mirror type='network'><source protocol='rbd' name='vms/copy'/></mirror></disk>"
        "<disk type='network'><source protocol='nbd' name='vms/c'/></disk>"
        "</devices></domain>");
    ASSERT_TRUE(view && view->disks.size() == 4);
    EXPECT_TRUE(view->disks[0].is_shared && view->disks[1].is_shared);
    EXPECT_FALSE(view->disks[2].is_shared || view->disks[3].is_shared);
    EXPECT_EQ(view->disks[2].images_below, (std::vector<std::string>{"vms/base", "vms/copy"}));
    EXPECT_TRUE(view->disks[0].images_below.empty() && view->disks[3].images_below.empty());
}

}  // namespace
}  // namespace pvc::model
