// What is shown of counted work, and counts in sentences.
#include "base/progress.h"

#include <gtest/gtest.h>

#include "base/count.h"

namespace tenon {
namespace {

TEST(Progress, NothingIsShownWhereNothingIsCounted) {
  EXPECT_EQ(shown_count(), "");
  const Count count("nodes", 3);
  EXPECT_EQ(shown_count(), "");
}

TEST(Progress, ShowsWhatIsDoneOfTheTotal) {
  Count count("nodes", 512);
  count.step(213);
  EXPECT_EQ(shown_count(), "213 of 512 nodes");
}

TEST(Progress, WithoutATotalShowsWhatIsDone) {
  Count count("trials");
  count.step();
  count.step();
  EXPECT_EQ(shown_count(), "2 trials");
}

TEST(Progress, TheOutermostCountShows) {
  Count outer("nodes", 5);
  outer.step();
  {
    Count inner("steps of a loop", 100);
    inner.step(7);
    EXPECT_EQ(shown_count(), "1 of 5 nodes");
  }
  EXPECT_EQ(shown_count(), "1 of 5 nodes");
}

TEST(Progress, NeverShowsMoreThanTheTotal) {
  Count count("nodes", 2);
  count.step(5);
  EXPECT_EQ(shown_count(), "2 of 2 nodes");
}

TEST(Counted, AgreesWithItsNoun) {
  EXPECT_EQ(counted(0, "node"), "0 nodes");
  EXPECT_EQ(counted(1, "node"), "1 node");
  EXPECT_EQ(counted(2U, "node"), "2 nodes");
  EXPECT_EQ(counted(1, "copy", "copies"), "1 copy");
  EXPECT_EQ(counted(3, "copy", "copies"), "3 copies");
}

}  // namespace
}  // namespace tenon
