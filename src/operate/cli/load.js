import { writeFileSync } from 'node:fs'
import os from 'node:os'
import { Option, InvalidArgumentError } from 'commander'
import { folderOf } from '../../base/process/installed.js'
import { apiUrl } from '../roles/banner.js'
import { reachable, settingsOf } from './common/settings.js'
import { action, CommandError, paint, print } from './common/terminal.js'
import { count, seconds } from './common/values.js'
import { signToken } from './token.js'

/** Tokens are valid for longer than a run, s. */
const TTL = 7 * 86_400

/** @param {import('commander').Command} program */
export function addLoad (program) {
  program
    .command('load')
    .description('load an inkcast with many light clients, and check that every delivery and every receipt arrives')
    .addOption(new Option('--scenario <name>', 'sets the options below, unless they are given as well')
      .choices(['hold', 'everyone', 'documents', 'churn', 'devices']).default('hold'))
    .addOption(new Option('--protocol <name>', 'protocol of the clients: docs/websocket.md, docs/devices.md')
      .choices(['socketio', 'ws', 'mqtt']).default('socketio'))
    .option('-n, --connections <number>', 'clients to connect; default: 1000', count)
    .option('--ramp <number>', 'new connections per second; default: 500', count)
    .option('--hold <time>', 'duration of the load after all are connected; default: 30s', seconds)
    .option('--documents <number>', 'documents; the clients are spread over them', count)
    .option('--joins <number>', 'documents that each client opens; default: 1', count)
    .option('--records <number>', 'records per second, to the documents in turn', count)
    .option('--burst <number>', 'records to documents that are published together; default: 1', count)
    .option('--everyone <time>', 'time between two records to everyone: 500ms, 5s', milliseconds)
    .option('--receipts', 'each record to everyone requests a receipt; needs ADMIN_PORT')
    .option('--churn <percent>', 'share of the clients that leaves and comes back each second', percent)
    .option('--activity <percent>', 'share of the clients that signals, sends and opens another document each second', percent)
    .option('--no-resume', 'reconnects do not continue from the last position')
    .option('--silent <number>', 'at the end this number of clients stops answering pings, until they are removed', count)
    .option('--size <bytes>', 'size of a record; default: 500', count)
    .option('--msgpack <percent>', 'share of MessagePack clients', percent)
    .option('--polling <percent>', 'share of long-polling clients of Socket.IO', percent)
    .option('--tiers <list>', 'share of the clients for each tier of NETWORK, as tier=percent,tier=percent; needs AUTH_JWT_SECRET', tiers)
    .option('--processes <number>', 'client processes; default: computed from connections and cores', count)
    .option('--sources <list>', 'local addresses of the clients; default for a target in 127.0.0.0/8: further addresses of this network',
      list)
    .option('--url <url>', 'URL of the gateway, with a path if it is not that of SOCKET_PATH; ws:// and mqtt:// for these protocols; ' +
    'default: from HOST and PORT, or LISTENERS')
    .option('--api <url>', 'URL of the api; default: from API_HOST and API_PORT')
    .option('--api-token <token>', 'token of a caller of the api; default: the first one in API_TOKENS')
    .option('--admin <url>', 'URL of ADMIN_PORT; default: from ADMIN_HOST and ADMIN_PORT')
    .option('--admin-token <token>', 'token for ADMIN_PORT; default: ADMIN_TOKEN')
    .option('--insecure', 'accept any certificate')
    .option('--remote', 'confirms that a target outside of this machine may be loaded')
    .option('--settle <time>', 'time without progress after which a delivery counts as missing; default: 15s', seconds)
    .option('--report <file>', 'write a report with plots: HTML')
    .option('--json <file>', 'write figures and samples as JSON')
    .addHelpText('after', `
Scenarios:
  hold       connect and hold
  everyone   a record to all clients every 5 s, with receipts
  documents  100 records/s to 100 documents
  churn      like everyone, and 8 % of the clients leave and come back each second
  devices    connections, connections/s, and expired connections removed/s: 500 clients become silent

Examples:
  inkcast load
  inkcast load --scenario everyone -n 5000 --hold 1m --report load.html
  inkcast load --scenario devices --protocol mqtt -n 5000 --documents 100 --records 100
  inkcast load --documents 50 --records 200 --churn 5 --msgpack 30 --polling 5 --json load.json
  inkcast load --scenario churn --url https://10.0.0.11 --api http://10.0.0.11:3001 --admin http://10.0.0.11:9100 --remote

Exit codes: 0 nothing is missing, 1 a delivery or a receipt is missing, or the run failed.`)
    .action(action((options, command) => load({ ...options, ...command.optsWithGlobals() }, command)))
}

