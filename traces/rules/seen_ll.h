/* Records of DeepEP's low-latency kernels and of NVSHMEM's calls that rules look at. */
#ifndef BELFRY_TRACES_RULES_SEEN_LL_H
#define BELFRY_TRACES_RULES_SEEN_LL_H

#define BF_SEEN_LL_CAST(F) F(round) F(token)
#define BF_SEEN_LL_SEND(F) F(round) F(phase) F(expert) F(dst) F(token) F(qpn)
#define BF_SEEN_LL_COUNT(F) F(round) F(phase) F(expert) F(dst) F(value) F(qpn)
#define BF_SEEN_LL_RECV(F) F(round) F(phase) F(expert) F(src) F(value)
#define BF_SEEN_SHMEM_CALL(F) F(call) F(pe) F(qpn)
#define BF_SEEN_SHMEM_WAITED(F) F(wanted) F(found)

#define BF_SEEN_LL(X)                                                                                                  \
	X(ll_cast, BF_SEEN_LL_CAST, none)                                                                              \
	X(ll_send, BF_SEEN_LL_SEND, none)                                                                              \
	X(ll_count, BF_SEEN_LL_COUNT, none)                                                                            \
	X(ll_recv, BF_SEEN_LL_RECV, none)                                                                              \
	X(shmem_call, BF_SEEN_SHMEM_CALL, none)                                                                        \
	X(shmem_waited, BF_SEEN_SHMEM_WAITED, none)

#endif
