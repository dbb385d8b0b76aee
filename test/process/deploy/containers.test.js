import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { validate } from 'dockerfile-utils'
import { parse } from 'yaml'
import { BLOCKS } from '../../../src/config/blocks.js'
import { loadConfig } from '../../../src/config/load.js'

/** Dockerfile and docker-compose.yml: what can be checked without an engine. */

const ROOT = new URL('../../../', import.meta.url)
const read = (/** @type {string} */ path) => readFileSync(new URL(path, ROOT), 'utf8')
const dockerfile = read('Dockerfile')
const compose = parse(read('docker-compose.yml'))
const services = /** @type {Record<string, any>} */ (compose.services)
/** @param {RegExp} pattern @returns {string[]} the first group of each match in the Dockerfile */
const inDockerfile = (pattern) => [...dockerfile.matchAll(pattern)].map(([, one]) => one)

describe('the Dockerfile', () => {
  test('has no finding of a linter', () => {
    assert.deepEqual(validate(dockerfile).map(({ message, range }) => `${range.start.line + 1}: ${message}`), [])
    assert.ok(validate(dockerfile.replace('WORKDIR', 'WORKDIRECTORY')).length > 0)
  })

  test('has two stages from one base, which is pinned by its digest', () => {
    const [image] = inDockerfile(/^ARG NODE_IMAGE=(.+)$/gm)
    assert.match(image, /^node:\d+\.\d+\.\d+-bookworm-slim@sha256:[0-9a-f]{64}$/)
    assert.deepEqual(inDockerfile(/^FROM (\S+)/gm), ['${NODE_IMAGE}', '${NODE_IMAGE}'])
    assert.ok(dockerfile.includes(`base.name="docker.io/library/${image.split('@')[0]}"`))
    assert.equal(JSON.parse(read('package.json')).scripts['test:node24'].includes(image.split(/[:-]/)[1]), true, 'tested')
  })

  test('is labeled, and runs as an unprivileged user', () => {
    for (const label of ['title', 'description', 'licenses', 'version', 'revision', 'created', 'base.name'])
      assert.ok(dockerfile.includes(`org.opencontainers.image.${label}=`), label)
    const last = dockerfile.slice(dockerfile.lastIndexOf('FROM '))
    assert.match(last, /^USER node$/m)
    assert.ok(last.indexOf('USER node') < last.indexOf('\nCMD'))
  })

  test('asks /live for its health, with a script that says 0 or 1, with TLS and without', async (t) => {
    const [command] = inDockerfile(/HEALTHCHECK [^[]*\\\n\s+CMD (\[.+\])$/gm)
    const [program, script] = JSON.parse(command)
    assert.equal(program, 'bash')
    // with the certificate that tests use, which no authority has signed
    for (const tls of [false, true]) {
      const server = tls
        ? https.createServer({ cert: read('test/helpers/tls/cert.pem'), key: read('test/helpers/tls/key.pem') })
        : http.createServer()
      let status = 200
      server.on('request', ({ url }, res) => res.writeHead(url === '/live' ? status : 404).end())
      t.after(() => server.close())
      await once(server.listen(0, '127.0.0.1'), 'listening')
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
      const env = { PATH: process.env.PATH, ADMIN_PORT: String(port), ...(tls ? { ADMIN_TLS_FILES: 'cert:cert.pem,key:key.pem' } : {}) }
      /** @returns {Promise<number>} exit code */
      const run = () =>
        promisify(execFile)(program, [script], { env, cwd: ROOT }).then(() => 0, (error) => error.code)
      assert.equal(await run(), 0)
      status = 503
      assert.equal(await run(), 1)
      server.close()
      assert.equal(await run(), 1)
    }
  })

  test('installs everything that the server needs: optional are only TypeScript, the demo and the load tool', () => {
    assert.deepEqual(inDockerfile(/^RUN npm ci (.+)$/gm), ['--omit=dev --omit=optional --workspaces=false --ignore-scripts'])
    const { packages } = JSON.parse(read('package-lock.json'))
    const optional = Object.keys(packages).filter((path) => {
      const { dev, optional, devOptional } = packages[path]
      return !dev && (optional || devOptional)
    })
    assert.ok(optional.includes('node_modules/typescript'))
    // types that a dependency of Svelte may use: a peer of inkcast-svelte, which the image leaves out as a workspace
    for (const path of optional) assert.match(path, /^node_modules\/(?:(?:@typescript\/)?typescript|@typescript-eslint\/types$)/)
    // packages of this repository have no such mark in the lock file
    assert.deepEqual(Object.keys(packages[''].optionalDependencies), ['inkcast-demo', 'inkcast-load'])
  })

  test('copies files that exist and that are not ignored', () => {
    const ignored = read('.dockerignore').split('\n').filter((line) => line !== '' && !line.includes('*'))
    for (const line of inDockerfile(/^COPY (?!--from)(.+)$/gm)) {
      for (const path of line.split(' ').slice(0, -1)) {
        assert.ok(existsSync(new URL(path, ROOT)), path)
        assert.ok(!ignored.includes(path), path)
      }
    }
  })
})

describe('docker-compose.yml', () => {
  const ours = Object.entries(services).filter(([, { image }]) => image === 'inkcast:local')

  test('has a core that always starts, and the profiles demo and observability', () => {
    const found = Object.entries(services).map(([name, { profiles = [] }]) => [name, profiles.join()])
    assert.deepEqual(Object.fromEntries(found), {
      redis: '', kafka: '', inkcast: '', documents: 'demo', prometheus: 'observability', grafana: 'observability'
    })
  })

  test('builds every service of inkcast, and starts each after what it needs', () => {
    assert.deepEqual(ours.map(([name]) => name), ['inkcast', 'documents'])
    for (const [name, { build }] of ours) assert.deepEqual(build, { context: '.' }, name)
    for (const [name, { depends_on: needs = {} }] of Object.entries(services)) {
      for (const [other, { condition }] of Object.entries(/** @type {Record<string, any>} */ (needs))) {
        assert.equal(condition, 'service_healthy', name)
        const { healthcheck, image } = services[other]
        assert.ok(healthcheck?.disable !== true && (healthcheck !== undefined || image === 'inkcast:local'), other)
        for (const one of services[other].profiles ?? [])
          assert.ok(services[name].profiles.includes(one), `${name} is started without ${other}`)
      }
    }
  })

  test('keeps data in volumes that exist, and mounts files that exist', () => {
    const used = new Set()
    for (const [name, { volumes = [] }] of Object.entries(services)) {
      for (const volume of volumes) {
        const [source] = volume.split(':')
        if (source.startsWith('./')) assert.ok(existsSync(new URL(source, ROOT)), `${name}: ${source}`)
        else used.add(source)
      }
    }
    assert.deepEqual([...used].sort(), Object.keys(compose.volumes).sort())
    for (const name of ['redis', 'kafka', 'documents', 'prometheus', 'grafana'])
      assert.ok(used.has(`${name}-data`), name)
  })

  test('publishes ports to this machine only, each once', () => {
    const ports = Object.values(services).flatMap(({ ports = [] }) => ports)
    for (const port of ports) assert.match(port, /^127\.0\.0\.1:\d+:\d+$/)
    const outside = ports.map((/** @type {string} */ port) => port.split(':')[1])
    assert.equal(new Set(outside).size, outside.length)
  })

  test('pins the version of each image, and sets only settings that exist', () => {
    for (const [name, { image }] of Object.entries(services)) assert.match(image, /:(?:local|v?\d+\.\d+[\w.-]*)$/, name)
    const known = new Set(Object.values(BLOCKS).flatMap(({ settings }) => Object.keys(settings)))
    const { environment } = services.inkcast
    for (const name of Object.keys(environment)) assert.ok(known.has(name) || name === 'NODE_ENV' || name.startsWith('EXTENSION_'), name)
    const config = loadConfig({ env: { ...environment, API_TOKENS: environment.API_TOKENS.replace(/^\$\{\w+:-|\}$/g, '') } })
    assert.equal(config.mode, 'kafka')
    assert.equal(`${config.gateway.port}:${config.api.port}:${config.admin.port}`, '3000:3001:9100')
  })

  test('provisions Prometheus and Grafana with the rules, the dashboards and a data source', () => {
    const prometheus = parse(read('deploy/compose/prometheus.yml'))
    const mounts = (/** @type {string} */ name) => services[name].volumes.map((/** @type {string} */ one) => one.split(':')[1])
    for (const file of prometheus.rule_files) assert.ok(mounts('prometheus').includes(file), file)
    const [{ job_name: job, static_configs: [{ targets: [target] }] }] = prometheus.scrape_configs
    assert.deepEqual([job, target], ['inkcast', 'inkcast:9100'])
    const [source] = parse(read('deploy/compose/grafana/datasources/prometheus.yml')).datasources
    assert.equal(source.url, 'http://prometheus:9090')
    const [provider] = parse(read('deploy/compose/grafana/dashboards/inkcast.yml')).providers
    assert.ok(mounts('grafana').includes(provider.options.path))
    const home = services.grafana.environment.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH
    assert.ok(existsSync(new URL(home.replace('/etc/grafana/', 'deploy/helm/inkcast/monitoring/'), ROOT)))
  })
})
