#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/moment.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/io.h"

void
moment_now(struct moment *m)
{
	struct buf b = BUF_INIT;

	memset(m, 0, sizeof *m);
	m->wall_ms = clock_wall_ms();
	m->boot_ms = clock_boot_ms();
	snprintf(m->host, sizeof m->host, "%s", host_id());
	if (io_read_file(fault_path("GT_BOOT_ID", "/proc/sys/kernel/random/boot_id"), 64, &b, NULL) == 0)
		snprintf(m->boot_id, sizeof m->boot_id, "%.*s", (int)strcspn(b.data, "\n"), b.data);
	buf_release(&b);
}

int64_t
moment_age(const struct moment *m, const struct moment *now)
{
	bool elsewhere = m->host[0] != '\0' && now->host[0] != '\0' && strcmp(m->host, now->host) != 0;
	int64_t age;

	if (elsewhere || m->boot_id[0] == '\0' || now->boot_id[0] == '\0')
		age = m->wall_ms != 0 ? now->wall_ms - m->wall_ms : -1;
	else if (strcmp(m->boot_id, now->boot_id) != 0)
		return MOMENT_OTHER_BOOT;
	else
		age = now->boot_ms - m->boot_ms;
	return age >= 0 ? age : MOMENT_UNKNOWN;
}
