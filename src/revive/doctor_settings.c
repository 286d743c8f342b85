#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "revive/doctor.h"
#include "revive/gather.h"
#include "revive/world.h"
#include "base/buf.h"
#include "prompt/template.h"
#include "scrub/scrub.h"
#include "town/config.h"
#include "town/town.h"

void
doctor_gt_toml(struct doctor *d)
{
	const char *file = config_file(d->w->config);
	struct stat st;

	if (file == NULL)
		doctor_tell(d, VERDICT_OK, NULL, "there is no gt.toml: every key has its default");
	else if (stat(file, &st) != 0)
		doctor_tell(d, VERDICT_ERROR, "make it readable again", "%s was read and is gone now", file);
	else if ((st.st_mode & 022) != 0)
		doctor_tell(d, VERDICT_WARNING, "chmod go-w FILE", "%s names commands, and others than its owner may write it (mode %03o)",
		    file, (unsigned)st.st_mode & 0777);
	else
		doctor_tell(d, VERDICT_OK, NULL, "%s", file);
}

void
doctor_patrol(struct doctor *d)
{
	bool acts = config_flag(d->w->config, "auto_recover"), command = *config_text(d->w->config, "mail.command") != '\0';
	const char *does = acts ? "patrol brings agents back by itself" : "patrol reports and brings nobody back";
	const char *to = config_text(d->w->config, "mail.to");

	if (command)
		doctor_tell(d, VERDICT_OK, NULL, "%s; the command of [recovery.mail] tells %s of a failure", does, to);
	else if (town_root(d->w->town) != NULL)
		doctor_tell(d, VERDICT_OK, NULL, "%s; gt mail send tells %s of a failure", does, to);
	else if (acts)
		doctor_tell(d, VERDICT_WARNING, "set command in [recovery.mail] of gt.toml",
		    "%s, and a recovery that fails is told to nobody: there is no town and no [recovery.mail] command", does);
	else
		doctor_tell(d, VERDICT_OK, NULL, "%s (auto_recover = false)", does);
}

void
doctor_template(struct doctor *d)
{
	struct err e = ERR_INIT;
	struct template *t = gather_template(d->w, false, NULL, &e), *nudge = t != NULL ? gather_template(d->w, true, NULL, &e) : NULL;

	if (nudge == NULL)
		doctor_tell_err(d, VERDICT_ERROR, &e);
	else
		doctor_tell(d, VERDICT_OK, NULL, "the prompt's template can be read");
	template_free(t);
	template_free(nudge);
}

void
doctor_scrub_rules(struct doctor *d)
{
	struct err e = ERR_INIT;
	struct scrub *s = world_scrub(d->w, &e);

	if (s == NULL)
		doctor_tell_err(d, VERDICT_ERROR, &e);
	else
		doctor_tell(d, VERDICT_OK, NULL, "the rules for secrets can be read");
	scrub_free(s);
}
