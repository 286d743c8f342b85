#!/usr/bin/env node
// Plays scenarios to the real Claude Code and writes captures. Called by record.sh, which makes the world (README.md).
//
//   node record.mjs plan --version V [--only REGEXP]        one line a capture: SCENARIO WIDTH HEIGHT
//   node record.mjs prepare --scenario NAME --root DIR      the mock model's file, files of the work, settings
//   node record.mjs drive --scenario NAME --root DIR --width W --height H --version V --prefix DIR --out DIR   (environment words on stdin)
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';

import { neutral, refuseLeaks, shortTranscript } from './clean.mjs';
import { Pane, pause, until } from './pane.mjs';
import { scenarios } from './scenarios/all.mjs';
import { items, letters, markUnseen, truthText } from './truth.mjs';

function options(args) {
	const o = {};
	for (let i = 0; i < args.length; i += 2)
		o[args[i].slice(2)] = args[i + 1];
	return o;
}

function scenarioNamed(name) {
	const found = scenarios.find((s) => s.name === name);
	if (found === undefined)
		throw new Error(`no scenario ${name}`);
	return found;
}

const newer = (a, b) => {	// version a >= b
	const [x, y] = [a, b].map((v) => v.split('.').map(Number));
	const i = x.findIndex((n, k) => n !== y[k]);
	return i < 0 || x[i] > y[i];
};
const own = (value, version) => typeof value === 'function' ? value(version, newer) : value;

function plan(o) {
	for (const s of scenarios)
		for (const [width, height, ...versions] of s.on)
			if (versions.includes(o.version) && new RegExp(o.only ?? '').test(`${s.name}-${width}`))
				console.log(s.name, width, height);
}

function prepare(o) {
	const s = scenarioNamed(o.scenario), home = o.root, work = path.join(o.root, 'w');
	// 2.0.76 tries its sub-agents at the start
	const warmUp = { when: '^Warmup$', aside: true, content: [{ text: 'I am warm.' }] };
	const answers = JSON.stringify({ answers: [warmUp, ...own(s.answers, o.version)], otherwise: 'I see.' });
	fs.writeFileSync(path.join(o.root, 'scenario.json'), answers.replaceAll('ROOT/', `${o.root}/`));
	for (const [name, text] of Object.entries(s.files ?? {})) {
		fs.mkdirSync(path.dirname(path.join(work, name)), { recursive: true });
		fs.writeFileSync(path.join(work, name), text, { mode: name.endsWith('.sh') ? 0o755 : 0o644 });
	}
	const settings = path.join(home, '.claude/settings.json'), main = path.join(home, '.claude.json');
	const merge = (file, more) => fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(fs.readFileSync(file, 'utf8')), ...more }));
	merge(settings, own(s.settings, o.version) ?? {});
	// what older versions ask, and what they need to be there
	const [[cwd, project]] = Object.entries(JSON.parse(fs.readFileSync(main, 'utf8')).projects);
	merge(main, { theme: 'dark', bypassPermissionsModeAccepted: true, projects: { [cwd]: { allowedTools: [], ...project } }, ...s.config });
}

const quoted = (word) => `'${word.replaceAll('\'', '\'\\\'\'')}'`;

class Take {
	constructor(o, environment) {
		Object.assign(this, o);
		this.s = scenarioNamed(o.scenario);
		this.environment = environment;
		this.pane = new Pane(path.join(o.root, 'tmux'));
		this.typed = [];
		this.diedAt = Infinity;
		this.draft = null;
	}

	command(flags) {
		const base = path.join(this.prefix, 'node_modules/@anthropic-ai');
		const native = path.join(base, 'claude-code-linux-x64/claude'), script = path.join(base, 'claude-code/cli.js');
		const program = fs.existsSync(native) ? [native] : [process.execPath, script];
		const more = Object.entries(this.s.env ?? {}).map(([k, v]) => `${k}=${v}`);
		const keep = ['TMUX', 'TMUX_PANE', 'TERM'].map((k) => `"${k}=$${k}"`).join(' ');
		const words = [...this.environment, ...more, ...program, ...this.mode(), ...this.s.flags ?? [], ...flags];
		const start = `env -i ${keep} ${words.map(quoted).join(' ')}`;
		return `cd ${quoted(this.work)} && exec ${start}`;
	}

	// 2.1.330 would ask a server instead of the person, where nothing is said
	mode() {
		const named = this.s.flags?.includes('--permission-mode') ?? false;
		return !this.s.ask ? ['--dangerously-skip-permissions'] : named ? [] : ['--permission-mode', 'default'];
	}

