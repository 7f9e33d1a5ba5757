/* Captured events (traces/import/capture.h) that rules look at. */
#ifndef BELFRY_TRACES_RULES_SEEN_CAPTURE_H
#define BELFRY_TRACES_RULES_SEEN_CAPTURE_H

#define BF_SEEN_CAPTURE_MKEY(F) F(addr) F(length) F(line) F(key) F(access)
#define BF_SEEN_CAPTURE_QP(F)                                                                                          \
	F(qpn) F(dest_qpn) F(sq_wqebbs) F(rq_wqes) F(send_cqn) F(send_cqes) F(recv_cqn) F(recv_cqes) F(state) F(line)
#define BF_SEEN_CAPTURE_DOORBELL(F) F(qpn) F(dbrec) F(line)
#define BF_SEEN_CAPTURE_WQE(F) F(qpn) F(index) F(line)
#define BF_SEEN_CAPTURE_CQE(F) F(cqn) F(index) F(line)

#define BF_SEEN_CAPTURE(X)                                                                                             \
	X(capture_mkey, BF_SEEN_CAPTURE_MKEY, none)                                                                    \
	X(capture_qp, BF_SEEN_CAPTURE_QP, qpn)                                                                         \
	X(capture_doorbell, BF_SEEN_CAPTURE_DOORBELL, qpn)                                                             \
	X(capture_wqe, BF_SEEN_CAPTURE_WQE, qpn)                                                                       \
	X(capture_cqe, BF_SEEN_CAPTURE_CQE, none)

#endif
