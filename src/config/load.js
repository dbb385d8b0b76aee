import os from 'node:os'
import { isLogLevel } from '../base/common/log-level.js'
import { parse } from '../base/common/schema.js'
import { isSimilar } from '../base/common/similar.js'
import { anonymousByDefault, authProblems, tokenProblems } from './auth-relations.js'
import { BLOCKS } from './blocks.js'
import { GONE } from './gone.js'
import { listenerProblems, ownPortsIn } from './listeners.js'
import { DEFAULT_PREFIX, prefixProblems } from './redis-prefix.js'
import { secretFileOf, readSecret } from './secret-files.js'
import { shownSetting } from './shown.js'
import { findIn, readSources } from './sources.js'
import { tlsProblems } from './tls-relations.js'
import { isSecret } from './uplink-settings.js'
import { connectionsFor, descriptorsBeside } from '../base/process/descriptors.js'

/**
 * @typedef {{ [B in keyof typeof BLOCKS]: BlockValues<(typeof BLOCKS)[B]['settings']> } & { production: boolean, mode:
 *   Mode, extensionSettings: Readonly<Record<string, string>>, misspelled: readonly Misspelled[] }} Config
 *   `extensionSettings`: EXTENSION_…, by full name
 * @typedef {{ name: string, meant: string, source: string }} Misspelled a variable whose name is like that of a setting
 */
/**
 * `embedded`: one process in memory; `redis`: a cluster, the api publishes straight to the bus (without REDIS_URL the
 * launcher runs the built-in store in its place);
 * `kafka`: a cluster, publications of services go through Kafka.
 * @typedef {'embedded' | 'redis' | 'kafka'} Mode
 */
/**
 * @template {Record<string, import('./setting.js').Setting>} S
 * @typedef {{ [K in keyof S as S[K]['as']]: import('valibot').InferOutput<S[K]['type']> | (S[K] extends { default:
 *   string } | { derived: Function } ? never : undefined) }} BlockValues
 */

/** Some settings are wrong; `problems` lists all of them, each as one line that names the setting. */
export class ConfigError extends Error {
  /** @param {string[]} problems */
  constructor (problems) {
    super(
      problems.length === 1
        ? `wrong setting: ${problems[0]}`
        : `wrong settings:\n${problems.map((problem) => `  ${problem}`).join('\n')}`
    )
    this.name = 'ConfigError'
    this.problems = problems
  }
}

/**
 * Reads, checks and freezes all settings.
 *
 * @param {SettingsSource} [source]
 * @returns {Config}
 * @throws {ConfigError} with every problem at once
 */
