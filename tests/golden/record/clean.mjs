// What leaves the machine: neutral paths, and of a transcript only what matters to its readers.
import os from 'node:os';

// As long as the temporary directory that it stands for, so that no row changes its length.
export const NEUTRAL = '/home/dev/crash-lab';

const slug = (path) => path.replace(/[^a-zA-Z0-9]/g, '-');

export function neutral(text, root) {
	if (root.length !== NEUTRAL.length)
		throw new Error(`${root} is not as long as ${NEUTRAL}`);
	return text.replaceAll(root, NEUTRAL).replaceAll(slug(root), slug(NEUTRAL));
}

export function refuseLeaks(name, text, foreign) {
	for (const word of [...foreign, os.hostname(), 'sk-ant-api'])
		if (word.length > 3 && text.includes(word))
			throw new Error(`${name} holds ${word}`);
}

// Long strings and lists of what is not the conversation are cut.
function shorten(value) {
	if (typeof value === 'string')
		return value.length > 240 ? `${value.slice(0, 200)}…` : value;
	if (Array.isArray(value))
		return value.slice(0, 3).map(shorten);
	if (value !== null && typeof value === 'object')
		return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, shorten(v)]));
	return value;
}

function shortenLine(line) {
	let record;
	try {
		record = JSON.parse(line);
	} catch {
		return line;	// torn, as a crash leaves it
	}
	if (record.type === 'user' || record.type === 'assistant') {
		if (record.toolUseResult?.originalFile?.length > 2000)
			record.toolUseResult.originalFile = shorten(record.toolUseResult.originalFile);
		return JSON.stringify(record);
	}
	if (record.attachment?.type === 'queued_command' || record.type === 'queue-operation')
		return line;
	return JSON.stringify(shorten(record));
}

export function shortTranscript(text) {
	return text.split('\n').map((line) => line === '' ? line : shortenLine(line)).join('\n');
}
