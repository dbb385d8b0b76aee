import { readFileSync } from 'node:fs'
import os from 'node:os'
import { parseEnv } from 'node:util'
import { BLOCKS } from './blocks.js'
import { connectionsFor, descriptorLimit } from '../process/descriptors.js'

/**
 * @typedef {{ [B in keyof typeof BLOCKS]: BlockValues<(typeof BLOCKS)[B]['settings']> } & { production: boolean, mode:
 *   Mode, extensionSettings: Readonly<Record<string, string>> }} Config `extensionSettings`: EXTENSION_…, by full name
 */
/**
 * `embedded`: one process in memory; `redis`: a cluster, the api publishes straight to the bus;
 * `kafka`: a cluster, everything published goes through Kafka.
 * @typedef {'embedded' | 'redis' | 'kafka'} Mode
 */
/**
 * @template {Record<string, import('./setting.js').Setting>} S
 * @typedef {{ [K in keyof S as S[K]['as']]: import('zod').output<S[K]['type']> | (S[K] extends { default: string } | {
 *   derived: Function } ? never : undefined) }} BlockValues
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
 * Reads, checks and freezes all settings. The environment wins over the file.
 *
 * @param {object} [source]
 * @param {Record<string, string | undefined>} [source.env] default: process.env
 * @param {string} [source.file] path of a file with lines `NAME=value`, as in .env.example
 * @returns {Config}
 * @throws {ConfigError} with every problem at once
 */
export function loadConfig ({ env = process.env, file } = {}) {
  /** @type {string[]} */
  const problems = []
  const fromFile = file === undefined ? {} : readFile(file, problems)
  const production = (env.NODE_ENV || fromFile.NODE_ENV) === 'production'
  const context = { production, cores: os.availableParallelism(), connections: connectionsFor(descriptorLimit()) }

  /** @type {Record<string, any>} */
  const config = { production }
  for (const [name, { settings }] of Object.entries(BLOCKS)) {
    /** @type {Record<string, unknown>} */
    const values = {}
    for (const [variable, setting] of Object.entries(
      /** @type {Record<string, import('./setting.js').Setting>} */ (settings)
    )) {
      const given = env[variable] || fromFile[variable]
      const written = given || setting.default || setting.derived?.(context)
      values[setting.as] = undefined
      if (written === undefined && setting.default === undefined) continue
      const parsed = setting.type.safeParse(written ?? '')
      if (parsed.success) values[setting.as] = parsed.data
      else problems.push(`${variable}${setting.secret ? '' : `=${written}`}: ${parsed.error.issues[0].message}`)
    }
    config[name] = values
  }
  for (const variable of Object.keys(fromFile)) {
    if (variable !== 'NODE_ENV' && !isSetting(variable) && !ofExtension(variable)) problems.push(`${variable}: no such setting (in ${file})`)
  }
  config.extensionSettings = Object.fromEntries(
    Object.entries({ ...fromFile, ...env }).filter(([variable, value]) => ofExtension(variable) && value)
  )
  problems.push(...relations(/** @type {Config} */ (config)))
  if (problems.length > 0) throw new ConfigError(problems)

  const { auth } = config
  auth.allowAnonymous ??= !production && !auth.secret && !auth.publicKeyFile && !auth.jwksUrl
  config.mode = config.kafka.brokers.length > 0 ? 'kafka' : config.redis.urls.length > 0 ? 'redis' : 'embedded'
  for (const values of Object.values(config))
    for (const value of [values, ...Object.values(values)]) Object.freeze(value)
  return /** @type {Config} */ (Object.freeze(config))
}

/** @param {string} variable */
const ofExtension = (variable) => variable.startsWith('EXTENSION_')

/** @param {string} variable */
const isSetting = (variable) => Object.values(BLOCKS).some(({ settings }) => variable in settings)

/** @param {string} file @param {string[]} problems */
function readFile (file, problems) {
  try {
    return /** @type {Record<string, string>} */ (parseEnv(readFileSync(file, 'utf8')))
  } catch (error) {
    problems.push(`--config ${file}: ${error instanceof Error ? error.message : error}`)
    return {}
  }
}

/**
 * Checks relations between settings. A setting that could not be read is undefined here and already reported.
 * @param {Config} config
 * @returns {string[]} problems
 */
function relations ({ production, gateway, heartbeat, auth, api, redis, kafka }) {
  const problems = []
  if (kafka.brokers.length > 0 && redis.urls?.length === 0)
    problems.push('KAFKA_BROKERS: needs REDIS_URL as well, records reach the workers through Redis')
  if (kafka.saslMechanism && (!kafka.saslUsername || !kafka.saslPassword))
    problems.push('KAFKA_SASL_MECHANISM: needs KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD')
  if ((gateway.tlsCertFile === undefined) !== (gateway.tlsKeyFile === undefined))
    problems.push('TLS_CERT_FILE, TLS_KEY_FILE: set both or none')
  if (gateway.peerPort > 0 && gateway.peerPort + 2 * gateway.workers > 65_536)
    problems.push(`PEER_PORT=${gateway.peerPort}: must leave room for two ports per gateway worker`)
  if (heartbeat.min > heartbeat.max)
    problems.push(`HEARTBEAT_MIN=${heartbeat.min}: must not be larger than HEARTBEAT_MAX=${heartbeat.max}`)
  for (const { name, min, max, timeout } of heartbeat.tiers ?? []) {
    if (min < 1000 || min > max || max > heartbeat.max || timeout < 1000 || timeout > heartbeat.timeout) {
      problems.push(
        `HEARTBEAT_TIERS=${name}:${min}:${max}:${timeout}: min must be from 1000 to max, max at most HEARTBEAT_MAX, timeout from 1000 to HEARTBEAT_TIMEOUT`
      )
    }
  }
  if (new Set(heartbeat.tiers?.map(({ name }) => name)).size < (heartbeat.tiers?.length ?? 0))
    problems.push('HEARTBEAT_TIERS: a tier is there twice')
  const keys = [
    auth.secret && 'AUTH_JWT_SECRET',
    auth.publicKeyFile && 'AUTH_JWT_PUBLIC_KEY_FILE',
    auth.jwksUrl && 'AUTH_JWKS_URL'
  ].filter(Boolean)
  if (keys.length > 1) problems.push(`${keys.join(', ')}: set one of them`)
  if (keys.length === 0 && (production ? !auth.allowAnonymous : auth.allowAnonymous === false)) {
    problems.push(
      'AUTH_JWT_SECRET: set it, AUTH_JWT_PUBLIC_KEY_FILE or AUTH_JWKS_URL; no client could connect otherwise (or allow it with AUTH_ALLOW_ANONYMOUS=true)'
    )
  }
  if (production && api.tokens.length === 0) problems.push('API_TOKENS: required in production, as name:token,…')
  if (api.tokens.some((entry) => !/^[A-Za-z0-9._-]{1,64}:.{16,}$/.test(entry)))
    problems.push('API_TOKENS: each must be name:token, the token with at least 16 characters')
  return problems
}

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
 * @property {string | undefined} configFile
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
    configFile: env.INKCAST_CONFIG_FILE
  }
}

/**
 * The processes that one machine runs.
 * @param {Config} config
 * @returns {Record<'gateway' | 'ingest' | 'api', number>} how many of each role
 */
export function processesOf ({ gateway, mode }) {
  return { gateway: gateway.workers, ingest: mode === 'kafka' ? 1 : 0, api: 1 }
}
