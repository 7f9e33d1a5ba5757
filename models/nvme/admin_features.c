/*
 * Get and Set Features (Base specification, sections 5.15 and 5.27).
 *
 * Set Features checks, in this order: the feature, SV against saveable, the namespace, the value. Saved values come
 * back with each controller reset; there are none before a Set Features with SV, then they are the defaults.
 */
#include "models/nvme/device_internal.h"

enum {
	FID_ARBITRATION = 0x01,
	FID_POWER = 0x02,
	FID_LBA_RANGES = 0x03,
	FID_TEMPERATURE = 0x04,
	FID_ERROR_RECOVERY = 0x05,
	FID_WRITE_CACHE = 0x06,
	FID_QUEUES = 0x07,
	FID_COALESCING = 0x08,
	FID_VECTOR = 0x09,
	FID_ATOMICITY = 0x0a,
	FID_EVENTS = 0x0b,
	FID_TIMESTAMP = 0x0e,
	FID_KEEP_ALIVE = 0x0f,
	FID_HOST_BEHAVIOR = 0x16,
	FID_COMMAND_SETS = 0x19,
	FID_PROGRESS = 0x80,
	FID_HOST_ID = 0x81,
};

enum { SEL_CURRENT, SEL_DEFAULT, SEL_SAVED, SEL_CAPABILITIES };

#define CAN_SAVE 1u
#define PER_NS 2u
#define CAN_CHANGE 4u

#define SV (1u << 31)
#define DULBE (1u << 16)
#define EXHID 1u
#define KEEP_ALIVE_UNIT 1000u /* ms; Identify KAS says it in 100 ms */
#define EVENTS_WANTED (0xffu | 1u << 8)
#define THRESHOLD_UNDER 1u

static const struct {
	uint8_t fid, caps;
} features[] = {
	{ FID_ARBITRATION, CAN_SAVE | CAN_CHANGE },
	{ FID_POWER, CAN_CHANGE },
	{ FID_LBA_RANGES, PER_NS | CAN_CHANGE },
	{ FID_TEMPERATURE, CAN_SAVE | CAN_CHANGE },
	{ FID_ERROR_RECOVERY, PER_NS | CAN_CHANGE },
	{ FID_WRITE_CACHE, CAN_SAVE | CAN_CHANGE },
	{ FID_QUEUES, CAN_CHANGE },
	{ FID_COALESCING, CAN_SAVE | CAN_CHANGE },
	{ FID_VECTOR, CAN_CHANGE },
	{ FID_ATOMICITY, CAN_SAVE | CAN_CHANGE },
	{ FID_EVENTS, CAN_SAVE | CAN_CHANGE },
	{ FID_TIMESTAMP, CAN_CHANGE },
	{ FID_KEEP_ALIVE, CAN_CHANGE },
	{ FID_HOST_BEHAVIOR, CAN_CHANGE },
	{ FID_COMMAND_SETS, CAN_CHANGE },
	{ FID_PROGRESS, CAN_SAVE | CAN_CHANGE },
	{ FID_HOST_ID, CAN_CHANGE },
};

/* 0: no such feature. A controller without a volatile cache has no switch for it. */
static uint32_t caps_of(const struct bf_nvme *dev, uint32_t fid)
{
	if (fid == FID_WRITE_CACHE && !dev->profile.cache_bytes)
		return 0;
	for (size_t i = 0; i < BF_ARRAY_LEN(features); i++)
		if (features[i].fid == fid)
			return features[i].caps;
	return 0;
}

void bf_nvme_features_init(struct bf_nvme *dev)
{
	uint32_t queues = dev->profile.max_io_queues - 1;

	dev->feat_default = (struct bf_nvme_features){
		.arbitration = 3, /* bursts of eight; weights 1 to 1 to 1 */
		.temp_over = BF_NVME_WARNING_KELVIN,
		.wce = dev->profile.cache_bytes != 0,
		.queues = queues << 16 | queues,
	};
	dev->feat_saved = dev->feat = dev->feat_default;
}

/* Host behaviour, host identifier, keep alive and the queues belong to the host that was; they are not saved. */
void bf_nvme_features_reset(struct bf_nvme *dev)
{
	uint64_t timestamp_ms = dev->feat.timestamp_ms, timestamp_ps = dev->feat.timestamp_ps;
	uint8_t origin = dev->feat.timestamp_origin;

	dev->feat = dev->feat_saved;
	dev->feat.timestamp_ms = timestamp_ms; /* goes on over a controller reset (section 5.27.1.11) */
	dev->feat.timestamp_ps = timestamp_ps;
	dev->feat.timestamp_origin = origin;
	for (uint32_t i = 0; i < dev->nvectors; i++)
		dev->vectors[i].uncoalesced = false;
	for (uint32_t i = 0; i < BF_NVME_NS_MAX; i++) {
		if (!dev->ns[i])
			continue;
		dev->ns[i]->dulbe = false;
		dev->ns[i]->tler = 0;
		bf_nvme_lba_ranges_forget(dev->ns[i]);
	}
}

