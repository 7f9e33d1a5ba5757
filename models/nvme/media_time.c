/*
 * How long the flash takes. Pages are striped over the channels; a channel does one thing at a time. What was read
 * ahead is there (ahead_ps). A read waits for the reads before it on its channel, and for the program that is under
 * way, not for those that wait: controllers let reads overtake programs. Writes end in the DRAM cache, which gathers
 * pages and programs them round robin; once it is full, writes go at the pace of the programs. Everything shares one
 * total bandwidth.
 *
 * All in closed form, when a request arrives.
 */
#include "models/nvme/media_internal.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

int bf_nvme_time_open(struct bf_nvme *dev)
{
	const struct bf_nvme_profile *p = &dev->profile;
	struct bf_nvme_media_unit *u = dev->media;
	uint64_t pages;

	if (!p->channels || p->media_page < 512 || p->media_page % 512)
		return bf_fail(&dev->sim->error, -EINVAL, "'%s': profile '%s' has %u channels with pages of %u bytes",
			       dev->name, p->name, p->channels, p->media_page);
	u->read_ps = calloc(p->channels, sizeof(uint64_t));
	u->program_ps = calloc(p->channels, sizeof(uint64_t));
	if (!u->read_ps || !u->program_ps)
		return bf_fail(&dev->sim->error, -ENOMEM, "'%s': no memory for %u channels", dev->name, p->channels);
	u->instant = !p->read_ps && !p->program_ps && !p->cache_write_ps && !p->ps_per_kib;
	pages = p->cache_bytes / p->media_page / p->channels;
	u->backlog_ps = pages * p->program_ps;
	return 0;
}

/* The total bandwidth: when `len` more bytes have passed. */
static uint64_t pass_bytes(struct bf_nvme *dev, uint64_t len, uint64_t *cost)
{
	struct bf_nvme_media_unit *u = dev->media;

	*cost = len * dev->profile.ps_per_kib / 1024;
	u->bandwidth_ps = later(u->bandwidth_ps, dev->sim->now_ps) + *cost;
	return u->bandwidth_ps;
}

static uint64_t read_page(struct bf_nvme *dev, uint64_t page)
{
	const struct bf_nvme_profile *p = &dev->profile;
	struct bf_nvme_media_unit *u = dev->media;
	const uint32_t channel = (uint32_t)(page % p->channels);
	uint64_t start = later(dev->sim->now_ps, u->read_ps[channel]);

	if (u->program_ps[channel] > start && p->program_ps) {
		start += (u->program_ps[channel] - start) % p->program_ps;
		u->program_ps[channel] += p->read_ps;
	}
	u->read_ps[channel] = start + p->read_ps;
	return u->read_ps[channel];
}

uint64_t bf_nvme_read_time(struct bf_nvme *dev, const struct bf_nvme_media *m, uint64_t offset, uint64_t len)
{
	const uint32_t size = dev->profile.media_page;
	const uint64_t at = m->first_page * size + offset;
	const bool ahead = dev->profile.ahead_ps && at && at == dev->media->read_end;
	uint64_t done = 0, cost, passed;

	if (dev->media->instant)
		return dev->sim->now_ps;
	dev->media->read_end = at + len;
	if (ahead) {
		passed = pass_bytes(dev, len, &cost);
		return later(dev->sim->now_ps + dev->profile.ahead_ps + cost, passed);
	}
	for (uint64_t page = offset / size; page <= (offset + len - 1) / size; page++)
		done = later(done, read_page(dev, m->first_page + page));
	passed = pass_bytes(dev, len, &cost);
	return later(done + cost, passed);
}

/* The page that was gathered goes to the next channel. Returns when it is there. */
static uint64_t program_page(struct bf_nvme *dev)
{
	struct bf_nvme_media_unit *u = dev->media;
	const uint32_t channel = u->next_channel;

	u->next_channel = channel + 1 == dev->profile.channels ? 0 : channel + 1;
	u->program_ps[channel] =
	    later(later(u->program_ps[channel], u->read_ps[channel]), dev->sim->now_ps) + dev->profile.program_ps;
	return u->program_ps[channel];
}

uint64_t bf_nvme_write_time(struct bf_nvme *dev, uint64_t len, bool through)
{
	const struct bf_nvme_profile *p = &dev->profile;
	struct bf_nvme_media_unit *u = dev->media;
	const uint64_t now = dev->sim->now_ps;
	uint64_t done, cost, passed, programmed = now, behind;

	if (u->instant)
		return now;
	passed = pass_bytes(dev, len, &cost);
	/* Round robin: the channel that is next has the oldest program, so it tells how full the cache is. */
	behind = u->program_ps[u->next_channel];
	done = behind > now + u->backlog_ps ? behind - u->backlog_ps : now;
	for (u->fill += len; u->fill >= p->media_page; u->fill -= p->media_page)
		programmed = later(programmed, program_page(dev));
	if (!through && p->cache_bytes)
		return later(done + p->cache_write_ps, passed);
	if (u->fill)
		programmed = later(programmed, program_page(dev));
	u->fill = 0;
	return later(programmed, passed);
}

uint64_t bf_nvme_flush_time(struct bf_nvme *dev)
{
	struct bf_nvme_media_unit *u = dev->media;

	if (u->fill)
		program_page(dev);
	u->fill = 0;
	return bf_nvme_media_settled_ps(dev);
}

uint64_t bf_nvme_media_settled_ps(const struct bf_nvme *dev)
{
	const struct bf_nvme_media_unit *u = dev->media;
	uint64_t done = dev->sim->now_ps;

	for (uint32_t i = 0; i < dev->profile.channels; i++)
		done = later(done, u->program_ps[i]);
	return u->fill ? done + dev->profile.program_ps : done;
}
