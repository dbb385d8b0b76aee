import assert from 'node:assert/strict'
import { createPrivateKey, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { systemClock } from '../../src/base/common/clock.js'
import { loadConfig } from '../../src/config/load.js'
import { createKafkajs } from '../../src/kafka/kafkajs/driver.js'
import { listen } from '../../src/base/process/listen.js'
import { ensured } from '../contract/kafka-topics.js'
import { makeAuthority, replaceFile } from '../helpers/certificates.js'
import { recordingLog } from '../helpers/recording-log.js'
import { waitFor } from '../helpers/wait.js'
import { startKafka } from '../services/kafka.js'
import { freePorts } from '../services/ports.js'

const authority = makeAuthority({ after }, 'kafka')
const [mutual, bearer] = await freePorts(2)
const broker = await startKafka({ secure: { ports: { SSL: mutual, SASL_SSL: bearer }, settings: brokerSettings() } })
after(() => broker.stop())

function brokerSettings () {
  const { cert, key } = authority.issue('broker', { rsa: 2048 })
  const keyStore = join(authority.folder, 'broker.store')
  const pkcs8 = createPrivateKey(readFileSync(key)).export({ type: 'pkcs8', format: 'pem' })
  writeFileSync(keyStore, `${pkcs8}${readFileSync(cert, 'utf8')}`)
  return {
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.location': keyStore,
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.location': authority.ca,
    'listener.name.ssl.ssl.client.auth': 'required',
    'sasl.enabled.mechanisms': 'OAUTHBEARER',
    // accepts unsigned tokens
    'listener.name.sasl_ssl.oauthbearer.sasl.jaas.config':
      'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";'
  }
}

/** @param {number} [seconds] until it ends */
function token (seconds = 300) {
  const now = Math.floor(Date.now() / 1000)
  const part = (/** @type {object} */ json) => Buffer.from(JSON.stringify(json)).toString('base64url')
  return `${part({ alg: 'none' })}.${part({ sub: 'inkcast', iat: now, exp: now + seconds })}.`
}

/**
 * @param {number} port
 * @param {Record<string, string>} env
 */
function connectTo (port, env) {
  const config = loadConfig({
    env: { KAFKA_BROKERS: `127.0.0.1:${port}`, REDIS_URL: 'redis://127.0.0.1:1', KAFKA_SSL: 'true', ...env }
  })
  const { log, lines } = recordingLog()
  const brokers = [...config.kafka.brokers]
  const kafka = createKafkajs({ settings: { ...config.kafka, brokers }, log, name: 'test', clock: systemClock })
  const topic = `tls.${randomBytes(4).toString('hex')}`
  return {
    kafka, topic, lines,
    request: { topics: [topic], partitions: 1, maxMessageBytes: 1_000_000 },
    /** Without brokers kafkajs ends its attempts, which would take a minute. */
    end () { brokers.length = 0 }
  }
}

/**
 * Creates a topic and writes a record.
 * @param {number} port
 * @param {Record<string, string>} env
 */
async function useKafka (port, env) {
  const { kafka, topic, request, lines, end } = connectTo(port, env)
  try {
    await ensured(kafka, request)
    const producer = await kafka.produce(topic)
    // a busy broker may not know the new topic yet
    await waitFor(async () => await producer.send([{ key: 'a', value: Buffer.from('1'), headers: {} }]) === undefined, {
      message: () => lines.map(({ text }) => text)
    })
    await producer.close()
  } finally {
    end()
  }
}

/**
 * @param {number} port
 * @param {Record<string, string>} env
 * @param {RegExp} reason in the error or in the log
 */
async function refused (port, env, reason) {
  const { kafka, request, lines, end } = connectTo(port, env)
  let accepted = false
  /** @type {Promise<void> | undefined} */
  let call
  const ask = () => kafka.ensureTopics(request).then(() => { accepted = true }, (error) => {
    lines.push({ level: 'error', text: String(error) })
    call = undefined
  })
  try {
    // a starved broker may not answer an attempt in time
    await waitFor(() => {
      call ??= ask()
      return accepted || lines.some(({ text }) => reason.test(text))
    }, { message: () => lines.map(({ text }) => text) })
  } finally {
    end()
    await call
  }
  assert.equal(accepted, false)
}

test('a client certificate opens a broker that requires one, also after both files were renewed', async () => {
  const pair = authority.issue('client')
  const env = { KAFKA_SSL: `cert:${pair.cert},key:${pair.key},ca:${authority.ca}` }
  await useKafka(mutual, env)
  const renewed = authority.issue('renewed')
  replaceFile(pair.cert, readFileSync(renewed.cert))
  replaceFile(pair.key, readFileSync(renewed.key))
  await useKafka(mutual, env)
})

test('without a certificate, or without the authority of the broker, there is no connection', async () => {
  await refused(mutual, { KAFKA_SSL: `ca:${authority.ca}` }, /bad certificate|certificate required/)
  await refused(mutual, {}, /self-signed certificate|unable to verify/)
})

test('a token from a file is accepted, and a renewed one as well', async () => {
  const file = join(authority.folder, 'token')
  const env = {
    KAFKA_SSL: `ca:${authority.ca}`, KAFKA_SASL_MECHANISM: 'oauthbearer', KAFKA_SASL_TOKEN_SOURCE: file
  }
  writeFileSync(file, `${token(-100)}\n`)
  await refused(bearer, env, /SASL/)
  writeFileSync(file, `${token()}\n`)
  await useKafka(bearer, env)
})

test('a token from an endpoint is accepted; client id, secret and scope are sent', async (t) => {
  /** @type {string[]} */
  const asked = []
  const endpoint = http.createServer(async (req, res) => {
    asked.push(`${req.headers.authorization} ${(await req.toArray()).join('')}`)
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(JSON.stringify({ access_token: token(), token_type: 'bearer', expires_in: 300 }))
  })
  await listen(endpoint, { host: '127.0.0.1', port: 0 })
  t.after(() => endpoint.close())
  const { port } = /** @type {import('node:net').AddressInfo} */ (endpoint.address())
  await useKafka(bearer, {
    KAFKA_SSL: `ca:${authority.ca}`, KAFKA_SASL_MECHANISM: 'oauthbearer', KAFKA_SASL_USERNAME: 'inkcast',
    KAFKA_SASL_PASSWORD: 'a secret', KAFKA_SASL_TOKEN_SOURCE: `http://127.0.0.1:${port}/token?scope=kafka`
  })
  // several connections share one token
  const basic = Buffer.from('inkcast:a%20secret').toString('base64')
  assert.deepEqual(asked, [`Basic ${basic} grant_type=client_credentials&scope=kafka`])
})

test('a token from a module of the operator is accepted, asked for once by several connections', async () => {
  const file = join(authority.folder, 'token-provider.mjs')
  writeFileSync(file, `let asked = 0
    export default async () => ({ value: asked++ === 0 ? '${token()}' : 'no second one', expiresInMs: 300000 })`)
  const env = { KAFKA_SSL: `ca:${authority.ca}`, KAFKA_SASL_MECHANISM: 'oauthbearer', KAFKA_SASL_TOKEN_SOURCE: file }
  await useKafka(bearer, env)
  const wrong = join(authority.folder, 'wrong-provider.mjs')
  writeFileSync(wrong, 'export default async () => ({ token: 1 })')
  await refused(bearer, { ...env, KAFKA_SASL_TOKEN_SOURCE: wrong }, /KAFKA_SASL_TOKEN_SOURCE: .*must return/)
})
