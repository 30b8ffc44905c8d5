#include "impl/core/hash.hpp"

#include <gtest/gtest.h>

#include <string>

#include "impl/core/text.hpp"

namespace blaslift::hash_tests {
namespace {

TEST(Hash, IsFnv1a) {  // the vectors of draft-eastlake-fnv, appendix C
  EXPECT_EQ(hash_of(""), 0xcbf29ce484222325u);
  EXPECT_EQ(hash_of("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(hash_of("foobar"), 0x85944171f73967e8u);
  EXPECT_EQ(Fnv1a<std::uint32_t>().value(), 0x811c9dc5u);
  EXPECT_EQ(Fnv1a<std::uint32_t>().add("a").value(), 0xe40c292cu);
  EXPECT_EQ(Fnv1a<std::uint32_t>().add("foobar").value(), 0xbf9cf968u);
}

// Files hold these: another value is another format.
TEST(Hash, OfBytesIsWhatItHasAlwaysBeen) {
  EXPECT_EQ(hash_of("/usr/lib/\xe4 b"), 0xf7ba4643688fd199u);
  std::string words;  // of an algorithm
  for (int i = 0; i < 64; ++i) words += static_cast<char>(7 * i + 200);
  EXPECT_EQ(hash_of(words), 0x71fac3beb9f12ba5u);
}

TEST(Hash, OfNumbersIsWhatItHasAlwaysBeen) {
  EXPECT_EQ(with_numbers(0, 1, 2, 3), 0x8aaac00050aeb40u);
  EXPECT_EQ(with_numbers(with_numbers(0, 1, 2), 3), with_numbers(0, 1, 2, 3));
  EXPECT_EQ(with_numbers(0, std::int64_t{1} << 40, -1, true, 'x'), 0xdad6d39927b75593u);
  EXPECT_EQ(with_numbers(0x123456789abcdef0, 8192L), 0xabeddeef80c7e594u);
}

TEST(Hash, TakesANumberByItsBytesTheLowestFirst) {
  EXPECT_EQ(Fnv1a<std::uint32_t>().add_number(std::uint64_t{0x8182838485868788}).value(),
            Fnv1a<std::uint32_t>().add("\x88\x87\x86\x85\x84\x83\x82\x81").value());
  EXPECT_EQ(Fnv1a<std::uint64_t>().add_number(std::uint32_t{0x61}).value(),
            Fnv1a<std::uint64_t>().add(std::string_view("a\0\0\0", 4)).value());
}

TEST(Hexadecimal, HasTheDigitsThatWereAskedFor) {
  EXPECT_EQ(hexadecimal(0u), "0");
  EXPECT_EQ(hexadecimal(0u, 8), "00000000");
  EXPECT_EQ(hexadecimal(0xabcu, 2), "abc");
  EXPECT_EQ(hexadecimal(static_cast<unsigned char>(7), 2), "07");
  EXPECT_EQ(hexadecimal(~std::uint64_t{0}, 16), std::string(16, 'f'));
}

}  // namespace
}  // namespace blaslift::hash_tests
