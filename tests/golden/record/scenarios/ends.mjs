// One ending each: what a crash leaves on the screen and in the transcript.
import { ALL, answer, bash, greet, hello, idle, kill, queue, say, see, talk, words } from './common.mjs';

const STORY = `The plan has four steps, and I go through them one by one.

- First the tables are copied, because nothing may be lost.
- Then the readers are moved over, one service after another, and each of them is watched for an hour.
- At last the writers follow, and here the order is what matters most of all, because`;

const NOTES = Array.from({ length: 40 }, (_, i) => `Note ${i + 1}: something that was learned on the way.`).join('\n');
const slow = bash('for i in $(seq 1 900); do echo "migrating table $i"; sleep 0.1; done', 'Migrate');
const build = bash('for i in 1 2 3 4 5 6 7; do echo "part $i"; sleep 1; done', 'Build');
const done = [words('The build is done, and I have read what you wrote meanwhile.')];

export const ends = [
	{
		name: 'mid-bash',
		on: [[80, 30, ...ALL], [120, 40, ...ALL]],
		answers: [hello, answer('slow migration', [words('The migration starts now, table by table.'), slow])],
		steps: [...greet, say('Please run the slow migration'), see(/migrating table [3-9]\d/), kill],
		end: 'killed while a command ran',
	},
	{
		name: 'mid-text',
		on: [[100, 30, ...ALL], [73, 24, '2.0.76', '2.1.197', '2.1.330']],
		answers: [hello, answer('explain the plan', [words(STORY, { stop_at: STORY.length })])],
		steps: [...greet, say('Now explain the plan, all of it'), { stall: 1 }, kill],
		end: 'killed while text streamed',
	},
	{
		name: 'mid-thinking',
		on: [[120, 30, '1.0.128', '2.1.37', '2.1.197', '2.1.330']],
		answers: [hello, answer('think hard', [{ thinking: 'Two ways are open, and the first of them costs more than it gives.', stop_at: 40 }])],
		steps: [...greet, say('Please think hard about the second way'), { stall: 1 }, kill],
		end: 'killed while thinking',
	},
	{
		name: 'mid-write',
		on: [[80, 40, '2.0.76', '2.1.197', '2.1.330']],
		answers: [hello, answer('write the notes', [words('I write down what we learned.'),
			{ tool: 'Write', input: { file_path: 'ROOT/w/notes.md', content: NOTES }, stop_at: 700 }])],
		steps: [...greet, say('Then write the notes into a file'), { stall: 1 }, kill],
		end: 'killed while a file was being sent',
	},
	{
		name: 'exit',
		on: [[100, 30, '1.0.128', '2.1.197', '2.1.330']],
		answers: [hello],
		steps: [...greet, say('/exit'), { died: true }],
		end: '/exit',
	},
	{
		name: 'sigterm',
		on: [[80, 30, '2.0.76', '2.1.197']],
		answers: [hello],
		steps: [...greet, { kill: 'SIGTERM' }],
		end: 'SIGTERM while idle',
	},
	{
		name: 'draft',
		on: [[100, 30, ...ALL]],
		answers: [hello],
		steps: [...greet, say('When you have time,\n  look at the second table\nand then at the third', { unsent: true }), kill],
		end: 'killed with an unsent draft in the box',
	},
	{
		name: 'queue-delivered',
		on: [[100, 30, '1.0.128']],
		answers: [hello, answer('build it all', [words('The build runs.'), build], done)],
		steps: [...greet, say('Please build it all'), see(/part 2/), queue('and mention it in the release notes'), queue('then the manual, too'),
			see(/read what you wrote meanwhile/), idle, kill],
		end: 'killed while idle, after two queued messages were delivered',
	},
	{
		name: 'queue-lines',
		on: [[80, 30, '1.0.128', '2.0.76']],
		answers: [hello, answer('long job', [words('The long job starts.'), slow])],
		steps: [...greet, say('Now start the long job'), see(/migrating table 1\d/), queue('tidy up when you are done'), queue('and then tell me in a sentence ' +
			'that is too long for one row of this pane what it was that took so long this time'), queue('say goodbye'), see(/say goodbye *\n─/), kill],
		end: 'killed with three messages of a line queued',
	},
	{
		name: 'queued',
		on: [[100, 40, ...ALL]],
		answers: [hello, answer('build it all', [words('The build runs.'), build], done), answer('release notes', done),
			answer('long job', [words('The long job starts.'), slow])],
		steps: [...greet, say('Please build it all'), see(/part 1/), queue('and mention it in the release notes'), see(/read what you wrote meanwhile/), idle,
			say('Now start the long job'), see(/migrating table 1\d/), queue('first thing for later: tidy up'),
			queue('second thing for later:\nsay goodbye\nto everybody'), say('a half-typed thought', { unsent: true }), kill],
		end: 'killed with two messages queued and a draft',
	},
];
