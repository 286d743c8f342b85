#ifndef REVIVE_CREDENTIALS_H
#define REVIVE_CREDENTIALS_H

struct scrub;

/*
 * Teaches the scrubber the secrets in the files where programs usually keep them: of a home (~/.netrc, ~/.aws/credentials, the agent's own
 * token … the table stands in credentials.c) and of a working directory (.env*). They are read into memory, learned and overwritten. At most
 * 256 KiB of a file and 16 files of a directory; what is no regular file, or cannot be read, is passed over. NULL: none.
 */
void credentials_learn(struct scrub *s, const char *home, const char *dir);

/* The agent's own tokens in its configuration directory. */
void credentials_learn_agent(struct scrub *s, const char *config_dir);

#endif
