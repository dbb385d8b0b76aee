import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSettings } from '../../../src/config/load.js'

/** @param {string} text @param {Record<string, string>} [env] */
const read = (text, env) => readSettings({ env: { LISTENERS: text, ...env } })

const TLS = { TLS_FILES: 'cert:/cert.pem,key:/key.pem' }

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
    isRefused(text, /: must have the form ws:\/websocket\/handshake or ws:\/\/0\.0\.0\.0:3101\/websocket\/handshake,/)
  isRefused('wss:/path', /wss:\/path: must have the form wss:.*: PORT has TLS if TLS_FILES is set/)
})

test('listeners with ports of their own have an address, and TLS by their name', () => {
  const { config, problems } = read(
    'socketio://0.0.0.0:3100,socketios://10.0.0.7:3443,ws://[::1]:3101/websocket/handshake,wss://localhost:0/devices/', TLS
  )
  assert.deepEqual(problems, [])
  assert.deepEqual(config.gateway.listeners.map((listener) => ({ ...listener, name: '' })), [
    { protocol: 'socketio', over: 'websocket', tls: false, host: '0.0.0.0', port: 3100, name: '' },
    { protocol: 'socketio', over: 'websocket', tls: true, host: '10.0.0.7', port: 3443, name: '' },
    { protocol: 'ws', over: 'websocket', tls: false, host: '::1', port: 3101, path: '/websocket/handshake', name: '' },
    { protocol: 'ws', over: 'websocket', tls: true, host: 'localhost', port: 0, path: '/devices', name: '' }
  ])
})

test('a listener with too much or too little in its address is refused', () => {
  isRefused('socketio:/path', /must have the form socketio:\/\/0\.0\.0\.0:3100,/)
  isRefused('socketio://0.0.0.0:3100/path', /must have the form socketio:/)
  isRefused('ws://0.0.0.0:3101', /must have the form ws:/)
  isRefused('ws://0.0.0.0:65536/path', /the port must be at most 65535/)
  isRefused('wss://0.0.0.0:3101/path', /wss:\/\/0\.0\.0\.0:3101\/path: needs TLS_FILES/)
})

test('a port that another listener has, also at another address of the machine, or PORT, is refused', () => {
  isRefused('ws://0.0.0.0:3101/a,ws://0.0.0.0:3101/b', /3101\/b: another listener has the port 3101$/)
  isRefused('ws://0.0.0.0:3101/a,socketio://10.0.0.7:3101', /socketio:\/\/10\.0\.0\.7:3101: another listener has the port 3101$/)
  isRefused('ws://0.0.0.0:0/a,ws://0.0.0.0:0/a', /is there twice$/)
  isRefused('ws://127.0.0.1:3000/a', /has the port of PORT: write ws:\/a$/)
  isRefused('socketio://0.0.0.0:3000', /has the port of PORT: give it another one$/)
  assert.deepEqual(read('ws://10.0.0.7:3101/a,ws://10.0.0.8:3101/a,ws://10.0.0.7:0/a,ws://10.0.0.7:0/b,ws:/a').problems, [])
})

test('a listener may have a tier of NETWORK', () => {
  const { config, problems } = read('ws:/a?tier=devices,socketio://0.0.0.0:3100?tier=devices', {
    NETWORK: '15000:60000:30000,devices:60000:60000:30000'
  })
  assert.deepEqual(problems, [])
  assert.deepEqual(config.gateway.listeners.map(({ path, tier, name }) => [path, tier, name]), [
    ['/a', 'devices', 'ws:/a?tier=devices'], [undefined, 'devices', 'socketio://0.0.0.0:3100?tier=devices']
  ])
  isRefused('ws:/a?tier=devices', /ws:\/a\?tier=devices: NETWORK has no tier devices$/)
  for (const query of ['tier=', 'other=1', 'tier=a&tier=b', 'tier=a?tier=b']) isRefused(`ws:/a?${query}`, /must have the form ws:/)
})

test('a path that another listener has, or inkcast itself, is refused', () => {
  isRefused('ws:/a,ws:/b,ws:/a/', /ws:\/a\/: another listener has the path \/a$/)
  for (const path of ['/socket.io', '/socket.io/', '/socket.io/ws']) isRefused(`ws:${path}`, /is at SOCKET_PATH, \/socket\.io\//)
  isRefused('ws:/realtime/ws', /is at SOCKET_PATH, \/realtime\//, { SOCKET_PATH: 'realtime' })
  for (const path of ['/health', '/v1/ws', '/client']) isRefused(`ws:${path}`, /must not be at \/\w+, where inkcast serves something else/)
  for (const path of ['/a b', '/../a']) isRefused(`ws:${path}`, /must be a path of letters/)
})

test('there are at most 16 listeners', () => {
  isRefused(Array.from({ length: 17 }, (_, i) => `ws:/path-${i}`).join(), /must have at most 16 entries/)
})
