/* Records of mlx5 queues and of IBGDA, their driver, that rules look at. */
#ifndef BELFRY_TRACES_RULES_SEEN_MLX5_H
#define BELFRY_TRACES_RULES_SEEN_MLX5_H

#define BF_SEEN_DOORBELL(F) F(qpn) F(uar) F(offset) F(len) F(index) F(opcode) F(verdict)
#define BF_SEEN_WQE_FETCH(F)                                                                                           \
	F(qpn)                                                                                                         \
	F(ctrl_qpn)                                                                                                    \
	F(length) F(index) F(ctrl_index) F(producer) F(opcode) F(ds) F(wqebbs) F(fm_ce_se) F(source) F(verdict)
#define BF_SEEN_WQE_START(F)                                                                                           \
	F(raddr) F(va) F(qpn) F(psn) F(npsn) F(length) F(lkey) F(rkey) F(in_flight) F(index) F(opcode) F(nsge)
#define BF_SEEN_WQE_DONE(F) F(qpn) F(length) F(index) F(next) F(opcode) F(signalled) F(syndrome) F(vendor)
#define BF_SEEN_CQE(F)                                                                                                 \
	F(iova)                                                                                                        \
	F(cqn) F(qpn) F(count) F(slot) F(byte_cnt) F(index) F(opcode) F(syndrome) F(vendor) F(wqe_opcode) F(verdict)
#define BF_SEEN_QP_STATE(F) F(qpn) F(from) F(to) F(cause)
#define BF_SEEN_MKEY_ERROR(F) F(va) F(start) F(size) F(qpn) F(key) F(length) F(access) F(why) F(index)
#define BF_SEEN_QP_ERROR(F) F(qpn) F(psn) F(index) F(side) F(opcode) F(syndrome) F(vendor) F(hw) F(nak)
#define BF_SEEN_RETRANSMIT(F) F(qpn) F(psn) F(sent) F(index) F(cause) F(left)
#define BF_SEEN_CMD(F) F(number) F(syndrome) F(opcode) F(status)
#define BF_SEEN_DBREC(F) F(qpn) F(before) F(producer) F(doorbell) F(verdict) F(mismatch) F(in_ring)
#define BF_SEEN_CQ_EVENT(F) F(cqn) F(producer) F(consumer) F(kind)
#define BF_SEEN_RX_DROP(F) F(qpn) F(psn) F(expected) F(opcode) F(why)
#define BF_SEEN_NAK_SENT(F) F(qpn) F(psn) F(syndrome) F(opcode)
#define BF_SEEN_QP_CONFIG(F)                                                                                           \
	F(dbrec) F(sq) F(qpn) F(sq_wqebbs) F(rq_wqes) F(rq_stride) F(send_cqn) F(recv_cqn) F(pd) F(uar)
#define BF_SEEN_CQ_CONFIG(F) F(dbrec) F(cqn) F(cqes) F(cqe_size) F(uar) F(collapsed) F(overrun_ignore)
#define BF_SEEN_QP_PATH(F)                                                                                             \
	F(qpn)                                                                                                         \
	F(remote_qpn)                                                                                                  \
	F(remote_ipv4) F(ipv4) F(max_answers) F(max_reads) F(retries) F(rnr_retries) F(timeout) F(access) F(mtu)       \
	    F(min_rnr_timer)