	get work() {
		return path.join(this.root, 'w');
	}

	events() {
		const file = path.join(this.root, 'log');
		return fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n').slice(0, -1).map((l) => JSON.parse(l)) : [];
	}

	count(event) {
		return this.events().filter((e) => e.event === event).length;
	}

	busy() {
		return this.count('request') > this.count('end') + this.count('error');
	}

	hasBox(screen) {
		return /^─{20,}.*\n[>❯](?:[\u00a0 ].*)?$/mu.test(screen) || (this.s.ready?.test(screen) ?? false);
	}

	// Nothing runs, nothing is asked, and the screen stands still.
	async idle() {
		await until('an idle agent', async () => {
			if (this.pane.asks('#{pane_dead}') === '1')
				throw new Error('the agent died');
			if (this.busy() || !this.hasBox(this.pane.screen()))
				return false;
			const screen = await this.pane.settled(700);
			return !this.busy() && this.hasBox(screen) && !/esc to interrupt|esc interrupt|^\s*[·✢*✶✻✽∴]\s\S+…/mu.test(screen);
		});
	}

	async say(step) {
		const { say } = step, long = say.includes('\n') || say.length > 400;
		const before = this.count('request');
		const inBox = () => {
			const screen = this.pane.screen();
			return letters(screen).includes(letters(say).slice(-12)) || /\[Pasted text #\d/.test(screen);
		};
		if (long)
			this.pane.paste(say);
		else if (say.startsWith('!')) {
			// a mode of the box, which the rest of a burst would miss
			await this.pane.type('!');
			await pause(500);
			await this.pane.type(say.slice(1));
		} else
			await this.pane.type(say);
		await until(`${say.slice(0, 30)} in the box`, inBox);
		// Enter too soon is a line end of the text; a busy screen never stands still
		await (this.busy() || step.queued || step.unsent ? pause(700) : this.pane.settled(600));
		if (step.unsent) {
			this.draft = say;
			return;
		}
		this.typed.push({ at: Date.now(), content: say, queued: step.queued, withdrawn: step.withdrawn });
		this.pane.key('Enter');
		if (step.queued || say.startsWith('/') || say.startsWith('!') || step.alone)
			return;
		await this.answered(say, before);
	}

	// Enter may have been taken for a line end of the text, or was swallowed by a long paste.
	async answered(say, before) {
		for (let again = 0; again < 5; again++) {
			try {
				await until('a request', () => this.count('request') > before, 4000);
				return;
			} catch {
				this.pane.key('Enter');
			}
		}
		throw new Error(`no answer to ${say.slice(0, 30)}`);
	}

	// A dialog may not listen yet when it is drawn.
	async press(step) {
		await until(`${step.see} after ${step.press}`, async () => {
			this.pane.key(step.press);
			return until('an effect', () => step.see.test(this.pane.screen()), 2500).then(() => true, () => false);
		});
	}

	async step(step) {
		if (step.say !== undefined)
			await this.say(step);
		else if (step.press !== undefined)
			await this.press(step);
		else if (step.key !== undefined)
			this.pane.key(step.key);
		else if (step.see !== undefined)
			await until(`${step.see} on the screen`, () => step.see.test(this.pane.screen()));
		else if (step.idle)
			await this.idle();
		else if (step.stall) {
			await until('a silent model', () => this.count('stall') >= step.stall);
			await pause(1200);	// the program draws what it got
		} else if (step.resize !== undefined) {
			this.pane.resize(...step.resize);
			await this.pane.settled(700);
		} else if (step.kill !== undefined) {
			this.diedAt = Date.now();
			await this.pane.kill(step.kill);
		} else if (step.died) {
			await until('the end of the program', () => this.pane.dead());
		} else if (step.restart !== undefined) {
			this.pane.restart(this.command(step.restart.map((w) => w === 'SESSION' ? this.sessions().at(-1).id : w)));
			await this.idle();
			this.diedAt = Infinity;
		} else if (step.wait)
			await until(step.what, () => step.wait(this));
		else
			throw new Error(`no such step: ${JSON.stringify(step)}`);
	}

	// The transcripts of the main conversation, oldest first.
	sessions() {
		const projects = path.join(this.root, '.claude/projects'), found = [];
		if (!fs.existsSync(projects))
			return found;
		for (const slug of fs.readdirSync(projects))
			for (const f of fs.readdirSync(path.join(projects, slug)).filter((n) => /^[0-9a-f]{8}-.*\.jsonl$/.test(n))) {
				const file = path.join(projects, slug, f);
				found.push({ id: path.basename(f, '.jsonl'), file, dir: path.join(projects, slug), time: fs.statSync(file).mtimeMs });
			}
		return found.sort((a, b) => a.time - b.time);
	}

	async play() {
		this.pane.start(this.command([]), Number(this.width), Number(this.height), this.s.term ?? 'tmux-256color');
		if (this.s.ready === undefined)
			await this.idle();
		for (const step of own(this.s.steps, this.version))
			await this.step(step);
		if (this.diedAt === Infinity)
			this.diedAt = Date.now();
		await until('the end of the streams', () => !this.busy());
	}

	save() {
		const dir = path.join(this.out, `${this.scenario}-${this.width}-v${this.version}`);
		const screen = this.pane.capture('-e'), plain = this.pane.capture(), joined = this.pane.capture('-J');
		const stripped = screen.replace(/\x1b\[[0-9;:]*m|[\x0e\x0f]/g, '');
		const trimmed = (s) => s.split('\n').map((r) => r.trimEnd()).join('\n');
		if (trimmed(stripped) !== trimmed(plain))
			throw new Error('the capture with colours and the plain one differ');
		const session = this.sessions().at(-1);
		const transcript = session === undefined ? '' : fs.readFileSync(session.file, 'utf8');
		const log = fs.readFileSync(path.join(this.root, 'log'), 'utf8');
		const list = items(this.typed, log, path.join(this.root, 'requests'), transcript, this.diedAt);
		markUnseen(list, plain, transcript);
		const [width, height] = [this.pane.asks('#{pane_width}'), this.pane.asks('#{pane_height}')];
		const truth = { version: this.version, draft: this.draft, dialog: own(this.s.dialog, this.version) ?? null, end: this.s.end,
			alternate: this.pane.asks('#{alternate_on}') === '1' || undefined, session: session?.id ?? null, items: list };
		const write = (name, text) => {
			const clean = neutral(text, this.root);
			refuseLeaks(`${this.scenario} ${name}`, clean, [this.root, path.basename(this.root), this.prefix]);
			fs.mkdirSync(path.dirname(path.join(dir, name)), { recursive: true });
			fs.writeFileSync(path.join(dir, name), clean);
		};
		fs.rmSync(dir, { recursive: true, force: true });
		write('screen.txt', screen);
		// tmux adds a blank row here and there; what matters is a row that is longer
		const rows = (s) => trimmed(s).replace(/\n+/g, '\n');
		if (rows(joined) !== rows(plain))
			write('joined.txt', joined);
		// it does not depend on the width nor on colours: kept once
		const first = this.s.on.find(([, , ...versions]) => versions.includes(this.version));
		const keeps = session !== undefined && String(first[0]) === this.width && !this.s.looks;
		if (keeps)
			write('transcript.jsonl', shortTranscript(transcript));
		if (keeps)
			this.saveAside(session, write);
		write('size', `${width}x${height}\n`);
		write('truth.json', truthText(truth));
	}

	// What sub-agents wrote, where it stands beside the conversation's own transcript: in a folder named as that, or in the same one.
	saveAside(session, write) {
		const own = path.join(session.dir, session.id, 'subagents');
		const [from, to] = fs.existsSync(own) ? [own, 'transcript/subagents/'] : [session.dir, ''];
		for (const name of fs.readdirSync(from).filter((n) => n.startsWith('agent-'))) {
			const text = fs.readFileSync(path.join(from, name), 'utf8');
			// 2.0.76 warms up two of them at each start
			if (!text.includes('"content":"Warmup"'))
				write(`${to}${name}`, name.endsWith('.jsonl') ? shortTranscript(text) : text);
		}
	}
}

async function drive(o) {
	const take = new Take(o, fs.readFileSync(0, 'utf8').split('\n').filter((w) => w !== ''));
	try {
		await take.play();
		take.save();
	} catch (e) {
		console.error(`${o.scenario}-${o.width}-v${o.version}: ${e.message}\n${o.verbose === undefined ? '' : take.pane.capture()}`);
		process.exitCode = 1;
	} finally {
		try {
			if (!take.pane.dead())
				await take.pane.kill('SIGKILL');
		} finally {
			take.pane.sweep();
		}
	}
}

const commands = { plan, prepare, drive };
const [command, ...rest] = process.argv.slice(2);
if (commands[command] === undefined) {
	console.error('usage: record.mjs plan|prepare|drive OPTIONS (see the head of this file)');
	process.exit(2);
}
await commands[command](options(rest));
