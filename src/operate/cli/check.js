import { systemClock } from '../../base/common/clock.js'
import { readSettings } from '../../config/load.js'
import { action, paint, print } from './common/terminal.js'
import { settingsSource } from './common/settings.js'

/** @typedef {import('./check/finding.js').Finding} Finding */

/** @param {import('commander').Command} program */
export function addCheck (program) {
  program
    .command('check')
    .description('check settings, files, ports, Redis, Kafka, other services and the limits of this machine; say what to do about each ' +
      'problem')
    .option('--strict', 'exit code 1 for warnings as well')
    .option('--json', 'as JSON')
    .addHelpText('after', `
Examples:
  inkcast check
  inkcast check --config production.env
  inkcast check --json | jq '.findings[] | select(.level == "error")'

Nothing is changed: topics are not created, and in Redis one key exists for an instant.
Exit codes: 0 inkcast can start here, 1 it cannot.`)
    .action(action(async (options, command) => {
      // clients of Redis and Kafka that gave up still wait for their retries
      process.exit(await check({ ...options, ...command.optsWithGlobals() }))
    }))
}

/** @param {{ strict?: boolean, json?: boolean } & import('./common/settings.js').GlobalOptions} options */
async function check (options) {
  const findings = await findAll(readSettings(settingsSource(options)))
  const count = (/** @type {Finding['level']} */ level) => findings.filter((finding) => finding.level === level).length
  const [errors, warnings] = [count('error'), count('warning')]
  if (options.json) print(JSON.stringify({ ok: errors === 0, errors, warnings, findings }, null, 2))
  else {
    for (const finding of findings) show(finding)
    print()
    print(errors + warnings === 0
      ? paint('green', 'all checks passed')
      : [plural(errors, 'error'), plural(warnings, 'warning')].filter((text) => text !== '').join(', '))
  }
  return errors > 0 || (options.strict && warnings > 0) ? 1 : 0
}

/**
 * @param {ReturnType<typeof readSettings>} settings
 * @returns {Promise<Finding[]>} a wrong setting keeps only those checks from running that need it
 */
async function findAll (settings) {
  const { config } = settings
  const [{ checkSettings }, { checkContents }, { checkPorts }, { checkMachine }, { createLog }] = await Promise.all([
    import('./check/settings.js'), import('./check/files.js'), import('./check/ports.js'), import('./check/machine.js'),
    import('../../base/common/log.js')
  ])
  const log = createLog({ level: 'silent', pretty: false, role: 'check', clock: systemClock })
  const found = await Promise.all([
    checkSettings(settings),
    checkContents(config, log),
    checkPorts(config),
    import('./check/redis.js').then(({ checkRedis }) => checkRedis(config, log)),
    config.kafka.brokers?.length > 0 ? import('./check/kafka.js').then(({ checkKafka }) => checkKafka(config, log)) : [],
    import('./check/services.js').then(({ checkServices }) => checkServices(config)),
    checkMachine(config)
  ])
  return found.flat()
}

const STYLES = /** @type {const} */ ({ ok: 'green', warning: 'yellow', error: 'red' })

/** @param {Finding} finding */
function show ({ area, level, text, todo }) {
  print(`${paint(STYLES[level], level.padEnd(8))} ${paint('bold', area.padEnd(9))} ${text}`)
  if (todo !== undefined) print(`${' '.repeat(19)}${paint('cyan', `→ ${todo}`)}`)
}

/** @param {number} number @param {string} noun */
const plural = (number, noun) => number === 0 ? '' : `${number} ${noun}${number === 1 ? '' : 's'}`
