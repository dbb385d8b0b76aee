import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { usageOf } from '../../../bench/measure/processes.js'
import { waitFor } from '../../helpers/wait.js'
import { freePort } from '../../services/ports.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
/** The installed ws seems to be of another version, in child processes as well. */
const OTHER_WS = { NODE_OPTIONS: `--import ${path.join(ROOT, 'test/helpers/other-ws-version.js')}` }
const WS = createRequire(import.meta.url)('ws/package.json').version
/** Node arguments: at its end the process prints its CPU time, ms. */
const SHOW_CPU = ['--import', 'data:text/javascript,process.on("exit",()=>{' +
  'const{user,system}=process.cpuUsage();console.error((user+system)/1000)})']
const FREE = { PORT: '0', API_PORT: '0', ADMIN_PORT: '0' }

/**
 * @param {import('node:test').TestContext} t kills it
 * @param {string[]} args
 * @param {Record<string, string>} [env] the whole environment
 */
function run (t, args, env = {}) {
  // not the .env of the person who runs the tests
  const child = spawn(process.execPath, args, {
    cwd: ROOT, env: { INKCAST_ENV_FILE: '', WORKERS: '1', ...env }, stdio: ['ignore', 'pipe', 'pipe']
  })
  t.after(() => { child.kill('SIGKILL') })
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => { output.stdout += chunk })
  child.stderr.on('data', (chunk) => { output.stderr += chunk })
  const closed = once(child, 'close').then(([code]) => ({ code, ...output }))
  return {
    output,
    closed,
    pid: /** @type {number} */ (child.pid),
    kill: (/** @type {NodeJS.Signals} */ signal) => child.kill(signal),
    /** @param {RegExp} pattern */
    async stdout (pattern) {
      const match = await waitFor(() => pattern.exec(output.stdout), {
        timeout: 30_000,
        message: () => `${pattern} in ${output.stdout}${output.stderr}`
      })
      return /** @type {RegExpExecArray} */ (match)
    }
  }
}

/** @param {import('node:test').TestContext} t @param {string[]} args @param {Record<string, string>} [env] */
const inkcast = (t, args, env) => run(t, ['cluster.js', ...args], env)

/** @param {import('node:test').TestContext} t @returns {Promise<number>} a port that is in use */
async function takenPort (t) {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return /** @type {import('node:net').AddressInfo} */ (server.address()).port
}

