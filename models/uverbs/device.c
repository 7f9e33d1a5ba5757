#include "models/uverbs/uverbs.h"

#include <errno.h>
#include <stdlib.h>

struct bf_uverbs {
	struct bf_uverbs_opts opts;
};
struct bf_uverbs_file {
	struct bf_uverbs *u;
};

int bf_uverbs_create(struct bf_sim *sim, const struct bf_uverbs_opts *opts, struct bf_uverbs **out)
{
	struct bf_uverbs *u = calloc(1, sizeof(*u));

	if (!u)
		return bf_fail(&sim->error, -ENOMEM, "%s: no memory", opts->name);
	u->opts = *opts;
	*out = u;
	return 0;
}

void bf_uverbs_destroy(struct bf_uverbs *u)
{
	free(u);
}

int bf_uverbs_open(struct bf_uverbs *u, struct bf_uverbs_file **out)
{
	struct bf_uverbs_file *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->u = u;
	*out = f;
	return 0;
}

void bf_uverbs_close(struct bf_uverbs_file *f)
{
	free(f);
}

int bf_uverbs_ioctl(struct bf_uverbs_file *f, uint64_t request, uint64_t arg)
{
	(void)f;
	(void)request;
	(void)arg;
	return -ENOTTY;
}

int64_t bf_uverbs_write(struct bf_uverbs_file *f, uint64_t address, uint64_t len)
{
	(void)f;
	(void)address;
	(void)len;
	return -ENOSYS;
}

int bf_uverbs_mmap(struct bf_uverbs_file *f, uint64_t offset, uint64_t len, struct bf_uverbs_mapping *out)
{
	(void)f;
	(void)offset;
	(void)len;
	(void)out;
	return -EINVAL;
}

void bf_uverbs_irq(void *uverbs, uint32_t vector)
{
	(void)uverbs;
	(void)vector;
}

void bf_uverbs_sysfs(const struct bf_uverbs_opts *opts, uint32_t index,
		     void (*fn)(void *arg, const char *path, const char *text), void *arg)
{
	(void)opts;
	(void)index;
	(void)fn;
	(void)arg;
}

void bf_uverbs_counts(const struct bf_uverbs *u, struct bf_uverbs_counts *out)
{
	(void)u;
	*out = (struct bf_uverbs_counts){ 0 };
}