/* Bytes of a feature's data structure; 0: its value is a dword. */
static uint32_t data_len(uint32_t fid, uint32_t cdw11)
{
	switch (fid) {
	case FID_LBA_RANGES:
		return BF_NVME_LBA_RANGES * BF_NVME_LBA_RANGE;
	case FID_TIMESTAMP:
		return 8;
	case FID_HOST_BEHAVIOR:
		return 512;
	case FID_HOST_ID:
		return cdw11 & EXHID ? 16 : 8;
	default:
		return 0;
	}
}

/* Log page 12h: FSUPP 0, UDCC 1; scope 31:20 (bit 0 namespace, bit 1 controller). */
void bf_nvme_features_log(uint8_t *page)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(features); i++) {
		bool data = data_len(features[i].fid, 0) != 0;
		uint32_t scope = features[i].caps & PER_NS ? 1u : 2u;

		bf_put_le32(page + 4 * features[i].fid, 1u | (uint32_t)data << 1 | scope << 20);
	}
}

bool bf_nvme_temperature_alarm(const struct bf_nvme *dev)
{
	return BF_NVME_KELVIN >= dev->feat.temp_over || BF_NVME_KELVIN <= dev->feat.temp_under;
}

/* The namespaces that a command for a feature of namespaces is about. */
static uint32_t check_ns(struct bf_nvme_rq *rq, bool set)
{
	uint32_t nsid = bf_le32(rq->sqe.nsid);

	if (nsid == BF_NVME_NSID_ALL)
		return set ? 0 : BF_NVME_SC_INVALID_NS_OR_FORMAT | BF_NVME_DNR;
	if (!nsid || nsid > BF_NVME_NS_MAX)
		return BF_NVME_SC_INVALID_NS_OR_FORMAT | BF_NVME_DNR;
	rq->ns = bf_nvme_ns_find(rq->dev, nsid);
	return rq->ns ? 0 : bf_nvme_bad_field(rq, 4, 0);
}

/* Get. ----------------------------------------------------------------------------------------------------------- */

static uint32_t get_temperature(const struct bf_nvme_features *f, uint32_t cdw11)
{
	if (cdw11 >> 16 & 0xf) /* the composite temperature is the one that has thresholds */
		return 0xffff;
	return (cdw11 >> 20 & 3) == THRESHOLD_UNDER ? f->temp_under : f->temp_over;
}

static uint32_t get_vector(struct bf_nvme_rq *rq, uint32_t sel)
{
	uint32_t iv = bf_le32(rq->sqe.cdw11) & 0xffff;

	if (iv >= rq->dev->profile.vectors)
		return bf_nvme_bad_field(rq, 44, 0);
	rq->dw0 = iv | (uint32_t)(sel == SEL_CURRENT && rq->dev->vectors[iv].uncoalesced) << 16;
	return 0;
}

/* 48 bits of milliseconds; byte 6: origin 3:1 (0 a reset cleared it, 1 the host set it). */
static void put_timestamp(const struct bf_nvme *dev, uint8_t *at)
{
	uint64_t ms = dev->feat.timestamp_ms + (dev->sim->now_ps - dev->feat.timestamp_ps) / BF_MS;

	bf_put_le64(at, (ms & 0xffffffffffff) | (uint64_t)dev->feat.timestamp_origin << 49);
}

/* Features whose value is a data structure. False: `fid` is another. */
static bool get_data(struct bf_nvme_rq *rq, uint32_t fid, uint32_t sel, const struct bf_nvme_features *f)
{
	uint32_t len = data_len(fid, bf_le32(rq->sqe.cdw11));
	uint8_t *buf = len ? bf_nvme_admin_buf(rq, len) : NULL;

	if (!len)
		return false;
	if (!buf)
		return true;
	if (fid == FID_TIMESTAMP)
		put_timestamp(rq->dev, buf);
	else if (fid == FID_LBA_RANGES)
		rq->dw0 = bf_nvme_lba_ranges_get(rq->ns, sel == SEL_CURRENT, buf);
	else
		memcpy(buf, fid == FID_HOST_ID ? f->host_id : f->host_behavior, len);
	bf_nvme_admin_send(rq, len);
	return true;
}

