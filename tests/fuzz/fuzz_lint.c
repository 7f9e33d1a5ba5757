/*
 * Any bytes as a trace before everything that judges or draws one: rules, what is stuck, the life of each kind of
 * thing, stages, timelines and waveforms. Records have the types that models declare, with any values in their fields.
 */
#include <stdlib.h>

#include "traces/life/explain.h"
#include "traces/life/stuck.h"
#include "traces/export/perfetto.h"
#include "traces/rules/rules.h"
#include "traces/life/stages.h"
#include "traces/container/trace.h"
#include "traces/export/vcd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const targets[] = { "0x100:0",         "nic0.qp0x101:1",  "ssd0.sq1:cid=1", "ssd0.sq1:slot=0",
				       "sdma0.q0:0x20",   "gpu0.sm0:0x400",  "nic0.cq0x40:#0", "ssd0.cq1:#1",
				       "nic0.qp0x100:81", "mlx5_0.qp0x100:0" };

static struct bf_trace *open_trace(const uint8_t *data, size_t size)
{
	struct bf_trace *t;

	return bf_trace_open_memory(data, size, &t, NULL) ? NULL : t;
}

static void judge(struct bf_trace *t)
{
	struct bf_error err = { 0 };
	struct bf_rules *r;

	if (bf_rules_create(NULL, &r, &err))
		abort();
	bf_rules_trace(r, t, &err);
	bf_rules_finish(r, true);
	for (uint32_t i = 0; i < bf_rules_count(r); i++)
		if (!bf_rules_found(r, i)->text[0])
			abort();
	bf_rules_destroy(r);
}

static void follow(const char *name, struct bf_trace *t, FILE *out)
{
	struct bf_explain_target target;
	struct bf_explain *life = NULL;
	struct bf_error err = { 0 };

	if (!bf_explain_parse(name, &target))
		abort();
	if (!bf_explain_trace(&target, t, &life, &err))
		bf_explain_print(life, out, BF_EXPLAIN_COLUMNS);
	bf_explain_free(life);
}

static void stuck(struct bf_trace *t)
{
	struct bf_stuck *s = NULL;
	struct bf_error err = { 0 };

	bf_stuck_read(t, &s, &err);
	bf_stuck_free(s);
}

static void stages(struct bf_trace *t)
{
	struct bf_stages *s = NULL;
	struct bf_error err = { 0 };

	bf_stages_read(t, &s, &err);
	bf_stages_destroy(s);
}

/* Each input goes one way, chosen by its bytes: all ways for each would be slow. Every other one meets the rules. */
static void look(struct bf_trace *t, size_t way, FILE *out)
{
	struct bf_error err = { 0 };

	switch (way) {
	case 0:
		stuck(t);
		break;
	case 1:
		stages(t);
		break;
	case 2:
		bf_perfetto_export(t, &(struct bf_timeline_options){ .memory = true }, out, NULL, &err);
		break;
	case 3:
		bf_vcd_export(t, out, NULL, &err);
		break;
	default:
		follow(targets[way - 4], t, out);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bf_trace *t = open_trace(data, size);
	size_t sum = 0;
	FILE *out;

	if (!t)
		return 0;
	for (size_t i = 0; i < size; i++)
		sum += data[i];
	if (sum & 1) {
		judge(t);
	} else {
		out = fopen("/dev/null", "w");
		if (!out)
			abort();
		look(t, sum / 2 % (4 + sizeof(targets) / sizeof(targets[0])), out);
		fclose(out);
	}
	bf_trace_close(t);
	return 0;
}
