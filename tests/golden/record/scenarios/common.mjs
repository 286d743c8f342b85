export const ALL = ['1.0.128', '2.0.76', '2.1.37', '2.1.197', '2.1.330'];

export const idle = { idle: true };
export const kill = { kill: 'SIGKILL' };
export const say = (words, more) => ({ say: words, ...more });
export const see = (regexp) => ({ see: regexp });
export const talk = (words) => [say(words), idle];	// waits for the answer
export const queue = (words) => say(words, { queued: true });

export const words = (text, more) => ({ text, ...more });
export const bash = (command, description, more) => ({ tool: 'Bash', input: { command, description, ...more } });
export const answer = (when, ...turns) => ({ when, turns });

export const hello = answer('are you there', [words('Yes, I am here and everything is quiet.')]);
export const greet = talk('Good morning, are you there?');
export const paragraphs = (what, n) => Array.from({ length: n }, (_, i) => `Paragraph ${i + 1} about ${what}: this is what ${what} number ${i + 1} ` +
	'looks like when it is told in a sentence that is long enough to be wrapped.').join('\n\n');
