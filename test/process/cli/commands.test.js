import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { commandFolder } from '../../helpers/command.js'
import { fileScope } from '../../helpers/file-scope.js'
import { waitFor } from '../../helpers/wait.js'
import { freePorts } from '../../services/ports.js'

const SECRET = 'a-secret-of-more-than-32-characters'
const scope = fileScope()
/** @type {ReturnType<typeof commandFolder>} */
let inkcast

/** An inkcast that .env describes, in its folder; clients are at the path of its SOCKET_PATH. */
before(async () => {
  const [port, apiPort, adminPort] = await freePorts(3)
  inkcast = commandFolder(scope, {
    dotenv: `WORKERS=1
PORT=${port}
SOCKET_PATH=/realtime/
API_PORT=${apiPort}
ADMIN_PORT=${adminPort}
ADMIN_TOKEN=a-token-for-ADMIN_PORT
AUTH_JWT_SECRET=${SECRET}
API_TOKENS=editor:a-token-of-an-editor
`
  })
  const started = inkcast.start([])
  await waitFor(() => started.output.stdout.includes(': [embedded 0] ready'), {
    timeout: 30_000,
    message: () => JSON.stringify(started.output)
  })
}, { timeout: 90_000 })

/**
 * Runs a command until it shows what it is to show: an inkcast that does not run for a moment answers too late.
 * @param {string[]} args of a command that may run more than once
 * @param {string | RegExp} shown whole stdout, or a part of it
 */
const shows = (args, shown) => waitFor(async () => {
  const result = await inkcast.run(args)
  if (typeof shown === 'string') assert.equal(result.stdout, shown)
  else assert.match(result.stdout, shown)
  assert.equal(result.code, 0)
  return result
}, { timeout: 20_000, message: args.join(' ') })

/** @param {string} token @returns {any} */
const claimsOf = (token) => JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString())

test('publish and tail: a document is followed from its log on, as lines or as JSON', async () => {
  const { code, stdout } = await inkcast.run(['publish', 'minutes', '{"number":12345678901234567890}'])
  assert.equal(code, 0)
  assert.equal(JSON.parse(stdout).position.offset, 1)
  const tail = inkcast.start(['tail', 'minutes', '--last', '5', '--count', '4', '--json'])
  const lines = inkcast.start(['tail', 'minutes'])
  await waitFor(() => tail.output.stdout.includes('\n') && lines.output.stderr.includes('connected'), { timeout: 20_000 })
  // the second one has no record yet that shows that it has joined
  await waitFor(async () => {
    await inkcast.run(['publish', 'minutes', '--ephemeral', '"are you there?"'])
    return lines.output.stdout !== ''
  }, { timeout: 20_000 })
  await inkcast.run(['publish', 'minutes', '--event', 'edit', '-'], { input: 'plain text\n' })
  await inkcast.run(['publish', 'minutes', '--key', 'slide', '7'])
  await waitFor(() => /#2 +edit +"plain text"\n/.test(lines.output.stdout) && /#3 .* 7\n/.test(lines.output.stdout), {
    timeout: 20_000, message: () => JSON.stringify(lines.output)
  })
  assert.ok(!lines.output.stdout.includes('\u001b'), 'no colors: it is no terminal')
  lines.kill('SIGINT')
  assert.equal((await lines.closed).code, 0)
  const records = (await tail.closed).stdout.trim().split('\n').map((line) => JSON.parse(line))
  assert.equal(records[0].event, 'message')
  assert.equal(records[0].meta.offset, 1)
  assert.equal(typeof records[0].meta.epoch, 'string')
})

test('tail from a position gets what follows it, and a refusal is one line', async () => {
  for (const text of ['one', 'two', 'three']) await inkcast.run(['publish', 'notes', text])
  const [first] = (await inkcast.run(['tail', 'notes', '--last', '3', '--count', '1', '--json'])).stdout.split('\n')
  const { epoch, offset } = JSON.parse(first).meta
  const { stdout } = await inkcast.run(['tail', 'notes', '--from', `${epoch}:${offset}`, '--count', '2', '--json'])
  assert.deepEqual(stdout.trim().split('\n').map((line) => JSON.parse(line).payload), ['two', 'three'])

  const token = (await inkcast.run(['token', 'ada', '--document', 'others'])).stdout.trim()
  const refused = await inkcast.run(['tail', 'notes', '--token', token])
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /^inkcast: .+$/m)
  assert.doesNotMatch(refused.stderr, /^ +at /m)
})

