import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { newTab, noBrowser } from '../helpers/browser.js'
import { codeBlocks } from '../helpers/code-blocks.js'
import { startEmbedded } from '../helpers/embedded.js'
import { fileScope } from '../helpers/file-scope.js'
import { bundlePage } from '../helpers/framework-pages.js'
import { sharedBrowser } from '../helpers/shared-browser.js'
import { waitFor } from '../helpers/wait.js'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const PREAMBLE = `
import { connect } from 'inkcast-client'
const query = window.query = Object.fromEntries(new URLSearchParams(location.search))
window.log = []
const options = {
  id: query.name,
  log: ({ what, guid }) => window.log.push(\`\${what} \${guid ?? ''}\`.trim()),
  ...('outbox' in query && { outbox: { user: query.name } })
}
window.source = 'url' in query ? { url: query.gateway, options } : { client: connect(query.gateway, options) }
window.optionsFor = (guid) => ({
  initial: 'initial' in query ? [\`initial of \${guid}\`] : [],
  ...('load' in query && { load: async ({ position }) => ({ data: [\`loaded at \${position.offset}\`], position }) }),
  reduce: (items, { event, payload }) => event === 'message' ? [...items, payload] : items,
  state: { name: query.name },
  offline: 'outbox' in query
})
`
const ENTRIES = {
  vue: `
import { createApp } from 'vue'
import { createInkcast } from 'inkcast-vue'
import Page from './page.vue'
${PREAMBLE}
const app = createApp(Page).use(createInkcast(window.source))
app.mount('#root')
window.unmountAll = () => app.unmount()`,
  svelte: `
import { mount, unmount } from 'svelte'
import Provider from './provider.svelte'
${PREAMBLE}
const app = mount(Provider, { target: document.getElementById('root') })
window.unmountAll = () => unmount(app)`
}
/** Renders a component that opens a document, below one that provides a gateway's address. */
const ON_SERVERS = {
  vue: `
import { createSSRApp } from 'vue'
import { renderToString } from 'vue/server-renderer'
import { createInkcast } from 'inkcast-vue'
import Page from './page.vue'
export const text = await renderToString(createSSRApp(Page).use(createInkcast(window.source)))`,
  svelte: `
import { render } from 'svelte/server'
import Provider from './provider.svelte'
export const text = render(Provider).body`
}

/** @param {'vue' | 'svelte'} framework @returns {Record<string, string>} the components of the tests */
const componentsOf = (framework) => Object.fromEntries(readdirSync(join(HERE, framework))
  .map((name) => [`./${name}`, readFileSync(join(HERE, framework, name), 'utf8')]))

/** @param {'vue' | 'svelte'} framework @param {string} url @returns {Promise<string>} the example of its page */
function exampleOf (framework, url) {
  const blocks = codeBlocks().filter(({ file }) => file === `docs/${framework}.md`)
  const code = (/** @type {string} */ language) =>
    blocks.filter((block) => block.language === language).map((block) => block.code.replaceAll('http://localhost:3000', url))
  if (framework === 'vue') {
    const [entry] = code('ts')
    return bundlePage('vue', entry.replace(/^declare .*\/\/ /m, ''), { './Comments.vue': code('vue')[0] })
  }
  const components = Object.fromEntries(code('svelte').map((text) => [`./${/^<!-- (\S+) -->/.exec(text)?.[1]}`, text]))
  return bundlePage(
    'svelte', 'import { mount } from \'svelte\'\nimport App from \'./App.svelte\'\n' +
    'mount(App, { target: document.getElementById(\'app\') })', components
  )
}

