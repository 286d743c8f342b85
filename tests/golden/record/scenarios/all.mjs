// A scenario:
//   name, on: [[WIDTH, HEIGHT, VERSION...]...]; files: {NAME: TEXT} of the work; settings, config: more for settings.json and .claude.json;
//   env, flags, term: of the program; ask: true without --dangerously-skip-permissions; shell: (START) => command when a shell is the parent
//   answers: the mock model's (tests/agent/mock-model.mjs); steps: what the person does (record.mjs, Take.step)
//   dialog: "permission"|"question"|"plan" when one is open at the end; end: how it ends. answers, steps, settings and dialog may be functions
//   of (VERSION, atLeast).
import { ends } from './ends.mjs';
import { tours } from './tours.mjs';

export const ALL = ['1.0.128', '2.0.76', '2.1.37', '2.1.197', '2.1.330'];
export const scenarios = [...tours, ...ends];
