import { InvalidArgumentError } from 'commander'
import { createAdmin, withAdminOptions } from './common/admin.js'
import { action, print } from './common/terminal.js'

/** @param {import('commander').Command} program */
export function addMove (program) {
  withAdminOptions(program.command('move'))
    .description('tell a part of this machine\'s clients to reconnect, at a given rate; the balancer decides where they go')
    .option('--share <percent>', 'part of the connections: 50% or 0.5', readShare, 0.5)
    .option('--rate <number>', 'connections per second', readRate, 100)
    .option('--process <name>', 'only clients of this worker, such as gateway-0; meanwhile other workers of the machine accept its new ' +
    'connections')
    .option('--stop', 'end the move that is in progress')
    .addHelpText('after', `
Examples:
  inkcast move --share 50% --rate 100
  inkcast move --process gateway-0 --share 100% --rate 20
  inkcast move --share 100% --rate 200`)
    .action(action(move))
}

/** @param {string} text `50%`, or `0.5` */
function readShare (text) {
  const share = text.endsWith('%') ? Number(text.slice(0, -1)) / 100 : Number(text)
  if (!(share > 0 && share <= 1)) throw new InvalidArgumentError('must be a part as 50% or 0.5')
  return share
}

/** @param {string} text */
function readRate (text) {
  const rate = Number(text)
  if (!(rate > 0)) throw new InvalidArgumentError('must be a number above 0')
  return rate
}

/**
 * @param {{ share: number, rate: number, process?: string, stop?: boolean } & import('./common/admin.js').AdminOptions
 *   } options
 * @param {import('commander').Command} command
 */
async function move (options, command) {
  const { stop = false, share, rate, process, ...others } = { ...options, ...command.optsWithGlobals() }
  const admin = createAdmin(others)
  if (stop) {
    await admin.change('/move', undefined, 'DELETE')
    print('no clients move any more')
    return 0
  }
  const { moving } = await admin.change('/move', { share, rate, process }, 'POST')
  const total = Object.values(moving).reduce((sum, count) => sum + count, 0)
  const workers = Object.entries(moving).map(([name, count]) => `${name}: ${count}`).join(', ')
  print(`moves ${total} connections in ${Math.ceil(total / rate)} s (${workers})`)
  return 0
}
