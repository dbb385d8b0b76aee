import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SCENARIOS } from '../../../packages/load/plan.js'
import { createProgram } from '../../../src/operate/cli/program.js'

/** @param {string} line @returns {string[]} words of a shell command, up to a pipe or list */
const wordsOf = (line) =>
  [.../** @type {string} */ (line.split(/\s(?:\||&&|# )/)[0]).matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)]
    .map(([, single, double, bare]) => single ?? double ?? bare)

/** @param {import('commander').Command} command @returns {string} its help */
function helpOf (command) {
  let text = ''
  command.configureOutput({ writeOut: (part) => { text += part }, getOutHasColors: () => true }).outputHelp()
  return text
}

/** A program whose commands do nothing, and throw on wrong arguments. @param {(name: string) => void} onRun */
function dryProgram (onRun) {
  const program = createProgram()
  for (const command of [program, ...program.commands]) {
    command.exitOverride((error) => { throw error }).configureOutput({ writeErr () {}, writeOut () {} })
    if (command !== program) command.action(() => onRun(command.name()))
  }
  return program
}

test('load offers the scenarios of its package', () => {
  const option = createProgram().commands.find((command) => command.name() === 'load')?.options
    .find(({ long }) => long === '--scenario')
  assert.deepEqual(option?.argChoices, Object.keys(SCENARIOS))
})

describe('each command', () => {
  for (const command of createProgram().commands) {
    test(`${command.name()} has a help with examples that are correct commands`, async () => {
      const help = helpOf(command)
      assert.doesNotMatch(help, /undefined|\[object/)
      const examples = [...help.matchAll(/^ {2}(?:[A-Z_]+=\S+ |.*\| |TOKEN=\$\()*(inkcast .*?)\)?$/gm)].map(([, line]) => line)
      assert.ok(examples.length >= 2, help)
      for (const example of examples) {
        /** @type {string[]} */
        const ran = []
        const words = wordsOf(example.replace(/\) .*$/, '')).slice(1)
        await dryProgram((name) => ran.push(name)).parseAsync(words, { from: 'user' })
        assert.deepEqual(ran, [command.name()], example)
      }
    })
  }
})

test('an unknown option, a missing and an additional argument are refused', async () => {
  for (const [args, code] of /** @type {[string[], string][]} */ ([
    [['tail'], 'commander.missingArgument'],
    [['tail', 'a', 'b'], 'commander.excessArguments'],
    [['tail', 'a', '--last', '0'], 'commander.invalidArgument'],
    [['tail', 'a', '--from', '3'], 'commander.invalidArgument'],
    [['token', '--ttl', '0'], 'commander.invalidArgument'],
    [['loglevel', 'loud'], 'commander.invalidArgument'],
    [['check', '--all'], 'commander.unknownOption'],
    [['nothing'], 'commander.unknownCommand']
  ])) await assert.rejects(dryProgram(() => {}).parseAsync(args, { from: 'user' }), { code }, args.join(' '))
})
