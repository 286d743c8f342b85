#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/timestamp.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/io.h"

void
timestamp_now(struct timestamp *m)
{
	struct buf b = BUF_INIT;
	struct stat st;

	memset(m, 0, sizeof *m);
	m->wall_ms = clock_wall_ms();
	m->boot_ms = clock_boot_ms();
	snprintf(m->host, sizeof m->host, "%s", host_id());
	if (io_read_file(fault_path("GT_BOOT_ID", "/proc/sys/kernel/random/boot_id"), 64, &b, NULL) == 0)
		snprintf(m->boot_id, sizeof m->boot_id, "%.*s", (int)strcspn(b.data, "\n"), b.data);
	buf_release(&b);
	if (stat("/proc/self/ns/pid", &st) == 0)
		m->pid_ns = (uint64_t)st.st_ino;
}

bool
timestamp_other_space(uint64_t pid_ns, const struct timestamp *now)
{
	return pid_ns != 0 && now->pid_ns != 0 && pid_ns != now->pid_ns;
}

bool
timestamp_contained(const char *boot_id, uint64_t pid_ns, const struct timestamp *now)
{
	return boot_id[0] != '\0' && strcmp(boot_id, now->boot_id) == 0 && timestamp_other_space(pid_ns, now);
}

int64_t
timestamp_age(const struct timestamp *m, const struct timestamp *now)
{
	bool elsewhere = m->host[0] != '\0' && now->host[0] != '\0' && strcmp(m->host, now->host) != 0;
	int64_t age;

	if (elsewhere || m->boot_id[0] == '\0' || now->boot_id[0] == '\0')
		age = m->wall_ms != 0 ? now->wall_ms - m->wall_ms : -1;
	else if (strcmp(m->boot_id, now->boot_id) != 0)
		return AGE_OTHER_BOOT;
	else
		age = now->boot_ms - m->boot_ms;
	return age >= 0 ? age : AGE_UNKNOWN;
}
