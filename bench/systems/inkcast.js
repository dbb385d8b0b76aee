/**
 * inkcast as `npm start` runs it.
 */
import { execFile } from 'node:child_process'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort, freePorts } from '../../test/services/ports.js'
import { PLAIN_PATH } from '../client/plain-client.js'
import { givenSettings } from './given.js'
import { HOST, startSystem } from './system.js'

const DEFAULT_FILE = fileURLToPath(new URL('../../cluster.js', import.meta.url))

/**
 * @param {import('./system.js').SystemSettings} settings
 * @param {object} [options]
 * @param {string} [options.file] cluster.js of another checkout, to compare changes
 * @param {Record<string, string>} [options.given] settings that win over all others
 * @returns {Promise<import('./system.js').System>}
 */
export async function startInkcast (
  { workers, redisUrl, secret, kafkaBrokers, nodeArgs = [], extension, env },
  { file = DEFAULT_FILE, given = givenSettings() } = {}
) {
  const [port, apiPort, adminPort, grpcPort] = await freePorts(4)
  const system = await startSystem({
    name: 'inkcast',
    args: [...nodeArgs, file],
    port,
    env: {
      HOST,
      PORT: String(port),
      API_PORT: String(apiPort),
      ADMIN_PORT: String(adminPort),
      GRPC_PORT: String(grpcPort),
      API_TOKENS: `bench:${secret.replaceAll(/\W/g, '-')}`,
      WORKERS: String(workers),
      REDIS_URL: redisUrl,
      KAFKA_BROKERS: kafkaBrokers,
      AUTH_JWT_SECRET: secret,
      LOG_LEVEL: 'warn',
      MAX_HANDSHAKES_PER_SECOND: '1000000',
      DRAIN_TIMEOUT: '10000',
      EXTENSIONS: extension,
      ...env,
      ...given
    },
    ready: async () => {
      const answer = await fetch(`http://${HOST}:${adminPort}/ready`)
      if (answer.status !== 200) throw new Error(await answer.text())
    },
    // the workers run the composition root of their role, src/gateway.js
    roleOf: (command) => /src\/(\w+)\.js/.exec(command)?.[1] ?? 'launcher'
  })
  const settings = Object.entries(given).map(([name, value]) => ` ${name}=${value}`).join('')
  console.error(`inkcast ${await commitOf(path.dirname(file))} serves${settings && `, given${settings}`}`)
  return { ...system, expires: true }
}

/** With clients of plain WebSockets. @type {import('./system.js').StartSystem} */
export async function startInkcastForPlain (settings) {
  const system = await startInkcast({ ...settings, env: { ...settings.env, LISTENERS: `ws:${PLAIN_PATH}` } })
  return { ...system, name: 'inkcast, plain WebSocket', clients: 'plain' }
}

/** With clients of MQTT 5 over TCP. @type {import('./system.js').StartSystem} */
export async function startInkcastForMqtt (settings) {
  const port = await freePort()
  const system = await startInkcast({ ...settings, env: { ...settings.env, LISTENERS: `mqtt://${HOST}:${port}` } })
  return { ...system, name: 'inkcast, MQTT', clients: 'mqtt', target: { ...system.target, port } }
}

/** The same, but with quality of service 0. @type {import('./system.js').StartSystem} */
export const startInkcastForMqttQos0 = async (settings) =>
  ({ ...await startInkcastForMqtt(settings), name: 'inkcast, MQTT, QoS 0', clients: 'mqtt-qos0' })

/** @param {string} folder @returns {Promise<string>} its commit, with `-dirty` where files differ from it */
const commitOf = (folder) =>
  promisify(execFile)('git', ['describe', '--always', '--dirty'], { cwd: folder })
    .then(({ stdout }) => stdout.trim(), () => 'outside of git')
