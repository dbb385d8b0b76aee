import assert from 'node:assert/strict'
import http from 'node:http'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { callersFile } from '../../helpers/callers-file.js'
import { commandFolder } from '../../helpers/command.js'
import { waitFor } from '../../helpers/wait.js'
import { freePorts } from '../../services/ports.js'

/** @typedef {import('../../../src/operate/cli/check/finding.js').Finding} Finding */

const PRODUCTION = `NODE_ENV=production
AUTH_JWT_SECRET=a-secret-of-more-than-32-characters
API_TOKENS=editor:a-token-of-an-editor
`

/** @param {import('node:test').TestContext} t @returns {Promise<number>} a port that is in use */
async function takenPort (t) {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return /** @type {import('node:net').AddressInfo} */ (server.address()).port
}

test('services that inkcast asks by HTTP are asked, and nothing happens there', async (t) => {
  /** @type {string[]} */
  const requests = []
  let keys = [{ kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', kid: 'a' }]
  const service = http.createServer((req, res) => {
    requests.push(`${req.method} ${req.url}`)
    if (req.url === '/keys') res.end(JSON.stringify({ keys }))
    else res.writeHead(req.url === '/broken' ? 502 : 405).end()
  }).listen(0, '127.0.0.1')
  await once(service, 'listening')
  t.after(() => service.close())
  const url = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (service.address()).port}`
  const [none] = await freePorts(1)
  /** @param {{ keys: string, access: string, uplink: string }} urls @returns {Promise<Finding[]>} */
  async function check (urls) {
    const { run } = commandFolder(t, {
      dotenv: `AUTH_JWKS_URL=${urls.keys}\nAUTH_ACCESS_URL=${urls.access}\nUPLINK_URL=${urls.uplink}\n` +
        `UPLINK_SECRETS=whsec_${Buffer.alloc(32, 7).toString('base64')}\n`
    })
    const { findings } = JSON.parse((await run(['check', '--json'])).stdout)
    return findings.filter((/** @type {Finding} */ { area }) => area === 'services')
  }
  // a service that does not run for a moment answers too late
  await waitFor(async () => {
    requests.length = 0
    const good = await check({ keys: `${url}/keys`, access: `${url}/access`, uplink: `${url}/events` })
    assert.deepEqual(good.map(({ level, text }) => `${level} ${text}`), [
      'ok AUTH_JWKS_URL: 1 of 1 keys can check tokens',
      'ok AUTH_ACCESS_URL: the service answers (HEAD: 405)',
      'ok UPLINK_URL: the service answers (HEAD: 405)'
    ])
    assert.deepEqual(requests.sort(), ['GET /keys', 'HEAD /access', 'HEAD /events'])
    return true
  }, { timeout: 20_000 })
  keys = []
  await waitFor(async () => {
    const bad = await check({ keys: `${url}/keys`, access: `${url}/broken`, uplink: `http://127.0.0.1:${none}/` })
    assert.deepEqual(bad.map(({ level }) => level), ['error', 'warning', 'error'])
    assert.match(bad[0].text, /no key that can check tokens/)
    assert.match(bad[1].text, /answers 502/)
    assert.match(bad[2].text, /ECONNREFUSED/)
    assert.match(String(bad[2].todo), /start the service, or correct UPLINK_URL/)
    return true
  }, { timeout: 20_000 })
})

test('on a machine with seven things wrong, each is found, with what to do', async (t) => {
  const [redis, kafka, ...ports] = await freePorts(6)
  const apiPort = await takenPort(t)
  /** @param {number} port @param {number} adminPort @param {string[]} args */
  const check = (port, adminPort, args) => commandFolder(t, {
    dotenv: `${PRODUCTION}LOG_LEVEL=loud
HOST=127.0.0.1
PORT=${port}
API_PORT=${apiPort}
ADMIN_PORT=${adminPort}
REDIS_URL=redis://user:very-secret@127.0.0.1:${redis}
KAFKA_BROKERS=127.0.0.1:${kafka}
KAFKA_GROUPID=mine
TLS_FILES=cert:/nope/cert.pem,key:/nope/key.pem
`
  }).run(['check', ...args], { before: 'ulimit -n 120;' })
  // each listens on its ports for an instant, and both wait for Redis and Kafka
  const [text, json] = await Promise.all([check(ports[0], ports[1], []), check(ports[2], ports[3], ['--json'])])
  assert.equal(text.code, 1)
  assert.equal(text.stderr, '')
  assert.ok(!text.stdout.includes('very-secret'))
  assert.ok(!text.stdout.includes('\u001b'), 'no colors: it is no terminal')
  assert.doesNotMatch(text.stdout, /^ +at /m)
  /** @type {{ ok: boolean, errors: number, findings: Finding[] }} */
  const { ok, errors, findings } = JSON.parse(json.stdout)
  assert.equal(json.code, 1)
  assert.equal(ok, false)
  for (const [level, area, problem, todo] of /** @type {const} */ ([
    ['error', 'settings', /LOG_LEVEL=loud: must be one of/, /correct LOG_LEVEL \(\.env\)/],
    ['error', 'settings', /TLS_FILES=cert:\/nope\/cert\.pem: ENOENT/, /correct the path/],
    ['warning', 'settings', /KAFKA_GROUPID is no setting/, /did you mean KAFKA_GROUP_ID\?/],
    ['error', 'redis', new RegExp(`127\\.0\\.0\\.1:${redis} .*ECONNREFUSED`), /start Redis, or correct REDIS_URL/],
    ['error', 'kafka', new RegExp(`127\\.0\\.0\\.1:${kafka} .*ECONNREFUSED`), /start Kafka, or correct KAFKA_BROKERS/],
    ['error', 'ports', new RegExp(`API_PORT: port ${apiPort} is in use`), /stop what uses it .*set API_PORT/],
    ['warning', 'machine', /nofile is 120, /, /ulimit|LimitNOFILE|nofile/]
  ])) {
    const found = findings.find((finding) => finding.area === area && problem.test(finding.text))
    assert.ok(found, `${problem} in ${json.stdout}`)
    assert.equal(found.level, level)
    assert.match(String(found.todo), todo)
    assert.ok(text.stdout.includes(found.text) && text.stdout.includes(`→ ${found.todo}`))
  }
  // and the key file
  assert.equal(errors, 6)
  assert.match(text.stdout, /^6 errors, \d+ warnings\n$/m)
})

