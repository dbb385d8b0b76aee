import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { newTab, noBrowser } from '../../helpers/browser.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { fileScope } from '../../helpers/file-scope.js'
import { sharedBrowser } from '../../helpers/shared-browser.js'
import { waitFor } from '../../helpers/wait.js'

const PAGE = fileURLToPath(new URL('page.jsx', import.meta.url))

/**
 * Where esbuild finds React and its DOM, if not among the dependencies of this repository; null: npm cannot reach its
 * registry.
 * @typedef {Record<string, string> | null} Alias
 */

/**
 * The tests of inkcast-react in a browser.
 *
 * @param {string} version major version of React
 * @param {object} [options]
 * @param {boolean} [options.isWhole] all tests in StrictMode, which runs each effect twice, and three without it.
 *   Default: these three in both
 * @param {(suite: import('../../helpers/file-scope.js').Scope) => Promise<Alias>} [options.install]
 */
export const testReact = (version, { isWhole = false, install = async () => ({}) } = {}) =>
  describe(`inkcast-react in a browser, with React ${version}`, { skip: noBrowser }, () => {
    /** @type {Awaited<ReturnType<typeof startEmbedded>>} */
    let gateway
    /** @type {Awaited<ReturnType<typeof sharedBrowser>>} */
    let browser
    let url = ''
    /** @type {string | undefined} */
    let bundle
    const suite = fileScope()

    before(async () => {
      const alias = await install(suite)
      if (alias === null) return
      gateway = await startEmbedded(suite, { ALLOWED_ORIGINS: '*' })
      browser = await sharedBrowser()
      const { outputFiles: [file] } = await build({
        entryPoints: [PAGE],
        bundle: true,
        write: false,
        jsx: 'automatic',
        alias,
        define: { 'process.env.NODE_ENV': '"development"' },
        logLevel: 'silent',
        format: 'esm'
      })
      bundle = file.text
      const server = http.createServer((req, res) => {
        const isScript = req.url === '/page.js'
        res.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
        // the browser also keeps what it has compiled
        if (isScript) res.setHeader('cache-control', 'max-age=3600')
        res.end(isScript ? bundle : '<!doctype html><html lang="en"><title>react</title><link rel="icon" href="data:,">' +
          '<div id="root"></div><script type="module" src="/page.js"></script></html>')
      })
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      suite.after(() => {
        server.close()
        server.closeAllConnections()
      })
      url = `http://127.0.0.1:${/** @type {import('net').AddressInfo} */ (server.address()).port}`
    })

    for (const strict of [true, false]) {
      describe(strict ? 'in StrictMode' : 'without StrictMode', () => {
        /** @param {import('node:test').TestContext} t @param {string} guid @param {Record<string, string>} [more] */
        async function open (t, guid, more = {}) {
          const page = await newTab(t, browser)
          /** @type {string[]} */
          const wrong = []
          const { boundary } = more
          page.on('pageerror', (error) => wrong.push(String(error)))
          page.on('console', (message) => { if (message.type() === 'error') wrong.push(message.text()) })
          t.after(() => {
            // React reports what a boundary has caught
            if (boundary === undefined) assert.deepEqual(wrong, [])
          })
          await page.goto(`${url}/?${new URLSearchParams({
            gateway: gateway.url, guid, name: 'ada', ...(strict && { strict: '' }), ...more
          })}`)
          /** @param {string} id @param {string} expected */
          const shows = (id, expected) => waitFor(
            async () => await page.locator(`#${id}`).textContent() === expected,
            { timeout: 20_000, message: async () => `${id}: ${await page.locator(`#${id}`).textContent()}` }
          )
          const run = (/** @type {string} */ code) => page.evaluate(code)
          const items = () => page.locator('li').allTextContents()
          assert.ok((await page.locator('#version').textContent())?.startsWith(version))
          return { shows, run, items }
        }
        /** @param {string} name @param {(t: import('node:test').TestContext) => Promise<void>} run */
        const always = (name, run) => test(name, (t) => bundle === undefined
          ? t.skip('npm cannot reach its registry')
          : run(t))
        const once = isWhole && strict ? always : () => {}
        const fresh = () => `doc-${randomBytes(6).toString('hex')}`
        const publish = (/** @type {string} */ guid, /** @type {string} */ value) =>
          gateway.post(`/v1/documents/${guid}/broadcast`, value)

        always('a document is joined once, and each record is shown once', async (t) => {
          const guid = fresh()
          const { shows, run, items } = await open(t, guid)
          await shows('status', 'live')
          for (const value of ['a', 'b', 'c']) await publish(guid, value)
          await waitFor(async () => (await items()).length === 3)
          assert.deepEqual(await items(), ['a', 'b', 'c'])
          assert.deepEqual(await run('log'), ['connected', `joined ${guid}`])
        })

        once('a document is loaded once, and continues over a lost connection', async (t) => {
          const guid = fresh()
          await publish(guid, 'before')
          const { shows, run, items } = await open(t, guid, { load: '' })
          await shows('status', 'live')
          await run('client.drop(600000)')
          await shows('state', 'reconnecting')
          await publish(guid, 'meanwhile')
          await run('client.connect()')
          await waitFor(async () => (await items()).length === 2)
          assert.deepEqual(await items(), ['loaded at 1', 'meanwhile'])
          assert.equal(await run('loads'), 1)
        })

        once('a hot reload of the component keeps the document and what it has received', async (t) => {
          const guid = fresh()
          const { shows, run, items } = await open(t, guid)
          await shows('status', 'live')
          await publish(guid, 'one')
          await waitFor(async () => (await items()).length === 1)
          const renders = Number(await run('renders'))
          await run('hotReload()')
          await waitFor(async () => Number(await run('renders')) > renders)
          await publish(guid, 'two')
          await waitFor(async () => (await items()).at(-1) === 'two')
          assert.deepEqual(await items(), ['one', 'two'])
          assert.deepEqual(await run('log'), ['connected', `joined ${guid}`])
        })

        always('another guid closes the document, and so does unmounting', async (t) => {
          const [first, second] = [fresh(), fresh()]
          const { shows, run, items } = await open(t, first)
          await shows('status', 'live')
          await publish(first, 'one')
          await waitFor(async () => (await items()).length === 1)
          await run(`setGuid('${second}')`)
          await waitFor(async () => (await items()).length === 0)
          // a page that has no history sees only what comes after its join
          await shows('status', 'live')
          await publish(second, 'two')
          await waitFor(async () => (await items()).join() === 'two')
          const members = async (/** @type {string} */ guid) =>
            (await (await fetch(`${gateway.apiUrl}/v1/documents/${guid}/presence`)).json()).count
          await waitFor(async () => await members(first) === 0)
          await run('setGuid(null)')
          await waitFor(async () => await members(second) === 0)
        })

        once('another guid begins with its own initial data', async (t) => {
          const [first, second] = [fresh(), fresh()]
          const { run, items, shows } = await open(t, first, { initial: '' })
          await shows('status', 'live')
          assert.deepEqual(await items(), [`initial of ${first}`])
          await run(`setGuid('${second}')`)
          await waitFor(async () => (await items()).join() === `initial of ${second}`)
          await shows('status', 'live')
          await publish(second, 'one')
          await waitFor(async () => (await items()).length === 2)
          assert.deepEqual(await items(), [`initial of ${second}`, 'one'])
        })

        once('a reducer that throws is an error, and the document is left', async (t) => {
          const guid = fresh()
          const { shows, run } = await open(t, guid, { throwing: '' })
          await shows('status', 'live')
          await publish(guid, 'x')
          await shows('status', 'closed')
          await waitFor(async () => await run('[...client._memberships.keys()].length') === 0)
        })

        once('a backlog of records is few renders', async (t) => {
          const guid = fresh()
          const { shows, run, items } = await open(t, guid)
          await shows('status', 'live')
          await run('client.drop(600000)')
          for (let i = 0; i < 100; i++) await publish(guid, `${i}`)
          const before = Number(await run('renders'))
          await run('client.connect()')
          await waitFor(async () => (await items()).length === 100)
          const renders = Number(await run('renders')) - before
          assert.ok(renders <= 40, `${renders} renders`)
        })

        once('a refused document is an error', async (t) => {
          const { shows } = await open(t, 'line\nfeed')
          await shows('error', 'bad_request')
          await shows('status', 'closed')
        })

        once('an error goes to the boundary, and another guid works', async (t) => {
          const { shows, run } = await open(t, 'line\nfeed', { boundary: '' })
          await shows('caught', 'bad_request')
          await run(`setGuid('${fresh()}')`)
          await shows('status', 'live')
        })

        once('`onRecord` is that of the newest render', async (t) => {
          const guid = fresh()
          const { shows, run } = await open(t, guid)
          await shows('status', 'live')
          await publish(guid, 'one')
          await waitFor(async () => Number(await run('records.length')) === 1)
          await run('setRenderedFor(\'second\')')
          await waitFor(async () => await run('effectsFor') === 'second')
          await publish(guid, 'two')
          await waitFor(async () => Number(await run('records.length')) === 2)
          assert.deepEqual(await run('records'), ['first message one', 'second message two'])
        })

        once('queued edits are pending without a connection, and then records', async (t) => {
          const guid = fresh()
          const { shows, run, items } = await open(t, guid, { outbox: '', name: `ada-${guid}` })
          await shows('status', 'live')
          await run('client.drop(600000)')
          await run('void doc.send("one", { queue: true })')
          await run('void doc.send("two", { queue: true })')
          await shows('pending', '2')
          await run('client.connect()')
          await shows('pending', '0')
          await waitFor(async () => (await items()).length === 2)
          assert.deepEqual(await items(), ['one', 'two'])
        })

        once('a provider with a `url` makes one client, and closes it when it is gone', async (t) => {
          const guid = fresh()
          const { shows, run } = await open(t, guid, { url: '' })
          await shows('status', 'live')
          await run('setGuid(\'another\'), setGuid(null)')
          assert.deepEqual(await run('log.filter((what) => what === "connected")'), ['connected'])
          await run('setUrl(\'\')')
          await waitFor(async () => await run('log.at(-1)') === 'closed', { message: async () => await run('log') })
        })

        always('members and signals of others are shown', async (t) => {
          const guid = fresh()
          const [one, two] = [await open(t, guid), await open(t, guid, { name: 'bob' })]
          await one.shows('members', 'ada,bob 2')
          await two.shows('members', 'ada,bob 2')
          assert.equal(await one.run('signal({ x: 1 })'), true)
          await two.shows('cursor', '{"x":1}')
        })
      })
    }
  })
