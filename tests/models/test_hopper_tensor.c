/* Boxes of tensors: random ones, byte by byte, against a copier that knows nothing of the model's walker; and maps. */
#include "tests/models/hopper_bulk.h"

#define AREA (32u * 1024) /* of shared memory that boxes use, behind the barriers */
#define BOXES 20000u
#define BOXES_A_RIG 1000u

/* ---- boxes ---- */

/* What an element outside the tensor becomes. */
static void reference_fill(const struct bf_tensor_map *m, uint8_t *out, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++)
		out[i] = m->fill_nan ? 0xff : 0;
	if (!m->fill_nan)
		return;
	if (m->type == BF_TENSOR_F64)
		bf_put_le64(out, 0xfff8000000000000ull);
	else
		out[size - 1] = 0x7f;
}

/* Where CUTLASS's Swizzle<n, 4, 3> puts a byte. */
static uint32_t reference_swizzle(enum bf_tensor_swizzle n, uint32_t address)
{
	static const uint32_t ways[] = { 1, 2, 4, 8 };
	const uint32_t row = address / 128, chunk = address / 16 % 8;

	return row * 128 + (chunk ^ row % ways[n]) * 16 + address % 16;
}

struct box {
	struct bf_tensor_map map;
	int32_t at[BF_TENSOR_RANK_MAX];
	uint32_t shared; /* offset */
};

/* Element by element, by coordinates. `shared` is the window, `global` the region. */
static void reference_copy(const struct rig *r, const struct box *b, bool store, uint8_t *shared, uint8_t *global)
{
	const struct bf_tensor_map *m = &b->map;
	const uint32_t size = bf_tensor_element(m->type);
	uint32_t index[BF_TENSOR_RANK_MAX] = { 0 }, to = b->shared, d;

	for (;;) {
		bool outside = false;
		uint64_t from = m->base - r->global->va;

		for (d = 0; d < m->rank; d++) {
			const int64_t c = (int64_t)b->at[d] + (int64_t)index[d] * (d ? m->element_stride[d] : 1);

			outside |= c < 0 || c >= (int64_t)m->dim[d];
			from += outside ? 0 : (uint64_t)c * (d ? m->stride[d] : size);
		}
		for (uint32_t i = 0; i < size; i++) {
			uint8_t fill[8] = { 0 };
			uint8_t *s = shared + reference_swizzle(m->swizzle, to + i);

			reference_fill(m, fill, size);
			if (store && !outside)
				global[from + i] = *s;
			else if (!store)
				*s = outside ? fill[i] : global[from + i];
		}
		to += size;
		for (d = 0; d < m->rank; d++) {
			const uint32_t stride = d ? m->element_stride[d] : 1;

			if (++index[d] * stride < m->box[d])
				break;
			index[d] = 0;
		}
		if (d == m->rank)
			return;
	}
}

/* A box that fits, within a tensor that lies in the region. */
static void random_box(struct rig *r, struct box *b)
{
	struct bf_tensor_map *m = &b->map;
	uint64_t span;
	uint32_t size;

	do {
		memset(b, 0, sizeof(*b));
		m->rank = 1 + below(r, 5);
		m->type = (enum bf_tensor_type)below(r, BF_TENSOR_TYPES);
		m->swizzle = (enum bf_tensor_swizzle)(below(r, 3) ? 0 : below(r, 4));
		m->fill_nan = m->type >= BF_TENSOR_F16 && below(r, 2);
		size = bf_tensor_element(m->type);
		m->dim[0] = 1 + below(r, 96);
		m->box[0] = (1 + below(r, 8)) * 16 / size;
		span = (m->dim[0] * size + 15) / 16 * 16;
		for (uint32_t d = 1; d < m->rank; d++) {
			m->dim[d] = 1 + below(r, 6);
			m->stride[d] = span + 16 * below(r, 3);
			m->element_stride[d] = below(r, 3) ? 1 : 1 + below(r, 8);
			m->box[d] = 1 + below(r, 5);
			span = m->dim[d] * m->stride[d];
		}
		for (uint32_t d = 0; d < m->rank; d++)
			b->at[d] = (int32_t)below(r, (uint32_t)m->dim[d] + 4) - 2;
		m->base = r->global->va + 16 * below(r, 64);
		b->shared = RIG_BARRIERS + 128 * below(r, 64);
	} while (bf_tensor_map_check(m, NULL) || bf_tensor_box_bytes(m) > AREA - 64 * 128 ||
		 m->base + span > r->global->va + r->global->size);
}

