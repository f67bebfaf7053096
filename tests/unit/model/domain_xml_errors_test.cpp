// Text that is no domain XML, or too much of it: one located error that quotes little (vm-domains.md 12).
#include "pvcnoded/model/domain_xml.hpp"

#include "sample_domain.hpp"

#include <gtest/gtest.h>

namespace pvc::model {
namespace {

std::string repeated(std::string_view part, std::size_t times) {
    std::string text;
    text.reserve(part.size() * times);
    for (std::size_t i = 0; i < times; ++i) {
        text += part;
    }
    return text;
}

std::string cause_of(std::string_view text, errc expected = errc::invalid) {
    const auto view = parse_domain_xml(text);
    EXPECT_FALSE(view) << text.substr(0, 200);
    if (view) {
        return {};
    }
    EXPECT_EQ(view.error().code(), expected) << view.error().text();
    EXPECT_EQ(view.error().subject(), "domain XML");
    EXPECT_TRUE(view.error().cause().starts_with("line ")) << view.error().cause();
    EXPECT_LT(view.error().cause().size(), 140U) << view.error().cause();
    return view.error().cause();
}

TEST(domain_xml_errors, say_where_what_and_instead_of_what) {
    EXPECT_EQ(cause_of(""), "line 1, column 1: expected the element domain, found the end of the text");
    EXPECT_EQ(cause_of(" \n\n"), "line 3, column 1: expected the element domain, found the end of the text");
    EXPECT_EQ(cause_of("<!-- only this -->"),
              "line 1, column 19: expected the element domain, found the end of the text");
    EXPECT_EQ(cause_of("garbage"), "line 1, column 1: expected an element, found \"g\"");
    EXPECT_EQ(cause_of("<network/>"), "line 1, column 1: expected the element domain, found \"<network/>\"");
    EXPECT_EQ(cause_of("<domain>\n  <name>x</nome>\n</domain>").substr(0, 8), "line 2, ");
    EXPECT_EQ(cause_of("<domain>\n<name>x</name>").substr(0, 8), "line 2, ");
    EXPECT_EQ(cause_of("<domain/>\n<domain/>"),
              "line 2, column 1: expected nothing behind the root element, found \"<domain/>\"");
    EXPECT_EQ(cause_of("<domain/>\n  tail"), "line 2, column 3: expected nothing behind the root element, found \"t\"");
    EXPECT_EQ(cause_of("</domain>"), "line 1, column 1: expected a start tag, found \"</domain>\"");
}

TEST(domain_xml_errors, broken_constructs) {
    for (const char* text : {"<",
                             "<domain",
                             "<domain ",
                             "<domain /",
                             "<domain type>",
                             "<domain type=>",
                             "<domain type=kvm/>",
                             "<domain type='kvm>",
                             "<domain type=\"a'/>",
                             "<domain><!-- </domain>",
                             "<domain><![CDATA[ </domain>",
                             "<domain><?pi </domain>",
                             "<domain></domain",
                             "<domain></>",
                             "<domain>< name/></domain>",
                             "<domain><1/></domain>",
                             "<domain>&lt;<</domain>",
                             "<domain><a></b></domain>",
                             "<![CDATA[<domain/>]]>",
                             "<domain><![CDAT[x]]></domain>",
                             "<domain><!x></domain>",
                             "{\"domain\": 1}",
                             "domain:\n  name: x\n"}) {
        static_cast<void>(cause_of(text));
    }
}

TEST(domain_xml_errors, a_password_is_not_quoted) {
    for (const char* graphics : {"<graphics passwd=do-not-tell/>", "<graphics passwd'do-not-tell'/>",
                                 "<graphics passwd='do-not-tell/>", "<graphics passwd='x'do-not-tell='y'/>"}) {
        const auto cause = cause_of(domain_with(graphics));
        EXPECT_EQ(cause.find("not-tell"), std::string::npos) << cause;
    }
}

TEST(domain_xml_errors, NUL_and_other_encodings) {
    EXPECT_EQ(cause_of(std::string_view("<domain/>\0<x/>", 14)),
              "line 1, column 10: expected text without NUL bytes, found \"?\"");
    static_cast<void>(cause_of(std::string_view("\xff\xfe<\0d\0o\0m\0a\0i\0n\0/\0>\0", 22)));
    EXPECT_TRUE(parse_domain_xml("<domain><name>\xff\xfe\xc3</name></domain>"));
    EXPECT_TRUE(parse_domain_xml("<?xml version='1.0' encoding='UTF-16'?><domain><name>\xc3\xa9</name></domain>"));
}

TEST(domain_xml_errors, document_types_and_entities_are_refused) {
    const auto external = cause_of(
        "<?xml version='1.0'?>\n<!DOCTYPE domain [<!ENTITY xxe SYSTEM 'file:///etc/passwd'>]>\n"
        "<domain><name>&xxe;</name></domain>");
    EXPECT_EQ(external, "line 2, column 1: expected no declaration of document types or entities, found \"<!DOCTYPE\"");
    static_cast<void>(cause_of("<!DOCTYPE domain SYSTEM 'file:///etc/passwd'><domain/>"));
    static_cast<void>(cause_of("<domain><!DOCTYPE domain [<!ENTITY a 'b'>]></domain>"));
    std::string laughs = "<!DOCTYPE lolz [<!ENTITY lol 'lol'>";
    for (char level = '1'; level <= '9'; ++level) {
        const auto before =
            level == '1' ? std::string("&lol;") : std::string("&lol") + static_cast<char>(level - 1) + ';';
        laughs += std::string("<!ENTITY lol") + level + " '" + repeated(before, 10) + "'>";
    }
    static_cast<void>(cause_of(laughs + "]><domain><name>&lol9;</name></domain>"));
}

TEST(domain_xml_errors, an_entity_that_nobody_declared_stays_text) {
    const auto view = parse_domain_xml("<domain><name>&xxe;&quot;</name></domain>");
    ASSERT_TRUE(view);
    EXPECT_EQ(view->name, "&xxe;\"");
}

TEST(domain_xml_errors, limits) {
    const auto nested = [](std::size_t levels) {
        return "<domain>" + repeated("<a>", levels - 1) + repeated("</a>", levels - 1) + "</domain>";
    };
    EXPECT_TRUE(parse_domain_xml(nested(64)));
    EXPECT_EQ(cause_of(nested(65), errc::too_large), "line 1, column 198: more than 64 levels of elements");
    EXPECT_TRUE(cause_of(repeated("<a>", 300'000), errc::too_large).ends_with("64 levels of elements"));
    const auto wide = [](std::size_t elements) { return "<domain>\n" + repeated("<a/>", elements - 1) + "</domain>"; };
    EXPECT_TRUE(parse_domain_xml(wide(20'000)));
    EXPECT_TRUE(cause_of(wide(20'001), errc::too_large).ends_with("more than 20000 elements"));
    constexpr std::size_t bytes = 1024UL * 1024;
    const auto long_text = [](std::size_t size) { return "<domain>" + std::string(size - 17, ' ') + "</domain>"; };
    EXPECT_TRUE(parse_domain_xml(long_text(bytes)));
    EXPECT_EQ(cause_of(long_text(bytes + 1), errc::too_large), "line 1: 1048577 bytes, the limit is 1048576");
    static_cast<void>(cause_of(std::string(10UL * 1024 * 1024, '<'), errc::too_large));
}

TEST(domain_xml_errors, what_looks_like_elements_but_is_text_is_not_counted) {
    const auto many = repeated("<a>", 50'000);
    EXPECT_TRUE(parse_domain_xml("<domain><!--" + many + "--><name><![CDATA[" + many + "]]></name><?pi " + many +
                                 "?></domain>"));
    EXPECT_TRUE(parse_domain_xml("<domain a='" + many + "' b=\"'>\"/>"));
}

TEST(domain_xml_errors, every_cut_and_every_changed_byte_gives_a_view_or_an_error) {
    for (std::size_t size = 0; size < stored_domain.size(); ++size) {
        const auto view = parse_domain_xml(stored_domain.substr(0, size));
        EXPECT_EQ(view.has_value(), size == stored_domain.size() - 1 || size == stored_domain.size()) << size;
    }
    for (std::size_t at = 0; at < stored_domain.size(); ++at) {
        for (const char other : {'<', '>', '\'', '"', '&', '/', '\0', '\xff'}) {
            std::string text(stored_domain);
            text[at] = other;
            const auto view = parse_domain_xml(text);
            EXPECT_TRUE(view || view.error().cause().find("do-not-tell") == std::string::npos);
        }
    }
}

}  // namespace
}  // namespace pvc::model
