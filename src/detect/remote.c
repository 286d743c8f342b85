#include <stdlib.h>
#include <string.h>

#include "detect/detect_private.h"
#include "agent/agent.h"
#include "app/app.h"
#include "base/buf.h"
#include "process/proc.h"

#define RUN_VALUED " -e --env --env-file -u --user -w --workdir --detach-keys "
#define RUN_KEPT " -u --user -w --workdir "
#define POD_FLAGS " -n --namespace -c --container --context --kubeconfig "

/* Programs behind which another machine or container is, by their command line. */
static const struct remote_kind {
	const char *program, *verb;	/* verb NULL: none */
	const char *what;		/* for people */
	const char *start;		/* of the command to run there */
	const char *valued;		/* flags with a value, a blank around each */
	const char *kept;		/* those of them that lead to the place */
	const char *end;		/* behind the place */
	bool by_flag;			/* the place is the value of the flag kept */
} kinds[] = {
	{ "ssh", NULL, "ssh", "ssh -t",
	    " -B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w ", " -F -i -J -l -p ", "",
	    false },
	{ "docker", "exec", "docker container", "docker exec -it", RUN_VALUED, RUN_KEPT, "", false },
	{ "podman", "exec", "podman container", "podman exec -it", RUN_VALUED, RUN_KEPT, "", false },
	{ "kubectl", "exec", "pod", "kubectl exec -it", POD_FLAGS, POD_FLAGS, " --", false },
	{ "devcontainer", "exec", "devcontainer", "devcontainer exec",
	    " --workspace-folder --container-id --config --remote-env ",
	    " --workspace-folder --container-id ", "", true },
};

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static bool
is_listed(const char *list, const char *word)
{
	char *sought = xasprintf(" %s ", word);
	bool found = strchr(word, ' ') == NULL && strstr(list, sought) != NULL;

	free(sought);
	return found;
}

/* The agent that a word of the remote command starts: "claude", or inside "cd x && claude -c". */
static const struct profile *
agent_in(const struct profile_list *profiles, const char *word)
{
	const struct profile *p = NULL;

	while (*word != '\0' && p == NULL) {
		size_t n = strcspn(word, " ;&|");
		char *one = xstrndup(word, n);

		p = n > 0 ? profile_by_program(profiles, base_name(one)) : NULL;
		free(one);
		word += n + (word[n] != '\0');
	}
	return p;
}

static void
add_word(struct buf *out, const char *word)
{
	buf_chr(out, ' ');
	quote_sh(out, word);
}

/* The words behind the program. False: they lead nowhere else. */
static bool
read_words(const struct profile_list *profiles, const struct remote_kind *k, const char *const *v, size_t n,
    struct remote_place *out)
{
	struct buf flags = BUF_INIT;
	const char *place = NULL;
	size_t i = 0;

	while (k->verb != NULL && i < n && strcmp(v[i], k->verb) != 0)
		i++;
	for (i += k->verb != NULL; i < n; i++) {
		bool flag = v[i][0] == '-' && (place == NULL || *k->end != '\0');
		bool valued = flag && i + 1 < n && is_listed(k->valued, v[i]);

		if (flag && strcmp(v[i], "--") == 0 && place != NULL)
			break;
		if (valued && is_listed(k->kept, v[i])) {
			add_word(&flags, v[i]);
			add_word(&flags, v[i + 1]);
			place = k->by_flag ? v[i + 1] : place;
		}
		i += valued;
		if (!flag && (k->by_flag || place != NULL))
			break;
		if (!flag)
			place = v[i];
	}
	for (; i < n && out->agent == NULL; i++)
		out->agent = agent_in(profiles, v[i]);
	if (place != NULL) {
		struct buf hint = BUF_INIT;

		buf_fmt(&hint, "recover it there: %s%s", k->start, flags.len > 0 ? flags.data : "");
		if (!k->by_flag)
			add_word(&hint, place);
		buf_fmt(&hint, "%s gt-recover", k->end);
		out->place = xasprintf("%s %s", k->what, place);
		out->hint = buf_detach(&hint);
	}
	buf_release(&flags);
	return place != NULL;
}

/* The program may be a script, which its interpreter has as its first word. */
static bool
read_command(
    const struct profile_list *profiles, const char *const *v, size_t n, struct remote_place *out)
{
	size_t last = n > 1 && (proc_is_shell(base_name(v[0])) || proc_is_runtime(base_name(v[0]))) ? 1 : 0;

	for (size_t at = 0; at <= last && at < n; at++)
		for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
			if (strcmp(base_name(v[at]), kinds[i].program) == 0)
				return read_words(profiles, &kinds[i], v + at + 1, n - at - 1, out);
	return false;
}

static bool
read_process(const struct profile_list *profiles, const struct proc *p, struct remote_place *out)
{
	struct town_list words = TOWN_LIST_INIT;
	struct buf args = BUF_INIT;
	bool found;

	proc_arguments(p->pid, true, &args);
	for (size_t at = 0; at < args.len; at += strlen(args.data + at) + 1)
		town_list_add(&words, xstrdup(args.data + at));
	found = read_command(profiles, (const char *const *)words.v, words.n, out);
	out->pid = p->pid;
	buf_wipe(&args);
	town_list_release(&words);
	return found;
}

bool
detect_find_remote(const struct detection *d, const struct candidate *c, const struct proc *agent,
    struct remote_place *out)
{
	const struct procs *procs = d->procs;
	const char **words;
	bool found = false;

	*out = (struct remote_place){ .pid = 0 };
	for (size_t i = 0; !c->pane.dead && i < procs->n && !found; i++) {
		const struct proc *p = &procs->v[i];

		bool front = p->foreground == p->pgrp ||
		    (agent != NULL && proc_list_below(procs, agent->pid, p->pid));

		found = p->state != 'Z' && front && proc_list_below(procs, p->pid, c->pane.pid) &&
		    read_process(d->w->profiles, p, out);
	}
	if (!c->pane.dead)
		return found;
	words = xcalloc(c->launch.n_words + 1, sizeof *words);
	for (size_t i = c->launch.program; i < c->launch.n_words; i++)
		words[i - c->launch.program] = c->launch.words[i].text;
	found = c->launch.name != NULL && read_command(d->w->profiles, words, c->launch.n_words -
	    c->launch.program, out);
	free(words);
	return found;
}

void
detect_remote_release(struct remote_place *p)
{
	free(p->place);
	free(p->hint);
}
