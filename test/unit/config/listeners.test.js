import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSettings } from '../../../src/config/load.js'

/** @param {string} text @param {Record<string, string>} [env] */
const read = (text, env) => readSettings({ env: { LISTENERS: text, ...env } })

/** @param {string} text @param {RegExp} expected @param {Record<string, string>} [env] */
function isRefused (text, expected, env) {
  const { problems } = read(text, env)
  assert.equal(problems.length, 1, `${text}: ${problems.join('; ')}`)
  assert.match(problems[0], expected, text)
}

test('listeners at PORT have a path, with or without the slash at its end', () => {
  const { config, problems } = read('ws:/websocket/handshake, ws:/other/')
  assert.deepEqual(problems, [])
  const shared = { protocol: 'ws', over: 'websocket', tls: false }
  assert.deepEqual(config.gateway.listeners, [
    { ...shared, path: '/websocket/handshake', name: 'ws:/websocket/handshake' },
    { ...shared, path: '/other', name: 'ws:/other/' }
  ])
  assert.deepEqual(readSettings({ env: {} }).config.gateway.listeners, [])
})

test('a listener that cannot be read is refused with the form that it should have', () => {
  for (const text of ['/path', 'http:/path', 'WS:/path', 'constructor:/path', 'amqp://0.0.0.0:5672'])
    isRefused(text, /: must begin with one of socketio, socketios, ws, /)
  for (const text of ['ws:', 'ws:path', 'ws:/', 'ws://', 'ws://host/path', 'ws://host:port/path'])
    isRefused(text, /: must have the form ws:\/websocket\/handshake or ws:\/\/0\.0\.0\.0:3101\/websocket\/handshake$/)
  isRefused('wss:/path', /wss:\/path: must have the form wss:.*: PORT has TLS if TLS_FILES is set/)
})

test('a path that another listener has, or inkcast itself, is refused', () => {
  isRefused('ws:/a,ws:/b,ws:/a/', /ws:\/a\/: another listener has the path \/a$/)
  for (const path of ['/socket.io', '/socket.io/', '/socket.io/ws']) isRefused(`ws:${path}`, /is at SOCKET_PATH, \/socket\.io\//)
  isRefused('ws:/live/ws', /is at SOCKET_PATH, \/live\//, { SOCKET_PATH: 'live' })
  for (const path of ['/health', '/v1/ws', '/client']) isRefused(`ws:${path}`, /must not be at \/\w+, where inkcast serves something else/)
  for (const path of ['/a?b', '/a b', '/../a']) isRefused(`ws:${path}`, /must be a path of letters/)
})

test('there are at most 16 listeners', () => {
  isRefused(Array.from({ length: 17 }, (_, i) => `ws:/path-${i}`).join(), /must have at most 16 entries/)
})
