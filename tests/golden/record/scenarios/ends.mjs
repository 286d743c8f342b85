// One ending each: what a crash leaves on the screen and in the transcript.
const ALL = ['1.0.128', '2.0.76', '2.1.37', '2.1.197', '2.1.330'];

const hello = { when: 'are you there', turns: [[{ text: 'Yes, I am here and everything is quiet.' }]] };
const greet = [{ say: 'Good morning, are you there?' }, { idle: true }];

export const ends = [
	{
		name: 'mid-bash',
		on: [[80, 30, ...ALL], [120, 40, ...ALL]],
		answers: [hello, { when: 'slow migration', turns: [[{ text: 'The migration starts now, table by table.' },
			{ tool: 'Bash', input: { command: 'for i in $(seq 1 900); do echo "migrating table $i"; sleep 0.1; done', description: 'Migrate' } }]] }],
		steps: [...greet, { say: 'Please run the slow migration' }, { see: /migrating table [3-9]\d/ }, { kill: 'SIGKILL' }],
		end: 'killed while a command ran',
	},
];
