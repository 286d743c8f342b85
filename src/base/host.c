#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/host.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/encode.h"
#include "base/sys.h"
#include "base/timestamp.h"

#define DIGITS 16

static char id[HOST_MAX + 1];
static bool named;

static bool
is_name(const char *name)
{
	size_t n = strlen(name);

	if (n > HOST_MAX || !isalnum((unsigned char)name[0]))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && strchr("._-", name[i]) == NULL)
			return false;
	return true;
}

/* In a container there may be no machine-id: its host name tells it from others. */
static int
take_machine(struct err *e)
{
	struct buf b = BUF_INIT;
	char digest[65], name[256] = "";

	if (sys_machine_id(&b) != 0) {
		buf_reset(&b);
		if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') {
			buf_release(&b);
			err_set(e, GT_FAIL, "machine",
			    "this machine has neither /etc/machine-id nor a host name");
			return err_hint(
			    e, "Set a unique name: host = \"NAME\" in [recovery] of gt.toml");
		}
		buf_str(&b, name);
	}
	buf_str(&b, " gt-recover");
	sha256_hex(b.data, b.len, digest);
	snprintf(id, sizeof id, "%.*s", DIGITS, digest);
	named = false;
	buf_release(&b);
	return 0;
}

int
host_set(const char *name, struct err *e)
{
	if (*name == '\0')
		return take_machine(e);
	if (!is_name(name)) {
		err_set(e, GT_USAGE, "host", "\"%.80s\" cannot be the name of a host", name);
		return err_hint(e,
		    "Up to %d letters, digits, dots, underscores and dashes, a letter or digit first: host = "
		    "\"west-1\"",
		    HOST_MAX);
	}
	snprintf(id, sizeof id, "%s", name);
	named = true;
	return 0;
}

void
host_unset(void)
{
	id[0] = '\0';
}

const char *
host_id(void)
{
	return id;
}

bool
host_is_other(const char *other)
{
	return other != NULL && *other != '\0' && id[0] != '\0' && strcmp(other, id) != 0;
}

void
host_name(char out[HOST_MAX + 1])
{
	char name[256] = "";

	if (named && id[0] != '\0')
		memcpy(out, id, sizeof id);
	else if (gethostname(name, sizeof name - 1) == 0)
		snprintf(out, HOST_MAX + 1, "%.*s", HOST_MAX, name);
	else
		out[0] = '\0';
}

void
timestamp_now(struct timestamp *m)
{
	memset(m, 0, sizeof *m);
	m->wall_ms = clock_wall_ms();
	m->boot_ms = clock_boot_ms();
	snprintf(m->host, sizeof m->host, "%s", host_id());
	sys_pid_space(m->boot_id, &m->pid_ns);
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
