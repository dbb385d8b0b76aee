import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { bundleClient, declareClient, declareExtension } from '../../../scripts/build-packages.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

test('the client is smaller than 6 KB without socket.io-client', async () => {
  const { length } = gzipSync(await bundleClient({ withSocketIo: false }), { level: 9 })
  assert.ok(length < 6 * 1024, `${length} bytes`)
})

test('the bundle for a page has no imports', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const outfile = join(folder, 'dist', 'inkcast-client.min.mjs')
  const bundle = Buffer.from(await bundleClient({ outfile, withSocketIo: true })).toString()
  assert.doesNotMatch(bundle, /(?:^|[;}])import[ {*"']/)
  assert.equal(typeof (await import(outfile)).connect, 'function')
})

const CONSUMER = `
import { connect, ClientError, type Client, type Document, type Member, type Position } from 'inkcast/client'

const client: Client = connect('http://localhost:3000', { token: async (why) => why === 'refused' ? 'new' : 'old', storage: sessionStorage })
client.on('state', (state, reason) => { if (state === 'refused') console.log(reason?.code) })
const doc: Document = await client.open('minutes', { position: { epoch: 'e', offset: 1 }, state: { colour: 'red' } })
const off: () => void = doc.on('message', (payload, { epoch, offset, from }) => { console.log(payload, epoch?.length, offset?.toFixed(), from?.length) })
doc.on('resync', async ({ reason }) => { await fetch('/documents/minutes?' + reason) })
doc.on('presence', ({ joined, left }) => { console.log(joined.map(({ uid }) => uid), left.length) })
const members: Member[] = [...doc.presence.values()]
const position: Position | null = doc.position
const { traceId }: { traceId: string } = await doc.send({ text: 'hello' }, { event: 'edit', timeout: 1000 })
// @ts-expect-error a state has fields
doc.setState('red')
// @ts-expect-error there is no such state
if (client.state === 'online') off()
// @ts-expect-error the gateway's, not a page's
doc._emit('message', [])
if (new Error() instanceof ClientError) console.log(members, position, traceId)
`

const EXTENSION = `
import { defineExtension, type ExtensionContext } from 'inkcast'

export default defineExtension(async ({ io, publish, documents, sessions, log, metrics, config, name }: ExtensionContext) => {
  io.on('connection', (socket) => {
    socket.on('save', async (guid: string, acknowledge: (offset?: number) => void) => {
      const { position, duplicate } = await publish({ guid, event: 'edit', data: { by: socket.data.uid } })
      if (!duplicate) acknowledge(position?.offset)
    })
  })
  const { members, cursor } = await documents.members('minutes', { limit: 10 })
  log.info({ name, members: members.map(({ uid }) => uid), cursor, key: config.KEY?.length, of: (await sessions.of('ada')).length })
  metrics.getSingleMetric('x')
  // @ts-expect-error there is no such operator
  await publish({ operator: 'shout' })
  return () => log.info('stop')
})
`

test('a TypeScript program resolves the types of the package', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
  t.after(() => rmSync(folder, { recursive: true }))
  // as installed by npm
  const installed = join(folder, 'node_modules', 'inkcast')
  mkdirSync(join(installed, 'client'), { recursive: true })
  copyFileSync(join(ROOT, 'package.json'), join(installed, 'package.json'))
  for (const name of ['socket.io-client', 'socket.io', 'pino', 'prom-client', '@types'])
    symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
  declareClient(join(installed, 'client', 'dist', 'types'))
  declareExtension(join(installed, 'src', 'extensions', 'types'))
  writeFileSync(join(folder, 'consumer.ts'), CONSUMER)
  writeFileSync(join(folder, 'extension.ts'), EXTENSION)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        strict: true,
        noEmit: true,
        module: 'nodenext',
        target: 'es2022',
        lib: ['es2022', 'dom'],
        types: []
      },
      files: ['consumer.ts', 'extension.ts']
    })
  )
  try {
    execFileSync(process.execPath, [join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', folder], {
      stdio: 'pipe'
    })
  } catch (error) {
    assert.fail(String(/** @type {any} */ (error).stdout))
  }
})
