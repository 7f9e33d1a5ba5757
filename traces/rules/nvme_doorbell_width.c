#include <inttypes.h>

#include "traces/rules/nvme.h"

#define ACCESS 6u
#define DOORBELLS 0x1000u
#define KEPT 16u

/* The last stores to registers that were not of four bytes. */
struct state {
	struct {
		uint64_t va;
		uint32_t len;
	} kept[KEPT];
	uint32_t n;
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;
	struct bf_finding *f;

	if (e->kind == BF_SEEN_mmio_store) {
		if (e->mmio_store.len != 4) {
			s->kept[s->n % KEPT].va = e->mmio_store.va;
			s->kept[s->n++ % KEPT].len = (uint32_t)e->mmio_store.len;
		}
		return;
	}
	if (e->nvme_driver_error.wrong != ACCESS || e->nvme_driver_error.value < DOORBELLS)
		return;
	for (uint32_t i = 0; i < s->n && i < KEPT; i++) {
		if ((s->kept[i].va ^ e->nvme_driver_error.value) % DOORBELLS)
			continue;
		f = bf_rule_find(r, e, NULL);
		if (f)
			bf_finding_say(f, "a store of %" PRIu32 " bytes hit the doorbell at 0x%" PRIx64 " of BAR0",
				       s->kept[i].len, e->nvme_driver_error.value);
		return;
	}
}

const struct bf_rule bf_rule_nvme_doorbell_width = {
	.about = {
		.id = "NVME-DOORBELL-WIDTH",
		.family = "nvme",
		.title = "a doorbell is not a store of four bytes",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Doorbells are 32-bit registers. What other sizes do is undefined: controllers ignore "
			    "them, or take the second dword for the neighbouring doorbell.",
		.wrong = "The store was wider or narrower, so nothing was announced, or the other queue of the pair "
			 "was rung too.",
		.fix = "Store exactly 32 bits to the doorbell (volatile uint32_t, st.mmio.relaxed.sys.u32).",
		.sources = "NVM Express Base 2.0, 3.1.3; reference nvme, section 9",
		.example = "run nvme-verify --commands 8 --size 512 --bug doorbell-64bit",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_INDEX,
	.records = (const uint8_t[]){ BF_SEEN_nvme_driver_error, BF_SEEN_mmio_store, 0 },
	.needs = (const uint8_t[]){ BF_SEEN_nvme_driver_error, BF_SEEN_mmio_store, 0 },
	.on = on,
	.state_bytes = sizeof(struct state),
};
