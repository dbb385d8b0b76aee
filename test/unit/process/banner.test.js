import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { loadConfig } from '../../../src/config/load.js'
import { banner } from '../../../src/process/banner.js'

const PORTS = { port: 3000, apiPort: 3001 }
/** @param {Record<string, string>} env @param {string} [address] of this machine in its network */
const lines = (env, address = '192.168.1.7') => banner(loadConfig({ env }), PORTS, () =>
  /** @type {any} */ ({ eth0: address === '' ? [] : [{ family: 'IPv4', internal: false, address }] }))

describe('the text after the start', () => {
  test('has the address of the demo, a command that publishes to it, and the api', () => {
    const text = lines({}).join('\n')
    assert.match(text, /demo +http:\/\/localhost:3000 /)
    assert.match(text, /publish +curl -X POST http:\/\/localhost:3001\/v1\/documents\/demo\/broadcast /)
    assert.match(text, /api +http:\/\/localhost:3001\/docs\//)
  })

  test('says how a phone reaches a gateway that listens on this machine only', () => {
    assert.ok(lines({}).includes('  phone     HOST=0.0.0.0 npm start   (now only this machine can connect)'))
  })

  test('has the address for a phone when other machines can connect', () => {
    assert.ok(lines({ HOST: '0.0.0.0' }).includes('  phone     http://192.168.1.7:3000   (in the same network)'))
    assert.ok(lines({ HOST: '10.0.0.11' }).includes('  phone     http://10.0.0.11:3000   (in the same network)'))
    // a machine without a network
    assert.ok(lines({ HOST: '0.0.0.0' }, '').some((line) => line.includes('only this machine')))
  })

  test('names neither demo nor phone in production', () => {
    const text = lines({ NODE_ENV: 'production', AUTH_JWT_SECRET: 'a'.repeat(32), API_TOKENS: `orders:${'b'.repeat(32)}` }).join('\n')
    assert.doesNotMatch(text, /demo +http|phone|api +http/)
    assert.match(text, /clients +http/)
  })
})
