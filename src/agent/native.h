#ifndef AGENT_NATIVE_H
#define AGENT_NATIVE_H

struct launch;
struct profile;

/*
 * Some agents come from npm as a script that runs the program proper in a child. Where the script's death takes the screen away (copilot 1.0.102:
 * its child loses the terminal, leaves the alternate screen and ends), an agent that is brought back is that program itself: the next crash
 * then leaves its last screen.
 */

/*
 * The program below the script that the command starts, by the row's column `native`: "PACKAGE PROGRAM …", names below node_modules, the first
 * program that is there. A name without a slash is looked up in path (as PATH); links are followed. Heap; NULL: the row has none, the command starts
 * something else already, or it cannot be found for certain.
 */
char *native_program(const struct launch *l, const struct profile *p, const char *path);

/* fed: what launch_fed or launch_resumed made of the command. The same with that program in the script's place; heap. NULL: not for certain. */
char *native_command(const struct launch *l, const char *fed, const char *program);

#endif
