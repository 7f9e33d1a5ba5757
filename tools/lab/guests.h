/* What `belfry lab` boots, and what it attaches to a guest: a line each. tools/lab/images has the images. */
#ifndef BELFRY_TOOLS_LAB_GUESTS_H
#define BELFRY_TOOLS_LAB_GUESTS_H

/* Names of images, the default first. */
#define BF_LAB_IMAGES "nvme (default), rxe, mlx5, vfio, iommufd, dmabuf"

/* Options with a device that QEMU makes, or a server: X(name, argument, help). */
#define BF_LAB_DEVICES(X)                                                                                              \
	X("nvme", "FILE", "attach QEMU's NVMe controller with FILE as its medium")                                     \
	X("vfio-user", "SOCKET", "attach the device that belfry serve offers at SOCKET")

/* Lines of the help. */
#define BF_LAB_EXAMPLES                                                                                                \
	"  belfry lab run --nvme disk.img -- nvme id-ctrl /dev/nvme0\n"                                                \
	"  belfry lab run --image rxe --belfry -- sh -c 'rxe_net.sh && ibv_devinfo'\n"                                 \
	"  belfry lab run --image iommufd --shell"

#endif
