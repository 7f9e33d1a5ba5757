/* Records that this program's own models make: their fields are where the compiler knows them to be. */
#include "models/mlx5/records.h"
#include "models/sdma/records.h"
#include "sim/records_agent.h"
#include "sim/records_io.h"
#include "traces/rules/engine_internal.h"

#define OWN(X) BF_SEEN_SIM(X) BF_SEEN_MLX5_DEVICE(X) BF_SEEN_SDMA_ENGINE(X)

#define FIELD(name) to->name = (uint64_t)from->name;
#define READ(name, FIELDS, key)                                                                                        \
	static void read_##name(const void *fixed, struct bf_seen *e)                                                  \
	{                                                                                                              \
		const struct bf_rec_##name *from = fixed;                                                              \
		struct bf_seen_##name *to = &e->name;                                                                  \
                                                                                                                       \
		FIELDS(FIELD)                                                                                          \
	}
OWN(READ)

#define ROW(name, FIELDS, key) [BF_SEEN_##name] = { &bf_rec_##name##_schema, read_##name },
static const struct {
	const struct bf_rec_schema *type;
	bf_seen_read_fn *read;
} own[BF_SEEN_KINDS] = { OWN(ROW) };

bf_seen_read_fn *bf_seen_own(enum bf_seen_kind kind, const struct bf_rec_schema *type)
{
	return own[kind].type == type ? own[kind].read : NULL;
}
