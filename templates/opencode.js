 * Tells gt-recover of OpenCode's sessions, of the calls of their tools and that they live, so that a crash can be made good. It says nothing,
 * and whatever goes wrong in it is nobody's trouble. `gt-recover uninstall hooks --agent opencode` takes it away.
 */
import { spawn } from "node:child_process"

const limit = 1000

function tell(event, input) {
	return new Promise((done) => {
		try {
			const child = spawn("/bin/sh", ["-c", "exec " + lines[event]], { stdio: ["pipe", "ignore", "ignore"] })
			const timer = setTimeout(() => { child.kill("SIGKILL"); done() }, limit)
			const end = () => { clearTimeout(timer); done() }
			child.on("error", end)
			child.on("exit", end)
			child.stdin.on("error", () => {})
			child.stdin.end(JSON.stringify(input))
		} catch {
			done()
		}
	})
}

export const GtRecover = async ({ directory }) => {
	const parents = new Map(), known = new Set()
	let last = Promise.resolve()

	// a sub-agent's session is told as a part of that which asked for it
	const place = (id) => {
		let root = id
		for (let i = 0; i < 100 && parents.has(root); i++)
			root = parents.get(root)
		return root === id ? { session_id: id, cwd: directory } : { session_id: root, agent_id: id, cwd: directory }
	}
	// one after the other
	const say = (event, id, more) => {
		if (typeof id !== "string")
			return last
		const input = { ...place(id), ...more }
		const begins = !known.has(input.session_id)
		known.add(input.session_id)
		last = last.then(async () => {
			if (begins)
				await tell("SessionStart", { session_id: input.session_id, cwd: directory })
			await tell(event, input)
		})
		return last
	}
	const call = (i, args) => ({ tool_name: i.tool, tool_use_id: i.callID, tool_input: args })

	return {
		event: async ({ event }) => {
			const info = event.properties?.info
			if (event.type === "session.created" && info?.parentID)
				parents.set(info.id, info.parentID)
			else if (event.type === "session.idle")
				await say(parents.has(event.properties?.sessionID) ? "SubagentStop" : "Stop", event.properties?.sessionID, {})
		},
		"chat.message": async (i) => { await say(parents.has(i.sessionID) ? "PreToolUse" : "UserPromptSubmit", i.sessionID, {}) },
		"tool.execute.before": async (i, o) => { await say("PreToolUse", i.sessionID, call(i, o.args)) },
		"tool.execute.after": async (i) => { await say("PostToolUse", i.sessionID, call(i, i.args)) },
	}
}