describe('the command', { concurrency: 2 }, () => {
  test('shows help and version', async (t) => {
    const help = await inkcast(t, ['--help']).closed
    assert.deepEqual([help.code, help.stderr], [0, ''])
    for (const word of ['check', 'tail', '--config', '--version', 'REDIS_URL', 'KAFKA_BROKERS', 'docs/configuration.md'])
      assert.ok(help.stdout.includes(word), word)
    const version = await inkcast(t, ['--version']).closed
    assert.deepEqual(
      [version.code, version.stdout, version.stderr],
      [0, `${JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')).version}\n`, '']
    )
  })

  test('refuses an unknown option or command with exit code 2, and says where help is', async (t) => {
    for (const [args, expected] of /** @type {[string[], RegExp][]} */ ([
      [['--nonsense'], /^inkcast: .*--nonsense/],
      [['tail'], /^inkcast: .*guid/],
      [['chekc'], /^inkcast: unknown command 'chekc'\n\(Did you mean check\?\)/]
    ])) {
      const { code, stdout, stderr } = await inkcast(t, args).closed
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, expected)
      assert.ok(stderr.includes('inkcast --help'))
    }
  })

  test('reports all wrong settings at once', async (t) => {
    const { code, stdout, stderr } = await inkcast(t, [], {
      PORT: 'x',
      LOG_LEVEL: 'loud',
      MAX_RECORD_BYTES: '-1',
      NETWORK: '2000:1000:1000',
      AUTH_JWT_SECRET: 'short and secret',
      TLS_FILES: 'a.pem'
    }).closed
    assert.deepEqual([code, stdout], [1, ''])
    for (const name of [
      'PORT=x',
      'LOG_LEVEL=loud',
      'MAX_RECORD_BYTES=-1',
      'NETWORK=2000:1000:1000',
      'AUTH_JWT_SECRET',
      'TLS_FILES'
    ])
      assert.match(stderr, new RegExp(`^ +${name}.*: `, 'm'))
    assert.doesNotMatch(stderr, /short and secret|^ +at /m)
    assert.match(stderr, /^inkcast: wrong settings:\n/)
  })

  test('reads settings from a file, which must exist and be valid', async (t) => {
    const directory = mkdtempSync(path.join(tmpdir(), 'inkcast-test-'))
    t.after(() => rmSync(directory, { recursive: true }))
    const file = path.join(directory, 'settings')
    writeFileSync(file, 'PORT=x\nNONSENSE=1\nAPI_PORT=y\n')
    const wrong = await inkcast(t, ['--config', file], { API_PORT: '0' }).closed
    assert.equal(wrong.code, 1)
    assert.match(wrong.stderr, /PORT=x/)
    assert.match(wrong.stderr, /NONSENSE: no such setting/)
    assert.doesNotMatch(wrong.stderr, /API_PORT/, 'the environment wins')
    const missing = await inkcast(t, ['--config', path.join(directory, 'nothing')]).closed
    assert.equal(missing.code, 1)
    assert.match(missing.stderr, /ENOENT/)
  })

  test('names the setting, the file and the cause if a file cannot be read, before anything else', async (t) => {
    for (const [file, env, expected] of /** @type {[string, Record<string, string>, string | RegExp][]} */ ([
      [
        'cluster.js', { TLS_FILES: 'cert:/nope,key:package.json' },
        'inkcast: wrong setting: TLS_FILES=cert:/nope: ENOENT: no such file or directory, open \'/nope\'\n'
      ],
      [
        'cluster.js', { TLS_FILES: 'cert:package.json,key:package.json' },
        /^inkcast: wrong setting: TLS_FILES=cert:package.json,key:package.json: no PEM certificate and its key \(.+\)\n$/
      ],
      [
        'src/gateway.js', { AUTH_JWKS_URL: 'file:///usr' },
        'inkcast: wrong setting: AUTH_JWKS_URL=file:///usr: EISDIR: illegal operation on a directory, read\n'
      ]
    ])) {
      const { code, stdout, stderr } = await run(t, [file], { ...FREE, REDIS_URL: 'redis://127.0.0.1:1', ...env }).closed
      assert.deepEqual([code, stdout], [1, ''])
      if (typeof expected === 'string') assert.equal(stderr, expected)
      else assert.match(stderr, expected)
    }
  })

  test('refuses other versions of libraries in one line, before a process of the cluster starts', async (t) => {
    const sentence = `unchecked versions of libraries: ws 99.0.0; install ws@${WS}, or set LIBRARY_VERSIONS=any to start with a warning`
    const cluster = { ...OTHER_WS, REDIS_URL: 'redis://127.0.0.1:1', WORKERS: '2' }
    await Promise.all(/** @type {[string[], Record<string, string>][]} */ ([
      [['cluster.js'], cluster],
      [['src/gateway.js'], cluster]
    ]).map(async ([args, env]) => {
      const { code, stderr, stdout } = await run(t, args, { ...FREE, ...env }).closed
      assert.deepEqual([code, stderr, stdout], [1, `inkcast: ${sentence}\n`, ''])
    }))
    const pm2 = await run(t, ['pm2.config.js'], cluster).closed
    assert.equal(pm2.code, 1)
    assert.match(pm2.stderr, new RegExp(`inkcast: ${sentence}`))
  })

  test('starts with other versions of libraries where LIBRARY_VERSIONS=any, and warns once', async (t) => {
    const started = inkcast(t, [], { ...FREE, ...OTHER_WS, LIBRARY_VERSIONS: 'any' })
    await started.stdout(/ready/)
    started.kill('SIGTERM')
    const { code, stdout } = await started.closed
    assert.equal(code, 0)
    assert.equal(stdout.split('LIBRARY_VERSIONS=any: unchecked versions of libraries: ws 99.0.0').length, 2, stdout)
  })

  test('logs in one line, at every log level, that Redis is unreachable, with address and cause', async (t) => {
    const port = await freePort()
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    t.after(() => silent.close())
    const hanging = /** @type {import('node:net').AddressInfo} */ (silent.address()).port
    await Promise.all([
      ['error', `127.0.0.1:${port}`, `connect ECONNREFUSED 127.0.0.1:${port}`],
      ['silent', `127.0.0.1:${hanging}`, '.+']
    ].map(async ([level, address, cause]) => {
      const started = inkcast(t, [], {
        ...FREE,
        LOG_LEVEL: level,
        WORKERS: '1',
        REDIS_URL: `redis://user:secret@${address}`
      })
      await waitFor(() => started.output.stderr.includes('\n'), {
        timeout: 30_000,
        message: () => `a line about ${address}`
      })
      started.kill('SIGTERM')
      const { stdout, stderr } = await started.closed
      assert.equal(stdout, '')
      assert.match(
        stderr,
        new RegExp(`^inkcast: Redis cannot be used at ${address} \\(REDIS_URL\\): ${cause}; trying again\n$`)
      )
    }))
  })

  test('logs in one line that a port is in use', async (t) => {
    const port = await takenPort(t)
    const { code, stdout, stderr } = await inkcast(t, [], { ...FREE, PORT: String(port), LOG_LEVEL: 'error' }).closed
    assert.equal(
      stderr, `inkcast: port ${port} is in use: stop what uses it, or set PORT, API_PORT or ADMIN_PORT to a free one\n`
    )
    assert.deepEqual([code, stdout], [1, ''])
  })

  test('is ready within 25 times the CPU time of --version, logs its address, and stops on a signal', async (t) => {
    const reference = run(t, [...SHOW_CPU, 'cluster.js', '--version'])
    const started = inkcast(t, [], FREE)
    const [, port] = await started.stdout(/demo +http:\/\/localhost:(\d+)/)
    const [, command] = await started.stdout(/publish +(curl .*)\n/)
    await started.stdout(/ready/)
    const { cpuMs } = usageOf(started.pid)
    const referenceMs = Number((await reference.closed).stderr)
    assert.ok(cpuMs < 25 * referenceMs, `ready after ${cpuMs} ms of CPU time, and --version took ${referenceMs} ms`)
    assert.equal((await fetch(`http://127.0.0.1:${port}/`)).status, 200)
    const [, api] = /POST (\S+)/.exec(command) ?? []
    assert.equal(
      (await fetch(api, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"text":"Hello"}' }))
        .status,
      202
    )
    started.kill('SIGTERM')
    const { code, stderr } = await started.closed
    assert.deepEqual([code, stderr], [0, ''])
  })

  test('stops at once on a second signal', async (t) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'inkcast-test-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const extension = path.join(folder, 'never-stops.mjs')
    writeFileSync(extension, 'export default () => () => new Promise(() => {})\n')
    const started = inkcast(t, [], { ...FREE, EXTENSIONS: extension })
    await started.stdout(/ready/)
    started.kill('SIGINT')
    await started.stdout(/stopping/)
    started.kill('SIGINT')
    assert.equal((await started.closed).code, 1)
  })
})
