// Whole conversations: every kind of row that a day of work leaves.
import { ALL, answer, bash, kill, talk, words } from './common.mjs';

const LEXER = `#include "lexer.h"

int
next_token(const char *s)
{
	if (*s == '\\0')
		return -1;
	return *s;
}

int
count_tokens(const char *s)
{
	int n = 0;

	while (next_token(s++) >= 0)
		n++;
	return n;
}
`;

const LOOP = 'The loop read one byte **past the end** of `input` because `next_token()` never looked for the terminator; every caller of the lexer ' +
	'inherited that, and the two tests that should have caught it compared the wrong pointer all along.';

const REPORT = `## What I changed

${LOOP}

1. \`next_token()\` now stops at the end.
2. \`count_tokens()\` counts every token once, also when the input ends in the middle of a quoted string that was never closed by anybody.
   - nested: the empty input gives zero
   - nested: a lone quote gives one
3. The manual says so.

### How to check

- build with the sanitizer
- run the suite twice

\`\`\`c
while (*s != '\\0' && n < limit) {
        n++;            /* one token */
    s += length_of(s);
}
\`\`\`

| Case  | Before | After |
|-------|--------|-------|
| empty | crash  | 0     |
| quote | 2      | 1     |

> A quoted remark of the old maintainer.

That is all; the suite is green.`;

const PASTED = `Next task, taken from the tracker:
- keep the old behaviour of 空の入力 and of «кавычки»
- the emoji 🚀 ✅ stay as they are

    indented code line
> a line that begins like an old prompt
❯ a line that begins like a new prompt
● a line that begins like an answer

last line of the ticket after a blank one`;

const WIDE = `了解しました。この段落はとても長い日本語の文章なので、端末の幅を超えて必ず折り返されます。単語の間に空白がないため、どこで折り返しても元の文に戻せなければなりません。絵文字 🚀 と ✅ も混ざっています。

Смешанный текст: the limit is 42 tokens，不多不少。`;

const ITEMS = Array.from({ length: 60 }, (_, i) => `item${String(i).padStart(2, '0')}`).join(' ');
const NOTES = Array.from({ length: 14 }, (_, i) => `note ${i + 1}`).join('\n');
const edit = { tool: 'Edit', input: { file_path: 'ROOT/w/lexer.c', old_string: '\tif (*s == \'\\0\')\n', new_string: '\tif (s == NULL || *s == \'\\0\')\n' } };

export const tours = [
	{
		name: 'tour',
		on: [[100, 40, ...ALL], [80, 30, ...ALL], [120, 40, ...ALL], [200, 50, ...ALL], [64, 30, '1.0.128', '2.1.197'], [150, 40, '2.0.76', '2.1.330']],
		files: { 'lexer.c': LEXER, 'README.md': '# lexer\n\nSplits text.\n' },
		answers: [
			answer('lexer reads past',
				[{ thinking: 'The lexer runs over the end. First I look at what is there.' }, words('I will look at the sources first.'),
					bash('ls -1', 'List files')],
				[{ tool: 'Read', input: { file_path: 'ROOT/w/lexer.c' } }],
				[words('The terminator is never looked for. Let me see the failure with my own eyes.'),
					bash('echo "token 17: overrun" >&2; exit 2', 'Show the failure')],
				[bash('for i in $(seq 1 40); do echo "case $i of the suite passed"; done', 'Run the suite')],
				[words('Now the fix.'), edit],
				[{ tool: 'Write', input: { file_path: 'ROOT/w/notes.md', content: `# Notes\n\n${NOTES}\n` } }],
				[bash('printf \'first\\n\' &&\nprintf \'a\\tb\\n\' &&\ntrue', 'Several lines'), bash('true', 'Say nothing')],
				[words(REPORT)]),
			answer('last line of the ticket', [words(WIDE)]),
			answer('that was the last item', [words('I count the items.'), bash('seq 1 3', 'Count')],
				[words('There are sixty items, and I have seen every one of them.')]),
		],
		steps: [...talk('The lexer reads past the end of `input` & dies: "quoted", $HOME, <tags>, 50% done; it\'s #1!'), ...talk(PASTED),
			...talk(`One long line from me: ${ITEMS} and that was the last item.`), kill],
		end: 'killed while idle',
	},
];
