/*
 * IBGDA, host side: connecting (ibgda.cpp nvshmemt_ibgda_connect_endpoints). The first call goes through five phases:
 *
 *   1 global setup  transport.c did it: what the GPU and the devices are, and that all PEs agree
 *   2 calculate     how many endpoints of each kind, and whether that makes sense
 *   3 resources     room for them, and the objects that they share
 *   4 endpoints     DC targets, DC initiators, RCs and their backups: created, exchanged and brought to RTS
 *   5 GPU state     gpu_state.c
 *
 * Later calls add RCs only. What exists is not touched by them until the last step, so traffic goes on.
 */
#include <errno.h>
#include <stdlib.h>

#include "drivers/ibgda/host_internal.h"

#define WARPS_PER_SM 32u

/* ---- phase 2 ---- */

/* Users that the mapping tells apart, and the initiators that they share. */
static uint32_t automatic_dcis(const struct bf_ibgda_transport *t)
{
	const struct bf_ibgda_host_opts *o = &t->opts;

	switch (o->dci_map) {
	case BF_IBGDA_MAP_WARP:
		return o->sms * WARPS_PER_SM + o->num_shared_dci;
	case BF_IBGDA_MAP_DCT:
		return o->num_dct * t->npes + o->num_shared_dci;
	case BF_IBGDA_MAP_CTA:
	case BF_IBGDA_MAP_SM:
	default:
		return o->sms + o->num_shared_dci;
	}
}

static int calculate(struct bf_ibgda_transport *t)
{
	struct bf_ibgda_host_opts *o = &t->opts;
	uint32_t dcis = 0;

	if (!o->no_dc) {
		dcis = o->num_dci > 0 ? (uint32_t)o->num_dci : automatic_dcis(t);
		if (!o->num_shared_dci || o->num_shared_dci > dcis)
			return bf_fail(t->err, -EINVAL, "IBGDA_NUM_SHARED_DCI is %u: must be 1 to IBGDA_NUM_DCI, %u",
				       o->num_shared_dci, dcis);
		t->num_dct = o->num_dct * t->ndevs;
		t->num_shared_dci = o->num_shared_dci * t->ndevs;
	}
	t->num_dci = dcis * t->ndevs;
	t->default_rc = o->no_rc ? 0 : o->num_rc_per_pe * t->ndevs;
	if (!t->default_rc && !dcis)
		return bf_fail(t->err, -EINVAL, "neither RCs (IBGDA_NUM_RC_PER_PE) nor DCs: nothing to send with");
	t->rc_room = o->layout == BF_IBGDA_L2 ? t->default_rc : o->rc_room ? o->rc_room : t->default_rc * 2 + 8;
	if (o->no_rc)
		t->rc_room = 0;
	if (t->rc_room < t->default_rc)
		return bf_fail(t->err, -EINVAL, "room for %u RCs to each PE, and %u at once", t->rc_room,
			       t->default_rc);
	return 0;
}

/* ---- phases 3 and 4, device by device ---- */

static int resources(struct bf_ibgda_transport *t, uint32_t dev)
{
	int rc = 0;

	if (!t->opts.no_dc)
		rc = bf_ibgda_new_dcis(t, dev);
	if (!rc && t->default_rc && t->npes > 1)
		rc = bf_ibgda_new_rcs(t, dev, t->opts.num_rc_per_pe);
	return rc;
}

static int endpoints(struct bf_ibgda_transport *t, uint32_t dev)
{
	int rc = 0;

	if (!t->opts.no_dc)
		rc = bf_ibgda_create_dcts(t, dev);
	if (!rc && !t->opts.no_dc)
		rc = bf_ibgda_connect_dcis(t, dev);
	if (!rc && t->dev[dev].new_rcs)
		rc = bf_ibgda_connect_rcs(t, dev);
	return rc;
}

static int connect_first(struct bf_ibgda_transport *t)
{
	int rc = calculate(t);

	for (uint32_t dev = 0; !rc && dev < t->ndevs; dev++) {
		rc = resources(t, dev);
		if (!rc)
			rc = endpoints(t, dev);
	}
	if (!rc)
		rc = bf_ibgda_setup_gpu_state(t);
	t->connected = !rc;
	return rc;
}

/* ---- later ---- */

/*
 * Which device takes the next one. ibgda.cpp looks selected_dev_ids up with what it found there before, so that with
 * devices chosen out of more the numbers lead elsewhere or nowhere.
 */
static int pick_device(struct bf_ibgda_transport *t, uint32_t *dev)
{
	*dev = t->next_device++ % t->ndevs;
	if (!(t->opts.suspects & BF_IBGDA_SUSPECT_DEV_ID_TWICE))
		return 0;
	*dev = t->dev[*dev].candidate;
	if (*dev < t->ndevs)
		return 0;
	return bf_fail(t->err, -ENODEV, "PE %u: device %u of %u, translated twice", t->pe, *dev, t->ndevs);
}

static int add_rc(struct bf_ibgda_transport *t, uint32_t *handle)
{
	const uint32_t number = t->num_rc;
	uint32_t dev;
	int rc = pick_device(t, &dev);

	if (!rc)
		rc = bf_ibgda_new_rcs(t, dev, 1);
	if (!rc)
		rc = bf_ibgda_connect_rcs(t, dev);
	if (!rc && handle)
		*handle = number * t->npes;
	return rc;
}

static int connect_more(struct bf_ibgda_transport *t, uint32_t num_qps, uint32_t *handles)
{
	const uint32_t first = t->num_rc, first_device = t->next_device;
	int rc = 0;

	if (!first)
		return 0; /* as in ibgda.cpp: without RCs there is nothing to add to */
	if (t->opts.layout == BF_IBGDA_L2)
		return bf_fail(t->err, -ENOTSUP, "layout L2 orders RCs by PE first: more would renumber all of them");
	if (num_qps > t->rc_room - first)
		return bf_fail(t->err, -ENOSPC, "%u more RCs to each PE: %u exist and tables have room for %u", num_qps,
			       first, t->rc_room);
	for (uint32_t i = 0; !rc && i < num_qps; i++)
		rc = add_rc(t, handles ? &handles[i] : NULL);
	/* Nobody uses the new ones before everybody has them. */
	if (!rc)
		rc = t->boot->barrier(t->boot);
	if (!rc)
		rc = bf_ibgda_setup_gpu_state(t);
	if (rc) {
		struct bf_error *err = t->err;

		t->err = NULL; /* the first failure is the one to tell */
		bf_ibgda_drop_rcs(t, first);
		t->next_device = first_device;
		t->err = err;
	}
	return rc;
}

int bf_ibgda_connect_endpoints(struct bf_ibgda_transport *t, uint32_t num_qps, uint32_t *handles)
{
	return t->connected ? connect_more(t, num_qps, handles) : connect_first(t);
}
