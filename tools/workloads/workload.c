#include "tools/workloads/workload.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/workloads/choice.h"
#include "tools/workloads/profile.h"

#define PREFIX "ibgda-"

const char *bf_workload_name(enum bf_ibgda_work work)
{
	static const char *const names[] = {
		[BF_IBGDA_PUT] = PREFIX "put",
		[BF_IBGDA_GET] = PREFIX "get",
		[BF_IBGDA_AMO] = PREFIX "amo",
		[BF_IBGDA_MIXED] = PREFIX "mixed",
	};

	return (size_t)work < BF_ARRAY_LEN(names) ? names[work] : NULL;
}

static const char *workload_summary(enum bf_ibgda_work work)
{
	switch (work) {
	case BF_IBGDA_PUT:
		return "each warp puts messages into its peer's memory; every byte is compared";
	case BF_IBGDA_GET:
		return "each warp gets messages from its peer's memory; every byte is compared";
	case BF_IBGDA_AMO:
		return "atomics on the peer's counters; sums, and with --fetch the old values";
	case BF_IBGDA_MIXED:
		return "puts, gets, inline puts, puts with signal and atomics, drawn by seed";
	case BF_IBGDA_WORKS:
	default:
		return "";
	}
}

#define ROW(oname, okind, oarg, odefault, ohelp, omin, omax, member)                                                   \
	{ oname, BF_OPT_##okind, oarg, odefault, BF_MEMBER(struct bf_workload, member) },

static const struct bf_choice rows[] = { BF_WORKLOAD_OPTIONS(ROW, "1", "1", "warp") };

static const struct {
	const char *name;
	uint32_t bit;
} classes[] = {
	{ "meta", BF_CLASS_META },   { "agent", BF_CLASS_AGENT }, { "mem", BF_CLASS_MEM },
	{ "mmio", BF_CLASS_MMIO },   { "dma", BF_CLASS_DMA },     { "queue", BF_CLASS_QUEUE },
	{ "net", BF_CLASS_NET },     { "fault", BF_CLASS_FAULT }, { "driver", BF_CLASS_DRIVER },
	{ "where", BF_CLASS_WHERE }, { "all", BF_CLASS_ALL },     { "none", 0 },
};

int bf_records_parse(const char *text, uint32_t *mask, struct bf_error *err)
{
	size_t len;

	*mask = 0;
	for (;; text += len + 1) {
		size_t i;

		len = strcspn(text, ",");
		for (i = 0; i < BF_ARRAY_LEN(classes); i++)
			if (strlen(classes[i].name) == len && strncmp(classes[i].name, text, len) == 0)
				break;
		if (i == BF_ARRAY_LEN(classes))
			return bf_fail(
			    err, -EINVAL,
			    "record class \"%.*s\" is not known; there are meta, agent, mem, mmio, dma, queue, net, "
			    "fault, driver, where (not among all), all, none",
			    (int)len, text);
		*mask |= classes[i].bit;
		if (!text[len])
			return 0;
	}
}

/* Ours, and how the names of other devices' begin. */
static int refuse_work(const struct bf_args *args, const char *name)
{
	char others[160] = "";
	size_t n = 0;

	for (const struct bf_command *const *f = bf_arg_families(args); f && *f && n < sizeof(others); f++)
		n += (size_t)snprintf(others + n, sizeof(others) - n, ", %s*", (*f)->prefix);
	if (!name)
		return bf_cli_error(args, BF_EXIT_USAGE,
				    "which workload? ibgda-put, ibgda-get, ibgda-amo, ibgda-mixed%s", others);
	return bf_cli_error(args, BF_EXIT_USAGE,
			    "workload \"%s\" is not known; there are ibgda-put, ibgda-get, ibgda-amo, ibgda-mixed%s",
			    name, others);
}

static int parse_work(const struct bf_args *args, struct bf_workload *w)
{
	const char *name;

	if (bf_arg_positional_count(args) == 0)
		return refuse_work(args, NULL);
	name = bf_arg_positional(args, 0);
	for (w->work = BF_IBGDA_PUT; w->work < BF_IBGDA_WORKS; w->work++)
		if (strcmp(bf_workload_name(w->work), name) == 0)
			return BF_EXIT_GOOD;
	return refuse_work(args, name);
}

static int parse_bugs(const struct bf_args *args, struct bf_workload *w)
{
	for (unsigned i = 0; i < bf_arg_count(args, "bug"); i++) {
		const char *name = bf_arg_nth(args, "bug", i);

		if (!bf_ibgda_set_wrong(name, &w->bugs, &w->suspects))
			return bf_cli_error(args, BF_EXIT_USAGE,
					    "bug \"%s\" is not known; `belfry run --list` lists them", name);
	}
	for (unsigned i = 0; i < bf_arg_count(args, "without"); i++) {
		const struct bf_ibgda_bug *l = bf_ibgda_lacks;

		while (l->name && strcmp(l->name, bf_arg_nth(args, "without", i)) != 0)
			l++;
		if (!l->name)
			return bf_cli_error(args, BF_EXIT_USAGE,
					    "--without %s: `belfry run --list` lists what a machine may lack",
					    bf_arg_nth(args, "without", i));
		w->lacks |= l->bit;
	}
	return BF_EXIT_GOOD;
}

/* An option that the workload does not look at was meant for another one. */
static int check_meant(const struct bf_args *args, const struct bf_workload *w)
{
	static const char *const atomics[] = { "op", "op-bytes", "fetch", "counters" };

	for (size_t i = 0; i < BF_ARRAY_LEN(atomics); i++) {
		const bool looks =
		    w->work == BF_IBGDA_AMO || (w->work == BF_IBGDA_MIXED && strcmp(atomics[i], "counters") == 0);

		if (!looks && bf_arg_given(args, atomics[i]))
			return bf_cli_error(args, BF_EXIT_USAGE, "--%s means nothing to %s: it is for ibgda-amo",
					    atomics[i], bf_workload_name(w->work));
	}
	if (w->lanes && !w->per_lane)
		return bf_cli_error(args, BF_EXIT_USAGE, "--lanes means nothing without --per-lane");
	return BF_EXIT_GOOD;
}

/* What a real NIC works on: data in a GPU's memory, rings there only when its own threads fill them. */
static int choose_memory(const struct bf_args *args, struct bf_workload *w)
{
	char why[256] = "";

	if (!w->backend->probe_gpu && w->heap != BF_HEAP_AUTO)
		return bf_cli_error(args, BF_EXIT_USAGE, "--heap: a choice of backend mlx5 only");
	if (!w->backend->probe_gpu)
		return BF_EXIT_GOOD;
	if (!w->gpu && bf_arg_given(args, "place") && w->place != BF_PLACE_HOST)
		return bf_cli_error(args, BF_EXIT_USAGE,
				    "--place gpu: no processor reaches a GPU's memory, so rings there "
				    "are for its own threads (--agent cuda)");
	if (!w->gpu && w->heap == BF_HEAP_GPU && w->fill)
		return bf_cli_error(args, BF_EXIT_USAGE,
				    "--fill: no processor writes into a GPU's memory while others work on "
				    "it; its own threads do (--agent cuda)");
	if (w->gpu && w->heap == BF_HEAP_AUTO)
		w->heap = BF_HEAP_GPU;
	if (w->gpu && w->backup)
		return bf_cli_error(args, BF_EXIT_USAGE,
				    "--backup: supervisors look at rings, which are the real GPU's");
	if (w->heap != BF_HEAP_GPU && (!w->gpu || w->place == BF_PLACE_HOST))
		return BF_EXIT_GOOD;
	if (w->backend->probe_gpu(false, why, sizeof(why)) != 0)
		return bf_cli_error(args, BF_EXIT_UNAVAILABLE, "no memory of a GPU: %s", why);
	return BF_EXIT_GOOD;
}

/* A real GPU reaches rings and records where the models' processor does: in host memory. */
static int choose_agent(const struct bf_args *args, struct bf_workload *w)
{
	int code = w->agent ? bf_choose_gpu(args, &w->backend) : BF_EXIT_GOOD;

	w->gpu = w->agent && w->backend->probe_gpu;
	if (!w->gpu)
		w->agent = 0; /* the backend says it */
	if (code == BF_EXIT_GOOD)
		code = choose_memory(args, w);
	if (code != BF_EXIT_GOOD || strcmp(w->backend->name, "cuda") != 0)
		return code;
	if (bf_arg_given(args, "place") && w->place != BF_PLACE_HOST)
		return bf_cli_error(args, BF_EXIT_USAGE,
				    "--place: the rings of a real GPU's threads lie in host memory");
	w->place = BF_PLACE_HOST;
	return BF_EXIT_GOOD;
}

int bf_workload_parse(const struct bf_args *args, struct bf_workload *w)
{
	struct bf_error err = { 0 };
	int code;

	*w = (struct bf_workload){ .ordering = BF_ORDER_GPU };
	bf_choices_parse(args, rows, BF_ARRAY_LEN(rows), w);
	w->profile_text = bf_arg_text(args, "profile");
	code = parse_work(args, w);
	if (code == BF_EXIT_GOOD)
		code = check_meant(args, w);
	if (code == BF_EXIT_GOOD)
		code = parse_bugs(args, w);
	if (code == BF_EXIT_GOOD &&
	    (bf_profile_parse(w->profile_text, &w->profile, &err) != 0 ||
	     bf_choose_faults(args, w->seed, &w->faults, &err) != 0 ||
	     bf_choose_topology(args, w->pes, &w->topology, &err) != 0 || bf_workload_check(w, &err) != 0))
		code = bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	if (code == BF_EXIT_GOOD)
		code = bf_choose_backend(args, BF_DEVICE_MLX5, &w->backend);
	if (code == BF_EXIT_GOOD)
		code = choose_agent(args, w);
	if (code != BF_EXIT_GOOD)
		bf_workload_free(w);
	return code;
}

void bf_workload_free(struct bf_workload *w)
{
	free(w->faults);
	w->faults = NULL;
}

void bf_workload_command(const void *choices, char *buf, size_t cap)
{
	const struct bf_workload *w = choices;

	snprintf(buf, cap, "belfry run %s", bf_workload_name(w->work));
	bf_choices_command(rows, BF_ARRAY_LEN(rows), w, buf, cap);
	if (w->ordering != BF_ORDER_GPU)
		bf_command_append(buf, cap, "ordering", bf_ordering_name(w->ordering), false);
	for (const struct bf_ibgda_bug *b = bf_ibgda_bugs; b->name; b++)
		if (w->bugs & b->bit)
			bf_command_append(buf, cap, "bug", b->name, false);
	for (const struct bf_ibgda_suspect *s = bf_ibgda_suspects; s->name; s++)
		if (w->suspects & s->bit)
			bf_command_append(buf, cap, "bug", s->name, false);
	for (const struct bf_ibgda_bug *l = bf_ibgda_lacks; l->name; l++)
		if (w->lacks & l->bit)
			bf_command_append(buf, cap, "without", l->name, false);
	if (strcmp(w->backend->name, "sim") != 0)
		bf_command_append(buf, cap, "backend", w->backend->name, false);
	if (strcmp(w->profile_text, "cx7") != 0)
		bf_command_append(buf, cap, "profile", w->profile_text, false);
	if (w->topology)
		bf_command_append(buf, cap, "topology", w->topology, true);
	if (w->faults)
		bf_command_append(buf, cap, "faults", w->faults, true);
}

void bf_workload_json(struct bf_json *j, const struct bf_workload *w)
{
	bf_choices_json(j, rows, BF_ARRAY_LEN(rows), w);
	bf_json_open(j, "bugs", '[');
	for (const struct bf_ibgda_bug *b = bf_ibgda_bugs; b->name; b++)
		if (w->bugs & b->bit)
			bf_json_text(j, NULL, b->name);
	for (const struct bf_ibgda_suspect *s = bf_ibgda_suspects; s->name; s++)
		if (w->suspects & s->bit)
			bf_json_text(j, NULL, s->name);
	bf_json_close(j, ']');
	if (w->topology)
		bf_json_text(j, "topology", w->topology);
	if (w->faults)
		bf_json_text(j, "faults", w->faults);
	bf_json_open(j, "profile", '{');
	bf_profile_json(j, &w->profile);
	bf_json_close(j, '}');
}

static void list_json(void)
{
	struct bf_json j;

	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_open(&j, "workloads", '[');
	for (enum bf_ibgda_work k = BF_IBGDA_PUT; k < BF_IBGDA_WORKS; k++)
		bf_json_text(&j, NULL, bf_workload_name(k));
	bf_json_close(&j, ']');
	bf_json_open(&j, "backends", '[');
	for (const struct bf_backend *const *b = bf_backends(); *b; b++)
		bf_json_text(&j, NULL, (*b)->name);
	bf_json_close(&j, ']');
	bf_json_open(&j, "orderings", '[');
	for (enum bf_ordering o = BF_ORDER_SC; o <= BF_ORDER_ADVERSARIAL; o++)
		bf_json_text(&j, NULL, bf_ordering_name(o));
	bf_json_close(&j, ']');
	bf_json_open(&j, "profiles", '[');
	for (const struct bf_mlx5_profile *const *p = bf_profiles(); *p; p++) {
		bf_json_open(&j, NULL, '{');
		bf_profile_json(&j, *p);
		bf_json_close(&j, '}');
	}
	bf_json_close(&j, ']');
	bf_json_open(&j, "bugs", '[');
	for (const struct bf_ibgda_bug *b = bf_ibgda_bugs; b->name; b++) {
		bf_json_open(&j, NULL, '{');
		bf_json_text(&j, "name", b->name);
		bf_json_text(&j, "summary", b->summary);
		bf_json_close(&j, '}');
	}
	for (const struct bf_ibgda_suspect *b = bf_ibgda_suspects; b->name; b++) {
		bf_json_open(&j, NULL, '{');
		bf_json_text(&j, "name", b->name);
		bf_json_text(&j, "summary", b->summary);
		bf_json_close(&j, '}');
	}
	bf_json_close(&j, ']');
	bf_json_close(&j, '}');
	bf_json_end(&j);
}

int bf_workload_list(const struct bf_args *args)
{
	if (bf_arg_json(args)) {
		list_json();
		return BF_EXIT_GOOD;
	}
	puts("Workloads");
	for (enum bf_ibgda_work k = BF_IBGDA_PUT; k < BF_IBGDA_WORKS; k++)
		printf("  %-18s %s\n", bf_workload_name(k), workload_summary(k));
	puts("Backends (belfry doctor says which work here)");
	for (const struct bf_backend *const *b = bf_backends(); *b; b++)
		printf("  %-18s %s\n", (*b)->name, (*b)->summary);
	puts("Orderings\n"
	     "  sc                 stores are visible at once, in order\n"
	     "  tso                stores wait in a buffer and leave in order (x86)\n"
	     "  gpu                stores leave in any order; fences have scopes\n"
	     "  adversarial        as gpu, each store at once or as late as nothing forces it");
	puts("Bugs");
	for (const struct bf_ibgda_bug *b = bf_ibgda_bugs; b->name; b++)
		printf("  %-18s %s\n", b->name, b->summary);
	puts("Bugs that readers suspect in NVSHMEM and DeepEP");
	for (const struct bf_ibgda_suspect *s = bf_ibgda_suspects; s->name; s++)
		printf("  %-28s %s\n", s->name, s->summary);
	puts("What a machine may lack");
	for (const struct bf_ibgda_bug *l = bf_ibgda_lacks; l->name; l++)
		printf("  %-18s %s\n", l->name, l->summary);
	for (const struct bf_mlx5_profile *const *p = bf_profiles(); *p; p++) {
		printf("Profile %s\n", (*p)->name);
		bf_profile_print(stdout, *p);
	}
	return BF_EXIT_GOOD;
}
