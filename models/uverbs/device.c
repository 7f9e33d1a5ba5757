/* A device of the kernel's half, whatever drives it: its files, and what is handed to its provider. */
#include "models/uverbs/uverbs_internal.h"

#include <stdlib.h>

#define MTU_4096 5u /* enum ibv_mtu */

int bf_uverbs_create(struct bf_sim *sim, const struct bf_uverbs_opts *opts, struct bf_uverbs **out)
{
	struct bf_uverbs *u = calloc(1, opts->provider->device_size);
	int err;

	if (!u)
		return bf_fail(&sim->error, -ENOMEM, "%s: no memory for the kernel's half", opts->name);
	u->sim = sim;
	u->opts = *opts;
	u->actor = bf_stream_actor(&sim->rec, "kernel", opts->name);
	err = opts->provider->open(u);
	if (err) {
		bf_uverbs_destroy(u);
		return err;
	}
	*out = u;
	return 0;
}

void bf_uverbs_destroy(struct bf_uverbs *u)
{
	if (!u)
		return;
	for (struct bf_uverbs_file *f = u->files, *next; f; f = next) {
		next = f->next;
		bf_uverbs_close(f);
	}
	bf_uverbs_mad_close(u);
	bf_uv_provider(u)->close(u);
	free(u);
}

int bf_uverbs_open(struct bf_uverbs *u, struct bf_uverbs_file **out)
{
	struct bf_uverbs_file *f = calloc(1, bf_uv_provider(u)->file_size), **at = &u->files;

	if (!f)
		return -ENOMEM;
	f->u = u;
	f->number = ++u->last_file;
	while (*at)
		at = &(*at)->next;
	*at = f;
	u->count.files++;
	*out = f;
	return 0;
}

void bf_uverbs_close(struct bf_uverbs_file *f)
{
	struct bf_uverbs_file **at;

	if (!f)
		return;
	bf_uv_close_objects(f);
	while (f->channels) {
		f->channels->o.users = 0;
		bf_uv_channel_destroy(f->channels);
	}
	bf_uv_provider(f->u)->file_close(f);
	at = &f->u->files;
	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	f->u->count.files--;
	free(f);
}

void bf_uverbs_counts(const struct bf_uverbs *u, struct bf_uverbs_counts *out)
{
	*out = u->count;
}

int bf_uverbs_mmap(struct bf_uverbs_file *f, uint64_t offset, uint64_t len, struct bf_uverbs_mapping *out)
{
	return bf_uv_provider(f->u)->mmap(f, offset, len, out);
}

void bf_uverbs_irq(void *uverbs, uint32_t vector)
{
	struct bf_uverbs *u = uverbs;

	if (u)
		bf_uv_provider(u)->irq(u, vector);
}

uint8_t bf_uverbs_active_mtu(const struct bf_uverbs *u)
{
	return u->opts.mtu ? (uint8_t)(24 - __builtin_clz(u->opts.mtu)) : MTU_4096;
}

int bf_uverbs_mad_open(struct bf_uverbs *u, bf_uverbs_mad_fn *receive, void *owner)
{
	return bf_uv_provider(u)->mad_open(u, receive, owner);
}

int bf_uverbs_mad_send(struct bf_uverbs *u, uint32_t ipv4, const uint8_t mad[BF_UVERBS_MAD])
{
	return bf_uv_provider(u)->mad_send(u, ipv4, mad);
}

void bf_uverbs_mad_close(struct bf_uverbs *u)
{
	bf_uv_provider(u)->mad_close(u);
}
