import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import vm from 'node:vm'
import { startEmbedded } from '../helpers/embedded.js'
import { filesIn, installIn, NoRegistry, PACKAGE_NAMES, packAll } from '../helpers/tarballs.js'
import { waitFor } from '../helpers/wait.js'
import { spawnGuarded } from '../services/guard.js'
import { freePorts } from '../services/ports.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const { devDependencies } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'))
/** What socket.io-client 4.8 consists of. */
const SOCKET_IO_CLIENT = [
  '@socket.io/component-emitter',
  'debug',
  'engine.io-client',
  'engine.io-parser',
  'ms',
  'socket.io-client',
  'socket.io-parser',
  'ws',
  'xmlhttprequest-ssl'
]
const COMPILER_OPTIONS = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  target: 'es2022',
  lib: ['es2022', 'dom', 'dom.iterable'],
  types: []
}
/** The type test, as a module that can be compiled to CommonJS as well: without await at the top. */
const CLIENT_PROGRAM = readFileSync(`${ROOT}test/types/client.ts`, 'utf8')
  .replace(/^(?:\/\*\*.*\n)?((?:import .*\n)+)([^]+)$/, '$1export async function main (): Promise<void> {$2\n')
  .concat('// @ts-expect-error internal\ndoc._emit(\'message\', [])\n}\n')

/** @type {(() => unknown)[]} */
const stops = []
const suite = { after: (/** @type {() => unknown} */ stop) => { stops.unshift(stop) } }
/** @type {Record<string, string>} */
let tarballs = {}
before(async () => { tarballs = await packAll(suite, PACKAGE_NAMES) })
after(async () => { for (const stop of stops) await stop() })

test('inkcast has at most 1 MB packed', () => {
  assert.ok(statSync(tarballs.inkcast).size <= 1_000_000, `inkcast has ${statSync(tarballs.inkcast).size} bytes packed`)
})

/** @typedef {Awaited<ReturnType<typeof installIn>>} Installed */
/** @type {Map<string, Promise<Installed>>} */
const folders = new Map()

/**
 * @param {import('node:test').TestContext} t
 * @param {Record<string, string>} dependencies installed once
 * @returns {Promise<Installed | undefined>} undefined: the test is skipped
 */
async function install (t, dependencies) {
  const key = JSON.stringify(dependencies)
  const installing = folders.get(key) ?? installIn(suite, dependencies)
  folders.set(key, installing)
  try {
    return await installing
  } catch (error) {
    if (!(error instanceof NoRegistry)) throw error
    t.skip(error.message)
    return undefined
  }
}

/** @param {string} cwd @param {string[]} args of node @returns {Promise<string>} its output */
const node = async (cwd, ...args) => (await promisify(execFile)(process.execPath, args, { cwd })).stdout.trim()

/** @param {string} folder @param {string} name of a package, or a path below one */
async function assertSameExports (folder, name) {
  const imported = `import('${name}').then((all) => console.log(Object.keys(all).sort().join()))`
  const required = `Object.keys(require('${name}')).sort().join()`
  assert.equal(await node(folder, '-p', required), await node(folder, '-e', imported))
}

/** @param {string} folder with a tsconfig.json */
function compile (folder) {
  try {
    execFileSync(process.execPath, [`${ROOT}node_modules/typescript/bin/tsc`, '-p', folder], { stdio: 'pipe' })
  } catch (error) {
    assert.fail(String(/** @type {any} */ (error).stdout))
  }
}

