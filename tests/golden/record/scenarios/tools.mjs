// Tools that are shown in ways of their own.
import { ALL, greet, hello, kill } from './common.mjs';

const hooks = { hooks: {
	PreToolUse: [{ matcher: 'Bash', hooks: [{ type: 'command', command: 'echo "no commands on Sundays" >&2; exit 2' }] }],
	Stop: [{ hooks: [{ type: 'command', command: 'echo "the stop hook is unhappy" >&2; exit 1' }] }],
} };
const agent = (version, newer) => newer(version, '2.1.60') ? 'Agent' : 'Task';
const two = (version, newer, second) => [
	{ when: 'FIND-THE-MARKS', aside: true, turns: [[{ text: 'I search.' }, { tool: 'Bash', input: { command: 'echo searched', description: 'Search' } }], [{ text: 'There are no marks at all.' }]] },
	{ when: 'COUNT-THE-LINES', aside: true, turns: second },
	{ when: 'two helpers', turns: [[{ text: 'I give it to two helpers.' },
		{ tool: agent(version, newer), input: { description: 'Find the marks', prompt: 'FIND-THE-MARKS in all files', subagent_type: 'general-purpose' } },
		{ tool: agent(version, newer), input: { description: 'Count the lines', prompt: 'COUNT-THE-LINES of all files', subagent_type: 'general-purpose' } }],
	[{ text: 'Both helpers are back: no marks, and twelve lines.' }]] }, hello];

const todo = (states) => ({ todos: ['Read the code', 'Fix the fault', 'Tell everybody'].map((content, i) => ({ content, status: states[i], activeForm: `${content} now` })) });
const taskTurns = (version, newer) => newer(version, '2.1.16') ? [
	[{ text: 'I keep a list.' }, ...['Read the code', 'Fix the fault', 'Tell everybody'].map((subject) => ({ tool: 'TaskCreate', input: { subject, description: subject } }))],
	[{ tool: 'TaskUpdate', input: { taskId: '1', status: 'completed' } }, { tool: 'TaskUpdate', input: { taskId: '2', status: 'in_progress' } }],
	[{ text: 'One of three is done.' }]] : [
	[{ text: 'I keep a list.' }, { tool: 'TodoWrite', input: todo(['pending', 'pending', 'pending']) }],
	[{ tool: 'TodoWrite', input: todo(['completed', 'in_progress', 'pending']) }],
	[{ text: 'One of three is done.' }]];

export const tools = [
	{
		name: 'hooks',
		on: [[100, 40, '1.0.128', '2.1.37', '2.1.197', '2.1.330']],
		settings: hooks,
		answers: [hello, { when: 'run something', turns: [[{ text: 'I try.' }, { tool: 'Bash', input: { command: 'echo forbidden fruit', description: 'Try' } }], [{ text: 'A hook did not let me.' }]] }],
		steps: [...greet, { say: 'Please run something' }, { see: /did not let me/ }, { idle: true }, kill],
		end: 'killed while idle, hooks had complained',
	},
	{
		name: 'agents',
		on: [[120, 40, ...ALL]],
		answers: (version, newer) => two(version, newer, [[{ text: 'I count.' }], [{ text: 'never' }]]),
		steps: [{ say: 'Use two helpers for this' }, { see: /Both helpers are back/ }, { idle: true }, kill],
		end: 'killed while idle, after two sub-agents',
	},
	{
		name: 'agents-running',
		on: [[100, 40, '2.0.76', '2.1.37', '2.1.197', '2.1.330']],
		answers: (version, newer) => two(version, newer, [[{ text: 'I count.' }, { tool: 'Bash', input: { command: 'echo counting; sleep 600', description: 'Count' } }]]),
		steps: [{ say: 'Use two helpers for this' }, { wait: (take) => take.events().filter((e) => e.event === 'part' && e.aside && e.whole).length >= 5, what: 'a busy helper' },
			{ see: /Done|Running|running|Backgrounded/ }, kill],
		end: 'killed while a sub-agent worked',
	},
	{
		name: 'background',
		on: [[100, 30, '1.0.128', '2.0.76', '2.1.197', '2.1.330']],
		answers: [hello, { when: 'start the server', turns: [[{ text: 'It goes to the background.' },
			{ tool: 'Bash', input: { command: 'for i in $(seq 1 600); do echo serving $i; sleep 1; done', description: 'Serve', run_in_background: true } }],
		[{ text: 'The server is up and stays up.' }]] }],
		steps: [...greet, { say: 'Please start the server' }, { see: /stays up/ }, { idle: true }, kill],
		end: 'killed while idle, a command was in the background',
	},
	{
		name: 'tasks',
		on: [[80, 40, ...ALL]],
		answers: (version, newer) => [{ when: 'keep a list', turns: taskTurns(version, newer) }, hello],
		steps: [{ say: 'Please keep a list of what you do' }, { see: /One of three is done/ }, { idle: true }, ...greet, kill],
		end: 'killed while idle, a list was open',
	},
	{
		name: 'shell-mode',
		on: [[100, 30, '1.0.128', '2.1.37', '2.1.197', '2.1.330']],
		files: { 'README.md': '# lexer\n\nSplits text.\n' },
		answers: [hello, { when: 'sum up', turns: [[{ text: 'It splits text, and that is all it does.' }]] }],
		steps: [...greet, { say: '!echo spoken by the shell' }, { see: /\s spoken by the shell/ }, { idle: true }, { say: 'Now sum up @README.md in a line' }, { idle: true }, kill],
		end: 'killed while idle, after a shell command and a file in a prompt',
	},
];
