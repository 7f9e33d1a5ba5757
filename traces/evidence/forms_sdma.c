/* What is printed of copy engines. */
#include "sim/member.h"
#include "traces/evidence/evidence_internal.h"

/* amdgpu: the ring test of an engine after a reset, "ring sdma0 test failed (-110)". */
static bool take_sdma_test(const struct bf_line *l, struct bf_evidence *e)
{
	(void)e;
	return bf_line_find(l, "ring sdma|<sdma_v") != NULL;
}

bool bf_line_of_copier(const struct bf_line *l)
{
	return bf_line_find(l, "ring sdma") != NULL;
}

static bool take_ring(const struct bf_line *l, struct bf_evidence *e)
{
	return (void)e, bf_line_of_copier(l);
}

static const struct bf_evidence_form forms[] = {
	/* Linux: drivers/gpu/drm/amd/amdgpu/amdgpu_job.c */
	{ "amdgpu's ring time-out",
	  "ring sdma",
	  BF_EVIDENCE_COPIER,
	  BF_EVIDENCE_TIMEOUT,
	  { { "signaled seq=", BF_FACT_SIGNALED, 10 }, { "emitted seq=", BF_FACT_EMITTED, 10 } },
	  NULL },
	{ "amdgpu's ring time-out",
	  "timeout, but soft recovered",
	  BF_EVIDENCE_COPIER,
	  BF_EVIDENCE_TIMEOUT,
	  { { 0 } },
	  take_ring },
	{ "amdgpu's test of a ring",
	  " test failed (-",
	  BF_EVIDENCE_COPIER,
	  BF_EVIDENCE_TIMEOUT,
	  { { "failed (-", BF_FACT_ERRNO, 10 } },
	  take_sdma_test },
	/* amdgpu_ib.c */
	{ "amdgpu's test of a ring",
	  "IB test failed on sdma",
	  BF_EVIDENCE_COPIER,
	  BF_EVIDENCE_TIMEOUT,
	  { { "(-", BF_FACT_ERRNO, 10 } },
	  bf_take_always },
	{ "amdgpu's resume of an engine",
	  "resume of IP block <sdma",
	  BF_EVIDENCE_COPIER,
	  BF_EVIDENCE_TIMEOUT,
	  { { "failed -", BF_FACT_ERRNO, 10 } },
	  take_sdma_test },
	/* Linux: drivers/gpu/drm/amd/amdgpu/sdma_v*.c */
	{ "SDMA's privileged register write",
	  "SDMA gets an Register Write SRBM_WRITE",
	  BF_EVIDENCE_COPIER,
	  BF_EVIDENCE_FAULT,
	  { { 0 } },
	  bf_take_always },
};
const struct bf_evidence_forms bf_forms_copier = { forms, BF_ARRAY_LEN(forms) };