describe('inkcast-client', () => {
  test('brings socket.io-client and nothing else, without native parts or scripts', async (t) => {
    const installed = await install(t, { 'inkcast-client': tarballs['inkcast-client'] })
    if (installed === undefined) return
    assert.deepEqual(installed.packages, ['inkcast-client', ...SOCKET_IO_CLIENT].sort())
    const modules = join(installed.folder, 'node_modules')
    const files = filesIn(modules)
    assert.deepEqual(files.filter((name) => /\.(node|gyp|wasm)$/.test(name)), [])
    for (const name of installed.packages) {
      const { scripts = {} } = JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8'))
      assert.deepEqual(Object.keys(scripts).filter((script) => /^(pre|post)?install$/.test(script)), [], name)
    }
    const size = files.reduce((sum, name) => sum + statSync(join(modules, name)).size, 0)
    const packed = statSync(tarballs['inkcast-client']).size
    t.diagnostic(`${installed.packages.length} packages, ${Math.round(size / 1000)} kB, tarball ${packed} bytes`)
    assert.ok(size < 5_000_000, `${size} bytes installed`)
    assert.ok(packed < 520_000, `${packed} bytes packed`)
  })

  test('is imported and required, with the same exports', async (t) => {
    const installed = await install(t, { 'inkcast-client': tarballs['inkcast-client'] })
    if (installed === undefined) return
    const { folder } = installed
    for (const path of ['', '/devtools', '/stores']) await assertSameExports(folder, `inkcast-client${path}`)
    assert.match(await node(folder, '-p', 'require.resolve(\'inkcast-client\')'), /\/dist\/cjs\/index\.cjs$/)
    assert.match(
      await node(folder, '-p', 'Object.keys(require(\'inkcast-client\')).join()'),
      /\bClientError\b.*\bconnect\b|\bconnect\b.*\bClientError\b/
    )
  })

  test('loads its parts on demand in programs that import and that require it', async (t) => {
    const installed = await install(t, { 'inkcast-client': tarballs['inkcast-client'] })
    if (installed === undefined) return
    const { url } = await startEmbedded(t)
    const use = `(async ({ connect, ClientError }) => {
      const client = connect('${url}')
      const doc = await client.open('minutes', { load: async ({ position }) => position, echo: true })
      await doc.ready
      const received = new Promise((resolve) => doc.on('message', resolve))
      await doc.send({ text: 'sent' })
      console.log((await received).text)
      const refused = await client.open('').catch((error) => error)
      console.log(refused instanceof ClientError, refused.code)
      client.close()
    })`
    const printed = 'sent\ntrue bad_request'
    assert.equal(await node(installed.folder, '-e', `${use}(require('inkcast-client'))`), printed)
    assert.equal(await node(installed.folder, '-e', `import('inkcast-client').then(${use})`), printed)
  })

  test('has files for pages, with source maps: a module and a classic script', async (t) => {
    const installed = await install(t, { 'inkcast-client': tarballs['inkcast-client'] })
    if (installed === undefined) return
    const dist = join(installed.folder, 'node_modules', 'inkcast-client', 'dist')
    const module = await import(createRequire(join(installed.folder, 'x.js')).resolve('inkcast-client/bundle'))
    const context = vm.createContext({ TextDecoder, TextEncoder, URL, clearTimeout, setTimeout })
    vm.runInContext(readFileSync(join(dist, 'inkcast-client.global.min.js'), 'utf8'), context, { displayErrors: false })
    for (const exported of [module, context.inkcast]) {
      assert.equal(typeof exported.connect, 'function')
      assert.equal(typeof exported.ClientError, 'function')
    }
    for (const name of ['inkcast-client.min.js', 'inkcast-client.global.min.js', 'cjs/client.cjs']) {
      const [, url] = /\n\/\/# sourceMappingURL=(.+)\n$/.exec(readFileSync(join(dist, name), 'utf8')) ?? []
      const map = join(dist, name, '..', url)
      /** @type {{ sources: string[], sourcesContent?: string[] }} */
      const { sources, sourcesContent } = JSON.parse(readFileSync(map, 'utf8'))
      const source = sources.findIndex((path) => path.endsWith('/client.js'))
      const text = sourcesContent?.[source] ?? readFileSync(join(map, '..', sources[source]), 'utf8')
      assert.match(text, /class Client/, name)
    }
  })
})

