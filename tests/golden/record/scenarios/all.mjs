// A scenario:
//   name, end (how it ends, for people); on: [[WIDTH, HEIGHT, VERSION...]...], the first size of a version being that whose transcript is kept
//   looks: true when it differs in looks alone: no transcript is kept
//   files: {NAME: TEXT} of the work; settings, config: more for settings.json and .claude.json
//   env, flags, term: of the program; ask: true without --dangerously-skip-permissions; ready: what tells an idle screen that has no input box
//   answers: the mock model's (tests/agent/mock-model.mjs), ROOT/ being the home; steps: what the person does (record.mjs, Take.step)
//   dialog: "permission"|"question"|"plan" when one is open at the end
// answers, steps, settings and dialog may be functions of (VERSION, atLeast).
import { dialogs } from './dialogs.mjs';
import { ends } from './ends.mjs';
import { life } from './life.mjs';
import { text } from './text.mjs';
import { tools } from './tools.mjs';
import { tours } from './tours.mjs';

export const scenarios = [...tours, ...ends, ...life, ...tools, ...dialogs, ...text];