for (const framework of /** @type {const} */ (['vue', 'svelte'])) {
  test(`inkcast-${framework}: on a server the first data are rendered, and nothing is connected`, async (t) => {
    const output = fileURLToPath(new URL('../output/', import.meta.url))
    mkdirSync(output, { recursive: true })
    const folder = mkdtempSync(join(output, `${framework}-`))
    t.after(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'page.mjs')
    writeFileSync(file, await bundlePage(framework, ON_SERVERS[framework], componentsOf(framework), { server: true }))
    const { window } = /** @type {any} */ (globalThis)
    t.after(() => { /** @type {any} */ (globalThis).window = window })
    Object.assign(globalThis, {
      window: {
        query: { guid: 'minutes' },
        // a client would try to connect, and keep this process alive
        source: { url: 'http://gateway.invalid' },
        optionsFor: () => ({ initial: ['of the server'], presence: true })
      }
    })
    const { text } = await import(pathToFileURL(file).href)
    const outputs = [...text.matchAll(/<output id="(\w+)">([^<]*)</g)].map(([, id, shown]) => `${id}: ${shown.trim()}`)
    assert.deepEqual(outputs, ['state: connecting', 'status: joining', 'error: ', 'pending: 0', 'members: 0', 'cursor: '])
    assert.match(text, /<li>of the server<\/li>/)
  })
}

