import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/base/common/clock.js'
import { createModuleSource } from '../../src/kafka/token-source.js'

/**
 * The token provider of docs/tls.md, with a signer in place of the one of AWS.
 * @type {Record<string, (code: string, t: import('node:test').TestContext) => Promise<void>>}
 */
export const tokenScenarios = {
  'docs/tls.md: aws-msk-iam-sasl-signer-js': async (code, t) => {
    const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'token-provider.mjs')
    const signer = 'const generateAuthToken = async () => ({ token: \'signed\', expiryTime: Date.now() + 900_000 })'
    writeFileSync(file, code.replace(/^import .*'aws-msk-iam-sasl-signer-js'$/m, signer))
    assert.equal(await createModuleSource(file, systemClock)(), 'signed')
  }
}
