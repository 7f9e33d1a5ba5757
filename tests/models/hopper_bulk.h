/* What the tests of bulk copies share: random bytes, copies that are to be taken, and a phase that is over. */
#ifndef BELFRY_TESTS_HOPPER_BULK_H
#define BELFRY_TESTS_HOPPER_BULK_H

#include <check.h>
#include <errno.h>
#include <stdbool.h>

#include "models/hopper/program.h"
#include "models/hopper/records_bulk.h"
#include "tests/models/hopper_rig.h"

static inline uint32_t below(struct rig *r, uint32_t n)
{
	return (uint32_t)bf_rng_below(&r->rng, n);
}

static inline void scramble(struct rig *r, uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i += 8)
		bf_put_le64(bytes + i, bf_rng_next(&r->rng));
}

static inline void issue_good(struct rig *r, uint32_t rank, struct bf_bulk_copy *c)
{
	bf_bulk_issue(r->cta[rank], c);
	ck_assert_msg(bf_bulk_fault(r->bulk) == BF_BULK_OK, "%s", bf_bulk_fault_name(bf_bulk_fault(r->bulk)));
}

/* The barrier's first phase is over, and no second one. */
static inline void assert_one_phase(const struct rig *r, uint32_t rank, uint32_t barrier)
{
	const uint64_t word = rig_word(r, rank, barrier);
	const uint32_t at = bf_hopper_cta_base(r->cta[rank]) + barrier;

	ck_assert_ptr_null(bf_hopper_fault(r->gpu));
	ck_assert_uint_eq(bf_mbar_phase(word), 1);
	ck_assert_int_eq(bf_mbar_tx(word), 0);
	ck_assert_uint_eq(bf_mbar_pending(word), 1);
	ck_assert_uint_eq(bf_sync_history(bf_hopper_cta_unit(r->cta[rank]), at).phases, 1);
}

#endif
