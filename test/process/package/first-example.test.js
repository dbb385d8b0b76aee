import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startEmbedded } from '../../helpers/embedded.js'
import { temporaryFolder } from '../../helpers/tarballs.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const server = await startEmbedded({ after })

for (const [page, printed] of [
  ['docs/client.md', 'connected \n1 { text: \'hello\' }\nclosed the client was closed\n'],
  // the document of the first one
  ['client/README.md', '2 { text: \'hello\' }\n']
]) {
  test(`the first program of ${page} prints what it says, and ends`, async (t) => {
    const code = /```js\n(.*?)```/s.exec(readFileSync(ROOT + page, 'utf8'))?.[1] ?? ''
    const file = join(temporaryFolder(t), 'first.mjs')
    writeFileSync(file, code.replace('\'inkcast-client\'', JSON.stringify(`${ROOT}client/index.js`))
      .replace('http://localhost:3000', server.url))
    const { stdout } = await promisify(execFile)(process.execPath, [file], { timeout: 30_000 })
    assert.equal(stdout, printed)
  })
}
