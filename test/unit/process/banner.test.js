import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { loadConfig } from '../../../src/config/load.js'
import { banner } from '../../../src/operate/roles/banner.js'

const PORTS = { port: 3000, apiPort: 3001 }
/** @param {Record<string, string>} env @param {string} [address] of this machine in its network */
const lines = (env, address = '192.168.1.7', { script = 'start', hasReference = true } = {}) => banner(loadConfig({ env }), PORTS, {
  interfaces: () => /** @type {any} */ ({ eth0: address === '' ? [] : [{ family: 'IPv4', internal: false, address }] }),
  script,
  hasReference
})

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

  test('names only commands and pages that are there', () => {
    const text = lines({ PORT: '4000' }, '', { script: 'npx', hasReference: false }).join('\n')
    assert.match(text, /phone +HOST=0\.0\.0\.0 PORT=4000 npx inkcast /)
    assert.match(text, /api +http:\/\/localhost:3001\/openapi\.json$/m)
    assert.match(lines({}, '', { script: 'dev' }).join('\n'), /HOST=0\.0\.0\.0 node cluster\.js /)
  })

  test('has the status page, and gRPC where it is on', () => {
    assert.match(lines({}).join('\n'), /status +http:\/\/localhost:9100$/m)
    assert.doesNotMatch(lines({}).join('\n'), /gRPC/)
    assert.match(lines({ GRPC_PORT: '50051' }).join('\n'), /gRPC +localhost:50051$/m)
  })

  test('says that the demo asks for a token, where it cannot sign one itself', () => {
    assert.match(lines({ AUTH_JWKS_URL: 'https://issuer.example.com/keys' }).join('\n'), /demo .*\(it asks for a token\)/)
    assert.match(lines({ AUTH_JWT_SECRET: 'a'.repeat(32) }).join('\n'), /demo .*\(open it in two tabs\)/)
  })

  test('names neither demo nor phone in production', () => {
    const text = lines({ NODE_ENV: 'production', WORKERS: '1', AUTH_JWT_SECRET: 'a'.repeat(32), API_TOKENS: `orders:${'b'.repeat(32)}` })
      .join('\n')
    assert.doesNotMatch(text, /demo +http|phone|api +http/)
    assert.match(text, /clients +http/)
  })
})
