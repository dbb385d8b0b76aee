import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { createModuleSource } from '../../../src/kafka/token-source.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { waitFor } from '../../helpers/wait.js'

const folder = mkdtempSync(join(tmpdir(), 'inkcast-tokens-'))
after(() => rmSync(folder, { recursive: true }))
let made = 0

/** @param {string} code @param {ReturnType<typeof manualClock>} [clock] */
function sourceOf (code, clock = manualClock()) {
  const file = join(folder, `provider-${made++}.mjs`)
  writeFileSync(file, code)
  return { file, clock, token: createModuleSource(file, clock) }
}

describe('a module that provides tokens for Kafka', () => {
  test('is asked once for connections that open together, and again when 80 % of the lifetime have passed', async () => {
    const { clock, token } = sourceOf('let n = 0; export default async () => ({ value: `token ${++n}`, expiresInMs: 1000 })')
    assert.deepEqual(await Promise.all([token(), token()]), ['token 1', 'token 1'])
    clock.advance(799)
    assert.equal(await token(), 'token 1')
    clock.advance(1)
    assert.equal(await token(), 'token 2')
  })

  test('is asked for each connection if it gives no lifetime', async () => {
    const { token } = sourceOf('let n = 0; export default () => ({ value: `token ${++n}` })')
    assert.deepEqual([await token(), await token()], ['token 1', 'token 2'])
  })

  test('that hangs gets 5 s, and a signal', async () => {
    const { file, clock, token } = sourceOf(`export const seen = []
      export default ({ signal }) => {
        seen.push('asked')
        return new Promise(() => signal.addEventListener('abort', () => seen.push('told')))
      }`)
    const { seen } = await import(file)
    const refused = assert.rejects(token(), /KAFKA_SASL_TOKEN_SOURCE: not done in 5000 ms/)
    await waitFor(() => seen.length === 1)
    await clock.pass(5000)
    await refused
    assert.deepEqual(seen, ['asked', 'told'])
  })

  test('with a mistake is named with what to do, without the token, and asked again', async () => {
    for (const [code, message] of /** @type {[string, RegExp][]} */ ([
      ['export const token = 1', /provider-\d+\.mjs has no default export that is a function: export default async/],
      ['export default async () => ({ token: "secret" })', /must return \{ value: '…', expiresInMs\? \}$/],
      ['export default async () => {}', /must return/],
      ['export default async () => { throw new Error("no role") }', /KAFKA_SASL_TOKEN_SOURCE: no role$/],
      ['export default (', /KAFKA_SASL_TOKEN_SOURCE: Unexpected/]
    ])) {
      const { token } = sourceOf(code)
      await assert.rejects(token(), ({ message: text }) => message.test(text) && !text.includes('secret'))
    }
    const { token } = sourceOf(`let n = 0
      export default async () => {
        if (n++ === 0) throw new Error('late')
        return { value: 'a' }
      }`)
    await assert.rejects(token(), /late/)
    assert.equal(await token(), 'a')
  })
})