START_TEST(test_boxes)
{
	struct rig r;
	uint8_t *shared = malloc(RIG_SHARED), *global = malloc(1u << 20), *window;
	uint64_t outside = 0;

	rig_open(&r, &(struct rig_opts){ .seed = 100u + (uint32_t)_i });
	window = rig_shared(&r, 0, 0);
	scramble(&r, r.global->bytes, r.global->size);
	scramble(&r, window + RIG_BARRIERS, AREA);
	memcpy(global, r.global->bytes, 1u << 20);
	for (uint32_t i = 0; i < BOXES_A_RIG; i++) {
		const bool store = below(&r, 3) == 0;
		struct bf_bulk_copy c = { .kind = store ? BF_BULK_STORE : BF_BULK_LOAD, .barrier = 8 * (i % 100) };
		struct box b;

		random_box(&r, &b);
		c.map = &b.map;
		c.shared = b.shared;
		memcpy(c.at, b.at, sizeof(c.at));
		if (!store)
			rig_arm(&r, 0, c.barrier, bf_tensor_box_bytes(&b.map));
		memcpy(shared, window, RIG_SHARED);
		reference_copy(&r, &b, store, shared, global);
		issue_good(&r, 0, &c);
		rig_run(&r);
		if (!store)
			assert_one_phase(&r, 0, c.barrier);
		ck_assert_uint_eq(c.bytes, bf_tensor_box_bytes(&b.map));
		ck_assert_mem_eq(shared + RIG_BARRIERS, window + RIG_BARRIERS, AREA);
		ck_assert_mem_eq(global, r.global->bytes, 64u << 10);
		outside += b.at[0] < 0 || b.at[0] + (int64_t)b.map.box[0] > (int64_t)b.map.dim[0];
	}
	ck_assert_mem_eq(global, r.global->bytes, 1u << 20);
	ck_assert_uint_gt(outside, BOXES_A_RIG / 10);
	rig_close(&r);
	free(shared);
	free(global);
}
END_TEST

START_TEST(test_map_rules)
{
	const struct bf_tensor_map good = {
		.base = 1 << 20,
		.rank = 2,
		.type = BF_TENSOR_F16,
		.dim = { 100, 10 },
		.stride = { 0, 208 },
		.box = { 64, 4 },
		.element_stride = { 0, 1 },
	};
	struct bf_tensor_map m = good;
	struct bf_error e = { 0 };

	ck_assert_int_eq(bf_tensor_map_check(&good, &e), 0);
	ck_assert_uint_eq(bf_tensor_box_bytes(&good), 512);
#define BAD(field, value, part)                                                                                        \
	m = good;                                                                                                      \
	m.field = (value);                                                                                             \
	ck_assert_int_eq(bf_tensor_map_check(&m, &e), -EINVAL);                                                        \
	ck_assert_msg(strstr(e.text, part) != NULL, "%s", e.text)
	BAD(rank, 0, "rank 0");
	BAD(rank, 6, "rank 6");
	BAD(base, 8, "base 0x8");
	BAD(dim[1], 0, "dimension 1");
	BAD(dim[0], (1ull << 32) + 1, "dimension 0");
	BAD(stride[1], 200, "stride of 200");
	BAD(stride[1], 1ull << 40, "stride");
	BAD(box[0], 257, "box of 257");
	BAD(box[1], 0, "box of 0");
	BAD(box[0], 9, "rows of the box");
	BAD(element_stride[1], 9, "element stride 9");
	BAD(element_stride[1], 0, "element stride 0");
	BAD(swizzle, BF_TENSOR_SWIZZLE_64, "swizzle span of 64");
	BAD(swizzle, (enum bf_tensor_swizzle)4, "swizzle mode");
	BAD(type, BF_TENSOR_TYPES, "element type");
	m = good;
	m.type = BF_TENSOR_U16;
	m.fill_nan = true;
	ck_assert_int_eq(bf_tensor_map_check(&m, &e), -EINVAL);
	m = good;
	m.element_stride[1] = 3;
	ck_assert_uint_eq(bf_tensor_box_bytes(&m), 256); /* rows 0 and 3 of four */
#undef BAD
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hopper_tensor");
	TCase *tc = tcase_create("boxes");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, test_boxes, 0, BOXES / BOXES_A_RIG);
	tcase_add_test(tc, test_map_rules);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
