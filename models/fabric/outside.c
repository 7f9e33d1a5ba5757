#include "models/fabric/outside.h"

#include <errno.h>
#include <stdlib.h>

struct bf_outside {
	struct bf_fabric *fabric;
	uint32_t word;
};

int bf_outside_open(struct bf_sim *sim, struct bf_fabric *f, const struct bf_outside_opts *opts, struct bf_outside **out)
{
	(void)opts;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return bf_fail(&sim->error, -ENOMEM, "outside: no memory");
	(*out)->fabric = f;
	return 0;
}

void bf_outside_close(struct bf_outside *o)
{
	free(o);
}

uint32_t bf_outside_slot(const struct bf_outside *o)
{
	(void)o;
	return 0;
}

uint32_t bf_outside_poll(struct bf_outside *o, uint32_t budget)
{
	(void)o;
	(void)budget;
	return 0;
}

void bf_outside_flush(struct bf_outside *o)
{
	(void)o;
}

bool bf_outside_blocked(const struct bf_outside *o)
{
	(void)o;
	return false;
}

bool bf_outside_sleep(struct bf_outside *o, uint32_t **word, uint32_t *value)
{
	*word = &o->word;
	*value = o->word;
	return true;
}

void bf_outside_awake(struct bf_outside *o)
{
	(void)o;
}

void bf_outside_wake(struct bf_outside *o)
{
	__atomic_add_fetch(&o->word, 1, __ATOMIC_SEQ_CST);
}

void bf_outside_forked(struct bf_outside *o)
{
	(void)o;
}
