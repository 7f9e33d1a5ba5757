/* Links, switches and packets: what those who read traces know of it. */
#include "traces/device.h"

static const struct bf_timeline_row timeline[] = {
	{ .type = "packet",
	  .verb = BF_ROW_PACKET,
	  .label = "packet $packet, $len B",
	  .keys = { "packet" },
	  .group = 2 },
	{ .type = "link", .verb = BF_ROW_INSTANT, .label = "link $up" },
	{ .type = NULL },
};

static const struct bf_timeline_signal_row signals[] = {
	{ "link", "up", 1, "up", NULL, NULL, NULL },
	{ .type = NULL },
};

extern const struct bf_device bf_device_fabric;
const struct bf_device bf_device_fabric = {
	.name = "fabric",
	.summary = "links and packets",
	.timeline = timeline,
	.signals = signals,
};
