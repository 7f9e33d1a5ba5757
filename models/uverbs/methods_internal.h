/* How tables of methods are written: those of every device (methods.c), and those of a provider. */
#ifndef BELFRY_MODELS_UVERBS_METHODS_INTERNAL_H
#define BELFRY_MODELS_UVERBS_METHODS_INTERNAL_H

#include "models/uverbs/uverbs_internal.h"

#define IN(id, bytes)                                                                                                  \
	{                                                                                                              \
		(id), BF_UV_IN, false, 0, (bytes), (bytes)                                                             \
	}
#define IN_FROM(id, bytes)                                                                                             \
	{                                                                                                              \
		(id), BF_UV_IN, false, 0, (bytes), 0                                                                   \
	} /* that long or longer */
#define IN_OPT(id, bytes)                                                                                              \
	{                                                                                                              \
		(id), BF_UV_IN, true, 0, (bytes), (bytes)                                                              \
	}
#define OUT(id, bytes)                                                                                                 \
	{                                                                                                              \
		(id), BF_UV_OUT, false, 0, (bytes), 0                                                                  \
	}
#define OUT_OPT(id, bytes)                                                                                             \
	{                                                                                                              \
		(id), BF_UV_OUT, true, 0, (bytes), 0                                                                   \
	}
#define NEW(id)                                                                                                        \
	{                                                                                                              \
		(id), BF_UV_NEW, false, 0, 0, 0                                                                        \
	}
#define READ(id, object)                                                                                               \
	{                                                                                                              \
		(id), BF_UV_READ, false, (object), 0, 0                                                                \
	}
#define READ_OPT(id, object)                                                                                           \
	{                                                                                                              \
		(id), BF_UV_READ, true, (object), 0, 0                                                                 \
	}
#define DESTROY(id, object)                                                                                            \
	{                                                                                                              \
		(id), BF_UV_DESTROY, false, (object), 0, 0                                                             \
	}
#define ARRAY_OPT(id)                                                                                                  \
	{                                                                                                              \
		(id), BF_UV_ARRAY, true, 0, 0, 0                                                                       \
	}
#define FD_NEW(id)                                                                                                     \
	{                                                                                                              \
		(id), BF_UV_FD_NEW, false, 0, 0, 0                                                                     \
	}
#define FD(id, object)                                                                                                 \
	{                                                                                                              \
		(id), BF_UV_FD, false, (object), 0, 0                                                                  \
	}
#define FD_OPT(id, object)                                                                                             \
	{                                                                                                              \
		(id), BF_UV_FD, true, (object), 0, 0                                                                   \
	}
#define RAW_FD_OPT(id)                                                                                                 \
	{                                                                                                              \
		(id), BF_UV_RAW_FD, true, 0, 0, 0                                                                      \
	}
#define CONST 8 /* bytes of enumerations and flags by mask (kernel: UVERBS_ATTR_CONST_IN) */

#define SPEC static const struct bf_uv_spec

#define METHOD(object, method, name, run, specs)                                                                       \
	{                                                                                                              \
		object, method, BF_ARRAY_LEN(specs), false, name, run, specs                                           \
	}
#define WITH_UHW(object, method, name, run, specs)                                                                     \
	{                                                                                                              \
		object, method, BF_ARRAY_LEN(specs), true, name, run, specs                                            \
	}
/* Refused before anything is read. */
#define REFUSE(object, method, name)                                                                                   \
	{                                                                                                              \
		object, method, 0, true, name, bf_uv_refuse, NULL                                                      \
	}

#endif