/** @param {any} options @param {import('commander').Command} command */
async function load (options, command) {
  const config = settingsOf(options)
  const { api, admin } = config
  const base = {
    url: options.url ?? gatewayUrl(config.gateway, options.protocol),
    api: options.api ?? apiUrl({ ...api, host: reachable(api.host) }),
    admin: options.admin ?? `${admin.tls === undefined ? 'http' : 'https'}://${reachable(admin.host)}:${admin.port}`
  }
  const url = urlOf(base.url)
  // the settings' own tokens are sent to all three
  for (const one of [url, urlOf(base.api), urlOf(base.admin)])
    if (!isLoopback(one.hostname) && !options.remote)
      throw new CommandError(`${one.host} is not this machine: confirm with --remote that it may be loaded`)
  // commander's default of --no-resume
  const resume = command.getOptionValueSource('resume') === 'cli' ? options.resume : undefined
  if (folderOf('inkcast-load') === undefined)
    throw new CommandError('the package inkcast-load is not installed: npm install inkcast-load')
  const [{ planOf, processesFor, tierOf }, { runLoad }, { reportOf, rowsOf }] = await Promise.all([
    import('inkcast-load/plan.js'), import('inkcast-load/run.js'), import('inkcast-load/report.js')
  ])
  const plan = planned(planOf, options.scenario, { ...options, resume })
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop)
  const show = liveView(plan)
  let result
  try {
    result = await runLoad({
      plan,
      processes: options.processes ?? processesFor(plan.connections, os.availableParallelism()),
      target: { ...targetOf(url, options.protocol, config), insecure: options.insecure === true },
      loopback: url.hostname.startsWith('127.') || url.hostname === 'localhost',
      sources: options.sources ?? [],
      tokenOf: async (index) => config.auth.secret === undefined
        ? undefined
        : signToken(`load-${index}`, { tier: tierOf(index, plan.tiers), ttl: TTL }, config.auth),
      api: { url: trimmed(base.api), token: options.apiToken ?? api.tokens[0]?.replace(/^[^:]*:/, '') },
      admin: { url: trimmed(base.admin), token: options.adminToken ?? admin.token ?? admin.readToken },
      settle: 1000 * (options.settle ?? 15),
      onSample: show.sample,
      signal: stopping.signal
    })
  } catch (error) {
    throw new CommandError(`the run failed: ${error instanceof Error ? error.message : error}`)
  } finally {
    show.end()
    for (const signal of ['SIGINT', 'SIGTERM']) process.removeListener(signal, stop)
  }
  for (const [name, value] of rowsOf(result)) print(`${paint('cyan', name.padEnd(24))} ${value}`)
  for (const problem of result.problems) print(paint('red', problem))
  if (result.ok) print(paint('green', 'no delivery and no receipt is missing'))
  if (options.json !== undefined) write('--json', options.json, JSON.stringify(result))
  if (options.report !== undefined)
    write('--report', options.report, reportOf([{ name: options.scenario, result }]))
  return result.ok ? 0 : 1
}

/**
 * @typedef {import('../../config/load.js').Config} Config
 * @typedef {import('inkcast-load/plan.js').Protocol} Protocol
 */

/** Schemes of URLs of each protocol, with their usual ports. @type {Record<Protocol, Record<string, number>>} */
const SCHEMES = {
  socketio: { 'http:': 80, 'https:': 443 },
  ws: { 'ws:': 80, 'wss:': 443 },
  mqtt: { 'mqtt:': 1883, 'mqtts:': 8883 }
}

/**
 * @param {Config['gateway']} gateway
 * @param {Protocol} protocol
 * @returns {string} URL of its first listener
 * @throws {CommandError} there is none
 */
function gatewayUrl ({ host, port, tls, listeners }, protocol) {
  if (protocol === 'socketio') return `${tls === undefined ? 'http' : 'https'}://${reachable(host)}:${port}`
  const over = protocol === 'mqtt' ? 'tcp' : 'websocket'
  const [listener] = listeners.filter((one) => one.protocol === protocol && one.over === over)
  if (listener === undefined) {
    const example = protocol === 'mqtt' ? 'mqtt://0.0.0.0:1883' : 'ws:/websocket/handshake'
    throw new CommandError(`LISTENERS has no listener for --protocol ${protocol}: add ${example} to it, or give --url`)
  }
  const secure = listener.port === undefined ? tls !== undefined : listener.tls
  return `${protocol}${secure ? 's' : ''}://${reachable(listener.host ?? host)}:${listener.port ?? port}${listener.path ?? ''}`
}

