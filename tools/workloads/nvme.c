#include "tools/workloads/nvme.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/workloads/choice.h"

#define PREFIX "nvme-"

static const struct {
	const char *name, *summary;
} works[BF_NVM_WORKS] = {
	[BF_NVM_READ] = { PREFIX "read", "random reads of a medium that was filled before; every byte is compared" },
	[BF_NVM_WRITE] = { PREFIX "write",
			   "sequential writes, each thread to blocks of its own; all read back at the end" },
	[BF_NVM_VERIFY] = { PREFIX "verify", "writes, a flush, reads; each thread compares every byte" },
	[BF_NVM_MIXED] = { PREFIX "mixed", "writes, reads, flushes, write zeroes and compares, drawn by seed" },
	[BF_NVM_ADMIN] = { PREFIX "admin", "identify, logs, features and format; answers are compared with the first" },
	[BF_NVM_FILE] = { PREFIX "file", "a file split over the threads, written and read back into other memory" },
};

const char *bf_nvme_workload_name(enum bf_nvm_work work)
{
	return (size_t)work < BF_NVM_WORKS ? works[work].name : NULL;
}

const char *bf_nvme_workload_summary(enum bf_nvm_work work)
{
	return (size_t)work < BF_NVM_WORKS ? works[work].summary : "";
}