export function loadConfig (source) {
  const { config, problems } = readSettings(source)
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

/**
 * @typedef {object} SettingsSource
 * @property {Record<string, string | undefined>} [env] wins over the file; default: process.env
 * @property {string} [file] path of a file with lines `NAME=value`, as .env.example
 * @property {string} [envFile] `.env`: the same, but it may be missing, and may have variables of other programs. Not
 *   read if there is a `file`
 *
 * @typedef {object} Written a setting as it was written
 * @property {string} [text] absent: it has no value
 * @property {string} source `environment`, the path of a file, or `default`
 */

/**
 * Reads and checks all settings, also wrong ones.
 *
 * @param {SettingsSource} [source]
 * @returns {{ config: Config, problems: string[], written: Record<string, Written> }} config: with problems, settings
 *   that could not be read are undefined; written: by the name of the setting
 */
export function readSettings ({ env = process.env, file, envFile } = {}) {
  const { sources, problems } = readSources({ env, file, envFile })
  // cmd.exe keeps the space of `set NODE_ENV=production && …`
  const nodeEnv = findIn(sources, 'NODE_ENV')?.value.trim() ?? ''
  const production = nodeEnv === 'production'
  if (!production && /^prod/i.test(nodeEnv))
    problems.push(`NODE_ENV=${nodeEnv}: write production; any other word is development, where clients and callers need no token`)
  const context = {
    production,
    cores: os.availableParallelism(),
    connections: connectionsFor(descriptorsBeside(ownPortsIn(findIn(sources, 'LISTENERS')?.value))),
    hasRedis: ['REDIS_URL', secretFileOf('REDIS_URL')].some((name) => Boolean(findIn(sources, name)?.value)),
    redisPrefix: findIn(sources, 'REDIS_PREFIX')?.value || DEFAULT_PREFIX
  }

  /** @type {Record<string, any>} */
  const config = { production }
  /** @type {Record<string, Written>} */
  const written = {}
  /** @type {Set<string>} */
  const secretFiles = new Set()
  for (const [name, { settings }] of Object.entries(BLOCKS)) {
    /** @type {Record<string, unknown>} */
    const values = {}
    for (const [variable, setting] of Object.entries(
      /** @type {Record<string, import('./setting.js').Setting>} */ (settings)
    )) {
      const given = setting.secret ? readSecret({ variable, sources, problems }) : findIn(sources, variable)
      if (setting.secret) secretFiles.add(secretFileOf(variable))
      const text = given?.value ?? (setting.default || setting.derived?.(context))
      written[variable] = { text, source: given?.source ?? 'default' }
      values[setting.as] = undefined
      if (text === undefined && setting.default === undefined) continue
      const { value, problem } = parse(setting.type, text ?? '')
      if (problem === undefined) values[setting.as] = value
      else problems.push(`${variable}${setting.secret ? '' : `=${shownSetting(text, false)}`}: ${problem.message}`)
    }
    config[name] = values
  }
  for (const [variable, instead] of Object.entries(GONE)) {
    const given = findIn(sources, variable)
    if (given !== undefined) problems.push(`${variable}: this setting is gone; ${instead} (in ${given.source})`)
  }
  const unknown = sources.flatMap(({ name, values }) => Object.keys(values)
    .filter((variable) => variable !== 'NODE_ENV' && !(variable in written) && !(variable in GONE) && !secretFiles.has(variable))
    .filter((variable) => !ofExtension(variable))
    .map((variable) => ({ name: variable, source: name })))
  const names = Object.keys(written)
  /** @type {Misspelled[]} */
  const misspelled = []
  // a file of --config has nothing but settings
  for (const { name, source } of unknown) {
    const meant = names.find((known) => isSimilar(name, known))
    if (source === file)
      problems.push(`${name}: no such setting (in ${file})${meant === undefined ? '' : `; did you mean ${meant}?`}`)
    else if (meant !== undefined) misspelled.push({ name, meant, source })
  }
  config.misspelled = misspelled
  config.extensionSettings = Object.fromEntries(
    sources.toReversed().flatMap(({ values }) => Object.entries(values))
      .filter(([variable, value]) => ofExtension(variable) && value)
  )
  problems.push(...relations(/** @type {Config} */ (config)))

  const { auth } = config
  auth.allowAnonymous ??= anonymousByDefault(auth, production)
  config.mode = config.kafka.brokers?.length > 0
    ? 'kafka'
    : config.redis.urls?.length === 0 && config.gateway.workers === 1 ? 'embedded' : 'redis'
  for (const values of Object.values(config))
    for (const value of [values, ...Object.values(values)]) Object.freeze(value)
  return { config: /** @type {Config} */ (Object.freeze(config)), problems, written }
}

/** @param {string} variable */
const ofExtension = (variable) => variable.startsWith('EXTENSION_')

/**
 * Checks relations between settings. A setting that could not be read is undefined here and already reported.
 * @param {Config} config
 * @returns {string[]} problems
 */
function relations (config) {
  const { production, gateway, auth, api, admin, redis, kafka, uplink } = config
  const problems = prefixProblems(config)
  if (kafka.brokers?.length > 0 && redis.urls?.length === 0)
    problems.push('KAFKA_BROKERS: needs REDIS_URL as well, records reach the workers through Redis')
  if (redis.publishWait !== undefined && redis.publishWait !== 'none' && redis.urls?.length === 0)
    problems.push(`PUBLISH_WAIT=${redis.publishWait}: needs REDIS_URL, the built-in store keeps everything in memory`)
  if (production && redis.urls?.length === 0 && gateway.workers > 1)
    problems.push(
      'REDIS_URL: required in production: the built-in store loses everything when its process ends (or WORKERS=1, one process without ' +
      'Redis, if that is meant)'
    )
  problems.push(...tlsProblems({ gateway, kafka }), ...listenerProblems(gateway, config.heartbeat.network?.tiers))
  if (gateway.peerPort > 0 && gateway.peerPort + 2 * gateway.workers > 65_536)
    problems.push(`PEER_PORT=${gateway.peerPort}: must leave room for two ports per gateway worker`)
  problems.push(...authProblems({ production, gateway, auth }))
  problems.push(...tokenProblems({ production, api, admin }))
  if (uplink.secrets?.some((secret) => !isSecret(secret)))
    problems.push('UPLINK_SECRETS: each must be whsec_ and base64 of 24 to 64 bytes (echo whsec_$(openssl rand -base64 32))')
  if (production && (uplink.url || auth.connectUrl) && uplink.secrets?.length === 0)
    problems.push('UPLINK_SECRETS: required in production, otherwise the service cannot know who calls it')
  if (uplink.groups?.includes(WEBHOOK_GROUP))
    problems.push(`UPLINK_GROUPS: ${WEBHOOK_GROUP} is the group of UPLINK_URL`)
  return problems
}

/** The webhook's group of the uplink's stream. */
export const WEBHOOK_GROUP = 'webhook'

/**
 * The groups that read the uplink's stream, without Kafka.
 * @param {Pick<Config, 'mode' | 'uplink'>} config
 * @returns {string[]} []: there is no stream
 */
export const streamGroups = ({ mode, uplink: { url, groups } }) =>
  mode === 'kafka' ? [] : [...(url === undefined ? [] : [WEBHOOK_GROUP]), ...groups]

/** @param {readonly string[]} groups of a stream @returns {boolean} whether no others than the webhook read it */
export const isWebhookAlone = (groups) => groups.length === 1 && groups[0] === WEBHOOK_GROUP

/**
 * Whether business services receive messages, life-cycle events and receipts.
 * @param {Pick<Config, 'mode' | 'uplink'>} config
 */
export const hasServices = (config) => config.mode === 'kafka' || streamGroups(config).length > 0

/**
 * What a launcher (cluster.js, pm2.config.js) passes to its processes; not for users.
 *
 * @typedef {object} LauncherContext
 * @property {number} slot which of its role's processes this is
 * @property {string | undefined} runDirectory where the private listeners of this machine's processes are; undefined:
 *   this process runs alone
 * @property {boolean} servesAdmin this process answers on ADMIN_PORT for all of them
 * @property {boolean} relaysHandles the parent passes connections on to other workers
 * @property {boolean} urgent clients may be waiting for this process: it replaces a dead
 *   one, or the launcher does not say
 * @property {boolean} keepsSockets the parent has a socket for each gateway worker to listen on
 * @property {Mode | undefined} mode of the launcher, which has started the processes that this mode needs
 * @property {string | undefined} configFile
 * @property {string} envFile read in place of a configFile, if it exists; '': none
 * @property {boolean} cordoned the machine is cordoned (src/operate/admin/control/cordon.js)
 * @property {import('../base/common/log-level.js').LogLevel | undefined} logLevel that a person has set for all
 *   processes
 * @property {string | undefined} script of package.json that npm runs (`npx` for npx); undefined: npm did not start it
 */
/**
 * @param {Record<string, string | undefined>} [env]
 * @returns {LauncherContext}
 */
export function launcherContext (env = process.env) {
  return {
    // PM2 numbers the processes of an application itself
    slot: Number(env.INKCAST_SLOT ?? env.NODE_APP_INSTANCE ?? 0),
    runDirectory: env.INKCAST_RUN_DIRECTORY,
    servesAdmin: env.INKCAST_RUN_DIRECTORY === undefined || env.INKCAST_ADMIN === '1',
    relaysHandles: env.INKCAST_RELAY === '1',
    urgent: env.INKCAST_URGENT !== '0',
    keepsSockets: env.INKCAST_SOCKETS === '1',
    mode: /** @type {Mode | undefined} */ (env.INKCAST_MODE),
    configFile: env.INKCAST_CONFIG_FILE,
    envFile: env.INKCAST_ENV_FILE ?? '.env',
    cordoned: env.INKCAST_CORDONED === '1',
    script: env.npm_lifecycle_event,
    logLevel: isLogLevel(env.INKCAST_LOG_LEVEL) ? env.INKCAST_LOG_LEVEL : undefined
  }
}

/**
 * The processes that one machine runs.
 * @param {Config} config
 * @returns {Record<'store' | 'gateway' | 'ingest' | 'api', number>} how many of each role
 */
export function processesOf ({ gateway, redis, mode }) {
  return {
    store: needsStore({ redis, mode }) ? 1 : 0, gateway: gateway.workers, ingest: mode === 'kafka' ? 1 : 0, api: 1
  }
}

/**
 * @param {Pick<Config, 'mode' | 'redis'>} config
 * @returns {boolean} whether the launcher runs the built-in store in place of Redis
 */
export const needsStore = ({ mode, redis }) => mode === 'redis' && redis.urls.length === 0
