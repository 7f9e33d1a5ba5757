#include <inttypes.h>

#include "sim/bytes.h"
#include "models/nvme/prm.h"
#include "traces/rules/nvme/nvme.h"

#define REGIONS 512u
#define NAMED 8u

struct region {
	uint64_t va, size;
};

struct state {
	struct region regions[REGIONS];
	uint32_t nregions;
	bool found;
};

/* Where commands of a queue put data: the first address in each region. */
struct named {
	struct {
		uint32_t region;
		uint64_t va, at_ps, record;
	} place[NAMED];
	uint32_t n;
};

/* Number of the region that an address lies in; REGIONS when none is known. */
static uint32_t region_of(const struct state *s, uint64_t va)
{
	uint32_t i = s->nregions;

	while (i-- > 0)
		if (va - s->regions[i].va < s->regions[i].size)
			return i;
	return REGIONS;
}

static void note_read(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct named *n = bf_rule_queue_state(r, e->queue);
	uint32_t region;

	if (e->tail_len < BF_NVME_RULE_ENTRY || e->tail[0] != BF_NVME_IO_READ || n->n == NAMED)
		return;
	region = region_of(r->state, bf_get_le64(e->tail + 24));
	for (uint32_t i = 0; i < n->n; i++)
		if (n->place[i].region == region)
			return;
	if (region == REGIONS)
		return;
	n->place[n->n].region = region;
	n->place[n->n].va = bf_get_le64(e->tail + 24);
	n->place[n->n].at_ps = e->time_ps;
	n->place[n->n].record = e->number;
	n->n++;
}

static void judge(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;
	const struct named *n = bf_rule_queue_state(r, e->queue);
	const uint32_t here = region_of(s, e->nvm_mismatch.va);

	for (uint32_t i = 0; here != REGIONS && !s->found && i < n->n; i++) {
		struct bf_finding *f;

		if (n->place[i].region == here)
			continue;
		s->found = true;
		f = bf_rule_find(r, e, e->queue);
		if (!f)
			return;
		bf_finding_since(f, n->place[i].at_ps, n->place[i].record);
		bf_finding_say(f,
			       "%s looks for its data at 0x%" PRIx64 ", and the commands of SQ %" PRIu64
			       " name 0x%" PRIx64 ": the buffer moved after its addresses were taken",
			       bf_rule_actor(r->rules, e->actor), e->nvm_mismatch.va, e->queue->number, n->place[i].va);
	}
}

static void stray(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;
	struct bf_finding *f = s->found ? NULL : bf_rule_find(r, e, NULL);
	char meant[40];

	s->found = true;
	if (f)
		bf_finding_say(f,
			       "the controller wrote to 0x%" PRIx64
			       ", an address of buffer \"%s\" from before it moved: nothing had pinned it",
			       e->gpu_stray_write.iova, bf_seen_text(e, "meant", meant, sizeof(meant)));
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;

	switch (e->kind) {
	case BF_SEEN_region:
		if (s->nregions < REGIONS)
			s->regions[s->nregions++] = (struct region){ e->region.va, e->region.size };
		break;
	case BF_SEEN_nvme_fetch:
		note_read(r, e);
		break;
	case BF_SEEN_nvm_mismatch:
		judge(r, e);
		break;
	default:
		stray(r, e);
		break;
	}
}

const struct bf_rule bf_rule_nvme_moved_buffer = {
	.about = {
		.id = "NVME-MOVED-BUFFER",
		.family = "nvme",
		.title = "data went to where the buffer was before it moved",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A controller holds bus addresses. A GPU's memory manager may move a buffer unless it "
			    "is pinned, and then other memory lies there.",
		.wrong = "The addresses were taken before the move and used after it.",
		.fix = "Pin the buffer (or map it as a dynamic importer and take its addresses anew after each "
		       "move) for as long as commands name it.",
		.sources = "Linux Documentation/driver-api/dma-buf.rst; docs/hardware/gpu.md#dma-buf-1; ROCm/rocm-xio#181",
		.example = "run nvme-verify --commands 8 --size 512 --bug moved-buffer",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_STUCK + 2,
	.records = BF_SEES(region, nvme_fetch, nvm_mismatch, gpu_stray_write),
	.on = on,
	.state_bytes = sizeof(struct state),
	.queue_bytes = sizeof(struct named),
};
