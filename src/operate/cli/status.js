import { createAdmin, withAdminOptions } from './common/admin.js'
import { action, paint, print, table } from './common/terminal.js'

/** @param {import('commander').Command} program */
export function addStatus (program) {
  withAdminOptions(program.command('status'))
    .description('show the processes, connections and load of this machine; exit code 1 if it is not ready')
    .option('--json', 'as JSON: the answer of GET /status')
    .addHelpText('after', `
Examples:
  inkcast status
  inkcast status --json
  inkcast status --url http://10.0.0.11:9100 --token "$ADMIN_TOKEN"`)
    .action(action((options, command) => showStatus({ ...options, ...command.optsWithGlobals() })))
}

/** @typedef {ReturnType<typeof import('../admin/status-answer.js').statusAnswer>} Status */

/** @param {{ json?: boolean } & import('./common/admin.js').AdminOptions} options */
async function showStatus (options) {
  /** @type {Status} */
  const status = await createAdmin(options).read('/status')
  if (options.json) print(JSON.stringify(status))
  else for (const line of linesOf(status)) print(line)
  return status.ready ? 0 : 1
}

/** @param {number} count @param {number} seconds 0: nothing was counted yet */
const perSecond = (count, seconds) => seconds === 0 ? 0 : Math.round(count / seconds)

/** @param {Status} status @returns {string[]} */
function linesOf ({ version, host, ready, reasons, warnings, processes, samples }) {
  const sample = samples.at(-1)
  const latency = sample?.stages.produced_written
  return [
    `${ready ? paint('green', 'ready') : paint('red', `not ready: ${reasons.join(', ')}`)}  ${host}, inkcast ${version}`,
    ...warnings.map((warning) => paint('yellow', `warning: ${warning}`)),
    '',
    ...table([
      ['PROCESS', 'STATE', 'CONNECTIONS', 'DOCUMENTS', 'DELIVERIES/S', 'CPU', 'LOOP P99', 'MEMORY'],
      ...processes.map(({ name, notReady, seconds, values }) => [
        name,
        notReady.length === 0 ? 'ready' : 'not ready',
        String(values.connections),
        String(values.documents),
        String(perSecond(values.deliveries, seconds)),
        `${perSecond(100 * values.cpuSeconds, seconds)} %`,
        `${Math.round(values.loopP99)} ms`,
        `${Math.round(values.memory / 1e6)} MB`
      ])
    ], { styles: ['cyan'] }),
    '',
    latency?.p50 == null
      ? 'no record within the last seconds'
      : `from producer to clients: ${Math.round(latency.p50)} ms (p50), ${Math.round(latency.p99 ?? latency.p50)} ms (p99)`
  ]
}
