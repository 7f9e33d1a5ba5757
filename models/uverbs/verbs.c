/* Verbs that need the device: they are its provider's. */
#include "models/uverbs/uverbs_internal.h"

#define V(verb)                                                                                                        \
	int bf_uv_##verb(struct bf_uv_call *c)                                                                         \
	{                                                                                                              \
		return bf_uv_provider(c->u)->verb ? bf_uv_provider(c->u)->verb(c) : -EOPNOTSUPP;                       \
	}
BF_UV_VERBS(V)
