#ifndef CONTEXT_REPAINT_H
#define CONTEXT_REPAINT_H

struct conversation;

/*
 * Takes out what a program drew before it drew everything again. When its pane changes its width qwen 0.15.10 paints the whole
 * conversation anew, from its banner on, and what it had painted before stays in the history. What stands between two banners goes when all
 * that people, models and tools say there stands in the same order behind the second, the last of it perhaps with more words; so an
 * older session with other words stays. Linear in the text.
 */
void repaint_drop(struct conversation *c);

#endif