describe('the bindings for Vue and Svelte in a browser', { skip: noBrowser }, () => {
  /** @type {Awaited<ReturnType<typeof startEmbedded>>} */
  let gateway
  /** @type {Awaited<ReturnType<typeof sharedBrowser>>} */
  let browser
  let url = ''
  /** @type {Record<string, string>} by path */
  const bundles = {}
  const suite = fileScope()

  before(async () => {
    gateway = await startEmbedded(suite, { ALLOWED_ORIGINS: '*' })
    browser = await sharedBrowser()
    for (const framework of /** @type {const} */ (['vue', 'svelte'])) {
      bundles[`/${framework}.js`] = await bundlePage(framework, ENTRIES[framework], componentsOf(framework))
      bundles[`/${framework}-example.js`] = await exampleOf(framework, gateway.url)
    }
    const server = http.createServer((req, res) => {
      const { pathname } = new URL(req.url ?? '', 'http://x')
      const bundle = bundles[pathname]
      res.setHeader('content-type', bundle ? 'text/javascript' : 'text/html')
      res.end(bundle ?? '<!doctype html><html lang="en"><title>page</title><link rel="icon" href="data:,">' +
      `<div id="root"></div><div id="app"></div><script type="module" src="${pathname}.js"></script></html>`)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    suite.after(() => {
      server.close()
      server.closeAllConnections()
    })
    url = `http://127.0.0.1:${/** @type {import('net').AddressInfo} */ (server.address()).port}`
  })

  const fresh = () => `doc-${randomBytes(6).toString('hex')}`
  const publish = (/** @type {string} */ guid, /** @type {unknown} */ value) =>
    gateway.post(`/v1/documents/${guid}/broadcast`, value)

  /**
   * @param {import('node:test').TestContext} t
   * @param {string} path
   * @param {Record<string, string>} query
   */
  async function open (t, path, query) {
    const page = await newTab(t, browser)
    /** @type {string[]} */
    const wrong = []
    page.on('pageerror', (error) => wrong.push(String(error)))
    page.on('console', (message) => { if (/error|warn/.test(message.type())) wrong.push(message.text()) })
    t.after(() => assert.deepEqual(wrong, []))
    await page.goto(`${url}${path}?${new URLSearchParams(query)}`)
    /** @param {string} id @param {string} expected */
    const shows = (id, expected) => waitFor(
      async () => (await page.locator(`#${id}`).textContent())?.trim() === expected,
      { timeout: 20_000, message: async () => `${id}: ${await page.locator(`#${id}`).textContent()} ${wrong}` }
    )
    const items = () => page.locator('li').allTextContents()
    const lists = (/** @type {string[]} */ ...expected) => waitFor(
      async () => (await items()).join('\n') === expected.join('\n'), { message: async () => `${await items()} ${wrong}` }
    )
    return { page, shows, items, lists, run: (/** @type {string} */ code) => page.evaluate(code) }
  }

  for (const framework of /** @type {const} */ (['vue', 'svelte'])) {
    describe(framework, () => {
      /** @param {import('node:test').TestContext} t @param {string} guid @param {Record<string, string>} [more] */
      const openPage = (t, guid, more = {}) =>
        open(t, `/${framework}`, { gateway: gateway.url, guid, name: 'ada', ...more })

      test(`the example of docs/${framework}.md shows records, and sends one`, async (t) => {
        const { page, items } = await open(t, `/${framework}-example`, {})
        // the page has no history: it shows what is published after its join
        await waitFor(async () => {
          await publish('minutes', { text: 'from a service' })
          return (await items()).length > 0
        }, { timeout: 20_000 })
        assert.deepEqual([...new Set(await items())], ['from a service'])
        await page.locator('section[aria-busy=false]').waitFor()
        await page.getByRole('button').click()
        await waitFor(async () => (await items()).at(-1) === 'Hello', { message: items })
      })

      test('a document is loaded, continues over a lost connection, and is left with the component', async (t) => {
        const guid = fresh()
        await publish(guid, 'before')
        const { shows, run, lists } = await openPage(t, guid, { load: '', url: '' })
        await shows('status', 'live')
        await run('clientOf().drop(600000)')
        await shows('state', 'reconnecting')
        await publish(guid, 'meanwhile')
        await run('clientOf().connect()')
        await lists('loaded at 1', 'meanwhile')
        // the records that it missed arrive before the answer to the join
        const joins = () => run('log.filter((what) => /^(joined|connected)/.test(what))')
        await waitFor(async () => /** @type {string[]} */ (await joins()).length >= 4, { message: joins })
        assert.deepEqual(await joins(), ['connected', `joined ${guid}`, 'connected', `joined ${guid}`])
        const members = async () =>
          (await (await fetch(`${gateway.apiUrl}/v1/documents/${guid}/presence`)).json()).count
        assert.ok(await members() > 0)
        await run('setGuid(null)')
        await waitFor(async () => await members() === 0)
        await run('unmountAll()')
        await waitFor(async () => await run('log.at(-1)') === 'closed', { message: async () => await run('log') })
      })

      test('another guid opens the other document with its own data', async (t) => {
        const [first, second] = [fresh(), fresh()]
        const { shows, run, lists } = await openPage(t, first)
        await shows('status', 'live')
        await publish(first, 'one')
        await lists('one')
        await run(`setGuid('${second}')`)
        await lists()
        await shows('status', 'live')
        await publish(first, 'not here')
        await publish(second, 'two')
        await lists('two')
      })

      test('a refused document is an error, and another guid works', async (t) => {
        const { shows, run } = await openPage(t, 'line\nfeed')
        await shows('error', 'bad_request')
        await shows('status', 'closed')
        await run(`setGuid('${fresh()}')`)
        await shows('status', 'live')
        await shows('error', '')
      })

      test('queued edits are pending without a connection, and then records', async (t) => {
        const guid = fresh()
        const { shows, run, lists } = await openPage(t, guid, { outbox: '', name: `ada-${guid}` })
        await shows('status', 'live')
        await run('clientOf().drop(600000)')
        await run('void docOf().send("one", { queue: true })')
        await shows('pending', '1')
        await run('clientOf().connect()')
        await shows('pending', '0')
        await lists('one')
      })

      test('members and signals of others are shown', async (t) => {
        const guid = fresh()
        const [one, two] = [await openPage(t, guid), await openPage(t, guid, { name: 'bob' })]
        await one.shows('members', 'ada,bob 2')
        await two.shows('members', 'ada,bob 2')
        await one.run('setState({ name: "eve" })')
        await two.shows('members', 'bob,eve 2')
        assert.equal(await one.run('signal({ x: 1 })'), true)
        await two.shows('cursor', '{"x":1}')
      })
    })
  }
})