#define BF_SEEN_IBGDA_RESERVE(F) F(base) F(count) F(qpn)
#define BF_SEEN_IBGDA_BUILD(F) F(index) F(qpn) F(ds)
#define BF_SEEN_IBGDA_PUBLISH(F) F(base) F(count) F(qpn) F(posts)
#define BF_SEEN_IBGDA_POST(F) F(from) F(to) F(qpn) F(dbrec)
#define BF_SEEN_IBGDA_POLL(F) F(wanted) F(done) F(qpn) F(syndrome)
#define BF_SEEN_IBGDA_QUIET(F) F(upto) F(qpn) F(status)
#define BF_SEEN_IBGDA_HANDOFF(F) F(from) F(to) F(qpn)
#define BF_SEEN_IBGDA_CONSUME(F) F(to) F(qpn)
#define BF_SEEN_IBGDA_ASTRAY(F) F(meant) F(peer) F(qpn) F(index)
#define BF_SEEN_IBGDA_RESULT(F) F(upto) F(qpn) F(kind) F(consistent)
#define BF_SEEN_IBGDA_IBUF(F) F(base) F(count) F(qpn) F(slots) F(given)
#define BF_SEEN_DC_WQE(F) F(dc_key) F(qpn) F(dct) F(ipv4) F(index)
#define BF_SEEN_DC_CONTEXT(F) F(dct) F(qpn) F(ipv4) F(contexts) F(what)

#define BF_SEEN_MLX5_DEVICE(X)                                                                                         \
	X(doorbell, BF_SEEN_DOORBELL, qpn)                                                                             \
	X(wqe_fetch, BF_SEEN_WQE_FETCH, qpn)                                                                           \
	X(wqe_start, BF_SEEN_WQE_START, qpn)                                                                           \
	X(wqe_done, BF_SEEN_WQE_DONE, qpn)                                                                             \
	X(cqe, BF_SEEN_CQE, qpn)                                                                                       \
	X(qp_state, BF_SEEN_QP_STATE, qpn)                                                                             \
	X(mkey_error, BF_SEEN_MKEY_ERROR, qpn)                                                                         \
	X(qp_error, BF_SEEN_QP_ERROR, qpn)                                                                             \
	X(retransmit, BF_SEEN_RETRANSMIT, qpn)                                                                         \
	X(cmd, BF_SEEN_CMD, none)                                                                                      \
	X(dbrec, BF_SEEN_DBREC, qpn)                                                                                   \
	X(cq_event, BF_SEEN_CQ_EVENT, none)                                                                            \
	X(rx_drop, BF_SEEN_RX_DROP, qpn)                                                                               \
	X(nak_sent, BF_SEEN_NAK_SENT, qpn)                                                                             \
	X(qp_config, BF_SEEN_QP_CONFIG, qpn)                                                                           \
	X(cq_config, BF_SEEN_CQ_CONFIG, none)                                                                          \
	X(qp_path, BF_SEEN_QP_PATH, qpn)

#define BF_SEEN_MLX5_DRIVER(X)                                                                                         \
	X(ibgda_reserve, BF_SEEN_IBGDA_RESERVE, qpn)                                                                   \
	X(ibgda_build, BF_SEEN_IBGDA_BUILD, qpn)                                                                       \
	X(ibgda_publish, BF_SEEN_IBGDA_PUBLISH, qpn)                                                                   \
	X(ibgda_post, BF_SEEN_IBGDA_POST, qpn)                                                                         \
	X(ibgda_poll, BF_SEEN_IBGDA_POLL, qpn)                                                                         \
	X(ibgda_quiet, BF_SEEN_IBGDA_QUIET, qpn)                                                                       \
	X(ibgda_handoff, BF_SEEN_IBGDA_HANDOFF, qpn)                                                                   \
	X(ibgda_consume, BF_SEEN_IBGDA_CONSUME, qpn)                                                                   \
	X(ibgda_astray, BF_SEEN_IBGDA_ASTRAY, qpn)                                                                     \
	X(ibgda_result, BF_SEEN_IBGDA_RESULT, qpn)                                                                     \
	X(ibgda_ibuf, BF_SEEN_IBGDA_IBUF, qpn)                                                                         \
	X(dc_wqe, BF_SEEN_DC_WQE, qpn)                                                                                 \
	X(dc_context, BF_SEEN_DC_CONTEXT, none)

#define BF_SEEN_MLX5(X) BF_SEEN_MLX5_DEVICE(X) BF_SEEN_MLX5_DRIVER(X)

#endif