test('tail ends with exit code 0 on Ctrl-C', async () => {
  const tail = inkcast.start(['tail', 'minutes'])
  await waitFor(() => tail.output.stderr.includes('connected'), { timeout: 20_000 })
  tail.kill('SIGINT')
  assert.equal((await tail.closed).code, 0)
})

test('token signs a JWT that the gateway accepts, with grants, and says where it cannot', async () => {
  const { stdout } = await inkcast.run(
    ['token', 'ada', '--document', 'minutes', '--document', 'plan-*:read', '--name', 'Ada', '--ttl', '15m']
  )
  const { iat, exp, ...claims } = claimsOf(stdout)
  assert.deepEqual(claims, {
    sub: 'ada',
    name: 'Ada',
    documents: [{ guid: 'minutes', access: 'write' }, { guid: 'plan-*', access: 'read' }]
  })
  assert.equal(exp - iat, 900)
  const { code } = await inkcast.run(['tail', 'minutes', '--token', stdout.trim(), '--last', '1', '--count', '1'])
  assert.equal(code, 0)
  const issued = await inkcast.run(['token', 'ada'], { env: { AUTH_JWT_ISSUER: 'https://id.example,x', AUTH_JWT_AUDIENCE: 'inkcast' } })
  assert.deepEqual([claimsOf(issued.stdout).iss, claimsOf(issued.stdout).aud], ['https://id.example', 'inkcast'])
  const none = await inkcast.run(['token'], { env: { INKCAST_ENV_FILE: '' } })
  assert.equal(none.code, 1)
  assert.match(none.stderr, /^inkcast: there is no key to sign with: set AUTH_JWT_SECRET/)
})

test('status shows processes and load; a machine without inkcast is exit code 1 and one line', async () => {
  const { stdout } = await shows(['status'], /^embedded-0 +ready +\d+ .* MB$/m)
  assert.match(stdout, /^ready +.+, inkcast \d/)
  const json = JSON.parse((await shows(['status', '--json'], /"embedded-0"/)).stdout)
  assert.equal(json.ready, true)
  assert.equal(json.processes[0].name, 'embedded-0')
  const [free] = await freePorts(1)
  const nobody = await inkcast.run(['status'], { env: { ADMIN_PORT: String(free) } })
  assert.deepEqual([nobody.code, nobody.stdout], [1, ''])
  assert.match(nobody.stderr, new RegExp(`^inkcast: ADMIN_PORT cannot be reached at .*:${free}/.*ECONNREFUSED.*\n$`))
})

test('trace shows the hops of the records of a document, and of a user, until it has enough', async () => {
  const lines = inkcast.start(['trace', 'traced', '--for', '60s'])
  const json = inkcast.start(['trace', 'traced', '--document', '--json', '--count', '3'])
  await waitFor(
    () => lines.output.stdout.includes('watching') && json.output.stdout.includes('watching'),
    { timeout: 20_000, message: () => JSON.stringify([lines.output, json.output]) }
  )
  const reader = inkcast.start(['tail', 'traced', '--count', '1'])
  await waitFor(() => /client_event/.test(lines.output.stdout), { timeout: 20_000, message: () => JSON.stringify(lines.output) })
  const { traceId } = JSON.parse((await inkcast.run(['publish', 'traced', '--event', 'edit', '1'])).stdout)
  await waitFor(() => lines.output.stdout.includes('written'), { timeout: 20_000, message: () => lines.output.stdout })
  assert.equal((await reader.closed).code, 0)
  assert.match(lines.output.stdout, new RegExp(`^\\d\\d:.* embedded-0 +logged +#1 +edit .*${traceId}$`, 'm'))
  assert.match(lines.output.stdout, new RegExp(`^\\d\\d:.* embedded-0 +written +#1 +edit +.* ms  1 client: inkcast-tail +${traceId}$`, 'm'))
  const { code, stdout } = await json.closed
  assert.equal(code, 0)
  const events = stdout.trim().split('\n').map((line) => JSON.parse(line))
  assert.equal(events.filter(({ hop }) => hop !== 'watching').length, 3)
  lines.kill('SIGINT')
  assert.equal((await lines.closed).code, 0)
  const refused = await inkcast.run(['trace', 'traced', '--token', 'another-token'])
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /^inkcast: ADMIN_PORT refuses: .*\(unauthorized\)\n$/)
})

