// With GoogleTest, in C++.
#include <gtest/gtest.h>

#include "mlx5_trial.h"

TEST(MyDriver, WritesArriveUnderEveryOrdering)
{
	const bf_trial_spec spec = my_spec();
	bf_trial_result r;

	EXPECT_TRUE(bf_trial_search(&spec, nullptr, &r)) << r.text;
}