static uint32_t get_value(struct bf_nvme_rq *rq, uint32_t fid, uint32_t sel, const struct bf_nvme_features *f)
{
	const struct bf_nvme_ns *ns = sel == SEL_CURRENT ? rq->ns : NULL;

	switch (fid) {
	case FID_ARBITRATION:
		rq->dw0 = f->arbitration;
		break;
	case FID_POWER:
		rq->dw0 = f->power;
		break;
	case FID_TEMPERATURE:
		rq->dw0 = get_temperature(f, bf_le32(rq->sqe.cdw11));
		break;
	case FID_ERROR_RECOVERY:
		rq->dw0 = ns ? ns->tler | (ns->dulbe ? DULBE : 0) : 0;
		break;
	case FID_WRITE_CACHE:
		rq->dw0 = f->wce;
		break;
	case FID_QUEUES:
		rq->dw0 = f->queues;
		break;
	case FID_COALESCING:
		rq->dw0 = f->coalescing;
		break;
	case FID_VECTOR:
		return get_vector(rq, sel);
	case FID_ATOMICITY:
		rq->dw0 = f->atomicity;
		break;
	case FID_EVENTS:
		rq->dw0 = f->events;
		break;
	case FID_KEEP_ALIVE:
		rq->dw0 = f->keep_alive;
		break;
	case FID_COMMAND_SETS: /* the first combination, which is the only one */
		break;
	default:
		rq->dw0 = f->progress;
		break;
	}
	return 0;
}

void bf_nvme_get_features(struct bf_nvme_rq *rq)
{
	struct bf_nvme *dev = rq->dev;
	uint32_t cdw10 = bf_le32(rq->sqe.cdw10), fid = cdw10 & 0xff, sel = cdw10 >> 8 & 7, caps = caps_of(dev, fid);
	const struct bf_nvme_features *f = sel == SEL_DEFAULT ? &dev->feat_default
					   : sel == SEL_SAVED ? &dev->feat_saved
							      : &dev->feat;
	uint32_t status = 0;

	if (!caps)
		status = bf_nvme_bad_field(rq, 40, 0);
	else if (sel > SEL_CAPABILITIES)
		status = bf_nvme_bad_field(rq, 41, 0);
	else if (caps & PER_NS)
		status = check_ns(rq, false);
	if (!status && sel == SEL_CAPABILITIES)
		rq->dw0 = caps;
	else if (!status && get_data(rq, fid, sel, f))
		return;
	else if (!status)
		status = get_value(rq, fid, sel, f);
	bf_nvme_complete(rq, status);
}

/* Set. ----------------------------------------------------------------------------------------------------------- */

static uint32_t set_temperature(struct bf_nvme_rq *rq, struct bf_nvme_features *f, uint32_t cdw11)
{
	uint32_t sensor = cdw11 >> 16 & 0xf, type = cdw11 >> 20 & 3;

	if (type > THRESHOLD_UNDER || (sensor > 8 && sensor != 0xf))
		return bf_nvme_bad_field(rq, 46, 0);
	if (sensor != 0 && sensor != 0xf)
		return 0;
	if (type == THRESHOLD_UNDER)
		f->temp_under = (uint16_t)cdw11;
	else
		f->temp_over = (uint16_t)cdw11;
	return 0;
}

static void set_error_recovery(struct bf_nvme_rq *rq, uint32_t cdw11)
{
	for (uint32_t i = 0; i < BF_NVME_NS_MAX; i++) {
		struct bf_nvme_ns *ns = rq->dev->ns[i];

		if (!ns || (rq->ns && rq->ns != ns))
			continue;
		ns->tler = (uint16_t)cdw11;
		ns->dulbe = cdw11 & DULBE;
	}
}

/* Only before there are I/O queues; any grant will do, and the controller grants what it has (section 5.27.1.5). */
static uint32_t set_queues(struct bf_nvme_rq *rq, struct bf_nvme_features *f, uint32_t cdw11)
{
	if (rq->dev->nlive_sqs > 1 || rq->dev->nlive_cqs > 1)
		return BF_NVME_SC_SEQUENCE | BF_NVME_DNR;
	if ((cdw11 & 0xffff) == 0xffff || cdw11 >> 16 == 0xffff)
		return bf_nvme_bad_field(rq, 44, 0);
	rq->dw0 = f->queues;
	return 0;
}

static uint32_t set_vector(struct bf_nvme_rq *rq, uint32_t cdw11)
{
	if ((cdw11 & 0xffff) >= rq->dev->profile.vectors)
		return bf_nvme_bad_field(rq, 44, 0);
	rq->dev->vectors[cdw11 & 0xffff].uncoalesced = cdw11 >> 16 & 1;
	return 0;
}

