/*
 * Has this server all that was confirmed? Replication is asynchronous: a replica that takes over from
 * its primary may lack the primary's last commits, and an older copy of the server's files lacks more.
 * A server that kept its disk lacks none, so a restart alone is no sign. Three things are:
 *
 *	the run of the server is another one than the store knows, and this one says that it was a
 *	replica since it started (INFO, master_replid2 and second_repl_offset);
 *	the last commit of this host, which a file in the state directory names, is not among the
 *	last 65,536 that the server knows;
 *	at the address and database of that commit there is no store, or another one: the server was
 *	emptied, or started without its files.
 *
 * The second one also sees a replica that was restarted after it had taken over. Neither sees the loss
 * of another host's commits on such a one: that host will. Who only looks is let in.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "store/store_private.h"
#include "base/buf.h"
#include "base/err.h"

bool
redis_info_field(const redisReply *info, const char *name, char *out, size_t size)
{
	size_t n = strlen(name);

	for (const char *at = info->str; (at = strstr(at, name)) != NULL; at += n) {
		if ((at == info->str || at[-1] == '\n') && at[n] == ':') {
			snprintf(out, size, "%.*s", (int)strcspn(at + n + 1, "\r\n"), at + n + 1);
			return true;
		}
	}
	return false;
}

void
redis_note_promotion(struct redis_store *s, const redisReply *info)
{
	char before[64] = "", at[24] = "";

	s->took_over_at[0] = '\0';
	if (redis_info_field(info, "master_replid2", before, sizeof before) &&
	    redis_info_field(info, "second_repl_offset", at, sizeof at) &&
	    strspn(before, "0") != strlen(before) && at[0] != '-')
		snprintf(s->took_over_at, sizeof s->took_over_at, "%s", at);
}

/* "FORMAT ID COMMIT NUMBER ADDRESS": the last one, which an older file lacks, as a hash. */
#define SEEN_LINE "%s %s %s %016" PRIx64 "\n"

static uint64_t
hash_address(const struct redis_store *s)
{
	return store_hash(s->at.shown, strlen(s->at.shown), 0);
}

/* false: there is none, or it was cut short. */
static bool
read_seen_line(const struct redis_store *s, int fd, struct redis_seen *out)
{
	char text[160] = "", format[8], id[40];
	ssize_t n = pread(fd, text, sizeof text - 1, 0);
	uint64_t address = hash_address(s), was = address;
	int end = 0;

	memset(out, 0, sizeof *out);
	if (n > 0 && sscanf(text, "%7s %39s %39s %23[0-9]%n", format, id, out->id, out->seq, &end) == 4 &&
	    text[end] == ' ')
		end += 17 * (sscanf(text + end, " %16" SCNx64, &was) == 1);
	if (end == 0 || text[end] != '\n') {
		memset(out, 0, sizeof *out);
		return false;
	}
	snprintf(out->identity, sizeof out->identity, "%s %s", format, id);
	out->here = was == address;
	return true;
}

void
redis_read_seen(const struct redis_store *s, struct redis_seen *out)
{
	int fd = open(s->seen, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	memset(out, 0, sizeof *out);
	if (fd < 0)
		return;
	read_seen_line(s, fd, out);
	close(fd);
}

void
redis_note_commit(const struct redis_store *s, const char *id, const redisReply *seq)
{
	struct redis_seen there;
	char text[160];
	int fd, n;

	if (seq == NULL || s->identity == NULL ||
	    (fd = open(s->seen, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600)) < 0)
		return;
	/* others of this host note theirs: the newest stays */
	if (flock(fd, LOCK_EX) == 0 &&
	    (!read_seen_line(s, fd, &there) || strcmp(there.identity, s->identity) != 0 ||
		strtoll(there.seq, NULL, 10) < strtoll(seq->str, NULL, 10))) {
		n = snprintf(text, sizeof text, SEEN_LINE, s->identity, id, seq->str, hash_address(s));
		if (n < (int)sizeof text && pwrite(fd, text, (size_t)n, 0) == n && ftruncate(fd, n) != 0)
			n = 0;
	}
	close(fd);
}

int
redis_refuse_failover(const struct redis_store *s, const char *reason, struct err *e)
{
	struct buf to = BUF_INIT;

	if (s->at.path != NULL)
		buf_fmt(&to, "-s %s", s->at.path);
	else
		buf_fmt(&to, "-h %s -p %d%s", s->at.host, s->at.port, s->at.tls ? " --tls" : "");
	if (strcmp(reason, "emptied") == 0) {
		err_set(e, GT_FAIL, "emptied",
		    "the Redis store %s was emptied or replaced: the records of this host are missing",
		    s->at.shown);
		err_hint(e,
		    "Check that the server loaded its " REDIS_FILES " (redis-cli %s CONFIG GET dir) and "
		    "that this is its database; events.jsonl has the records of this host. To start "
		    "over: redis-cli %s -n %d SET gt-recover:accepted %s",
		    to.data, to.data, s->at.db, s->run);
		buf_release(&to);
		return -1;
	}
	if (strcmp(reason, "commit") == 0)
		err_set(e, GT_FAIL, "failed-over",
		    "the Redis store %s lost changes that it had confirmed: the last one of this host is "
		    "missing",
		    s->at.shown);
	else
		err_set(e, GT_FAIL, "failed-over",
		    "the Redis store %s is on a promoted replica (at replication offset %s): confirmed "
		    "changes may be missing",
		    s->at.shown, s->took_over_at);
	err_hint(e,
	    "Compare the end of events.jsonl in each state directory with gt-recover log, and repeat "
	    "missing records. Then accept this server: redis-cli %s -n %d SET gt-recover:accepted %s",
	    to.data, s->at.db, s->run);
	buf_release(&to);
	return -1;
}
