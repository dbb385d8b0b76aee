import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { codeBlocks } from '../../helpers/code-blocks.js'
import { freePort } from '../../services/ports.js'

const COMMAND = fileURLToPath(new URL('../../../cluster.js', import.meta.url))

test('the example of docs/tls.md runs: the page is there with the first and with the renewed certificate', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const [port, apiPort, adminPort] = await Promise.all([freePort(), freePort(), freePort()])
  const [block] = codeBlocks().filter(({ file, code }) => file === 'docs/tls.md' && code.includes('npx inkcast'))
  const script = block.code
    // the processes read their files once a second, a busy machine later
    .replace(/^sleep 2\n(curl .*)$/m, 'for i in {1..60}; do $1 > status && break; sleep 0.5; done\ncat status')
    .replace('npx inkcast &', `"${process.execPath}" "${COMMAND}" > log 2>&1 & trap "kill $!" EXIT`)
    .replaceAll('curl --', 'curl --silent --show-error --output page --write-out "status %{http_code}\\n" --')
    .replaceAll('localhost:3000', `localhost:${port}`)
  assert.ok(script.includes('cat status'))
  const { stdout } = await promisify(execFile)('bash', ['-ec', script], {
    cwd: folder,
    timeout: 90_000,
    env: {
      PATH: process.env.PATH, HOME: folder,
      PORT: String(port), API_PORT: String(apiPort), ADMIN_PORT: String(adminPort)
    }
  })
  // the first certificate and the renewed one have the same key, but curl trusts only the file as it is now
  assert.deepEqual(stdout.match(/status \d+/g), ['status 200', 'status 200'])
})
