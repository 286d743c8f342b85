// A question is open when the end comes.
import { ALL, answer, bash, greet, hello, idle, kill, say, see, talk, words } from './common.mjs';

const PLAN = `# Plan

1. Read the configuration
2. Replace the parser
3. Run the suite

Nothing else is touched.`;

const questions = [{ question: 'Which library should format the dates?', header: 'Library', multiSelect: false,
	options: [{ label: 'date-fns', description: 'Small and modular' }, { label: 'luxon', description: 'Knows time zones' }] }];

const asks = [words('Before I start I have one question.'), { tool: 'AskUserQuestion', input: { questions } }];
const cleanUp = [words('I have to remove the old build first.'), bash('rm -rf ./build && make all', 'Build anew')];
const edit = { tool: 'Edit', input: { file_path: 'ROOT/w/limits.conf', old_string: 'high = 42', new_string: 'high = 64' } };

export const dialogs = [
	{
		name: 'permission-bash',
		on: [[80, 40, ...ALL]],
		ask: true,
		answers: [hello, answer('clean up', cleanUp)],
		steps: [...greet, say('Please clean up and build anew'), see(/Do you want to proceed\?/), see(/No|Esc/), kill],
		dialog: 'permission', end: 'killed at a permission dialog',
	},
	{
		name: 'permission-auto',
		on: [[100, 40, '2.1.330']],
		ask: true,
		flags: ['--permission-mode', 'auto'],
		answers: [hello, answer('clean up', cleanUp)],
		steps: [...greet, say('Please clean up and build anew'), see(/Auto mode can't check actions/), see(/Esc to/), kill],
		dialog: 'permission', end: 'killed at the question of a mode that cannot ask its server',
	},
	{
		name: 'permission-edit',
		on: [[100, 40, '1.0.128', '2.1.197', '2.1.330']],
		ask: true,
		files: { 'limits.conf': 'low = 1\nhigh = 42\n' },
		answers: [hello, answer('raise the limit', [{ tool: 'Read', input: { file_path: 'ROOT/w/limits.conf' } }],
			[words('The upper limit goes from 42 to 64.'), edit])],
		steps: [...greet, say('Please raise the limit'), see(/Do you want to make this edit/), kill],
		dialog: 'permission', end: 'killed at a permission dialog for an edit',
	},
	{
		name: 'refused',
		on: [[120, 40, '1.0.128', '2.1.37', '2.1.197', '2.1.330']],
		ask: true,
		answers: [hello, answer('clean up', cleanUp), answer('leave the build', [words('Then the old build stays where it is.')])],
		steps: [...greet, say('Please clean up and build anew'), see(/Do you want to proceed\?/), { key: 'Escape' }, idle,
			...talk('No, leave the build alone'), kill],
		end: 'killed while idle, after a refused permission',
	},
	{
		name: 'question',
		on: [[100, 40, '2.0.76', '2.1.37', '2.1.197', '2.1.330']],
		answers: [hello, answer('format the dates', asks)],
		steps: [...greet, say('Please format the dates'), see(/❯ 1\. /), kill],
		dialog: 'question', end: 'killed at a question',
	},
	{
		name: 'answered',
		on: [[80, 40, '2.0.76', '2.1.37', '2.1.197', '2.1.330']],
		answers: [hello, answer('format the dates', asks, [words('Then it will be the first of the two.')])],
		steps: [...greet, say('Please format the dates'), see(/❯ 1\. /), { press: 'Enter', see: /first of the two/ }, idle, kill],
		end: 'killed while idle, after a question was answered',
	},
	{
		name: 'plan',
		on: [[100, 40, ...ALL]],
		ask: true,
		flags: ['--permission-mode', 'plan'],
		answers: [hello, answer('plan for the parser', [words('This is how I would go about it.'), { tool: 'ExitPlanMode', input: { plan: PLAN } }])],
		steps: [...greet, say('Make a plan for the parser'), see(/Would you like to proceed|Exit plan mode\?|keep planning/), kill],
		dialog: 'plan', end: 'killed at a plan',
	},
];
