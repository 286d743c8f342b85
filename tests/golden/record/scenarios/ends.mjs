// One ending each: what a crash leaves on the screen and in the transcript.
import { ALL, greet, hello, kill } from './common.mjs';

const STORY = `The plan has four steps, and I go through them one by one.

- First the tables are copied, because nothing may be lost.
- Then the readers are moved over, one service after another, and each of them is watched for an hour.
- At last the writers follow, and here the order is what matters most of all, because`;

const NOTES = Array.from({ length: 40 }, (_, i) => `Note ${i + 1}: something that was learned on the way.`).join('\n');
const slow = { command: 'for i in $(seq 1 900); do echo "migrating table $i"; sleep 0.1; done', description: 'Migrate' };

export const ends = [
	{
		name: 'mid-bash',
		on: [[80, 30, ...ALL], [120, 40, ...ALL]],
		answers: [hello, { when: 'slow migration', turns: [[{ text: 'The migration starts now, table by table.' }, { tool: 'Bash', input: slow }]] }],
		steps: [...greet, { say: 'Please run the slow migration' }, { see: /migrating table [3-9]\d/ }, kill],
		end: 'killed while a command ran',
	},
	{
		name: 'mid-text',
		on: [[100, 30, ...ALL], [73, 24, '2.0.76', '2.1.197', '2.1.330']],
		answers: [hello, { when: 'explain the plan', turns: [[{ text: STORY, stop_at: STORY.length }]] }],
		steps: [...greet, { say: 'Now explain the plan, all of it' }, { stall: 1 }, kill],
		end: 'killed while text streamed',
	},
	{
		name: 'mid-thinking',
		on: [[120, 30, '1.0.128', '2.1.37', '2.1.197', '2.1.330']],
		answers: [hello, { when: 'think hard', turns: [[{ thinking: 'Two ways are open, and the first of them costs more than it gives.', stop_at: 40 }]] }],
		steps: [...greet, { say: 'Please think hard about the second way' }, { stall: 1 }, kill],
		end: 'killed while thinking',
	},
	{
		name: 'mid-write',
		on: [[80, 40, '2.0.76', '2.1.197', '2.1.330']],
		answers: [hello, { when: 'write the notes', turns: [[{ text: 'I write down what we learned.' },
			{ tool: 'Write', input: { file_path: 'ROOT/w/notes.md', content: NOTES }, stop_at: 700 }]] }],
		steps: [...greet, { say: 'Then write the notes into a file' }, { stall: 1 }, kill],
		end: 'killed while a file was being sent',
	},
	{
		name: 'exit',
		on: [[100, 30, '1.0.128', '2.1.197', '2.1.330']],
		answers: [hello],
		steps: [...greet, { say: '/exit' }, { died: true }],
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
		steps: [...greet, { say: 'When you have time,\n  look at the second table\nand then at the third', unsent: true }, kill],
		end: 'killed with an unsent draft in the box',
	},
	{
		name: 'queued',
		on: [[100, 40, ...ALL]],
		answers: [hello,
			{ when: 'build it all', turns: [[{ text: 'The build runs.' }, { tool: 'Bash', input: { command: 'for i in 1 2 3 4 5 6 7; do echo "part $i"; sleep 1; done', description: 'Build' } }],
				[{ text: 'The build is done, and I have read what you wrote meanwhile.' }]] },
			{ when: 'release notes', turns: [[{ text: 'The build is done, and I have read what you wrote meanwhile.' }]] },
			{ when: 'long job', turns: [[{ text: 'The long job starts.' }, { tool: 'Bash', input: slow }]] }],
		steps: [...greet, { say: 'Please build it all' }, { see: /part 1/ }, { say: 'and mention it in the release notes', queued: true },
			{ see: /read what you wrote meanwhile/ }, { idle: true }, { say: 'Now start the long job' }, { see: /migrating table 1\d/ },
			{ say: 'first thing for later: tidy up', queued: true }, { say: 'second thing for later:\nsay goodbye\nto everybody', queued: true },
			{ say: 'a half-typed thought', unsent: true }, kill],
		end: 'killed with two messages queued and a draft',
	},
];
