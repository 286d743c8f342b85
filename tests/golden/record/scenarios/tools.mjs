// Tools that are shown in ways of their own.
import { ALL, answer, bash, greet, hello, idle, kill, say, see, talk, words } from './common.mjs';

const hooks = { hooks: {
	PreToolUse: [{ matcher: 'Bash', hooks: [{ type: 'command', command: 'echo "no commands on Sundays" >&2; exit 2' }] }],
	Stop: [{ hooks: [{ type: 'command', command: 'echo "the stop hook is unhappy" >&2; exit 1' }] }],
} };

// Two helpers at once; what the second one does is given.
const helpers = (version, atLeast, ...second) => {
	const helper = (description, prompt) => ({ tool: atLeast(version, '2.1.60') ? 'Agent' : 'Task',
		input: { description, prompt, subagent_type: 'general-purpose' } });
	return [
		{ ...answer('FIND-THE-MARKS', [words('I search.'), bash('echo searched', 'Search')], [words('There are no marks at all.')]), aside: true },
		{ ...answer('COUNT-THE-LINES', ...second), aside: true },
		answer('two helpers', [words('I give it to two helpers.'), helper('Find the marks', 'FIND-THE-MARKS in all files'),
			helper('Count the lines', 'COUNT-THE-LINES of all files')], [words('Both helpers are back: no marks, and twelve lines.')]),
		hello];
};
const helperIsBusy = { what: 'a busy helper', wait: (take) => take.events().filter((e) => e.event === 'part' && e.aside && e.whole).length >= 5 };

const SUBJECTS = ['Read the code', 'Fix the fault', 'Tell everybody'];
const todo = (...states) => ({ tool: 'TodoWrite', input: { todos: SUBJECTS.map((content, i) => ({ content, status: states[i], activeForm: `${content} now` })) } });
const task = (taskId, status) => ({ tool: 'TaskUpdate', input: { taskId, status } });
const list = (version, atLeast) => answer('keep a list', ...atLeast(version, '2.1.16') ? [
	[words('I keep a list.'), ...SUBJECTS.map((subject) => ({ tool: 'TaskCreate', input: { subject, description: subject } }))],
	[task('1', 'completed'), task('2', 'in_progress')],
] : [
	[words('I keep a list.'), todo('pending', 'pending', 'pending')],
	[todo('completed', 'in_progress', 'pending')],
], [words('One of three is done.')]);

export const tools = [
	{
		name: 'hooks',
		on: [[100, 40, '1.0.128', '2.1.37', '2.1.197', '2.1.330']],
		settings: hooks,
		answers: [hello, answer('run something', [words('I try.'), bash('echo forbidden fruit', 'Try')], [words('A hook did not let me.')])],
		steps: [...greet, say('Please run something'), see(/did not let me/), idle, kill],
		end: 'killed while idle, hooks had complained',
	},
	{
		name: 'agents',
		on: [[120, 40, ...ALL]],
		answers: (version, atLeast) => helpers(version, atLeast, [words('I count.')]),
		steps: [say('Use two helpers for this'), see(/Both helpers are back/), idle, kill],
		end: 'killed while idle, after two sub-agents',
	},
	{
		name: 'agents-running',
		on: [[100, 40, '2.0.76', '2.1.37', '2.1.197', '2.1.330']],
		answers: (version, atLeast) => helpers(version, atLeast, [words('I count.'), bash('echo counting; sleep 600', 'Count')]),
		steps: [say('Use two helpers for this'), helperIsBusy, see(/Done|Running|running|Backgrounded|background agent/), kill],
		end: 'killed while a sub-agent worked',
	},
	{
		name: 'background',
		on: [[100, 30, '1.0.128', '2.0.76', '2.1.197', '2.1.330']],
		answers: [hello, answer('start the server', [words('It goes to the background.'),
			bash('for i in $(seq 1 600); do echo serving $i; sleep 1; done', 'Serve', { run_in_background: true })], [words('The server is up and stays up.')])],
		steps: [...greet, say('Please start the server'), see(/stays up/), idle, kill],
		end: 'killed while idle, a command was in the background',
	},
	{
		name: 'tasks',
		on: [[80, 40, ...ALL]],
		answers: (version, atLeast) => [list(version, atLeast), hello],
		steps: [say('Please keep a list of what you do'), see(/One of three is done/), idle, ...greet, kill],
		end: 'killed while idle, a list was open',
	},
	{
		name: 'shell-mode',
		on: [[100, 30, '1.0.128', '2.1.37', '2.1.197', '2.1.330']],
		files: { 'README.md': '# lexer\n\nSplits text.\n' },
		answers: [hello, answer('sum up', [words('It splits text, and that is all it does.')])],
		steps: [...greet, say('!echo spoken by the shell'), see(/⎿\s+spoken by the shell/), idle, ...talk('Now sum up @README.md in a line'), kill],
		end: 'killed while idle, after a shell command and a file in a prompt',
	},
];