#define ROW(oname, okind, oarg, odefault, ohelp, omin, omax, member)                                                   \
	{ oname, BF_OPT_##okind, oarg, odefault, BF_MEMBER(struct bf_nvme_workload, member) },

static const struct bf_choice rows[] = { BF_NVME_OPTIONS(ROW) };

/* Fields of a profile that a command line may set. */
#define FIELD(name)                                                                                                    \
	{                                                                                                              \
#name, BF_MEMBER(struct bf_nvme_profile, name)                                                         \
	}
static const struct {
	const char *name;
	size_t offset, size;
} fields[] = {
	FIELD(pcie.latency_ps), FIELD(pcie.mem_ps),   FIELD(pcie.ps_per_kib), FIELD(doorbell_ps),
	FIELD(command_ps),      FIELD(completion_ps), FIELD(ready_ps),        FIELD(fetch_entries),
	FIELD(read_ps),         FIELD(program_ps),    FIELD(erase_ps),        FIELD(cache_write_ps),
	FIELD(ps_per_kib),      FIELD(channels),      FIELD(media_page),      FIELD(cache_bytes),
	FIELD(max_io_queues),   FIELD(mqes),          FIELD(dstrd),           FIELD(mdts),
	FIELD(mpsmax),          FIELD(vectors),
};

const struct bf_nvme_profile *const *bf_nvme_profiles(void)
{
	static const struct bf_nvme_profile *const all[] = { &bf_nvme_970pro, &bf_nvme_instant, NULL };

	return all;
}

static int set_field(const char *text, size_t len, struct bf_nvme_profile *p, struct bf_error *err)
{
	const char *equals = memchr(text, '=', len);
	unsigned long long value;
	char *end;

	for (size_t i = 0; equals && i < BF_ARRAY_LEN(fields); i++) {
		if (strlen(fields[i].name) != (size_t)(equals - text) ||
		    strncmp(fields[i].name, text, strlen(fields[i].name)) != 0)
			continue;
		errno = 0;
		value = strtoull(equals + 1, &end, 0);
		if (end != text + len || end == equals + 1 || errno || equals[1] == '-' ||
		    (fields[i].size == 4 && value > UINT32_MAX))
			break;
		bf_member_set(p, fields[i].offset, fields[i].size, value);
		return 0;
	}
	return bf_fail(err, -EINVAL, "--profile: \"%.*s\" is not FIELD=NUMBER of an NVMe profile", (int)len, text);
}

int bf_nvme_profile_parse(const char *text, struct bf_nvme_profile *out, struct bf_error *err)
{
	const struct bf_nvme_profile *const *p = bf_nvme_profiles();
	size_t len = strcspn(text, ",");

	while (*p && (strlen((*p)->name) != len || strncmp((*p)->name, text, len) != 0))
		p++;
	if (!*p)
		return bf_fail(err, -EINVAL,
			       "--profile: there is no NVMe profile \"%.*s\"; there are 970pro and instant", (int)len,
			       text);
	*out = **p;
	for (text += len; *text; text += len) {
		int rc;

		text++;
		len = strcspn(text, ",");
		rc = set_field(text, len, out, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int parse_work(const struct bf_args *args, struct bf_nvme_workload *w)
{
	const char *name = bf_arg_positional_count(args) ? bf_arg_positional(args, 0) : "";

	for (w->work = BF_NVM_READ; w->work < BF_NVM_WORKS; w->work++)
		if (strcmp(works[w->work].name, name) == 0)
			return BF_EXIT_GOOD;
	return bf_cli_error(args, BF_EXIT_USAGE, "workload \"%s\" is not known; `belfry run nvme- --list` lists them",
			    name);
}

static int parse_bugs(const struct bf_args *args, struct bf_nvme_workload *w)
{
	for (unsigned i = 0; i < bf_arg_count(args, "bug"); i++) {
		const char *name = bf_arg_nth(args, "bug", i);
		const struct bf_nvm_bug *b = bf_nvm_bugs;

		while (b->name && strcmp(b->name, name) != 0)
			b++;
		if (!b->name)
			return bf_cli_error(args, BF_EXIT_USAGE,
					    "bug \"%s\" is not known; `belfry run nvme- --list` lists them", name);
		w->bugs |= b->bit;
	}
	return BF_EXIT_GOOD;
}

/* The third choice of --agent. */
#define AGENT_CUDA 2u

int bf_nvme_workload_parse(const struct bf_args *args, struct bf_nvme_workload *w)
{
	struct bf_error err = { 0 };
	bool cuda;
	int code;

	*w = (struct bf_nvme_workload){ .ordering = BF_ORDER_GPU };
	bf_choices_parse(args, rows, BF_ARRAY_LEN(rows), w);
	w->profile_text = bf_arg_text(args, "profile");
	w->media = bf_arg_text(args, "media");
	w->media_errors = bf_arg_text(args, "media-errors");
	w->file = bf_arg_text(args, "file");
	w->device = bf_arg_text(args, "device");
	cuda = w->agent == AGENT_CUDA;
	if (cuda)
		w->agent = 0; /* the backend says it */
	code = parse_work(args, w);
	if (code == BF_EXIT_GOOD)
		code = parse_bugs(args, w);
	if (code == BF_EXIT_GOOD &&
	    (bf_nvme_profile_parse(w->profile_text, &w->profile, &err) != 0 ||
	     bf_choose_faults(args, w->seed, &w->faults, &err) != 0 || bf_nvme_workload_check(w, &err) != 0))
		code = bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	if (code == BF_EXIT_GOOD)
		code = bf_choose_backend(args, BF_DEVICE_NVME, &w->backend);
	if (code == BF_EXIT_GOOD && cuda)
		code = bf_choose_gpu(args, &w->backend);
	if (code != BF_EXIT_GOOD)
		bf_nvme_workload_free(w);
	return code;
}

void bf_nvme_workload_free(struct bf_nvme_workload *w)
{
	free(w->faults);
	w->faults = NULL;
}

static bool has_bug(const struct bf_nvme_workload *w, const struct bf_nvm_bug *b)
{
	return w->bugs & b->bit;
}

void bf_nvme_workload_command(const void *choices, char *buf, size_t cap)
{
	const struct bf_nvme_workload *w = choices;

	snprintf(buf, cap, "belfry run %s", bf_nvme_workload_name(w->work));
	bf_choices_command(rows, BF_ARRAY_LEN(rows), w, buf, cap);
	if (w->ordering != BF_ORDER_GPU)
		bf_command_append(buf, cap, "ordering", bf_ordering_name(w->ordering), false);
	for (const struct bf_nvm_bug *b = bf_nvm_bugs; b->name; b++)
		if (has_bug(w, b))
			bf_command_append(buf, cap, "bug", b->name, false);
	if (strcmp(w->backend->name, "sim") != 0)
		bf_command_append(buf, cap, "backend", w->backend->name, false);
	if (w->device)
		bf_command_append(buf, cap, "device", w->device, false);
	if (strcmp(w->profile_text, "970pro") != 0)
		bf_command_append(buf, cap, "profile", w->profile_text, false);
	if (w->media)
		bf_command_append(buf, cap, "media", w->media, true);
	if (w->file)
		bf_command_append(buf, cap, "file", w->file, true);
	if (w->media_errors)
		bf_command_append(buf, cap, "media-errors", w->media_errors, true);
	if (w->faults)
		bf_command_append(buf, cap, "faults", w->faults, true);
}

void bf_nvme_workload_json(struct bf_json *j, const struct bf_nvme_workload *w)
{
	bf_choices_json(j, rows, BF_ARRAY_LEN(rows), w);
	bf_json_open(j, "bugs", '[');
	for (const struct bf_nvm_bug *b = bf_nvm_bugs; b->name; b++)
		if (has_bug(w, b))
			bf_json_text(j, NULL, b->name);
	bf_json_close(j, ']');
	if (w->media)
		bf_json_text(j, "media", w->media);
	if (w->file)
		bf_json_text(j, "file", w->file);
	if (w->media_errors)
		bf_json_text(j, "media_errors", w->media_errors);
	if (w->faults)
		bf_json_text(j, "faults", w->faults);
	bf_json_open(j, "profile", '{');
	bf_json_text(j, "name", w->profile.name);
	for (size_t i = 0; i < BF_ARRAY_LEN(fields); i++)
		bf_json_u64(j, fields[i].name, bf_member_get(&w->profile, fields[i].offset, fields[i].size));
	bf_json_close(j, '}');
}

int bf_nvme_workload_check(const void *choices, struct bf_error *err)
{
	const struct bf_nvme_workload *w = choices;

	const uint32_t block = w->lba ? 4096 : 512, share = w->share < w->threads ? w->share : w->threads;

	if (w->size % block)
		return bf_fail(err, -EINVAL, "--size %" PRIu64 " is not a multiple of the block size, %" PRIu32,
			       w->size, block);
	if (w->batch > w->depth)
		return bf_fail(err, -EINVAL, "--batch %" PRIu32 " is more than --depth %" PRIu32 " lets be in flight",
			       w->batch, w->depth);
	if ((uint64_t)share * w->depth > 65535)
		return bf_fail(err, -EINVAL,
			       "--share %" PRIu32 " threads with --depth %" PRIu32
			       " each: a queue pair has 65535 command identifiers",
			       share, w->depth);
	if (w->page & (w->page - 1))
		return bf_fail(err, -EINVAL, "--page %" PRIu32 " is not a power of two", w->page);
	if (w->offset % 16 || w->list_offset % 8 || w->offset >= w->page || w->list_offset >= w->page)
		return bf_fail(err, -EINVAL,
			       "--offset must be a multiple of 16 and --list-offset one of 8, below the page size");
	if (w->entries && w->entries <= w->depth && w->share == 1)
		return bf_fail(err, -EINVAL,
			       "--entries %" PRIu32 " cannot hold %" PRIu32 " commands in flight: one slot "
			       "stays empty",
			       w->entries, w->depth);
	if (w->entries == 1 || w->cq_entries == 1)
		return bf_fail(err, -EINVAL, "a queue has at least 2 entries");
	if (w->capacity % 4096)
		return bf_fail(err, -EINVAL, "--capacity must be a multiple of 4096");
	if (w->file && w->work != BF_NVM_FILE)
		return bf_fail(err, -EINVAL, "--file means nothing to %s", bf_nvme_workload_name(w->work));
	if (w->agent && (w->queues_in > 1 && w->queues_in < 4))
		return bf_fail(err, -EINVAL, "--agent cpu does not work on queues in VRAM");
	return 0;
}
