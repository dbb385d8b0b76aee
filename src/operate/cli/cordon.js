import { createAdmin, withAdminOptions } from './common/admin.js'
import { action, print } from './common/terminal.js'

/** @param {import('commander').Command} program */
export function addCordon (program) {
  withAdminOptions(program.command('cordon'))
    .description('tell balancers to send no new clients to this machine, over /ready, /health and the load agent; connected clients stay')
    .option('--undo', 'take new clients again')
    .addHelpText('after', `
Examples:
  inkcast cordon && sleep 10 && systemctl stop inkcast
  inkcast cordon --undo`)
    .action(action(cordon))
}

/**
 * @param {{ undo?: boolean } & import('./common/admin.js').AdminOptions} options
 * @param {import('commander').Command} command
 */
async function cordon (options, command) {
  const { undo = false, ...others } = { ...options, ...command.optsWithGlobals() }
  const { processes } = await createAdmin(others).change('/cordon', { cordoned: !undo })
  print(`${undo ? 'takes new clients again' : 'cordoned'}: ${processes.join(', ')}`)
  return 0
}
