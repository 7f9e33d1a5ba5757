/* Records of the kernel of the simulation that rules look at. */
#ifndef BELFRY_TRACES_RULES_SEEN_SIM_H
#define BELFRY_TRACES_RULES_SEEN_SIM_H

#define BF_SEEN_AGENT_START(F) F(stack)
#define BF_SEEN_AGENT_END(F) F(ahead)
#define BF_SEEN_DEADLOCK(F) F(since) F(va) F(value)
#define BF_SEEN_STORE(F) F(va) F(seq) F(len)
#define BF_SEEN_STORE_VISIBLE(F) F(va) F(seq) F(len)
#define BF_SEEN_LOAD(F) F(va) F(value) F(sem)
#define BF_SEEN_FENCE(F) F(pushed) F(scope)
#define BF_SEEN_ATOMIC(F) F(va) F(old) F(operand) F(compare) F(op) F(len) F(sem) F(scope)
#define BF_SEEN_MMIO_STORE(F) F(va) F(seq) F(len)
#define BF_SEEN_STALE_LOAD(F) F(va) F(value) F(fresh) F(len)
#define BF_SEEN_REGION(F) F(va) F(size) F(kind) F(id)
#define BF_SEEN_MMIO_LOAD(F) F(va) F(value) F(region) F(len)
#define BF_SEEN_DMA_READ(F) F(iova) F(va) F(done_ps) F(len) F(status)
#define BF_SEEN_DMA_WRITE(F) F(iova) F(va) F(len) F(flags)
#define BF_SEEN_IOMMU_FAULT(F) F(iova) F(len) F(access) F(reason)
#define BF_SEEN_FAULT_INJECTED(F) F(delay_ps) F(queue) F(kind) F(rule)

#define BF_SEEN_SIM(X)                                                                                                 \
	X(agent_start, BF_SEEN_AGENT_START, none)                                                                      \
	X(agent_end, BF_SEEN_AGENT_END, none)                                                                          \
	X(deadlock, BF_SEEN_DEADLOCK, none)                                                                            \
	X(store, BF_SEEN_STORE, none)                                                                                  \
	X(store_visible, BF_SEEN_STORE_VISIBLE, none)                                                                  \
	X(load, BF_SEEN_LOAD, none)                                                                                    \
	X(fence, BF_SEEN_FENCE, none)                                                                                  \
	X(atomic, BF_SEEN_ATOMIC, none)                                                                                \
	X(mmio_store, BF_SEEN_MMIO_STORE, none)                                                                        \
	X(stale_load, BF_SEEN_STALE_LOAD, none)                                                                        \
	X(region, BF_SEEN_REGION, none)                                                                                \
	X(mmio_load, BF_SEEN_MMIO_LOAD, none)                                                                          \
	X(dma_read, BF_SEEN_DMA_READ, none)                                                                            \
	X(dma_write, BF_SEEN_DMA_WRITE, none)                                                                          \
	X(iommu_fault, BF_SEEN_IOMMU_FAULT, none)                                                                      \
	X(fault_injected, BF_SEEN_FAULT_INJECTED, none)

#endif