test('a machine as inkcast needs it has exit code 0; warnings count with --strict only', async (t) => {
  const [port, apiPort, adminPort] = await freePorts(3)
  const { run } = commandFolder(t, { dotenv: `PORT=${port}\nAPI_PORT=${apiPort}\nADMIN_PORT=${adminPort}\n` })
  const { code, stdout } = await run(['check'])
  assert.equal(code, 0)
  assert.match(stdout, /all checks passed\n$/)
  const warning = { env: { KAFKA_BROKER: 'localhost:9092' } }
  assert.equal((await run(['check'], warning)).code, 0)
  assert.equal((await run(['check', '--strict'], warning)).code, 1)
})

test('two settings with the same port, and a Redis that never answers, are found', async (t) => {
  const silent = await takenPort(t)
  const [port, adminPort] = await freePorts(2)
  const { run } = commandFolder(t, {
    env: {
      PORT: String(port),
      API_PORT: String(port),
      ADMIN_PORT: String(adminPort),
      REDIS_URL: `redis://127.0.0.1:${silent}`
    }
  })
  const { code, stdout } = await run(['check'])
  assert.equal(code, 1)
  assert.match(stdout, new RegExp(`API_PORT=${port} is also the port of PORT`))
  assert.match(stdout, new RegExp(`Redis cannot be used at 127\\.0\\.0\\.1:${silent} `))
})

test('certificates are shown with the days they have left; an expired one is an error, a wrong rules file too', async (t) => {
  const [port, apiPort, adminPort] = await freePorts(3)
  const tls = fileURLToPath(new URL('../../helpers/tls/', import.meta.url))
  const { run, folder } = commandFolder(t, {
    env: {
      PORT: String(port),
      API_PORT: String(apiPort),
      ADMIN_PORT: String(adminPort),
      TLS_FILES: `cert:${tls}cert.pem,key:${tls}key.pem`,
      API_TLS_FILES: `cert:${tls}clients/expired.pem,key:${tls}clients/expired-key.pem`,
      DOCUMENT_RULES_FILE: 'rules.json'
    }
  })
  writeFileSync(path.join(folder, 'rules.json'), '{"rules":[{"prefix":1}]}')
  const { code, stdout } = await run(['check'])
  assert.equal(code, 1)
  assert.match(stdout, /^ok +files +TLS_FILES: .*, \d+ days left$/m)
  assert.match(stdout, /^error +files +API_TLS_FILES=cert:.*expired\.pem .* has expired on .*\n +→ renew it/m)
  assert.match(stdout, /^error +files +DOCUMENT_RULES_FILE=rules\.json: .*\n +→ docs\/document-rules\.md/m)
})

test('a callers file with tenants is read as at the start: each tenant must be one of TENANTS', async (t) => {
  const ports = await freePorts(3)
  const env = Object.fromEntries(['PORT', 'API_PORT', 'ADMIN_PORT'].map((name, i) => [name, String(ports[i])]))
  const { path: file } = callersFile(t, {
    callers: [{ name: 'shop', tenant: 'acme', tokens: [{ text: 'acme-token-for-this-machine' }], operators: ['*'] }]
  })
  const { run } = commandFolder(t, { env: { ...env, API_CALLERS_FILE: file } })
  const check = async (/** @type {string} */ tenants) => {
    const { stdout } = await run(['check', '--json'], { env: { TENANTS: tenants } })
    return JSON.parse(stdout).findings.find((/** @type {Finding} */ { text }) => text.includes(file))
  }
  assert.deepEqual(await check('{"acme":{}}'), { area: 'files', level: 'ok', text: `${file} is correct` })
  const unknown = await check('{"globex":{}}')
  assert.equal(unknown.level, 'error')
  assert.match(unknown.text, /TENANTS/)
})
