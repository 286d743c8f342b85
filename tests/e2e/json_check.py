#!/usr/bin/python3
"""Holds what gt-recover printed with --json against schemas/gt-recover.json.

json_check.py FILE...   each file: a line with the arguments, quoted for the shell, then what was printed.
Prints a line for each that does not fit; the last line counts them. Exit status 1 when there was one.
"""
import json
import os
import re
import shlex
import sys

import jsonschema

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
with open(os.path.join(ROOT, 'schemas', 'gt-recover.json'), encoding='utf-8') as f:
    SCHEMA = json.load(f)
ALWAYS = ['failure', 'disabled']
# options whose value is the next word
VALUED = set('-L --socket --config --town --via --scope --conversation --agent --color --since --mode --threshold --output '
             '--sprints --lease --only --with --without'.split())
KINDS = {'session', 'agent', 'message', 'run', 'runner', 'lock', 'checkpoint', 'release'}


def outputs_of(args):
    words, rest = [], list(args)
    while rest:
        word = rest.pop(0)
        if word in VALUED:
            rest[:1] = []
        elif not word.startswith('-'):
            words.append(word)
    if words and words[0] in KINDS:
        words.insert(0, 'records')
    for n in (3, 2, 1):
        name = ' '.join(words[:n])
        if name in SCHEMA['outputs']:
            return name, SCHEMA['outputs'][name]
    return 'recover', SCHEMA['outputs']['recover']


def validator(name):
    return jsonschema.Draft7Validator({'$ref': '#/definitions/' + name, 'definitions': SCHEMA['definitions']})


VALIDATORS = {name: validator(name) for name in SCHEMA['definitions']}


def large_numbers(value, path=''):
    """A time that is a number: ms since 1970 have thirteen digits."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from large_numbers(one, path + '.' + key)
    elif isinstance(value, list):
        for one in value:
            yield from large_numbers(one, path + '[]')
    elif isinstance(value, int) and value > 10 ** 12 and not path.endswith(('_ms', 'bytes')):
        yield path


def faults(value, names):
    least = None
    for name in names + ALWAYS:
        found = [name + ': ' + '/'.join(map(str, e.absolute_path)) + ': ' + e.message[:160]
                 for e in VALIDATORS[name].iter_errors(value)]
        if least is None or len(found) < len(least):
            least = found
    return least + ['a time as a number: ' + path for path in large_numbers(value)]


def check(path):
    with open(path, encoding='utf-8', errors='surrogateescape') as f:
        line = f.readline()
        text = f.read()
    args = shlex.split(re.sub(r"\$'", "'", line))
    command, names = outputs_of(args)
    if 'epic' in args and ('export' in args or 'inspect' in args):
        return command, []              # as orchestrators write it
    try:
        if '--json=stream' in args:
            found = []
            for one in text.splitlines():
                value = json.loads(one)
                found += faults(value, ['event_' + str(value.get('event'))]) \
                    if 'event_' + str(value.get('event')) in VALIDATORS else ['no such event: ' + one[:80]]
            return command, found
        return command, faults(json.loads(text), names)
    except ValueError as e:
        return command, ['no JSON: %s' % e]


def main():
    bad = 0
    for path in sys.argv[1:]:
        command, found = check(path)
        bad += bool(found)
        for one in found[:4]:
            print('%s (%s): %s' % (os.path.basename(path), command, one))
    print('%d outputs, %d do not fit' % (len(sys.argv) - 1, bad))
    sys.exit(bad > 0)


main()
