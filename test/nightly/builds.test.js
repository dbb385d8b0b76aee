import assert from 'node:assert/strict'
import { once } from 'node:events'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import sirv from 'sirv'
import { newTab, noBrowser, startBrowser } from '../helpers/browser.js'
import { startEmbedded } from '../helpers/embedded.js'
import { NoRegistry, npm, packAll, temporaryFolder } from '../helpers/tarballs.js'
import { waitFor } from '../helpers/wait.js'
import { spawnGuarded } from '../services/guard.js'

const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url))
const REACT_18 = '18.3.1'
const [MAJOR, MINOR] = process.versions.node.split('.').map(Number)

/** Builds of the examples by tools that projects use, from the tarballs of the packages. */
describe('builds of the examples', { skip: noBrowser, timeout: 800_000 }, () => {
  /** @type {(() => unknown)[]} */
  const stops = []
  const suite = { after: (/** @type {() => unknown} */ stop) => { stops.unshift(stop) } }
  /** @type {Record<string, string>} */
  let tarballs
  /** @type {Awaited<ReturnType<typeof startEmbedded>>} */
  let gateway
  /** @type {Awaited<ReturnType<typeof startBrowser>>} */
  let browser
  before(async () => {
    tarballs = await packAll(suite, ['inkcast-client', 'inkcast-react'])
    gateway = await startEmbedded(suite, { ALLOWED_ORIGINS: '*' })
    browser = await startBrowser(suite)
  })
  after(async () => { for (const stop of stops) await stop() })

  /**
   * Installs and builds an example in an empty folder.
   *
   * @param {import('node:test').TestContext} t
   * @param {string} name
   * @param {string | undefined} react another version than that of the example
   * @returns {Promise<string | undefined>} the folder; undefined: the test is skipped
   */
  async function build (t, name, react) {
    const folder = join(temporaryFolder(t), name)
    mkdirSync(folder)
    cpSync(join(EXAMPLES, name), folder, {
      recursive: true,
      filter: (path) => !/node_modules|\.next|dist/.test(path.slice(EXAMPLES.length))
    })
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    for (const dependency of Object.keys(manifest.dependencies)) {
      if (dependency in tarballs) manifest.dependencies[dependency] = `file:${tarballs[dependency]}`
      else if (react !== undefined && /^react(-dom)?$/.test(dependency)) manifest.dependencies[dependency] = react
    }
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
    try {
      const { stderr } = await npm(folder, 'install', '--ignore-scripts', '--prefer-offline')
      assert.doesNotMatch(stderr, /ERESOLVE/)
    } catch (error) {
      if (!(error instanceof NoRegistry)) throw error
      t.skip(error.message)
      return undefined
    }
    const { stdout, stderr } = await npm(folder, 'run', 'build')
    assert.doesNotMatch(stdout + stderr, /warning|unresolved|could not/i)
    return folder
  }

  /**
   * Two people use the list.
   * @param {import('node:test').TestContext} t
   * @param {string} page
   */
  async function use (t, page) {
    const open = async () => {
      const tab = await newTab(t, browser)
      /** @type {string[]} */
      const wrong = []
      tab.on('pageerror', (error) => wrong.push(String(error)))
      tab.on('console', (message) => { if (message.type() === 'error') wrong.push(message.text()) })
      t.after(() => assert.deepEqual(wrong, []))
      await tab.goto(`${page}?gateway=${encodeURIComponent(gateway.url)}`)
      await tab.getByRole('status').getByText('connected', { exact: true }).waitFor({ timeout: 20_000 })
      await tab.locator('button:enabled').waitFor({ timeout: 20_000 })
      return tab
    }
    const [one, two] = [await open(), await open()]
    const text = `from one ${Math.random()}`
    await one.fill('[name=text]', text)
    await one.click('button:enabled')
    for (const tab of [one, two])
      await waitFor(async () => (await tab.locator('li').allTextContents()).includes(text), { timeout: 20_000 })
  }

  for (const [title, react] of /** @type {const} */ ([['19', undefined], ['18', REACT_18]])) {
    test(`Vite, React ${title}`, async (t) => {
      const folder = await build(t, 'vite', react)
      if (folder === undefined) return
      const server = http.createServer(sirv(join(folder, 'dist'))).listen(0, '127.0.0.1')
      await once(server, 'listening')
      t.after(() => { server.close(); server.closeAllConnections() })
      await use(t, `http://127.0.0.1:${/** @type {import('net').AddressInfo} */ (server.address()).port}/`)
    })

    test(`Next, React ${title}`, async (t) => {
      const folder = await build(t, 'next', react)
      if (folder === undefined) return
      const log = join(folder, 'log')
      const port = await freePort()
      const next = join(folder, 'node_modules', 'next', 'dist', 'bin', 'next')
      const run = spawnGuarded(process.execPath, [next, 'start', '--hostname', '127.0.0.1', '--port', String(port)], {
        cwd: folder,
        env: { ...process.env, NEXT_TELEMETRY_DISABLED: '1' },
        log
      })
      t.after(() => run.stop(1000))
      await waitFor(() => /Ready in/.test(run.lastOutput()), { timeout: 60_000, message: () => run.lastOutput() })
      // the App Router has a React of its own
      for (const path of react === undefined ? ['/', '/classic'] : ['/classic']) {
        const page = `http://127.0.0.1:${port}${path}`
        assert.match(await (await fetch(page)).text(), /role="status"/, 'rendered on the server')
        await use(t, page)
      }
    })
  }

  const tooOld = MAJOR < 22 || (MAJOR === 22 && MINOR < 13) ? 'Expo 58 needs Node.js 22.13' : false
  test('Expo: the types of React Native, and the code that Hermes runs', { skip: tooOld }, async (t) => {
    const folder = await build(t, 'react-native', undefined)
    if (folder === undefined) return
    const code = readdirSync(join(folder, 'dist'), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.hbc'))
    assert.equal(code.length, 1, 'bytecode of Hermes')
  })
})

/** @returns {Promise<number>} */
async function freePort () {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  await new Promise((resolve) => server.close(resolve))
  return port
}
