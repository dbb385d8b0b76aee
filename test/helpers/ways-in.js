import { randomUUID } from 'node:crypto'
import { HEADER } from '../../src/wire/headers.js'
import { operations } from '../../src/services/api/operations/index.js'
import { connectClient } from './clients.js'
import { grpcClient } from './grpc.js'
import { waitFor } from './wait.js'

/**
 * Every way in which a service can publish, behind one function: an item of a batch in, the code of the refusal out,
 * or undefined.
 *
 * @typedef {Record<string, any> & { operator: string }} Item
 * @typedef {object} Service
 * @property {Map<string, Item>} answers it answers a message with the item of that name
 * @property {string} token of a user who sends such messages
 *
 * @typedef {{ grpcPort: number } & Pick<Awaited<ReturnType<typeof import('./cluster.js').startCluster>>,
 *   'url' | 'apiUrl' | 'post' | 'metrics'>} Inkcast
 *
 * @typedef {(item: Item) => Promise<string | undefined | typeof NOT_EXPRESSIBLE>} Way
 */

/** This way cannot say such a thing. */
export const NOT_EXPRESSIBLE = Symbol('not expressible')

/** Operations by operator; `kick` of a connection, and orders without their target, are distinguished below. */
const OPERATION = /** @type {Record<string, string>} */ ({
  broadcast: 'broadcast', user: 'sendToUser', device: 'sendToDevice', socket: 'sendToSocket', everyone: 'sendToEveryone',
  kick: 'kickUser', revoke: 'revoke', restore: 'restore', close: 'close', join: 'join', leave: 'leave'
})

const VALUE = new Set(['value', 'valueBase64'])

/** @param {Item} item @returns {Buffer} */
const bytesOf = ({ value, valueBase64 }) =>
  valueBase64 !== undefined
    ? Buffer.from(valueBase64, 'base64')
    : value === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(value))

/** @param {Item} item @returns {Record<string, string>} headers as on a record */
function headersOf (item) {
  return Object.fromEntries(Object.entries(item).filter(([field]) => !VALUE.has(field)).map(([field, given]) =>
    [/** @type {any} */ (HEADER)[field], Array.isArray(given) ? given.join(',') : String(given)]))
}

/** @param {Item} item */
function operationOf ({ operator, uid, sid }) {
  const name = operator === 'kick' && sid !== undefined && uid === undefined ? 'kickSocket' : OPERATION[operator]
  return operations.find(({ operation }) => operation === name)
}

/** @param {{ apiUrl: string }} cluster @returns {Way} */
const http = ({ apiUrl }) => async (item) => {
  const operation = operationOf(item)
  if (operation === undefined) return NOT_EXPRESSIBLE
  let missing = false
  const inPath = new Set()
  const path = operation.path.replace(/:(\w+)/g, (_, name) => {
    inPath.add(name)
    missing ||= item[name] === undefined
    return encodeURIComponent(item[name])
  })
  if (missing) return NOT_EXPRESSIBLE
  const fields = Object.fromEntries(
    Object.entries(item).filter(([name]) => name !== 'operator' && !inPath.has(name))
  )
  const body = operation.body === 'value' ? { body: new Uint8Array(bytesOf(item)) } : {}
  const answer = await fetch(apiUrl + path, {
    method: operation.method,
    headers: headersOf(/** @type {any} */ ({ ...(operation.body === 'value' && { contentType: 'application/json' }), ...fields })),
    ...body
  })
  return /** @type {any} */ (await answer.json()).error?.code
}

/** @param {{ post: (path: string, body: unknown) => Promise<{ body: any }> }} cluster @returns {Way} */
const batch = ({ post }) => async (item) => {
  const { body } = await post('/v1/publish', { publications: [item] })
  return (body.error ?? body.results[0].error)?.code
}