describe('the packages of frameworks', () => {
  const PROGRAMS = {
    client: CLIENT_PROGRAM,
    publisher: readFileSync(`${ROOT}test/types/publisher.ts`, 'utf8'),
    react: readFileSync(`${ROOT}test/types/react.ts`, 'utf8'),
    svelte: readFileSync(`${ROOT}test/types/svelte.ts`, 'utf8'),
    vue: readFileSync(`${ROOT}test/types/vue.ts`, 'utf8'),
    yjs: readFileSync(`${ROOT}test/types/yjs.ts`, 'utf8')
  }
  /** @type {Installed | undefined} */
  let installed

  test('install together beside react, svelte, vue and yjs, without a warning', async (t) => {
    const { react, svelte, vue, yjs, 'y-protocols': protocols, '@types/react': types } = devDependencies
    installed = await install(t, {
      'inkcast-client': tarballs['inkcast-client'],
      'inkcast-publisher': tarballs['inkcast-publisher'],
      'inkcast-react': tarballs['inkcast-react'],
      'inkcast-svelte': tarballs['inkcast-svelte'],
      'inkcast-vue': tarballs['inkcast-vue'],
      'inkcast-yjs': tarballs['inkcast-yjs'],
      'inkcast-yjs-server': tarballs['inkcast-yjs-server'],
      react,
      svelte,
      vue,
      yjs,
      'y-protocols': protocols,
      '@types/react': types
    })
    if (installed === undefined) return
    assert.doesNotMatch(installed.warnings, /EBADENGINE|ERESOLVE|deprecated/)
    // svelte and vue bring their compilers
    assert.deepEqual(installed.packages.filter((name) => /inkcast|socket\.io|^(?:react|yjs|y-|lib0|isomorphic)/.test(name)), [
      ...SOCKET_IO_CLIENT.filter((name) => /socket\.io/.test(name)),
      ...['inkcast-client', 'inkcast-publisher', 'inkcast-react', 'inkcast-svelte', 'inkcast-vue', 'inkcast-yjs', 'inkcast-yjs-server'],
      ...['isomorphic.js', 'lib0', 'react', 'y-protocols', 'yjs']
    ].sort())
  })

  test('are imported and required', async (t) => {
    if (installed === undefined) return t.skip('not installed')
    const { folder } = installed
    for (const name of ['publisher', 'react', 'svelte', 'vue', 'yjs']) await assertSameExports(folder, `inkcast-${name}`)
  })

  test('have the command that stores Yjs documents, which explains itself', async (t) => {
    if (installed === undefined) return t.skip('not installed')
    const { folder } = installed
    assert.match(await node(folder, join('node_modules', '.bin', 'inkcast-yjs-server'), '--help'), /--directory/)
    const extension = await import(createRequire(join(folder, 'x.js')).resolve('inkcast-yjs-server'))
    assert.equal(typeof extension.default, 'function')
  })

  test('keep the directive for React Server Components, as modules and as CommonJS', (t) => {
    if (installed === undefined) return t.skip('not installed')
    for (const file of ['index.js', 'dist/cjs/index.cjs'])
      assert.match(
        readFileSync(join(installed.folder, 'node_modules', 'inkcast-react', file), 'utf8'),
        /^("use strict";\s*)?['"]use client['"]/
      )
  })

  test('give their types to a strict program, as modules and as CommonJS', (t) => {
    if (installed === undefined) return t.skip('not installed')
    const { folder } = installed
    const files = ['mts', 'cts'].flatMap((extension) => Object.entries(PROGRAMS).map(([name, program]) => {
      const file = `${name}.${extension}`
      writeFileSync(join(folder, file), program)
      return file
    }))
    writeFileSync(
      join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: { ...COMPILER_OPTIONS, module: 'nodenext' }, files })
    )
    compile(folder)
  })
})

test('inkcast-client gives its types to an app, where nothing of the Web has a type', async (t) => {
  const installed = await install(t, { 'inkcast-client': tarballs['inkcast-client'] })
  if (installed === undefined) return
  const { folder } = installed
  writeFileSync(join(folder, 'app.mts'), `import { connect } from 'inkcast-client/react-native'
connect('http://localhost', {}, {}).close()
// what react-native has itself
declare global {
  interface AbortSignal {}
  interface Headers {}
  function setTimeout (): number
}
`)
  const compilerOptions = { ...COMPILER_OPTIONS, module: 'nodenext', lib: ['es2022'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['app.mts'] }))
  compile(folder)
})