test('cordon tells balancers to send no new clients, until it is undone', async () => {
  await shows(['cordon'], /^cordoned: embedded-0$/m)
  await waitFor(async () => (await inkcast.run(['status'])).code === 1, { timeout: 20_000 })
  await shows(['cordon', '--undo'], /^takes new clients again: embedded-0$/m)
  await waitFor(async () => (await inkcast.run(['status'])).code === 0, { timeout: 20_000 })
  assert.equal((await inkcast.run(['cordon', '--token', 'another-token'])).code, 1)
})

test('move sends clients away, and says how many', async () => {
  await shows(['move', '--share', '50%', '--rate', '10'], 'moves 0 connections in 0 s (embedded-0: 0)\n')
  await shows(['move', '--stop'], 'no clients move any more\n')
  assert.equal((await inkcast.run(['move', '--process', 'gateway-3'])).code, 1)
})

test('loglevel shows and changes levels, with the token of the settings', async () => {
  await shows(['loglevel'], /^embedded-0 +info$/m)
  await shows(['loglevel', 'debug', '--process', 'embedded-0'], /^embedded-0 +debug$/m)
  await shows(['loglevel', 'default'], /^embedded-0 +info$/m)
  const refused = await inkcast.run(['loglevel', 'debug', '--token', 'another-token'])
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /^inkcast: ADMIN_PORT refuses: .*\(unauthorized\)\n$/)
})

test('check knows that inkcast runs here', async () => {
  await shows(['check'], /inkcast runs here already/)
})

test('publish reports a refusal of the api in one line, and wrong arguments', async () => {
  const refused = await inkcast.run(['publish', 'minutes', '1', '--token', 'another-token'])
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /^inkcast: the api refuses: .*\(unauthorized\)\n$/)
  assert.equal((await inkcast.run(['publish'])).code, 1)
  const reserved = await inkcast.run(['publish', 'minutes', '1', '--event', 'doc:x'])
  assert.match(reserved.stderr, /\(reserved_event\)/)
})

test('config shows where values are from: environment, file, default; and no secret', async (t) => {
  const { run, folder } = commandFolder(t, {
    dotenv: `AUTH_JWT_SECRET=${SECRET}
PORT=1111
WORKERS=3
REDIS_URL=redis://ada:password@10.0.0.1:6379/3?secret=query,rediss://10.0.0.2
AUTH_ACCESS_URL=https://access.example.com/may?token=hidden
SOMETHING_ELSE=of another program
`
  })
  const { code, stdout } = await run(['config', '--set'], { env: { PORT: '2222' } })
  assert.equal(code, 0)
  assert.deepEqual(
    stdout.trim().split('\n').map((line) => line.split(/ {2,}/)),
    [
      ['NAME', 'VALUE', 'FROM'],
      ['PORT', '2222', 'environment'],
      ['WORKERS', '3', '.env'],
      ['AUTH_JWT_SECRET', '********', '.env'],
      ['AUTH_ACCESS_URL', 'https://access.example.com/may?********', '.env'],
      ['REDIS_URL', 'redis://********@10.0.0.1:6379,rediss://10.0.0.2', '.env'],
      ['mode: redis']
    ]
  )
  writeFileSync(path.join(folder, 'other.env'), 'WORKERS=4\n')
  const other = await run(['config', 'WORKERS', 'PORT', '--config', 'other.env', '--json'])
  assert.deepEqual(JSON.parse(other.stdout).settings, [
    { name: 'PORT', value: '3000', source: 'default' },
    { name: 'WORKERS', value: '4', source: 'other.env' }
  ], 'without .env')
  const wrong = await run(['config', 'PORT'], { env: { PORT: 'x' } })
  assert.equal(wrong.code, 1)
  assert.equal(wrong.stderr, 'inkcast: PORT=x: must be a whole number\n')
})

test('.env is read by every role, and the environment wins', async (t) => {
  const { run } = commandFolder(t, { dotenv: 'PORT=x\nAPI_PORT=y\nOTHER=1\n' })
  const { code, stderr } = await run([], { env: { API_PORT: '0' } })
  assert.equal(code, 1)
  assert.equal(stderr, 'inkcast: wrong setting: PORT=x: must be a whole number\n')
})
