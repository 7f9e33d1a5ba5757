/*
 * Which attributes a step between two states needs and allows, for each service: the rules of the InfiniBand
 * specification (volume 1, section 11.2.5.2) as Linux core/verbs.c keeps them in its qp_state_table.
 */
#include "models/uverbs/qp_internal.h"

enum { RESET, INIT, RTR, RTS, SQD, SQE, ERR, STATES };

/* Services are columns; DC initiators have rules of mlx5's own (hw/mlx5/qp.c modify_dci_qp_is_ok()). */
enum { UD, UC, RC, DCI, INI, TGT, RAW, SERVICES }; /* the two before raw packets: XRC */

#define A(n) BF_UV_QP_##n
#define INIT_CONNECTED (A(PKEY_INDEX) | A(PORT) | A(ACCESS_FLAGS))
#define INIT_UD (A(PKEY_INDEX) | A(PORT) | A(QKEY))
#define INIT_DCI (A(PKEY_INDEX) | A(PORT))
#define RTR_MAY (A(ALT_PATH) | A(ACCESS_FLAGS) | A(PKEY_INDEX))
#define RTR_UC (A(AV) | A(PATH_MTU) | A(DEST_QPN) | A(RQ_PSN))
#define RTR_RC (RTR_UC | A(MAX_DEST_RD_ATOMIC) | A(MIN_RNR_TIMER))
#define RTS_RC (A(TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY) | A(SQ_PSN) | A(MAX_QP_RD_ATOMIC))
#define LATER_UC (A(CUR_STATE) | A(ACCESS_FLAGS) | A(ALT_PATH) | A(PATH_MIG_STATE))
#define LATER_RC (LATER_UC | A(MIN_RNR_TIMER))
#define SQD_UC (A(AV) | A(ALT_PATH) | A(ACCESS_FLAGS) | A(PKEY_INDEX) | A(PATH_MIG_STATE))
#define SQD_RC                                                                                                         \
	(SQD_UC | A(PORT) | A(TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY) | A(MAX_QP_RD_ATOMIC) | A(MAX_DEST_RD_ATOMIC) |   \
	 A(MIN_RNR_TIMER))

#define RTS_TGT (A(TIMEOUT) | A(SQ_PSN))
#define SQD_INI (SQD_UC | A(PORT) | A(TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY) | A(MAX_QP_RD_ATOMIC))
#define SQD_TGT (SQD_UC | A(PORT) | A(TIMEOUT) | A(MAX_DEST_RD_ATOMIC) | A(MIN_RNR_TIMER))

static const struct step {
	uint8_t from, to;
	uint32_t need[SERVICES], may[SERVICES];
} steps[] = {
	{ RESET,
	  INIT,
	  { INIT_UD, INIT_CONNECTED, INIT_CONNECTED, INIT_DCI, INIT_CONNECTED, INIT_CONNECTED, A(PORT) },
	  { 0 } },
	{ INIT, INIT, { 0 }, { INIT_UD, INIT_CONNECTED, INIT_CONNECTED, INIT_DCI, INIT_CONNECTED, INIT_CONNECTED } },
	{ INIT,
	  RTR,
	  { 0, RTR_UC, RTR_RC, A(PATH_MTU), RTR_UC, RTR_RC },
	  { A(PKEY_INDEX) | A(QKEY), RTR_MAY, RTR_MAY, A(PKEY_INDEX) | A(AV), RTR_MAY, RTR_MAY } },
	{ RTR,
	  RTS,
	  { A(SQ_PSN), A(SQ_PSN), RTS_RC, RTS_RC, RTS_RC, RTS_TGT },
	  { A(CUR_STATE) | A(QKEY), LATER_UC, LATER_RC, A(MIN_RNR_TIMER), LATER_UC, LATER_RC } },
	{ RTS, RTS, { 0 }, { A(CUR_STATE) | A(QKEY), LATER_UC, LATER_RC, A(MIN_RNR_TIMER), LATER_UC, LATER_RC } },
	{ RTS,
	  SQD,
	  { 0 },
	  { A(EN_SQD_ASYNC_NOTIFY), A(EN_SQD_ASYNC_NOTIFY), A(EN_SQD_ASYNC_NOTIFY), 0, A(EN_SQD_ASYNC_NOTIFY),
	    A(EN_SQD_ASYNC_NOTIFY) } },
	{ SQD, RTS, { 0 }, { A(CUR_STATE) | A(QKEY), LATER_UC, LATER_RC, 0, LATER_UC, LATER_RC } },
	{ SQD, SQD, { 0 }, { A(PKEY_INDEX) | A(QKEY), SQD_UC, SQD_RC, 0, SQD_INI, SQD_TGT } },
	{ SQE, RTS, { 0 }, { A(CUR_STATE) | A(QKEY), A(CUR_STATE) | A(ACCESS_FLAGS), 0, 0 } },
};

static bool matches(const struct step *s, uint32_t service, uint32_t mask)
{
	uint32_t need = s->need[service];

	return (mask & need) == need && !(mask & ~(need | s->may[service] | A(STATE)));
}

bool bf_uv_qp_step_ok(uint8_t type, uint32_t from, uint32_t to, uint32_t mask)
{
	uint32_t service = type == IB_UVERBS_QPT_UD           ? UD
			   : type == IB_UVERBS_QPT_UC         ? UC
			   : type == BF_UV_QPT_DCI            ? DCI
			   : type == IB_UVERBS_QPT_XRC_INI    ? INI
			   : type == IB_UVERBS_QPT_XRC_TGT    ? TGT
			   : type == IB_UVERBS_QPT_RAW_PACKET ? RAW
							      : RC;

	if (to == RESET || to == ERR)
		return !(mask & ~(A(STATE) | A(CUR_STATE)));
	for (size_t i = 0; i < BF_ARRAY_LEN(steps); i++)
		if (steps[i].from == from && steps[i].to == to)
			return matches(&steps[i], service, mask);
	return false;
}
