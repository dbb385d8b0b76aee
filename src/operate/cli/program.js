import { styleText } from 'node:util'
import { Command } from 'commander'
import { VERSION } from '../../base/process/version.js'
import { addCheck } from './check.js'
import { addConfig } from './config.js'
import { addCordon } from './cordon.js'
import { addLoad } from './load.js'
import { addLogLevel } from './loglevel.js'
import { addMove } from './move.js'
import { addPublish } from './publish.js'
import { addDemo, addStart } from './start.js'
import { addStatus } from './status.js'
import { addTail } from './tail.js'
import { addToken } from './token.js'
import { addTrace } from './trace.js'

/**
 * The command `inkcast`: one file per subcommand. Only cluster.js and these files load commander.
 *
 * Exit codes: 0 done, 1 it failed or found a problem, 2 wrong arguments.
 */

/** Wrong arguments. */
const USAGE = 2
const ADD = [
  addStart, addDemo, addCheck, addConfig, addToken, addPublish, addTail, addTrace, addStatus, addLogLevel, addCordon,
  addLoad, addMove
]

const NOTES = `
Settings come from the environment, then from --config FILE, or without it from .env in this folder.
inkcast forks one gateway worker per core and the api; with KAFKA_BROKERS also ingest.
Without REDIS_URL it runs a store of its own in place of Redis, in memory and for development;
with WORKERS=1 as well, everything runs in one process.

Examples:
  inkcast                                     the same as inkcast start
  inkcast check                               find problems before the start
  inkcast publish minutes '{"text":"hello"}'
  inkcast tail minutes

Exit codes: 0 done, 1 failed or found a problem, 2 wrong arguments.
All settings: docs/configuration.md. This command: docs/command.md.`

/** @returns {Command} */
export function createProgram () {
  const program = new Command('inkcast')
    .description('Real-time document gateway: what your services publish about a document reaches everyone who has it open.')
    .version(VERSION, '-v, --version', 'show the version')
    .helpOption('-h, --help', 'show this help, or that of a command')
    .helpCommand('help [command]', 'show this help, or that of a command')
    .option('--config <file>', 'file with settings as NAME=value, in place of .env')
    .configureHelp({
      showGlobalOptions: true,
      styleTitle: (text) => styleText('bold', text),
      styleCommandText: (text) => styleText('cyan', text),
      styleSubcommandText: (text) => styleText('cyan', text),
      styleOptionText: (text) => styleText('cyan', text)
    })
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'inkcast: ')) })
    .showHelpAfterError('Run "inkcast --help" for the commands, "inkcast <command> --help" for one.')
    .addHelpText('after', NOTES)
    .exitOverride(leave)
  for (const add of ADD) add(program)
  return program
}

/** @param {{ exitCode: number }} end of commander: help, version, or wrong arguments */
function leave ({ exitCode }) {
  process.exit(exitCode === 0 ? 0 : USAGE)
}

/**
 * Runs the command; resolves when it has done its work, or has begun to serve.
 * @param {string[]} args without node and the file
 */
export async function run (args) {
  const program = createProgram()
  const names = new Set(program.commands.flatMap((command) => [command.name(), ...command.aliases()]))
  const forProgram = ['-h', '--help', '-v', '--version'].includes(args[0])
  // options alone: inkcast [--config FILE]
  const starts = args.length === 0 || (args[0].startsWith('-') && !forProgram && !args.some((arg) => names.has(arg)))
  await program.parseAsync(starts ? ['start', ...args] : args, { from: 'user' })
}