describe('inkcast', () => {
  /** inkcast, and what it depends on and the registry may not have yet. */
  const withOwn = () => ({
    inkcast: tarballs.inkcast, 'inkcast-demo': tarballs['inkcast-demo'], 'inkcast-load': tarballs['inkcast-load']
  })

  test('installs in an empty folder without a warning about this version of Node, and starts', async (t) => {
    const installed = await install(t, withOwn())
    if (installed === undefined) return
    const { folder, warnings, packages } = installed
    assert.doesNotMatch(warnings, /EBADENGINE|ERESOLVE|deprecated/)
    assert.deepEqual(packages.filter((name) => /^(inkcast-|react$|yjs$)/.test(name)), ['inkcast-demo', 'inkcast-load'])
    const modules = join(folder, 'node_modules')
    // cookie 2 needs Node 22
    const cookies = filesIn(modules)
      .filter((name) => name.endsWith('node_modules/cookie/package.json') || name === 'cookie/package.json')
      .map((name) => JSON.parse(readFileSync(join(modules, name), 'utf8')).version)
    assert.ok(cookies.length > 0)
    for (const version of cookies) assert.ok(Number.parseInt(version) < 2, `cookie ${version}`)

    const inkcast = join(modules, 'inkcast')
    const { version } = JSON.parse(readFileSync(join(inkcast, 'package.json'), 'utf8'))
    assert.equal(await node(folder, join(inkcast, 'cluster.js'), '--version'), version)
    const [port, apiPort, adminPort] = await freePorts(3)
    const run = spawnGuarded(process.execPath, [join(inkcast, 'cluster.js'), 'demo'], {
      cwd: folder,
      env: { PORT: String(port), API_PORT: String(apiPort), ADMIN_PORT: String(adminPort) },
      log: join(folder, 'log')
    })
    t.after(() => run.stop(5000))
    // the last line of what it prints, which may arrive in pieces
    await waitFor(() => /^ {2}status +http.*\n/m.test(run.lastOutput()), {
      timeout: 30_000, message: () => run.lastOutput()
    })
    // every address that it prints, and the pages that the demo links to
    const printed = [...run.lastOutput().matchAll(/^ {2}(?!publish)\w+ +(http:\/\/\S+)/gm)].map(([, url]) => url)
    assert.equal(printed.length, 3, run.lastOutput())
    const url = `http://localhost:${port}`
    for (const address of [...printed, `${url}/docs/`, `${url}/docs/client.html`, `${url}/socket.io/?EIO=4&transport=polling`])
      assert.equal((await fetch(address)).status, 200, address)
    const publish = await fetch(`http://localhost:${apiPort}/v1/documents/demo/broadcast`, {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"text":"Hello from curl"}'
    })
    assert.equal(publish.status, 202)
    const env = { ...process.env, PORT: String(port), API_PORT: String(apiPort), ADMIN_PORT: String(adminPort) }
    const load = ['load', '-n', '5', '--hold', '1s', '--documents', '1', '--records', '5']
    const { stdout } = await promisify(execFile)(process.execPath, [join(inkcast, 'cluster.js'), ...load], { cwd: folder, env })
    assert.match(stdout, /no delivery and no receipt is missing/)
  })

  test('needs neither the demo nor the load tool, and says where they are missing', async (t) => {
    const installed = await install(t, withOwn())
    if (installed === undefined) return
    const modules = join(installed.folder, 'node_modules')
    for (const name of ['inkcast-demo', 'inkcast-load']) renameSync(join(modules, name), join(modules, `.${name}`))
    t.after(() => {
      for (const name of ['inkcast-demo', 'inkcast-load']) renameSync(join(modules, `.${name}`), join(modules, name))
    })
    const cluster = join(modules, 'inkcast', 'cluster.js')
    for (const name of ['demo', 'load']) {
      await assert.rejects(
        promisify(execFile)(process.execPath, [cluster, name], { cwd: installed.folder }),
        new RegExp(`the package inkcast-${name} is not installed: npm install inkcast-${name}`)
      )
    }
    const [port, apiPort, adminPort] = await freePorts(3)
    const run = spawnGuarded(process.execPath, [cluster], {
      cwd: installed.folder,
      env: { PORT: String(port), API_PORT: String(apiPort), ADMIN_PORT: String(adminPort), WORKERS: '1' },
      log: join(installed.folder, 'without.log')
    })
    t.after(() => run.stop(5000))
    await waitFor(() => /^ {2}status +http.*\n/m.test(run.lastOutput()), {
      timeout: 30_000, message: () => run.lastOutput()
    })
    assert.equal((await fetch(`http://localhost:${port}/`)).status, 404)
    assert.equal((await fetch(`http://localhost:${port}/socket.io/?EIO=4&transport=polling`)).status, 200)
  })

  test('serves inkcast/client with types', async (t) => {
    const installed = await install(t, withOwn())
    if (installed === undefined) return
    const { folder } = installed
    for (const path of ['inkcast/client', 'inkcast/client/bundle']) {
      const program = `import('${path}').then(({ connect }) => console.log(typeof connect))`
      assert.equal(await node(folder, '-e', program), 'function')
    }
    writeFileSync(join(folder, 'client.mts'), CLIENT_PROGRAM.replaceAll('\'inkcast-client\'', '\'inkcast/client\''))
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: { ...COMPILER_OPTIONS, module: 'nodenext' }, files: ['client.mts'] })
    )
    compile(folder)
  })
})
