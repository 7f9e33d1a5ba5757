#include "tools/timing/model.h"

#include <string.h>

#include "sim/member.h"

void bf_timing_model_init(struct bf_timing_model *m)
{
	*m = (struct bf_timing_model){
		.nic = { [BF_NIC_CX5] = bf_mlx5_cx5_timed,
			 [BF_NIC_CX6] = bf_mlx5_cx6_timed,
			 [BF_NIC_CX7] = bf_mlx5_cx7_timed },
		.drive = { [BF_DRIVE_970PRO] = bf_nvme_970pro,
			   [BF_DRIVE_980PRO] = bf_nvme_980pro,
			   [BF_DRIVE_PM1733] = bf_nvme_pm1733,
			   [BF_DRIVE_OPTANE] = bf_nvme_optane,
			   [BF_DRIVE_P3700] = bf_nvme_p3700,
			   [BF_DRIVE_M9100] = bf_nvme_m9100,
			   [BF_DRIVE_P4510] = bf_nvme_p4510,
			   [BF_DRIVE_SN850X] = bf_nvme_sn850x,
			   [BF_DRIVE_MTR] = bf_nvme_mtr },
		.engine = { [BF_ENGINE_MI50] = bf_sdma_mi50,
			    [BF_ENGINE_MI200] = bf_sdma_mi200,
			    [BF_ENGINE_MI300X] = bf_sdma_mi300x,
			    [BF_ENGINE_MI350X] = bf_sdma_mi350x },
		.sw = {
#define VALUE(name, value, basis, what) .name = (value),
			BF_TIMING_SOFTWARE(VALUE)
#undef VALUE
		},
	};
}

#define OF_NIC(short_name, id, member, text)                                                                           \
	{                                                                                                              \
		short_name "." #member, "mlx5", BF_MEMBER(struct bf_timing_model, nic[id].member), BF_BASIS_FITTED,    \
		    text                                                                                               \
	}
#define NIC(short_name, id)                                                                                            \
	OF_NIC(short_name, id, pcie.latency_ps, "PCIe, one way"), OF_NIC(short_name, id, pcie.mem_ps, "host memory"),  \
	    OF_NIC(short_name, id, pcie.vram_ps, "GPU memory, beyond that"),                                           \
	    OF_NIC(short_name, id, port_latency_ps, "port and half a switch"),                                         \
	    OF_NIC(short_name, id, doorbell_ps, "doorbell to first fetch"),                                            \
	    OF_NIC(short_name, id, packet_tx_ps, "one packet built"),                                                  \
	    OF_NIC(short_name, id, packet_rx_ps, "one packet checked"),                                                \
	    OF_NIC(short_name, id, answer_ps, "between two READ responses of a queue pair"),                           \
	    OF_NIC(short_name, id, gather_window, "payload reads of a queue pair under way")
#define OF_DRIVE(short_name, id, member, text)                                                                         \
	{                                                                                                              \
		short_name "." #member, "nvme", BF_MEMBER(struct bf_timing_model, drive[id].member), BF_BASIS_FITTED,  \
		    text                                                                                               \
	}
#define DRIVE(short_name, id)                                                                                          \
	OF_DRIVE(short_name, id, read_ps, "a media page read"), OF_DRIVE(short_name, id, command_ps, "one command"),   \
	    OF_DRIVE(short_name, id, ps_per_kib, "1 KiB of all media")
#define OF_ENGINE(short_name, id, member, text)                                                                        \
	{                                                                                                              \
		short_name "." #member, "sdma", BF_MEMBER(struct bf_timing_model, engine[id].member), BF_BASIS_FITTED, \
		    text                                                                                               \
	}
#define ENGINE(short_name, id)                                                                                         \
	OF_ENGINE(short_name, id, link_ps_per_kib, "1 KiB that crosses the link"),                                     \
	    OF_ENGINE(short_name, id, vram_ps_per_kib, "1 KiB between GPU memories"),                                  \
	    OF_ENGINE(short_name, id, copy_ps, "dispatch to first data")

static const struct bf_timing_constant constants[] = {
	NIC("cx5", BF_NIC_CX5),
	NIC("cx6", BF_NIC_CX6),
	NIC("cx7", BF_NIC_CX7),
	DRIVE("970pro", BF_DRIVE_970PRO),
	DRIVE("980pro", BF_DRIVE_980PRO),
	DRIVE("optane", BF_DRIVE_OPTANE),
	DRIVE("p3700", BF_DRIVE_P3700),
	DRIVE("m9100", BF_DRIVE_M9100),
	DRIVE("mtr-slc", BF_DRIVE_MTR),
	OF_DRIVE("sn850x", BF_DRIVE_SN850X, ahead_ps, "a read that follows the last one"),
	ENGINE("mi50", BF_ENGINE_MI50),
	ENGINE("mi200", BF_ENGINE_MI200),
	ENGINE("mi300x", BF_ENGINE_MI300X),
	ENGINE("mi350x", BF_ENGINE_MI350X),
#define CONSTANT(name, value, basis, what)                                                                             \
	{ #name, NULL, BF_MEMBER(struct bf_timing_model, sw.name), BF_BASIS_##basis, what },
	BF_TIMING_SOFTWARE(CONSTANT)
#undef CONSTANT
};

const struct bf_timing_constant *bf_timing_constants(size_t *n)
{
	*n = BF_ARRAY_LEN(constants);
	return constants;
}

/* What software's constants are of one device alone, by the beginnings of their names. */
static const struct {
	const char *prefix, *device;
} home[] = {
	{ "fio_", "nvme" },  { "spdk_", "nvme" },     { "gpu_nvme", "nvme" }, { "bam_", "nvme" },
	{ "rocr_", "sdma" }, { "hip_", "sdma" },      { "dma_", "sdma" },     { "ep_", "mlx5" },
	{ "mpi_", "mlx5" },  { "dispatch_", "mlx5" }, { "script_", "mlx5" },  { "bar_", "pcie" },
};

const char *bf_timing_constant_home(const struct bf_timing_constant *c)
{
	for (size_t i = 0; !c->device && i < BF_ARRAY_LEN(home); i++)
		if (!strncmp(c->name, home[i].prefix, strlen(home[i].prefix)))
			return home[i].device;
	return c->device;
}