/** @param {ReturnType<typeof grpcClient>} client @returns {Way} */
const grpc = (client) => async (item) => {
  const operation = operationOf(item)
  if (operation === undefined) return NOT_EXPRESSIBLE
  // an empty guid is another error than a missing one
  if ([...operation.path.matchAll(/:(\w+)/g)].some(([, name]) => item[name] === undefined)) return NOT_EXPRESSIBLE
  const fields = Object.fromEntries(
    Object.entries(item).filter(([name]) => name !== 'operator' && !VALUE.has(name))
  )
  const rpc = operation.operation.replace(/^./, (letter) => letter.toUpperCase())
  const answer = await client.call(rpc, { ...fields, ...(operation.body === 'value' && { value: bytesOf(item) }) })
  return answer.inkcast
}

/** @param {ReturnType<typeof grpcClient>} client @param {{ after: Function }} t @returns {Way} */
const stream = (client, t) => {
  const call = client.stream('PublishStream')
  call.on('error', () => {})
  t.after(() => call.cancel())
  return ({ value, valueBase64, ...fields }) => new Promise((resolve) => {
    call.once('data', (/** @type {any} */ { results: [result] }) => resolve(result.error?.code))
    call.write({ publications: [{ ...fields, value: bytesOf({ ...fields, value, valueBase64 }) }] })
  })
}

/**
 * @param {{ url: string, metrics: () => Promise<string> }} cluster
 * @param {Service} service
 * @param {{ after: (stop: () => unknown) => void }} t
 * @returns {Promise<Way>}
 */
async function webhook (cluster, { answers, token }, t) {
  const client = await connectClient(t, cluster.url, { auth: { token } })
  const guid = `trigger-${randomUUID()}`
  await client.ask('doc:join', { guid })
  /** @returns {Promise<Map<string, number>>} by result */
  const results = async () => new Map(
    [...(await cluster.metrics()).matchAll(/^inkcast_webhook_publications_total\{.*?result="(\w+)".*?\} (\d+)/gm)]
      .map(([, result, count]) => [result, Number(count)])
  )
  return async (item) => {
    const before = await results()
    const name = randomUUID()
    answers.set(name, item)
    await client.ask('doc:send', { guid, event: 'answer', data: name })
    /** @type {string | undefined} */
    let result
    await waitFor(async () => {
      for (const [code, count] of await results()) if (count > (before.get(code) ?? 0)) result = code
      return result !== undefined
    }, { timeout: 20_000, message: () => `the answer with ${JSON.stringify(item)}` })
    return result === 'ok' ? undefined : result
  }
}

/** @param {ReturnType<typeof import('./kafka.js').freshTopics>} topics @returns {Promise<Way>} */
async function kafka (topics) {
  const producer = await topics.producer()
  const letters = await topics.collect(topics.deadLetter)
  return async (item) => {
    const mark = randomUUID()
    const headers = headersOf(item)
    await producer.send({
      topic: topics.downlink,
      // a second record of the same partition says that the first one is dealt with
      messages: [
        { key: item.guid ?? 'none', headers: { ...headers, 'x-mark': mark }, value: bytesOf(item) },
        { key: item.guid ?? 'none', headers: { 'x-operator': 'no operator', 'x-mark': `${mark} end` }, value: '' }
      ]
    })
    const letter = (/** @type {string} */ name) => letters.find(({ headers }) => headers['x-mark'] === name)
    await waitFor(() => letter(`${mark} end`) !== undefined, { timeout: 20_000, message: () => letters.length })
    return letter(mark)?.headers['x-reason']
  }
}

/**
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {Inkcast} inkcast
 * @param {{ service: Service, topics?: ReturnType<typeof import('./kafka.js').freshTopics> }} options
 * @returns {Promise<Record<string, Way>>}
 */
export async function waysIn (t, inkcast, { service, topics }) {
  const client = grpcClient(t, inkcast.grpcPort)
  return {
    HTTP: http(inkcast),
    batch: batch(inkcast),
    gRPC: grpc(client),
    stream: stream(client, t),
    webhook: await webhook(inkcast, service, t),
    ...(topics && { Kafka: await kafka(topics) })
  }
}
