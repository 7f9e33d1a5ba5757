/* The trial around mlx5_submit.h, for any test framework: PE 0 writes messages into the heap of PE 1. */
#ifndef MLX5_TRIAL_H
#define MLX5_TRIAL_H

#include <stdlib.h>

#include "mlx5_submit.h"

#define MESSAGE 256u
#define WINDOW 4u /* entries under way at a time */

struct my_trial {
	struct my_queue queue;
	uint32_t messages, errors;
};

/* A mistake to switch on: MY_BUG=no-entry-fence or no-doorbell-fence in the environment. */
static inline int my_bug(const char *name)
{
	const char *bug = getenv("MY_BUG");

	return bug && strcmp(bug, name) == 0;
}

static void my_kernel(struct bf_thread *t, void *arg)
{
	struct my_trial *m = (struct my_trial *)arg;

	while (m->queue.consumed < m->messages && !m->errors) {
		while (m->queue.produced < m->messages && m->queue.produced - m->queue.consumed < WINDOW)
			my_write(t, &m->queue, (uint64_t)m->queue.produced * MESSAGE, MESSAGE);
		m->errors += my_wait(t, &m->queue) != 0;
	}
}

static int my_setup(struct bf_trial *t, void *state)
{
	struct my_trial *m = (struct my_trial *)state;
	int rc = bf_trial_mlx5(t, NULL);

	if (!rc)
		rc = bf_trial_mlx5_queue(t, 0, 1, 0, &m->queue.hw);
	if (rc)
		return rc;
	m->messages = (uint32_t)bf_trial_size(t, 0);
	m->queue.no_entry_fence = my_bug("no-entry-fence");
	m->queue.no_doorbell_fence = my_bug("no-doorbell-fence");
	for (uint32_t i = 0; i < m->messages * MESSAGE; i++)
		m->queue.hw.local[i] = (uint8_t)(i * 7 + 1);
	return bf_trial_launch(t, 0, 1, 1, my_kernel, m);
}

static int my_verify(struct bf_trial *t, void *state)
{
	const struct my_trial *m = (const struct my_trial *)state;

	bf_trial_check(t, m->errors == 0, "a write failed");
	bf_trial_equal(t, "what arrived", bf_trial_heap(t, 1).ptr, m->queue.hw.local, m->messages * MESSAGE);
	return 0;
}

static inline struct bf_trial_spec my_spec(void)
{
	static const struct bf_trial_size sizes[] = { { "messages", 8, 1 } };
	struct bf_trial_spec spec;

	memset(&spec, 0, sizeof(spec));
	spec.name = "my_write";
	spec.world.seed = 1;
	spec.world.npes = 2;
	spec.world.lanes = 1;
	spec.setup = my_setup;
	spec.verify = my_verify;
	spec.state_bytes = sizeof(struct my_trial);
	spec.sizes = sizes;
	spec.nsizes = 1;
	spec.trace = getenv("MY_TRACE");
	return spec;
}

#endif
