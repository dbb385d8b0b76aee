import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { fileScope } from '../../helpers/file-scope.js'
import { startListeners } from '../../helpers/listeners.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'

/** Requests of a connection that may wait for their answers. */
const BOUND = 8
const POLLING = '/socket.io/?EIO=4&transport=polling'
/** Heads, and a body. @type {Record<string, string>} */
const REQUESTS = {
  ...Object.fromEntries(['/live', '/nothing', '/', '//', '/metrics', '/status', POLLING, `${POLLING}&sid=AA0000000000000000aa`]
    .flatMap((path) => ['GET', 'HEAD', 'OPTIONS'].map((method) =>
      [`${method} ${path}`, `${method} ${path} HTTP/1.1\r\nHost: x\r\n\r\n`]
    ))),
  'without Host': 'GET /live HTTP/1.1\r\n\r\n',
  'that close': 'GET /live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
  'with a body': `POST ${POLLING} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n40`,
  'with a chunked body': `POST ${POLLING} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n40\r\n0\r\n\r\n`
}
/** Packets of a client. @type {Record<string, (one: string) => string[]>} */
const SENDING = {
  'in one packet': (one) => [one.repeat(200)],
  'behind a first one': (one) => [one, one.repeat(199)]
}

const { http } = await startListeners(fileScope(), recordingLog().log)
// it lets callers with a token send more (test/process/api/unread-answers.test.js)
const listeners = Object.entries(http).filter(([name]) => !name.startsWith('the api'))

/** @param {import('node:net').NetConnectOpts} address */
async function lineTo (address) {
  const socket = connect(address).setEncoding('latin1').on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** @param {string} text */
const answersIn = (text) => text.match(/HTTP\/1\.1 \d{3} /g)?.length ?? 0

/**
 * @param {import('node:net').NetConnectOpts} address
 * @param {string[]} packets
 * @returns {Promise<number>} answers until the connection was closed
 */
async function answersTo (address, packets) {
  const socket = await lineTo(address)
  let text = ''
  socket.on('data', (chunk) => { text += chunk })
  for (const packet of packets) {
    socket.write(packet)
    await new Promise(setImmediate)
  }
  await waitFor(() => socket.destroyed || answersIn(text) > BOUND + 1, { message: () => `${answersIn(text)} answers` })
  socket.destroy()
  return answersIn(text)
}

for (const [name, address] of listeners) {
  describe(`${name} and a client that does not wait for its answers`, { concurrency: true }, () => {
    test('200 pipelined requests of each kind close the connection', async (t) => {
      const cases = Object.entries(REQUESTS).flatMap(([kind, one]) =>
        Object.entries(SENDING).map(([way, packets]) => ({ name: `${kind}, ${way}`, packets: packets(one) })))
      await Promise.all(cases.map(async ({ name, packets }) => {
        const answers = await answersTo(address, packets)
        assert.ok(answers <= BOUND + 1, `${name}: ${answers} answers`)
      }))
      t.diagnostic(`${cases.length} cases`)
    })

    test('a few pipelined requests are answered', async (t) => {
      const socket = await lineTo(address)
      t.after(() => socket.destroy())
      let text = ''
      socket.on('data', (chunk) => { text += chunk })
      for (let rounds = 1; rounds <= 3; rounds++) {
        socket.write(REQUESTS['GET /nothing'].repeat(BOUND))
        await waitFor(() => answersIn(text) === rounds * BOUND)
        // the last one has ended
        await new Promise(setImmediate)
      }
    })

    test('100 requests one after the other are answered', async (t) => {
      const socket = await lineTo(address)
      t.after(() => socket.destroy())
      for (let i = 0; i < 100; i++) {
        socket.write(REQUESTS['GET /nothing'])
        assert.match((await once(socket, 'data'))[0], /^HTTP\/1\.1 404 /)
      }
    })
  })
}
