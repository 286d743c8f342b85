// A pane on a private tmux server: what the person sees, types and pastes. Everything waits by looking, until a deadline.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';

const LOOK_EVERY = 80;	// ms
const GIVE_UP = 40000;

export const pause = (ms) => new Promise((go) => setTimeout(go, ms));

export async function until(what, test, limit = GIVE_UP) {
	for (const end = Date.now() + limit; ;) {
		const got = await test();
		if (got)
			return got;
		if (Date.now() > end)
			throw new Error(`waited in vain for ${what}`);
		await pause(LOOK_EVERY);
	}
}

// pid's children, theirs, and so on, each with its start time.
export function descendants(pid) {
	const all = [];
	for (const name of fs.readdirSync('/proc').filter((n) => /^\d+$/.test(n))) {
		try {
			const stat = fs.readFileSync(`/proc/${name}/stat`, 'utf8');
			const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
			all.push({ pid: Number(name), parent: Number(fields[1]), born: fields[19] });
		} catch {
			// gone meanwhile
		}
	}
	const found = all.filter((p) => p.pid === pid);
	for (let i = 0; i < found.length; i++)
		found.push(...all.filter((p) => p.parent === found[i].pid));
	return found;
}

export class Pane {
	constructor(socket) {
		this.socket = socket;
		this.left = [];		// processes that may outlive the agent
	}

	tmux(args, input) {
		return execFileSync('tmux', ['-u', '-S', this.socket, '-f', '/dev/null', ...args], { input, encoding: 'utf8',
			stdio: ['pipe', 'pipe', 'pipe'], maxBuffer: 64 << 20, env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' } });
	}

	start(command, width, height, term) {
		const settings = { 'exit-empty': 'off', status: 'off', 'remain-on-exit': 'on', 'history-limit': '50000', 'focus-events': 'on',
			'default-terminal': term };
		this.tmux(['start-server', ';', ...Object.entries(settings).flatMap(([k, v]) => ['set', '-g', k, v, ';']), 'new-session', '-d', '-s', 'rec',
			'-x', String(width), '-y', String(height), command]);
	}

	restart(command) {
		this.tmux(['respawn-pane', '-t', 'rec', command]);
	}

	asks(format) {
		return this.tmux(['display-message', '-p', '-t', 'rec', format]).trim();
	}

	get pid() {
		return Number(this.asks('#{pane_pid}'));
	}

	dead() {
		this.tmux(['run-shell', '-b', 'true']);	// makes tmux look after children that it lost sight of; it may lose this one, too
		return this.asks('#{pane_dead}') === '1';
	}

	screen() {
		return this.tmux(['capture-pane', '-p', '-t', 'rec']);
	}

	capture(...flags) {
		return this.tmux(['capture-pane', '-p', ...flags, '-S', '-', '-t', 'rec']);
	}

	async type(text) {
		// in pieces: a program takes a burst for a paste
		for (const piece of text.match(/.{1,24}/gsu) ?? []) {
			this.tmux(['send-keys', '-t', 'rec', '-l', '--', piece]);
			await pause(30);
		}
	}

	paste(text) {
		this.tmux(['load-buffer', '-b', 'rec', '-'], text);
		this.tmux(['paste-buffer', '-d', '-p', '-b', 'rec', '-t', 'rec']);
	}

	key(name) {
		this.tmux(['send-keys', '-t', 'rec', name]);
	}

	resize(width, height) {
		this.tmux(['resize-window', '-t', 'rec', '-x', String(width), '-y', String(height)]);
	}

	// The screen when it has stood still for `still` ms; spinners and counters keep it moving.
	async settled(still = 500) {
		let last = this.screen(), since = Date.now();
		await until('a screen that stands still', () => {
			const now = this.screen();
			if (now !== last)
				[last, since] = [now, Date.now()];
			return Date.now() - since >= still;
		});
		return last;
	}

	async kill(signal) {
		this.left.push(...descendants(this.pid));
		process.kill(this.pid, signal);
		await until('the end of the program', () => this.dead());
	}

	// Tools outlive an agent that was killed.
	sweep() {
		for (const { pid, born } of this.left)
			if (descendants(pid)[0]?.born === born)
				process.kill(pid, 'SIGKILL');
	}
}
