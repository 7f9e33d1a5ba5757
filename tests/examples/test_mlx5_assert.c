/* In plain C: a program that prints what is wrong and fails. */
#include "mlx5_trial.h"

int main(void)
{
	const struct bf_trial_spec spec = my_spec();
	struct bf_trial_result r;

	bf_trial_search(&spec, NULL, &r);
	puts(r.text);
	return r.ok ? 0 : 1;
}
