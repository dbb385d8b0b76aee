import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { reflectionEndpoints } from '../../../src/services/api/grpc/reflection.js'
import { callersFile } from '../../helpers/callers-file.js'
import { framed, METHODS, rawGrpc, startGrpcApi } from '../../helpers/grpc-api.js'
import { signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'

const TOKEN = 'token-of-the-editor'
const SECRET = 'secret-of-the-issuer-with-32-characters'
const ISSUER = 'https://id.example'
/** Of the api's clock in these tests, s. */
const NOW = 1_700_000_000
const EDITOR = {
  name: 'editor', tokens: [{ text: TOKEN }], jwt: [{ subject: 'svc-editor' }], operators: ['broadcast'], operations: ['events']
}
const SOMEBODY = { name: 'somebody', tokens: [{ text: 'another-0123456789' }], operators: ['broadcast'] }
const ISSUERS = { issuers: [{ issuer: ISSUER, audience: 'inkcast', secretFile: 'secret' }] }
const [[REFLECTION]] = reflectionEndpoints([])
const PATHS = [METHODS.PublishStream.path, METHODS.Events.path, REFLECTION]

/** @param {import('node:test').TestContext} t */
async function start (t) {
  const file = callersFile(t, { callers: [SOMEBODY] })
  writeFileSync(join(file.folder, 'secret'), SECRET)
  file.write({ ...ISSUERS, callers: [EDITOR, SOMEBODY] })
  let stopped = 0
  const grpc = await startGrpcApi(t, {
    callersFile: file.path,
    openEvents: () => ({ async start () {}, async stop () { stopped++ } })
  })
  return { ...grpc, file, stopped: () => stopped }
}

/** @param {import('node:test').TestContext} t @param {Awaited<ReturnType<typeof start>>} grpc @param {string} token */
async function openAll (t, { port, metrics }, token) {
  const client = rawGrpc(t, port, { token })
  const ended = PATHS.map((path) => {
    const { stream, ended } = client.call(path)
    stream.resume()
    if (path === METHODS.Events.path) stream.write(framed(METHODS.Events.requestSerialize({ group: 'billing' })))
    return ended
  })
  await waitFor(async () => (await metrics.grpc_streams.get()).values[0].value === PATHS.length)
  return { client, ended: Promise.all(ended) }
}

test('idle streams end within a second when their JWT expires', async (t) => {
  const grpc = await start(t)
  const token = await signToken({ iss: ISSUER, aud: 'inkcast', sub: 'svc-editor', exp: NOW + 60 }, { key: SECRET })
  const { ended } = await openAll(t, grpc, token)
  await grpc.pass(64_000)
  assert.equal((await grpc.metrics.grpc_streams.get()).values[0].value, PATHS.length)
  await grpc.pass(2000)
  assert.deepEqual((await ended).map(({ status, code }) => [status, code]), PATHS.map(() => [16, 'token_expired']))
  assert.equal(grpc.stopped(), 1)
})

test('idle streams end when their token is taken out of the file, and others stay', async (t) => {
  const grpc = await start(t)
  const { ended } = await openAll(t, grpc, TOKEN)
  const other = rawGrpc(t, grpc.port, { token: 'another-0123456789' }).call(METHODS.PublishStream.path).stream
  other.write(framed(METHODS.PublishStream.requestSerialize({ publications: [{ guid: 'g' }] })))
  await once(other, 'data')
  const loads = async () => (await grpc.metrics.settings_file_loads.get()).values
    .reduce((sum, { value }) => sum + value, 0)
  const before = await loads()
  grpc.file.write({ callers: [SOMEBODY] })
  await waitFor(async () => await loads() > before)
  await grpc.pass(1000)
  assert.deepEqual((await ended).map(({ status, code }) => [status, code]), PATHS.map(() => [16, 'unauthorized']))
  assert.equal(other.closed, false)
})

test('an idle stream of events ends when its caller loses the right to events', async (t) => {
  const grpc = await start(t)
  const { client, ended } = await openAll(t, grpc, TOKEN)
  grpc.file.write({ ...ISSUERS, callers: [{ ...EDITOR, operations: ['position'] }, SOMEBODY] })
  await waitFor(async () => {
    await grpc.pass(1000)
    return grpc.stopped() === 1
  })
  client.session.destroy()
  assert.deepEqual((await ended).map(({ code }) => code), [undefined, 'forbidden', undefined])
})
