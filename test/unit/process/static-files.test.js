import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readlinkSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createStaticFiles } from '../../../src/base/process/static-files.js'
import { waitFor } from '../../helpers/wait.js'

/** @param {string} file @returns {number} descriptors of this process that have it open */
const open = (file) => readdirSync('/proc/self/fd').filter((descriptor) => {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`) === file
  } catch {
    return false // that of the directory itself
  }
}).length

const SIZE = 64_000_000

/** @param {import('node:test').TestContext} t */
async function start (t) {
  const folder = mkdtempSync(join(tmpdir(), 'static-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'large.txt')
  // more than the buffers of a connection hold
  writeFileSync(file, '')
  truncateSync(file, SIZE)
  const files = createStaticFiles(folder, { etag: true })
  const server = http.createServer((req, res) => files(req, res)).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  /** @param {Record<string, string>} [headers] @returns {Promise<import('node:http').IncomingMessage>} */
  const get = async (headers) => {
    const req = http.get({ host: '127.0.0.1', port, path: '/large.txt', agent: false, headers })
    const [res] = await once(req, 'response')
    return res
  }
  return { file, get }
}

test('a file is closed when its reader goes away, before its end or at it', async (t) => {
  const { file, get } = await start(t)
  for (let i = 0; i < 10; i++) {
    const res = await get()
    await once(res, 'readable')
    assert.equal(open(file) > 0, true)
    res.destroy()
  }
  await waitFor(() => open(file) === 0, { message: () => `${open(file)} descriptors` })
  let bytes = 0
  for await (const chunk of await get()) bytes += chunk.length
  assert.equal(bytes, SIZE)
  await waitFor(() => open(file) === 0, { message: () => `${open(file)} descriptors` })
})

test('a range that ends before its begin, and a file that is gone, end the connection and nothing else', async (t) => {
  const { file, get } = await start(t)
  await assert.rejects(get({ range: 'bytes=5-2' }).then((res) => res.toArray()), { code: 'ECONNRESET' })
  assert.equal((await (await get({ range: 'bytes=0-9' })).toArray()).join('').length, 10)
  rmSync(file)
  await assert.rejects(get().then((res) => res.toArray()), { code: 'ECONNRESET' })
  writeFileSync(file, '')
  truncateSync(file, SIZE)
  assert.equal((await (await get({ range: 'bytes=0-9' })).toArray()).join('').length, 10)
})
