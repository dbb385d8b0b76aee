import assert from 'node:assert/strict'
import net from 'node:net'
import tls from 'node:tls'
import { framedRequests } from './framings.js'
import { waitFor } from './wait.js'

/**
 * Tries to get requests through a gateway inside of other requests: every method that it forwards, in every framing.
 */

const PATH = '/socket.io/?EIO=4&transport=polling'
/** Commands of the sockets behind the gateways, in a row. */
const COMMANDS = [['PUT', '/cordon', '{"cordoned":true}'], ['PUT', '/loglevel', '{"level":"trace"}'], ['POST', '/move', '{"share":1}']]
  .map(([method, path, body]) => `${method} ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  .join('')

/** Some requests never end, and their reader waits for the rest, ms. */
const GIVEN_UP = 1000

/** @typedef {Pick<Awaited<ReturnType<typeof import('./cluster.js').startCluster>>, 'adminUrl'>} Machine */

/**
 * @param {string} url of the gateway or of a balancer
 * @param {Buffer | undefined} ca
 * @param {string[]} packets
 * @param {(text: string) => boolean} isOver
 * @param {number} [patience] for bytes, ms
 * @returns {Promise<string>}
 */
async function exchange (url, ca, packets, isOver, patience = 30_000) {
  const { hostname: host, port, protocol } = new URL(url)
  const address = { host, port: Number(port) }
  const socket = protocol === 'https:' ? tls.connect({ ...address, ca, ALPNProtocols: ['http/1.1'] }) : net.connect(address)
  socket.setEncoding('latin1').setTimeout(patience, () => socket.destroy())
  for (const packet of packets) socket.write(packet)
  let text = ''
  try {
    for await (const chunk of socket) {
      text += chunk
      if (isOver(text)) break
    }
  } catch {
    // closed while bytes were on their way
  }
  return text
}

/**
 * @param {string} url
 * @param {Machine[]} machines behind it
 * @param {Buffer} [ca]
 * @returns {Promise<number>} number of requests sent
 */
export async function smuggleNothing (url, machines, ca) {
  // a busy worker may answer too late: asked again
  const state = () => Promise.all(machines.flatMap(({ adminUrl }) =>
    ['/ready', '/cordon', '/move', '/loglevel'].map((path) => waitFor(async () => {
      const answer = await fetch(adminUrl + path)
      const { error, ready, cordoned, left, processes } = /** @type {any} */ (await answer.json())
      const late = error ?? processes?.find((/** @type {any} */ { error }) => error !== undefined)
      if (late !== undefined) throw new Error(JSON.stringify(late))
      return JSON.stringify({ path, ready, cordoned, left, levels: path === '/loglevel' ? processes : undefined })
    }, { timeout: 10_000, message: `an answer to ${path}` }))
  ))
  const ask = (/** @type {string} */ request, /** @type {RegExp} */ answer) =>
    exchange(url, ca, [request], (text) => answer.test(text))
  const get = (/** @type {string} */ query) => `GET ${PATH}${query} HTTP/1.1\r\nHost: localhost\r\n\r\n`
  const post = (/** @type {string} */ sid, /** @type {string} */ body) =>
    `POST ${PATH}&sid=${sid} HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const before = await state()

  const begin = async () => /"sid":"([^"]+)"/.exec(await ask(get(''), /"sid":"[^"]+"/))?.[1] ?? ''
  /** @type {Set<string>} */
  const workers = new Set()
  for (let tries = 0; workers.size < 2 && tries < 200; tries++) workers.add((await begin()).slice(0, 2))
  workers.delete('')
  assert.equal(workers.size, 2, 'two workers were reached')
  // sessions that do not exist, so that a body of its own harms nobody
  const cases = [...workers].flatMap((worker) => framedRequests({
    target: `${PATH}&sid=${worker}${'A'.repeat(18)}`,
    body: COMMANDS,
    next: () => get(''),
    methods: ['GET', 'OPTIONS', 'POST']
  }))
  const queue = cases.values()
  await Promise.all(Array.from({ length: 8 }, async () => {
    for (const { name, parts } of queue) {
      const text = await exchange(url, ca, parts, (text) => /HTTP\/1\.[01] [2-5]\d\d /.test(text), GIVEN_UP)
      assert.ok(!/"cordoned"|"level"|"connections"/.test(text), `${name}: ${text}`)
    }
  }))

  // answers that are left over would go to the next client
  for (let i = 0; i < 8; i++) {
    const sid = await begin()
    assert.match(await ask(post(sid, '40'), /ok$/), /ok$/)
    assert.match(await ask(get(`&sid=${sid}`), /40\{"sid"/), /40\{"sid"/)
    assert.match(await ask(post(sid, `42${i}["doc:join",{"guid":"victim-${i}"}]`), /ok$/), /ok$/)
    const polled = await ask(get(`&sid=${sid}`), /43\d|HTTP\/1\.1 4/)
    assert.match(polled, new RegExp(`43${i}\\[\\{"ok":true,"guid":"victim-${i}"`))
  }
  assert.deepEqual(await state(), before)
  return cases.length
}
