// What happens between the first prompt and the end.
import { ALL, greet, hello, kill, paragraphs } from './common.mjs';

const talks = [
	{ when: 'about rivers', turns: [[{ text: paragraphs('rivers', 7) }]] },
	{ when: 'about bridges', turns: [[{ text: paragraphs('bridges', 6) }]] },
	{ when: 'about towers', turns: [[{ text: paragraphs('towers', 3) }]] },
];
const rivers = [{ say: 'Tell me about rivers' }, { idle: true }], bridges = [{ say: 'And now about bridges' }, { idle: true }];
const towers = [{ say: 'At last something about towers' }, { idle: true }];
const slow = { tool: 'Bash', input: { command: 'for i in $(seq 1 900); do echo "polishing stone $i"; sleep 0.1; done', description: 'Polish' } };
const polish = { when: 'polish the stones', turns: [[{ text: 'I polish them one by one.' }, slow]] };

export const life = [
	{
		name: 'chat',
		on: [[80, 24, ...ALL]],
		answers: [{ when: '^go on$', turns: [[{ text: 'Going on with the next one.' }]] }, { when: '^y$', turns: [[{ text: 'Good, then I take the short way.' }]] },
			{ when: '^1$', turns: [[{ text: 'The first one it is.' }]] }, { when: 'three wishes', turns: [[{ text: 'Granted:\n\n1. a name\n2. a date\n3. a place' }]] }, hello],
		steps: [...greet, { say: 'go on' }, { idle: true }, { say: 'go on' }, { idle: true }, { say: 'y' }, { idle: true }, { say: '1' }, { idle: true },
			{ say: 'I have three wishes:\n\n1. a name\n2. a date\n\n   3. a place' }, { idle: true }, { say: 'go on' }, { idle: true }, kill],
		end: 'killed while idle',
	},
	{
		name: 'interrupt',
		on: [[100, 30, ...ALL]],
		answers: [hello, { when: 'about rivers', turns: [[{ text: paragraphs('rivers', 4), stop_at: 300 }]] }, ...talks],
		steps: [...greet, { say: 'Tell me about rivers' }, { stall: 1 }, { key: 'Escape' }, { see: /Interrupted/ }, { idle: true }, ...towers, kill],
		end: 'killed while idle, after an interruption',
	},
	{
		name: 'interrupt-bash',
		on: [[80, 30, '2.0.76', '2.1.37', '2.1.197', '2.1.330']],
		answers: [hello, polish, ...talks],
		steps: [...greet, { say: 'Please polish the stones' }, { see: /polishing stone 1\d/ }, { key: 'Escape' }, { see: /Interrupted/ }, { idle: true }, ...towers, kill],
		end: 'killed while idle, after a command was interrupted',
	},
	{
		name: 'resize',
		on: [[120, 30, '1.0.128', '2.1.37', '2.1.197', '2.1.330']],
		answers: [hello, ...talks],
		steps: [...rivers, ...bridges, { resize: [80, 30] }, { idle: true }, ...towers, { resize: [100, 30] }, { idle: true }, kill],
		end: 'killed while idle, after two resizes',
	},
	{
		name: 'ctrl-o',
		on: [[100, 30, '2.0.76', '2.1.197', '2.1.330']],
		answers: [hello, ...talks],
		steps: [...rivers, ...bridges, { key: 'C-o' }, { see: /Showing detailed transcript|transcript/ }, { key: 'C-o' }, { idle: true }, ...towers, kill],
		end: 'killed while idle, after a look at the transcript',
	},
	{
		name: 'clear',
		on: [[80, 30, '1.0.128', '2.1.37', '2.1.197', '2.1.330']],
		answers: [hello, ...talks],
		steps: [...rivers, ...bridges, { say: '/clear' }, { idle: true }, ...towers, kill],
		end: 'killed while idle, after /clear',
	},
	{
		name: 'compact',
		on: [[100, 30, '1.0.128', '2.0.76', '2.1.197', '2.1.330']],
		answers: [hello, ...talks],
		steps: [...rivers, ...bridges, { say: '/compact' }, { see: /ompacted/ }, { idle: true }, ...towers, kill],
		end: 'killed while idle, after /compact',
	},
	{
		name: 'resume',
		on: [[100, 40, '2.0.76', '2.1.37', '2.1.197', '2.1.330']],
		answers: [hello, polish, ...talks],
		steps: [...greet, { say: 'Please polish the stones' }, { see: /polishing stone 1\d/ }, kill, { restart: ['--resume', 'SESSION'] }, ...towers, kill],
		end: 'killed while idle, after --resume of what had died in a command',
	},
	{
		name: 'continue',
		on: [[80, 30, '1.0.128', '2.1.197']],
		answers: [hello, ...talks],
		steps: [...rivers, kill, { restart: ['--continue'] }, ...towers, kill],
		end: 'killed while idle, after --continue',
	},
	{
		name: 'api-error',
		on: [[100, 30, ...ALL]],
		answers: [hello, { when: 'about rivers', error: { status: 400, type: 'invalid_request_error', message: 'rivers: too deep for this model' }, turns: [[{ text: '' }]] }, ...talks],
		steps: [...greet, { say: 'Tell me about rivers', alone: true }, { see: /too deep/ }, { idle: true }, ...towers, kill],
		end: 'killed while idle, after an API error',
	},
	{
		name: 'retry',
		on: [[80, 30, '2.0.76', '2.1.197', '2.1.330']],
		answers: [hello, { when: 'about rivers', error: { status: 529, type: 'overloaded_error', message: 'Overloaded', times: 2 }, turns: [[{ text: paragraphs('rivers', 1) }]] },
			{ when: 'about bridges', error: { status: 529, type: 'overloaded_error', message: 'Overloaded', times: 99 }, turns: [[{ text: '' }]] }],
		steps: [...greet, ...rivers, { say: 'And now about bridges' }, { see: /[Rr]etrying in/ }, kill],
		end: 'killed while a request was tried again',
	},
];
