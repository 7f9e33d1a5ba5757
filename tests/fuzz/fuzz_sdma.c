/*
 * Any bytes as a packet stream: byte 0 is generation and flags, the rest goes into the ring (and, from host memory,
 * into indirect buffers) and is rung piece by piece. Nothing outside of the engine's memory changes, the clock's limit
 * is kept, the decoder agrees with itself.
 */
#include "models/sdma/decode.h"
#include "tests/models/sdma_rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define GUARD 4096u
#define BASE (1ull << 40) /* where the rig's space begins */

static void count(void *arg, const char *name, uint32_t dword, uint64_t raw, const char *text)
{
	(void)raw;
	*(uint32_t *)arg += (uint32_t)(strlen(name) + strlen(text)) + dword;
}

/* Every prefix of a packet decodes, and a packet that decodes whole says the same with more behind it. */
static void check_decoder(const struct bf_sdma_dialect *d, const uint32_t *dw, uint32_t n)
{
	struct bf_sdma_packet p, q;
	uint32_t sum = 0;

	for (uint32_t have = 0; have <= n && have <= 24; have++) {
		uint32_t *exact = malloc(have * 4u + 1);

		RIG_MUST(exact);
		memcpy(exact, dw, have * 4u);
		bf_sdma_decode(d, exact, have, &p);
		bf_sdma_each_field(&p, exact, have, count, &sum);
		if (p.reason == BF_SDMA_RUNS)
			RIG_MUST(p.dwords <= have && bf_sdma_decode(d, dw, n, &q) == BF_SDMA_RUNS &&
				 p.dwords == q.dwords);
		free(exact);
	}
}

/*
 * Addresses in random streams hit nothing; where a dword pair looks like one (its high half has the top bit of byte 0's
 * flag set), it is moved into the rig's memory.
 */
static void place_addresses(uint32_t *dw, uint32_t n)
{
	for (uint32_t i = 1; i + 1 < n; i++) {
		if ((dw[i + 1] & 0xffff0000u) != 0xfeed0000u)
			continue;
		dw[i + 1] = (uint32_t)(BASE >> 32);
		dw[i] &= 0x3ffffu;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct bf_sdma_profile *const profiles[] = { &bf_sdma_v4, &bf_sdma_v5, &bf_sdma_v6, &bf_sdma_v7,
								  &bf_sdma_v7_1 };
	uint32_t dw[1024] = { 0 }, n;
	struct bf_sdma_dialect d;
	struct bf_region *guard;
	struct rig r;

	if (size < 5)
		return 0;
	n = (uint32_t)((size - 1) / 4 < BF_ARRAY_LEN(dw) ? (size - 1) / 4 : BF_ARRAY_LEN(dw));
	memcpy(dw, data + 1, n * 4u);
	place_addresses(dw, n);
	rig_open(
	    &r, &(struct rig_opts){
		    .profile = profiles[data[0] % 5], .wrapped = data[0] & 64, .strict = data[0] & 128, .mem = 65536 });
	d = (struct bf_sdma_dialect){ .gen = r.profile.gen,
				      .wide_rect = r.profile.wide_rect,
				      .wide_count = r.profile.wide_count };
	check_decoder(&d, dw, n);
	/* A region that the engine may not reach, between others. */
	RIG_MUST(!bf_region_create(&r.space, &(struct bf_region_opts){ .name = "guard", .size = GUARD }, &guard));
	memset(guard->bytes, 0x5c, GUARD);
	memcpy(r.host->bytes + 4096, dw, n * 4u);
	for (uint32_t at = 0; at < n; at += 64) {
		rig_put(&r, dw + at, n - at < 64 ? n - at : 64);
		rig_bell(&r);
		bf_sim_run(r.sim, r.sim->now_ps + 20 * BF_US);
		if (data[0] & 32) {
			bf_sdma_queue_update(r.q, 0, 0);
			bf_sim_run(r.sim, r.sim->now_ps + BF_US);
			bf_sdma_queue_update(r.q, r.control->va, r.ring_bytes);
		}
	}
	bf_sim_run(r.sim, r.sim->now_ps + 200 * BF_US);
	RIG_MUST(rig_info(&r).retired <= rig_info(&r).doorbell && rig_info(&r).fetched <= rig_info(&r).doorbell);
	for (uint32_t i = 0; i < GUARD; i++)
		RIG_MUST(guard->bytes[i] == 0x5c);
	rig_close(&r);
	return 0;
}
