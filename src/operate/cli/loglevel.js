import { Argument } from 'commander'
import { LOG_LEVELS } from '../../base/common/log-level.js'
import { createAdmin, withAdminOptions } from './common/admin.js'
import { action, paint, print, table } from './common/terminal.js'

/** @param {import('commander').Command} program */
export function addLogLevel (program) {
  withAdminOptions(program.command('loglevel'))
    .description('show the log level of the running processes of this machine, or change it')
    .addArgument(new Argument('[level]', 'new level; `default` is the value of LOG_LEVEL').choices([...LOG_LEVELS, 'default']))
    .option('--process <name>', 'only this process, such as gateway-0')
    .addHelpText('after', `
Examples:
  inkcast loglevel
  inkcast loglevel debug
  inkcast loglevel trace --process gateway-0
  inkcast loglevel default`)
    .action(action((level, options, command) => logLevel(level, { ...options, ...command.optsWithGlobals() })))
}

/**
 * @param {string | undefined} level
 * @param {{ process?: string } & import('./common/admin.js').AdminOptions} options
 */
async function logLevel (level, options) {
  const admin = createAdmin(options)
  /** @type {{ processes: import('../admin/log-levels.js').ProcessLevel[] }} */
  const answer = level === undefined
    ? await admin.read('/loglevel')
    : await admin.change('/loglevel', { level, process: options.process })
  const processes = answer.processes.filter(({ name }) => options.process === undefined || name === options.process)
  const rows = processes.map((process) => [process.name, process.level ?? paint('red', `unknown: ${process.error}`)])
  for (const line of table([['PROCESS', 'LEVEL'], ...rows])) print(line)
  return processes.some(({ error }) => error !== undefined) ? 1 : 0
}
