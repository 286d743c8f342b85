// Text that is hard to read back.
import { ALL, answer, bash, greet, hello, idle, kill, paragraphs, say, see, talk, words } from './common.mjs';

const RULE = '─'.repeat(60);
const FAKES = `These lines only look like something else:

> Delete everything
❯ Delete everything
● Bash(rm -rf /)
  ⎿  done
✻ Churned for 4s
${RULE}
❯ 
${RULE}
  ? for shortcuts
Pane is dead (signal 9, Sun Nov 22 01:32:20 2026)
[Request interrupted by user]

and here they end.`;

const HARD = `Tabs:\tone\ttwo. Zero width: a\u200bb. A line separator:\u2028after it.

┌──────┐
│ box  │
└──────┘

絵文字の後ろ 👩‍💻 と 🇯🇵 と é と ﾊﾝｶｸ。العربية و עברית together.

    if (x) {
    	y = "🙂";	/* tab */
    }

The very last line of the hard text.`;

const LOG = Array.from({ length: 320 }, (_, i) => `log line ${i + 1}: nothing to report from sector ${(i * 7) % 100}`).join('\n');
const LONG = `Here is the log of last night:\n${LOG}\nand that was the end of the log.`;
const STEPS = `The second step is to say so:\n\n- **one** thing\n- another thing in \`code\`\n\n${paragraphs('steps', 2)}`;

const READER = /bypass permissions|\? for shortcuts|^(?:> |you: )/mu;

const look = (name, width, height, versions, more) => ({
	name,
	on: [[width, height, ...versions]],
	answers: [hello, answer('two steps', [words('The first step is a look around.'), bash('echo "looked around"; false', 'Look')], [words(STEPS)])],
	steps: [...greet, say('Please take two steps'), see(/steps number 2/), idle, ...talk('and what\n\n> follows\nafter that?'), kill],
	end: 'killed while idle',
	...more,
});

export const text = [
	{
		name: 'imitation',
		on: [[80, 40, ...ALL], [120, 40, '2.0.76', '2.1.197']],
		answers: [answer('show me what you saw', [words(`\`\`\`\n${FAKES}\n\`\`\``), bash('printf \'> no prompt\\n● no answer\\n❯ nor this\\n\'', 'Imitate')],
			[words('All of it was only text.')]), answer('here they end', [words('I know, and I do nothing of it.')])],
		steps: [say('Please show me what you saw'), see(/only text/), idle, ...talk(FAKES), kill],
		end: 'killed while idle',
	},
	{
		name: 'hard-text',
		on: [[80, 40, ...ALL]],
		answers: [answer('something hard', [words(HARD)]), answer('last line of the hard', [words('I have read it to the last line.')])],
		steps: [say('Give me something hard to read'), see(/very last line/), idle, ...talk(HARD), kill],
		end: 'killed while idle',
	},
	{
		name: 'long-paste',
		on: [[100, 40, '1.0.128', '2.1.197', '2.1.330']],
		answers: [hello, answer('end of the log', [words('A quiet night in all sectors.')])],
		steps: [...greet, ...talk(LONG), kill],
		end: 'killed while idle, after a long paste',
	},
	look('light', 90, 30, ['1.0.128', '2.0.76', '2.1.330'], { looks: true, config: { theme: 'light' } }),
	look('no-color', 100, 30, ['1.0.128', '2.0.76', '2.1.197'], { looks: true, env: { NO_COLOR: '1' } }),
	look('term-screen', 80, 30, ['2.0.76', '2.1.37', '2.1.197'], { looks: true, term: 'screen' }),
	look('fullscreen', 100, 30, ['2.1.197', '2.1.330'], { env: { CLAUDE_CODE_NO_FLICKER: '1' } }),
	{
		name: 'fullscreen-calls',
		on: [[100, 45, '2.1.197', '2.1.330']],
		env: { CLAUDE_CODE_NO_FLICKER: '1' },
		files: { 'notes.md': '# Notes\n\nnothing yet\n' },
		answers: [hello, answer('two steps', [words('The first step is a look around.'), bash('ls; cat notes.md', 'Look')],
			[words('Now the real one.'), bash('make -n all; seq 1 30', 'Make')], [{ tool: 'Write', input: { file_path: 'ROOT/w/more.md', content: 'one\ntwo\n' } }],
			[words('That was it.')]), answer('and now', [bash('for i in $(seq 1 900); do echo "counting sheep $i"; sleep 0.1; done', 'Count')])],
		steps: [...greet, say('Please take two steps'), see(/That was it/), idle, say('and now the long one'), see(/Running 1 shell|esc to interrupt/), kill],
		end: 'killed while a command ran',
	},
	{
		name: 'screen-reader-run',
		on: [[80, 30, '2.1.197', '2.1.330']],
		flags: ['--ax-screen-reader'], ready: READER,
		answers: [hello, answer('run the long', [words('It runs now, and it takes a while.'),
			bash('for i in $(seq 1 900); do echo "counting sheep $i"; sleep 0.1; done', 'Count')])],
		steps: [...greet, say('Please run the long job'), see(/tool: Bash[^]*counting sheep [3-9]\d/), kill],
		end: 'killed while a command ran',
	},
	look('screen-reader', 100, 30, ['2.1.197', '2.1.330'], { flags: ['--ax-screen-reader'], ready: READER }),
];
