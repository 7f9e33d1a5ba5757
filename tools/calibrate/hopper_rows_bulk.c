/* Bulk copies: latency and rates, rings of stages, how complete_tx steps, the barrier cache meanwhile. */
#include <stdlib.h>
#include <string.h>

#include "models/hopper/bulk.h"
#include "tools/calibrate/hopper_rows.h"

/*
 * Code around the operations, in thousandths of a cycle. SINGLE: two clock reads, and the token of arrive.expect_tx on
 * its way. RING: of a stage; address and parity arithmetic, the loop's end. PRODUCER, CONSUMER: the same in a pair of
 * warps. EVICT: the start of the waiter against its clock, in the probe with another warp beside it. CLOCKS: two clock
 * reads around one arrive.
 */
#define SINGLE 55000
#define RING 26500
#define PRODUCER 16500
#define CONSUMER 46000
#define EVICT 225000
#define CLOCKS 15000

#define SOURCE (256u * 1024) /* bytes that a block's ring cycles through */
#define BLOCKS 132u
#define DATA 1024u          /* where data begin in the block's window; barriers lie before */
#define BLOCK (200u * 1024) /* shared memory of a block */

/* A laboratory with copy engines and something to copy. */
struct bulk_lab {
	struct bf_lab lab;
	struct bf_space space;
	struct bf_region *source;
	struct bf_bulk *bulk;
	bool opened;
};

static bool open_lab(struct bulk_lab *b, struct bf_row *row)
{
	const struct bf_region_opts source = { .name = "source",
					       .kind = BF_MEM_VRAM,
					       .size = (uint64_t)BLOCKS * SOURCE };

	memset(b, 0, sizeof(*b));
	if (!bf_lab_open(&b->lab, row, 1, 1))
		return false;
	bf_hopper_exit(b->lab.cta[0]); /* too small a window */
	b->opened = bf_space_init(&b->space, b->lab.sim, "gpu0", 0) == 0;
	if (b->opened && bf_region_create(&b->space, &source, &b->source) == 0 &&
	    bf_bulk_create(b->lab.gpu, &b->space, &b->bulk) == 0)
		return true;
	row->problem = "out of memory";
	return false;
}

static void close_lab(struct bulk_lab *b)
{
	if (!b->lab.sim)
		return;
	bf_bulk_destroy(b->bulk);
	if (b->opened)
		bf_space_fini(&b->space);
	bf_lab_close(&b->lab);
}

static struct bf_hopper_cta *block(struct bulk_lab *b, uint32_t sm, uint32_t warps)
{
	const struct bf_hopper_launch l = { .sm = sm, .warps = warps, .shared_bytes = BLOCK };
	struct bf_hopper_cta *cta = NULL;

	if (bf_hopper_launch(b->lab.gpu, &l, &cta))
		b->lab.row->problem = "the blocks do not fit on the GPU";
	return cta;
}

/* ---- steps of the programs ---- */

static void expect(struct bf_warp *w, uint32_t barrier, uint32_t bytes, bool rolled)
{
	struct bf_sync_instr *in = bf_lab_instr(w, BF_SYNC_ARRIVE, barrier, 1);

	in->tx[__builtin_ctz(w->active)] = bytes;
	if (rolled)
		bf_warp_push_rolled(w);
	else
		bf_warp_push(w);
}

static void load(struct bf_warp *w, const struct bulk_lab *b, uint32_t barrier, uint32_t to, uint64_t from,
		 uint32_t bytes)
{
	struct bf_bulk_copy c = {
		.kind = BF_BULK_LOAD,
		.global = b->source->va + from,
		.shared = to,
		.barrier = barrier,
		.bytes = bytes,
	};

	bf_warp_copy(w, &c);
}

static void await(struct bf_warp *w, uint32_t barrier, uint32_t parity)
{
	while (!bf_warp_try(w, barrier, parity))
		;
}

