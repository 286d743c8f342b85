// What happens between the first prompt and the end.
import { ALL, answer, bash, greet, hello, idle, kill, paragraphs, say, see, talk, words } from './common.mjs';

const talks = [
	answer('about rivers', [words(paragraphs('rivers', 7))]),
	answer('about bridges', [words(paragraphs('bridges', 6))]),
	answer('about towers', [words(paragraphs('towers', 3))]),
];
const rivers = talk('Tell me about rivers'), bridges = talk('And now about bridges'), towers = talk('At last something about towers');
const polish = answer('polish the stones', [words('I polish them one by one.'),
	bash('for i in $(seq 1 900); do echo "polishing stone $i"; sleep 0.1; done', 'Polish')]);
const polishing = [say('Please polish the stones'), see(/polishing stone 1\d/)];
const stop = [{ key: 'Escape' }, see(/Interrupted/), idle];
const refuses = (when, status, type, message, times) => ({ when, error: { status, type, message, times }, turns: [[words(paragraphs('rivers', 1))]] });

export const life = [
	{
		name: 'chat',
		on: [[80, 24, ...ALL]],
		answers: [answer('^go on$', [words('Going on with the next one.')]), answer('^y$', [words('Good, then I take the short way.')]),
			answer('^1$', [words('The first one it is.')]), answer('three wishes', [words('Granted:\n\n1. a name\n2. a date\n3. a place')]), hello],
		steps: [...greet, ...talk('go on'), ...talk('go on'), ...talk('y'), ...talk('1'),
			...talk('I have three wishes:\n\n1. a name\n2. a date\n\n   3. a place'), ...talk('go on'), kill],
		end: 'killed while idle',
	},
	{
		name: 'interrupt',
		on: [[100, 30, ...ALL]],
		answers: [hello, answer('about rivers', [words(paragraphs('rivers', 4), { stop_at: 300 })]), ...talks],
		steps: [...greet, say('Tell me about rivers'), { stall: 1 }, ...stop, ...towers, kill],
		end: 'killed while idle, after an interruption',
	},
	{
		name: 'interrupt-bash',
		on: [[80, 30, '2.0.76', '2.1.37', '2.1.197', '2.1.330']],
		answers: [hello, polish, ...talks],
		steps: [...greet, ...polishing, ...stop, ...towers, kill],
		end: 'killed while idle, after a command was interrupted',
	},
	{
		name: 'resize',
		on: [[120, 30, '1.0.128', '2.1.37', '2.1.197', '2.1.330']],
		answers: [hello, ...talks],
		steps: [...rivers, ...bridges, { resize: [80, 30] }, idle, ...towers, { resize: [100, 30] }, idle, kill],
		end: 'killed while idle, after two resizes',
	},
	{
		name: 'ctrl-o',
		on: [[100, 30, '2.0.76', '2.1.197', '2.1.330']],
		answers: [hello, ...talks],
		steps: [...rivers, ...bridges, { key: 'C-o' }, see(/Showing detailed transcript|transcript/), { key: 'C-o' }, idle, ...towers, kill],
		end: 'killed while idle, after a look at the transcript',
	},
	{
		name: 'ctrl-o-calls',
		on: [[80, 24, '2.0.76', '2.1.37', '2.1.197', '2.1.330'], [120, 40, '2.1.197'], [64, 20, '2.1.330']],
		answers: [hello, ...talks, answer('two steps', [words('The first step is a look around.'), bash('ls; seq 1 40', 'Look')],
			[words('Now the other one.'), bash('seq 1 8 | sort -r', 'Sort')], [words('That was it.')])],
		steps: [...rivers, say('Please take two steps'), see(/That was it/), idle, { key: 'C-o' }, see(/Showing detailed transcript|transcript/), { key: 'C-o' }, idle,
			...bridges, { key: 'C-o' }, see(/Showing detailed transcript|transcript/), { key: 'C-o' }, idle, ...towers, kill],
		end: 'killed while idle, after two looks at the transcript',
	},
	{
		name: 'clear',
		on: [[80, 30, '1.0.128', '2.1.37', '2.1.197', '2.1.330']],
		answers: [hello, ...talks],
		steps: [...rivers, ...bridges, say('/clear'), idle, ...towers, kill],
		end: 'killed while idle, after /clear',
	},
	{
		name: 'compact',
		on: [[100, 30, '1.0.128', '2.0.76', '2.1.197', '2.1.330']],
		answers: [hello, ...talks],
		steps: [...rivers, ...bridges, say('/compact'), see(/ompacted/), idle, ...towers, kill],
		end: 'killed while idle, after /compact',
	},
	{
		name: 'resume',
		on: [[100, 40, '2.0.76', '2.1.37', '2.1.197', '2.1.330']],
		answers: [hello, polish, ...talks],
		steps: [...greet, ...polishing, kill, { restart: ['--resume', 'SESSION'] }, ...towers, kill],
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
		answers: [hello, refuses('about rivers', 400, 'invalid_request_error', 'rivers: too deep for this model'), ...talks],
		steps: [...greet, say('Tell me about rivers', { alone: true }), see(/too\s+deep/), idle, ...towers, kill],
		end: 'killed while idle, after an API error',
	},
	{
		name: 'retry',
		on: [[80, 30, '2.0.76', '2.1.197', '2.1.330']],
		answers: [hello, refuses('about rivers', 529, 'overloaded_error', 'Overloaded', 2), refuses('about bridges', 529, 'overloaded_error', 'Overloaded', 99)],
		steps: [...greet, ...rivers, say('And now about bridges'), see(/[Rr]etrying in/), kill],
		end: 'killed while a request was tried again',
	},
];