/**
 * @param {URL} url
 * @param {Protocol} protocol
 * @param {Config} config
 * @returns {Omit<import('inkcast-load/websocket.js').Target, 'insecure'>}
 */
function targetOf ({ protocol: scheme, hostname, port, pathname }, protocol, { gateway, heartbeat: { network } }) {
  const usual = SCHEMES[protocol][scheme]
  if (usual === undefined)
    throw new CommandError(`--protocol ${protocol} needs a URL that begins with ${Object.keys(SCHEMES[protocol]).join('// or ')}//`)
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || usual),
    path: protocol !== 'socketio' ? pathname : pathname === '/' ? gateway.socketPath : pathname.replace(/\/?$/, '/'),
    secure: ['https:', 'wss:', 'mqtts:'].includes(scheme),
    heartbeat: { interval: network.max, timeout: network.timeout }
  }
}

/**
 * @param {typeof import('inkcast-load/plan.js').planOf} planOf
 * @param {string} scenario
 * @param {Partial<import('inkcast-load/plan.js').Plan>} options
 */
function planned (planOf, scenario, options) {
  const {
    protocol, connections, ramp, hold, documents, joins, records, burst, everyone, receipts, churn, activity, resume,
    silent, size, msgpack, polling, tiers
  } = options
  try {
    return planOf(scenario, {
      protocol, connections, ramp, hold, documents, joins, records, burst, everyone, receipts, churn, activity, resume,
      silent, size, msgpack, polling, tiers
    })
  } catch (error) {
    if (error instanceof RangeError) throw new CommandError(error.message)
    throw error
  }
}

/**
 * One line that changes each second, on a terminal only.
 * @param {import('inkcast-load/plan.js').Plan} plan
 */
function liveView (plan) {
  if (!process.stdout.isTTY) return { sample () {}, end () {} }
  return {
    /** @param {Parameters<NonNullable<import('inkcast-load/run.js').RunOptions['onSample']>>[0]} sample */
    sample (sample) {
      const parts = [
        `${sample.at.toFixed(0)} s ${sample.phase}`,
        `${sample.connections}/${plan.connections} connections, ${sample.connectionsPerSecond.toFixed(0)}/s`,
        `${sample.deliveriesPerSecond.toFixed(0)} deliveries/s`,
        sample.p99 === null ? '' : `p99 ${sample.p99.toFixed(1)} ms`,
        sample.usage.length === 0 ? '' : `${sample.usage.reduce((sum, { cores }) => sum + cores, 0).toFixed(2)} cores`,
        sample.errors === 0 ? '' : paint('red', `${sample.errors.toFixed(0)} errors/s`),
        sample.holes === 0 ? '' : paint('red', `${sample.holes} holes`)
      ]
      process.stdout.write(`\r\u001b[K${parts.filter((part) => part !== '').join('  ')}`)
    },
    end () { process.stdout.write('\r\u001b[K') }
  }
}

/**
 * @param {string} option
 * @param {string} file
 * @param {string} content
 * @throws {CommandError} it cannot be written
 */
function write (option, file, content) {
  try {
    writeFileSync(file, content)
  } catch (error) {
    throw new CommandError(`${option} ${file}: ${/** @type {Error} */ (error).message}`)
  }
}

/** @param {string} text */
function urlOf (text) {
  try {
    return new URL(text)
  } catch {
    throw new CommandError(`${text} is not a URL`)
  }
}

/** @param {string} url */
const trimmed = (url) => url.replace(/\/$/, '')

/** @param {string} host */
const isLoopback = (host) => host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)

/** @param {string} text */
function percent (text) {
  if (!/^\d{1,3}(\.\d+)?$/.test(text) || Number(text) > 100) throw new InvalidArgumentError('It is a number from 0 to 100.')
  return Number(text)
}

/** @param {string} text @returns {number} ms */
function milliseconds (text) {
  const [, ms] = /^([1-9]\d{0,8})ms$/.exec(text) ?? []
  return ms === undefined ? 1000 * seconds(text) : Number(ms)
}

/** @param {string} text */
const list = (text) => text.split(',').map((item) => item.trim()).filter((item) => item !== '')

/** @param {string} text @returns {import('inkcast-load/plan.js').Tier[]} */
function tiers (text) {
  return list(text).map((item) => {
    const [, name, share] = /^([\w-]+)=(\d{1,3})$/.exec(item) ?? []
    if (name === undefined) throw new InvalidArgumentError('It is tier=percent, as silver=30,gold=5.')
    return { name, share: Number(share) }
  })
}