static int by_value(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* ---- one copy ---- */

#define SINGLES 31u

struct single {
	struct bulk_lab *b;
	uint32_t bytes;
	int64_t cycles[SINGLES];
};

static void single_main(struct bf_warp *w)
{
	struct single *s = w->arg;

	bf_warp_init(w, 0, 1);
	for (uint32_t i = 0; i < SINGLES; i++) {
		const int64_t start = bf_lab_clock(w);

		expect(w, 0, s->bytes, true);
		load(w, s->b, 0, DATA, 0, s->bytes);
		await(w, 0, i & 1);
		bf_lab_spend(w, SINGLE);
		s->cycles[i] = bf_lab_clock(w) - start;
		bf_lab_spend(w, 1000000);
	}
}

void bf_row_bulk(struct bf_row *row)
{
	struct bulk_lab b;
	struct single s = { .b = &b, .bytes = bf_row_u32(row, "bytes") };

	if (s.bytes > BLOCK - DATA || s.bytes > SOURCE) {
		row->problem = "the row's numbers do not fit an SM";
		return;
	}
	if (open_lab(&b, row)) {
		bf_lab_warp(&b.lab, block(&b, 0, 1), 0, 1, single_main, &s);
		b.lab.warp[0]->exited = 0xfffffffe;
		bf_lab_run(&b.lab);
	}
	close_lab(&b);
	qsort(s.cycles, SINGLES, sizeof(s.cycles[0]), by_value);
	bf_row_compare(row, "median_cycles", bf_row_number(row, "median_cycles"), s.cycles[SINGLES / 2]);
	bf_row_compare(row, "min", bf_row_number(row, "min"), s.cycles[0]);
}

/* ---- rings of stages ---- */

struct ring {
	struct bulk_lab *b;
	uint32_t stages, bytes, count, warm;
	uint64_t source;    /* of this block */
	bool ready;         /* barriers are initialised */
	int64_t begin, end; /* of the stages that count */
};

static uint32_t full(uint32_t stage)
{
	return 16 * stage;
}
static uint32_t empty(uint32_t stage)
{
	return 512 + 16 * stage;
}

static void produce(struct bf_warp *w, const struct ring *r, uint32_t i, bool rolled)
{
	const uint32_t stage = i % r->stages;

	expect(w, full(stage), r->bytes, rolled);
	load(w, r->b, full(stage), DATA + stage * r->bytes, r->source + (uint64_t)i * r->bytes % SOURCE, r->bytes);
}

static void init_ring(struct bf_warp *w, struct ring *r)
{
	for (uint32_t s = 0; s < r->stages; s++) {
		bf_warp_init(w, full(s), 1);
		bf_warp_init(w, empty(s), 1);
	}
	r->ready = true;
}

/* One thread does all. */
static void ring_main(struct bf_warp *w)
{
	struct ring *r = w->arg;

	init_ring(w, r);
	for (uint32_t i = 0; i < r->stages; i++)
		produce(w, r, i, true);
	for (uint32_t i = 0; i < r->count; i++) {
		if (i == r->warm)
			r->begin = bf_lab_clock(w);
		await(w, full(i % r->stages), i / r->stages & 1);
		bf_lab_spend(w, RING);
		produce(w, r, i + r->stages, true);
	}
	r->end = bf_lab_clock(w);
}

static void producer_main(struct bf_warp *w)
{
	struct ring *r = w->arg;

	init_ring(w, r);
	for (uint32_t i = 0; i < r->count; i++) {
		await(w, empty(i % r->stages), (i / r->stages & 1) ^ 1);
		bf_lab_spend(w, PRODUCER);
		produce(w, r, i, false);
	}
}

static void consumer_main(struct bf_warp *w)
{
	struct ring *r = w->arg;

	while (!r->ready)
		bf_warp_spend(w, 16);
	for (uint32_t i = 0; i < r->count; i++) {
		if (i == r->warm)
			r->begin = bf_lab_clock(w);
		await(w, full(i % r->stages), i / r->stages & 1);
		bf_lab_spend(w, CONSUMER);
		bf_lab_instr(w, BF_SYNC_ARRIVE, empty(i % r->stages), 1);
		bf_warp_push(w);
	}
	r->end = bf_lab_clock(w);
}

static void start_ring(struct bulk_lab *b, struct ring *r, uint32_t sm, bool pair)
{
	struct bf_hopper_cta *cta = block(b, sm, 4);

	if (!cta)
		return;
	if (!pair) {
		bf_lab_warp(&b->lab, cta, 0, 1, ring_main, r);
	} else {
		bf_lab_warp(&b->lab, cta, 0, 1, producer_main, r);
		bf_lab_warp(&b->lab, cta, 1, 1, consumer_main, r);
	}
}

void bf_row_bulk_pipe(struct bf_row *row)
{
	const uint32_t ctas = bf_row_u32(row, "ctas"), stages = bf_row_u32(row, "stages"),
		       bytes = bf_row_u32(row, "bytes");
	const bool pair = bf_row_is(row, "threads", "producer and consumer");
	struct ring *rings = calloc(ctas ? ctas : 1, sizeof(*rings));
	int64_t sum = 0;
	struct bulk_lab b;

	if (!rings || ctas == 0 || ctas > BLOCKS || stages == 0 || stages > 16 || bytes % 16 || !bytes ||
	    (uint64_t)stages * bytes > BLOCK - DATA) {
		row->problem = rings ? "the row's numbers do not fit an SM" : "out of memory";
		free(rings);
		return;
	}
	if (open_lab(&b, row)) {
		for (uint32_t i = 0; i < ctas; i++) {
			/* Many stages average over where lines come from: fewer of large ones do. */
			rings[i] = (struct ring){ .b = &b, .stages = stages, .bytes = bytes, .warm = 3 * stages + 8 };
			rings[i].count = rings[i].warm + (bytes > 8192 ? 32 : 64);
			rings[i].source = (uint64_t)i * SOURCE;
			start_ring(&b, &rings[i], i, pair);
		}
		for (uint32_t i = 0; i < b.lab.warps; i++)
			b.lab.warp[i]->exited = 0xfffffffe;
		bf_lab_run(&b.lab);
	}
	close_lab(&b);
	for (uint32_t i = 0; i < ctas; i++)
		sum += rings[i].count ? (rings[i].end - rings[i].begin) / (rings[i].count - rings[i].warm) : 0;
	bf_row_compare(row, "cycles_per_stage", bf_row_number(row, "cycles_per_stage"), sum / ctas);
	free(rings);
}

/* ---- complete_tx in steps ---- */

struct partial {
	struct bulk_lab *b;
	uint32_t bytes, offset, from, step, values, copies;
	uint32_t wide, rows; /* of a box; 0: plain form */
	uint32_t hits[BF_ROW_LIST];
	int64_t sums_seen[BF_ROW_LIST], in_copies[BF_ROW_LIST]; /* on silicon */
};

/* The phase is armed with fewer bytes than the copy brings: did the sum ever stand at exactly those? */
static bool hits(struct bf_warp *w, const struct partial *p, uint32_t armed)
{
	const struct bf_tensor_map map = {
		.base = p->b->source->va,
		.rank = 2,
		.type = BF_TENSOR_U8,
		.dim = { 512, 64 },
		.stride = { 0, 512 },
		.box = { p->wide, p->rows },
		.element_stride = { 1, 1 },
	};
	struct bf_bulk_copy c = {
		.kind = BF_BULK_LOAD,
		.global = p->b->source->va + p->offset,
		.shared = DATA,
		.bytes = p->bytes,
		.map = p->rows ? &map : NULL,
	};

	bf_warp_init(w, 0, 1);
	expect(w, 0, armed, true);
	bf_warp_copy(w, &c);
	bf_lab_spend(w, 1000000 + (int64_t)p->bytes * 20); /* until everything has landed */
	return bf_warp_test(w, 0, 0);
}

static void partial_main(struct bf_warp *w)
{
	struct partial *p = w->arg;

	for (uint32_t v = 0; v < p->values; v++)
		for (uint32_t i = 0; i < p->copies; i++)
			p->hits[v] += hits(w, p, p->from + v * p->step);
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
	while (b) {
		const uint32_t r = a % b;

		a = b;
		b = r;
	}
	return a;
}

/* 15 per cent, and three standard errors of what was counted on silicon. */
static uint32_t tolerance(int64_t hits)
{
	uint32_t root = 1;

	while ((int64_t)(root + 1) * (root + 1) <= hits)
		root++;
	return 15 + 300 / root;
}

static void compare_partial(struct bf_row *row, struct partial *p)
{
	const uint32_t n = bf_row_list(row, "sums_seen", p->sums_seen), copies = bf_row_u32(row, "copies");
	uint32_t grain = 0, mine = 0, full_hits = 0;
	int64_t seen = 0, model = 0;

	if (bf_row_list(row, "in_copies", p->in_copies) != n || !copies || row->rc) {
		row->problem = "sums_seen and in_copies have different lengths";
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		seen += p->in_copies[i];
		grain = common_divisor(grain, (uint32_t)(p->sums_seen[i] / 1000));
	}
	for (uint32_t v = 0; v < p->values; v++) {
		const uint32_t sum = p->from + v * p->step;

		model += p->hits[v];
		mine = p->hits[v] ? common_divisor(mine, sum) : mine;
		full_hits += sum == p->bytes ? p->hits[v] : 0;
	}
	bf_row_exact(row, "grain of the sums", grain * 1000, mine * 1000);
	if (p->from + (p->values - 1) * p->step == p->bytes)
		bf_row_exact(row, "all bytes, share of copies", 1000, (int64_t)full_hits * 1000 / p->copies);
	bf_row_within(row, "sums hit in a copy", seen / copies, model * 1000 / p->copies, tolerance(seen / 1000));
}

void bf_row_tx_partial(struct bf_row *row)
{
	struct partial *p = calloc(1, sizeof(*p));
	struct bulk_lab b;

	if (!p) {
		row->problem = "out of memory";
		return;
	}
	p->b = &b;
	p->bytes = bf_row_u32(row, "bytes");
	p->offset = bf_row_u32(row, "src_offset");
	p->from = bf_row_u32(row, "from");
	p->step = bf_row_u32(row, "step");
	p->values = bf_row_u32(row, "values");
	p->copies = 2 * bf_row_u32(row, "copies");
	p->wide = bf_row_has(row, "box_bytes_wide") ? bf_row_u32(row, "box_bytes_wide") : 0;
	p->rows = p->wide ? bf_row_u32(row, "box_rows") : 0;
	if (p->bytes > BLOCK - DATA || p->offset > 4096 || p->values == 0 || p->values > BF_ROW_LIST ||
	    p->copies == 0 || p->copies > 1024 || (uint64_t)p->from + (uint64_t)p->values * p->step > 1 << 20)
		row->problem = "the row's numbers do not fit an SM";
	else if (open_lab(&b, row)) {
		bf_lab_warp(&b.lab, block(&b, 0, 1), 0, 1, partial_main, p);
		b.lab.warp[0]->exited = 0xfffffffe;
		bf_lab_run(&b.lab);
		close_lab(&b);
	}
	if (!row->problem)
		compare_partial(row, p);
	free(p);
}

/* ---- the barrier cache during a copy ---- */

#define AFTER 27u /* arrives of the other warp once the copies have ended */

struct evict {
	struct bulk_lab *b;
	uint32_t bytes, copies, pairs, tries;
	bool ready, begun, over;
	int64_t cycles;
	int64_t during, after; /* sums of cycles */
	uint32_t during_n, after_n;
};

static uint32_t other(const struct evict *e, uint32_t i)
{
	return 16 * (1 + i % e->pairs);
}

static void evict_main(struct bf_warp *w)
{
	struct evict *e = w->arg;
	int64_t start;

	bf_warp_init(w, 0, 1);
	while (e->pairs && !e->ready)
		bf_warp_spend(w, 16);
	bf_lab_spend(w, 1000000); /* the other warp is in its loop */
	start = bf_lab_clock(w);
	bf_lab_spend(w, EVICT);
	expect(w, 0, e->bytes * e->copies, true);
	for (uint32_t i = 0; i < e->copies; i++)
		load(w, e->b, 0, DATA, 0, e->bytes);
	e->begun = true;
	do
		e->tries++;
	while (!bf_warp_try(w, 0, 0));
	e->cycles = bf_lab_clock(w) - start;
	e->over = true;
}

static void other_main(struct bf_warp *w)
{
	struct evict *e = w->arg;

	for (uint32_t i = 0; i < e->pairs; i++)
		bf_warp_init(w, other(e, i), 1u << 19);
	e->ready = true;
	for (uint32_t i = 0; e->after_n < AFTER; i++) {
		const bool before = !e->begun, during = !e->over;
		const int64_t start = bf_lab_clock(w);

		bf_warp_arrive(w, other(e, i));
		bf_lab_spend(w, CLOCKS);
		if (before)
			continue;
		*(during ? &e->during : &e->after) += bf_lab_clock(w) - start;
		*(during ? &e->during_n : &e->after_n) += 1;
	}
}

void bf_row_evict_bulk(struct bf_row *row)
{
	struct bulk_lab b;
	struct evict e = {
		.b = &b,
		.bytes = bf_row_u32(row, "bytes"),
		.copies = bf_row_u32(row, "copies"),
		.pairs = bf_row_u32(row, "other_pairs"),
	};

	if (e.bytes > BLOCK - DATA || (uint64_t)e.bytes * e.copies > BF_MBAR_COUNT_MAX || e.pairs > 60) {
		row->problem = "the row's numbers do not fit an SM";
		return;
	}
	if (open_lab(&b, row)) {
		struct bf_hopper_cta *cta = block(&b, 0, 4);

		bf_lab_warp(&b.lab, cta, 0, 1, evict_main, &e);
		if (e.pairs)
			bf_lab_warp(&b.lab, cta, 1, 1, other_main, &e);
		for (uint32_t i = 0; i < b.lab.warps; i++)
			b.lab.warp[i]->exited = 0xfffffffe;
		bf_lab_run(&b.lab);
	}
	close_lab(&b);
	bf_row_compare(row, "median_cycles", bf_row_number(row, "median_cycles"), e.cycles);
	bf_row_exact(row, "tries", bf_row_number(row, "tries"), e.tries * 1000);
	if (e.pairs) {
		bf_row_compare(row, "use_during", bf_row_number(row, "use_during"),
			       e.during / (e.during_n ? e.during_n : 1));
		bf_row_compare(row, "use_after", bf_row_number(row, "use_after"),
			       e.after / (e.after_n ? e.after_n : 1));
	}
}
