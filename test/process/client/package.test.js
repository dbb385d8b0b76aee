import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { bundleClient, bundleCore, declareExtension } from '../../../scripts/build-packages.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

test('the core of the client has at most 9,500 bytes gzipped, without socket.io-client and the parts loaded on demand', async (t) => {
  const { length } = gzipSync(await bundleCore(), { level: 9 })
  t.diagnostic(`${length} bytes gzipped`)
  assert.ok(length <= 9500, `${length} bytes`)
})

test('the bundle for a page has no imports', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const outfile = join(folder, 'dist', 'inkcast-client.min.mjs')
  const bundle = Buffer.from(await bundleClient(outfile)).toString()
  assert.doesNotMatch(bundle, /(?:^|[;}])import[ {*"']/)
  assert.equal(typeof (await import(outfile)).connect, 'function')
})

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

test('an extension in TypeScript resolves the types of the package', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
  t.after(() => rmSync(folder, { recursive: true }))
  // as installed by npm
  const installed = join(folder, 'node_modules', 'inkcast')
  mkdirSync(installed, { recursive: true })
  copyFileSync(join(ROOT, 'package.json'), join(installed, 'package.json'))
  for (const name of ['socket.io', 'pino', 'prom-client', '@types'])
    symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
  declareExtension(join(installed, 'src', 'gateway', 'extensions', 'types'))
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
        lib: ['es2022'],
        types: []
      },
      files: ['extension.ts']
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
