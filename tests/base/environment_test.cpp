// Whose failure a system call's is.
#include "base/environment.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace tenon {
namespace {

TEST(Environment, WhatTheMachineLacksOrDeniesHasItsExitCodeAndARemedy) {
  for (const int reason :
       {EACCES, EPERM, EROFS, ENOSPC, EDQUOT, EFBIG, ENOMEM, EAGAIN, EMFILE, ENFILE, EIO, ESTALE}) {
    const Error e = system_error(reason, "the file cannot be written");
    EXPECT_EQ(static_cast<int>(e.code()), 4) << e.message();
    EXPECT_FALSE(e.hint().empty()) << e.message();
  }
}

TEST(Environment, WhatWasNamedWronglyIsBadInput) {
  for (const int reason : {ENOENT, EISDIR, ENOTDIR, ENAMETOOLONG, ELOOP})
    EXPECT_EQ(system_error(reason, "the file cannot be opened").code(), Exit::bad_input);
}

TEST(Environment, TheReasonFollowsWhatFailed) {
  EXPECT_EQ(system_error(ENOSPC, "the file cannot be written").message(),
            "the file cannot be written: No space left on device");
}

}  // namespace
}  // namespace tenon
