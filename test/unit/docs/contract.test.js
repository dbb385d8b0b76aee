import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, test } from 'node:test'
import { CloseCode } from '../../../src/transport/engine/frame-reader.js'
import { HEADER } from '../../../src/wire/headers.js'
import { OPERATORS } from '../../../src/wire/operators.js'

/** Names of the contract, in the code and on the pages that describe it: each name in one must be in the other. */

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const EVENT = /'((?:doc|gateway|auth):[a-z]+)'/g

/** Headers between processes of inkcast, and those of HTTP: not part of the contract with services. */
const OTHER_HEADERS = [
  'x-inkcast-hop', 'x-inkcast-proof', 'x-content-type-options', 'x-forwarded-for', 'x-forwarded-host',
  'x-forwarded-proto', 'x-forwarded-port', 'x-forwarded-server', 'x-forwarded-by', 'x-real-ip', 'x-client-ip',
  'x-cluster-client-ip', 'x-original-forwarded-for', 'x-envoy-external-address'
]

/** Headers that ingest writes. @type {(keyof typeof HEADER)[]} */
const INGEST_KEYS = [
  'sender', 'listener', 'queue', 'number', 'reason', 'detail', 'topic', 'partition', 'offset', 'truncated', 'batchRecords', 'canary'
]

/** @param {string} folder @returns {{ file: string, code: string }[]} without comments */
const sources = (folder) =>
  readdirSync(ROOT + folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js') && !/^((?:demo|admin)\/page|dist)\//.test(name))
    .map((name) => ({ file: `${folder}/${name}`, code: withoutComments(readFileSync(`${ROOT}${folder}/${name}`, 'utf8')) }))

/** @param {string} code */
const withoutComments = (code) => code.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '')

/** @param {string} path @param {string} heading of level 2 @returns {string} the section's text */
function section (path, heading) {
  const text = readFileSync(ROOT + path, 'utf8')
  const from = text.indexOf(`\n## ${heading}\n`)
  assert.notEqual(from, -1, `${path} has no section "${heading}"`)
  const to = text.indexOf('\n## ', from + 1)
  return text.slice(from, to === -1 ? undefined : to)
}

/** @param {string} text @returns {string[]} names in backticks of the first column of the section's tables */
const firstColumn = (text) =>
  text.split('\n').filter((line) => line.startsWith('| `'))
    .flatMap((line) => [...line.split(' | ')[0].matchAll(/`([^`]+)`/g)].map(([, name]) => name))

const sorted = (/** @type {Iterable<string>} */ names) => [...new Set(names)].sort()
/** @param {string} code @param {RegExp} pattern @returns {string[]} */
const found = (code, pattern) => [...code.matchAll(pattern)].map(([, name]) => name)

const server = sources('src')
const client = sources('client')
const dispatch = 'src/gateway/handlers/dispatch.js'
const handled = sorted(server.flatMap(({ file, code }) => file === dispatch ? found(code, /'([a-z]+:[a-z]+)': /g) : []))
/** Events of the door without Socket.IO, which has a page of its own. */
const plain = 'src/gateway/plain/'
const others = [dispatch, plain, 'src/gateway/rehearsal/'] // the last one has clients
const emitted = sorted(server
  .flatMap(({ file, code }) => others.some((other) => file.startsWith(other)) ? [] : found(code, EVENT))
  .filter((name) => !handled.includes(name)))

describe('events', () => {
  test('that the gateway handles are those under "Client to server"', () => {
    assert.deepEqual(firstColumn(section('docs/protocol.md', 'Client to server')).sort(), handled)
  })

  test('that the gateway sends are those under "Server to client"', () => {
    const listed = firstColumn(section('docs/protocol.md', 'Server to client')).filter((name) => name.includes(':'))
    assert.deepEqual(listed.sort(), emitted)
  })

  test('of plain WebSockets are on their page', () => {
    const page = readFileSync(`${ROOT}docs/websocket.md`, 'utf8')
    const names = sorted(server.flatMap(({ file, code }) => file.startsWith(plain) ? found(code, EVENT) : []))
    assert.ok(names.length > 4)
    assert.deepEqual(names.filter((name) => !page.includes(name)), [])
  })

  test('the client package sends and handles no others', () => {
    const names = client.map(({ code }) => ({
      heard: found(code, /\.on\('((?:doc|gateway|auth):[a-z]+)'/g),
      named: found(code, EVENT)
    }))
    // its own events: publishers cannot imitate these names
    const own = ['doc:dropped', 'doc:pending', 'doc:status']
    // its stores listen to them
    const heard = sorted(names.flatMap((one) => one.heard)).filter((name) => !own.includes(name))
    const sent = sorted(names.flatMap((one) => one.named)).filter((name) => !heard.includes(name))
    assert.deepEqual(heard.filter((name) => !emitted.includes(name)), [])
    assert.deepEqual(sent.filter((name) => !handled.includes(name)), own)
    assert.ok(heard.length > 5 && sent.length > 5)
  })
})

describe('headers', () => {
  const page = readFileSync(`${ROOT}docs/kafka.md`, 'utf8')
  const named = sorted(found(page, /`((?:x-[a-z-]+)|traceparent|idempotency-key|content-type)(?:: [^`]*)?`/g))

  test('of the code are those of docs/kafka.md', () => {
    assert.deepEqual(named, sorted(Object.values(HEADER)))
  })

  test('are named in one table of the code', () => {
    const undocumented = server.filter(({ file }) => file !== 'src/wire/headers.js')
      .flatMap(({ file, code }) => found(code, /'(x-[a-z-]+)'/g).map((name) => ({ file, name })))
      .filter(({ name }) => !OTHER_HEADERS.includes(name))
    assert.deepEqual(undocumented, [])
  })

  test('that a publisher may send have a row each, and every operator is in the row of x-operator', () => {
    const text = section('docs/kafka.md', 'Downlink headers')
    const others = /** @type {string[]} */ (INGEST_KEYS.map((key) => HEADER[key]))
    assert.deepEqual(firstColumn(text).sort(), Object.values(HEADER).filter((name) => !others.includes(name)).sort())
    const row = text.split('\n').find((line) => line.startsWith('| `x-operator`')) ?? ''
    const operators = [...row.split(' | ')[1].matchAll(/`([a-z]+)`/g)].map(([, name]) => name)
    assert.deepEqual(operators.sort(), [...OPERATORS].sort())
  })
})

test('close codes of WebSockets are those of docs/protocol.md', () => {
  assert.deepEqual(
    firstColumn(section('docs/protocol.md', 'Close codes')).map(Number).sort(),
    Object.values(CloseCode).filter((code) => code !== CloseCode.NO_CODE).sort()
  )
  for (const { file, code } of server) {
    assert.doesNotMatch(code, /\.close\([14]\d{3}\b/, `${file}: a close code that is not in CloseCode`)
  }
})
