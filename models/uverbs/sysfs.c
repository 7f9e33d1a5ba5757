/* The files below /sys/class that libibverbs, libmlx5 and the tools read (libibverbs/init.c, sysfs.c of rdma-core). */
#include "models/uverbs/uverbs_internal.h"

#include <stdio.h>

#define NAME_ROOM 48
#define PATH_ROOM 256

struct tree {
	const struct bf_uverbs_opts *opts;
	uint32_t index;
	void (*fn)(void *arg, const char *path, const char *text);
	void *arg;
};

static void put(const struct tree *t, const char *below, const char *text)
{
	char path[PATH_ROOM];

	snprintf(path, sizeof(path), "infiniband/%s/%s", t->opts->name, below);
	t->fn(t->arg, path, text);
}

static void put_verbs(const struct tree *t, const char *file, const char *text)
{
	char path[PATH_ROOM];

	snprintf(path, sizeof(path), "infiniband_verbs/uverbs%u/%s", t->index, file);
	t->fn(t->arg, path, text);
}

static void put_gids(const struct tree *t)
{
	char below[NAME_ROOM], text[64];
	uint8_t gid[16];

	for (uint32_t i = 0; i < BF_UV_GID_ROOM; i++) {
		int at = 0;

		memset(gid, 0, sizeof(gid));
		if (i < bf_uv_gids(t->opts))
			bf_uv_gid(t->opts, i, gid);
		for (uint32_t j = 0; j < 16; j += 2)
			at += snprintf(text + at, sizeof(text) - (size_t)at, "%s%04x", j ? ":" : "",
				       bf_get_be16(gid + j));
		snprintf(below, sizeof(below), "ports/1/gids/%u", i);
		put(t, below, text);
		if (i >= bf_uv_gids(t->opts))
			continue; /* reading these of a free place fails */
		snprintf(below, sizeof(below), "ports/1/gid_attrs/types/%u", i);
		put(t, below, bf_uv_gid_type(t->opts, i) == IB_UVERBS_GID_TYPE_ROCE_V2 ? "RoCE v2" : "IB/RoCE v1");
		if (t->opts->infiniband)
			continue; /* the same: it has no network interface */
		snprintf(below, sizeof(below), "ports/1/gid_attrs/ndevs/%u", i);
		put(t, below, t->opts->interface);
	}
}

static void put_link(const struct tree *t)
{
	const bool ib = t->opts->infiniband;
	char text[8];

	put(t, "ports/1/link_layer", ib ? "InfiniBand" : "Ethernet");
	snprintf(text, sizeof(text), "0x%x", ib ? t->opts->ipv4 & 0xffff : 0);
	put(t, "ports/1/lid", text);
	snprintf(text, sizeof(text), "0x%x", ib ? BF_UVERBS_SM_LID : 0);
	put(t, "ports/1/sm_lid", text);
}

static void put_guid(const struct tree *t, const char *file)
{
	uint64_t g = t->opts->node_guid;
	char text[32];

	snprintf(text, sizeof(text), "%04x:%04x:%04x:%04x", (unsigned)(g >> 48), (unsigned)(g >> 32 & 0xffff),
		 (unsigned)(g >> 16 & 0xffff), (unsigned)(g & 0xffff));
	put(t, file, text);
}

/*
 * The device number is that of /dev/null, which is what the surroundings open in its place: it must agree with what
 * stat(2) says of the descriptor.
 */
void bf_uverbs_sysfs(const struct bf_uverbs_opts *opts, uint32_t index,
		     void (*fn)(void *arg, const char *path, const char *text), void *arg)
{
	const struct tree t = { opts, index, fn, arg };

	fn(arg, "infiniband_verbs/abi_version", "6");
	put_verbs(&t, "ibdev", opts->name);
	put_verbs(&t, "dev", "1:3");
	put_verbs(&t, "abi_version", "1");
	for (const char *const(*file)[2] = opts->provider->identity; (*file)[0]; file++)
		put(&t, (*file)[0], (*file)[1]);
	put_guid(&t, "node_guid");
	put_guid(&t, "sys_image_guid");
	put_link(&t);
	put_gids(&t);
}
