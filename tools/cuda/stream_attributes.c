/* What streams are told of themselves: attributes, which are hints but for priorities, and memory that is theirs. */
#include <string.h>

#include "tools/cuda/driver_internal.h"

/* CUstreamAttrID. */
enum { POLICY_WINDOW = 1, SYNCHRONIZATION = 3, PRIORITY = 8, DOMAIN_MAP = 9, DOMAIN = 10, NVLINK_CENTRIC = 16 };

/* The place of one that is kept, or NULL: streams do not have it. */
static union bf_cu_attribute_value *place(struct bf_cu_stream *s, int id)
{
	switch (id) {
	case POLICY_WINDOW:
		return &s->attribute[0];
	case SYNCHRONIZATION:
		return &s->attribute[1];
	case DOMAIN_MAP:
		return &s->attribute[2];
	case DOMAIN:
		return &s->attribute[3];
	case NVLINK_CENTRIC:
		return &s->attribute[4];
	default:
		return NULL;
	}
}

int cuStreamSetAttribute(CUstream handle, int id, const union bf_cu_attribute_value *value)
{
	union bf_cu_attribute_value *at;
	struct bf_cu_stream *s;
	int rc = value ? bf_cu_enter_stream(handle, &s) : BF_CU_INVALID_VALUE, priority;

	if (rc)
		return rc;
	at = place(s, id);
	if (at) {
		*at = *value;
	} else if (id == PRIORITY) {
		memcpy(&priority, value, sizeof(priority));
		s->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
	} else {
		rc = BF_CU_INVALID_VALUE;
	}
	bf_cu_unlock();
	return rc;
}

int cuStreamGetAttribute(CUstream handle, int id, union bf_cu_attribute_value *value)
{
	const union bf_cu_attribute_value *at;
	struct bf_cu_stream *s;
	int rc = value ? bf_cu_enter_stream(handle, &s) : BF_CU_INVALID_VALUE;

	if (rc)
		return rc;
	at = place(s, id);
	if (at)
		*value = *at;
	else if (id == PRIORITY)
		memcpy(value, &s->priority, sizeof(s->priority));
	else
		rc = BF_CU_INVALID_VALUE;
	bf_cu_unlock();
	return rc;
}

int cuStreamCopyAttributes(CUstream to, CUstream from)
{
	union bf_cu_attribute_value kept[BF_CU_STREAM_ATTRIBUTES];
	struct bf_cu_stream *s;
	int rc = bf_cu_enter_stream(from, &s), priority = 0;

	if (!rc) {
		memcpy(kept, s->attribute, sizeof(kept));
		priority = s->priority;
		bf_cu_unlock();
		rc = bf_cu_enter_stream(to, &s);
	}
	if (rc)
		return rc;
	memcpy(s->attribute, kept, sizeof(kept));
	s->priority = priority;
	bf_cu_unlock();
	return rc;
}

/* What was asked to persist in a cache that the machine does not have. */
int cuCtxResetPersistingL2Cache(void)
{
	return bf_cu_ready();
}

/* Who may touch managed memory when: everybody always, as where a GPU and its processor have it together. */
int cuStreamAttachMemAsync(CUstream handle, CUdeviceptr at, size_t size, unsigned flags)
{
	const struct bf_cu_block *b;
	struct bf_cu_stream *s;
	int rc = flags == 1 || flags == 2 || flags == 4 ? bf_cu_enter_stream(handle, &s) : BF_CU_INVALID_VALUE;

	if (rc)
		return rc;
	b = bf_cu_block_at(at);
	if (!b || b->kind != BF_CU_BLOCK_MANAGED || (size && size != b->size))
		rc = BF_CU_INVALID_VALUE;
	bf_cu_unlock();
	return rc;
}