static uint32_t set_value(struct bf_nvme_rq *rq, uint32_t fid, struct bf_nvme_features *f, uint32_t cdw11)
{
	switch (fid) {
	case FID_ARBITRATION:
		f->arbitration = cdw11 & 0xffffff07;
		break;
	case FID_POWER:
		if (cdw11 & 0x1f) /* state 0 is the only one */
			return bf_nvme_bad_field(rq, 44, 0);
		f->power = cdw11 & 0xff;
		break;
	case FID_TEMPERATURE:
		return set_temperature(rq, f, cdw11);
	case FID_ERROR_RECOVERY:
		set_error_recovery(rq, cdw11);
		break;
	case FID_WRITE_CACHE:
		f->wce = cdw11 & 1;
		break;
	case FID_QUEUES:
		return set_queues(rq, f, cdw11);
	case FID_COALESCING:
		f->coalescing = cdw11 & 0xffff;
		break;
	case FID_VECTOR:
		return set_vector(rq, cdw11);
	case FID_ATOMICITY:
		f->atomicity = cdw11 & 1;
		break;
	case FID_EVENTS:
		f->events = cdw11 & EVENTS_WANTED;
		break;
	case FID_KEEP_ALIVE:
		f->keep_alive = (uint32_t)((cdw11 + (uint64_t)KEEP_ALIVE_UNIT - 1) / KEEP_ALIVE_UNIT * KEEP_ALIVE_UNIT);
		break;
	case FID_COMMAND_SETS:
		return cdw11 & 0x1ff ? BF_NVME_SC_COMMAND_SETS | BF_NVME_DNR : 0;
	default:
		f->progress = (uint8_t)cdw11;
		break;
	}
	return 0;
}

/* The host's bytes are here. */
static void set_data(struct bf_nvme_rq *rq, uint32_t status)
{
	struct bf_nvme *dev = rq->dev;
	uint32_t fid = bf_le32(rq->sqe.cdw10) & 0xff;

	if (!status && fid == FID_LBA_RANGES) {
		status = bf_nvme_lba_ranges_set(rq);
	} else if (!status && fid == FID_TIMESTAMP) {
		dev->feat.timestamp_ms = bf_get_le64(rq->buf) & 0xffffffffffff;
		dev->feat.timestamp_ps = dev->sim->now_ps;
		dev->feat.timestamp_origin = 1;
	} else if (!status && fid == FID_HOST_BEHAVIOR) {
		memcpy(dev->feat.host_behavior, rq->buf, sizeof(dev->feat.host_behavior));
	} else if (!status) {
		memcpy(dev->feat.host_id, rq->buf, rq->buf_len);
	}
	bf_nvme_complete(rq, status);
}

static bool fetch_data(struct bf_nvme_rq *rq, uint32_t fid)
{
	uint32_t len = data_len(fid, bf_le32(rq->sqe.cdw11));

	if (!len)
		return false;
	if (bf_nvme_admin_buf(rq, len))
		bf_nvme_data(rq, BF_NVME_FROM_HOST, rq->buf, len, set_data);
	return true;
}

/* What a new value brings about at once. */
static void apply(struct bf_nvme *dev, uint32_t fid)
{
	if (fid == FID_KEEP_ALIVE)
		bf_nvme_keep_alive_restart(dev);
	if (fid == FID_TEMPERATURE && bf_nvme_temperature_alarm(dev))
		bf_nvme_async_event(dev, 1, 1, 2);
}

void bf_nvme_set_features(struct bf_nvme_rq *rq)
{
	struct bf_nvme *dev = rq->dev;
	uint32_t cdw10 = bf_le32(rq->sqe.cdw10), fid = cdw10 & 0xff, caps = caps_of(dev, fid);
	uint32_t cdw11 = bf_le32(rq->sqe.cdw11), nsid = bf_le32(rq->sqe.nsid), status = 0;

	if (!caps)
		status = bf_nvme_bad_field(rq, 40, 0);
	else if (cdw10 & SV && !(caps & CAN_SAVE))
		status = BF_NVME_SC_FEATURE_NOT_SAVEABLE | BF_NVME_DNR;
	else if (caps & PER_NS)
		status = check_ns(rq, true);
	else if (nsid && nsid != BF_NVME_NSID_ALL)
		status = BF_NVME_SC_FEATURE_NOT_PER_NS | BF_NVME_DNR;
	if (!status && fid == FID_LBA_RANGES && !rq->ns) /* of one namespace each */
		status = BF_NVME_SC_INVALID_NS_OR_FORMAT | BF_NVME_DNR;
	if (!status && fetch_data(rq, fid))
		return;
	if (!status)
		status = set_value(rq, fid, &dev->feat, cdw11);
	if (!status && cdw10 & SV)
		set_value(rq, fid, &dev->feat_saved, cdw11);
	bf_nvme_complete(rq, status);
	if (!status)
		apply(dev, fid);
}
