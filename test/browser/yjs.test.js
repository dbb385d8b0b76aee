import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import sirv from 'sirv'
import * as Y from 'yjs'
import { noBrowser } from '../helpers/browser.js'
import { startCluster } from '../helpers/cluster.js'
import { redisUrl } from '../helpers/env.js'
import { fileScope } from '../helpers/file-scope.js'
import { childrenOf } from '../helpers/processes.js'
import { sharedBrowser } from '../helpers/shared-browser.js'
import { waitFor } from '../helpers/wait.js'
import { startYjsService, yjsGateway } from '../helpers/yjs-service.js'
import { freePort } from '../services/ports.js'

const PAGE = fileURLToPath(new URL('../../examples/yjs/page/', import.meta.url))
const PATIENCE = { timeout: 20_000 }
/** Characters typed by each person, and the delay between two of them, ms. */
const TYPED = 60
const DELAY = 25

describe('the Yjs page in a cluster', { skip: noBrowser, timeout: 540_000 }, () => {
  const scope = fileScope()
  /** @type {Awaited<ReturnType<typeof startCluster>>} */
  let inkcast
  /** @type {Awaited<ReturnType<typeof startYjsService>>} */
  let service
  /** @type {import('playwright-core').Browser} */
  let browser
  let pages = ''
  before(async () => {
    // as in its README
    await build({
      entryPoints: [`${PAGE}main.js`], bundle: true, format: 'esm', outfile: `${PAGE}dist/main.js`, logLevel: 'silent'
    })
    const { port, env } = await yjsGateway()
    inkcast = await startCluster(scope, { WORKERS: '2', REDIS_URL: redisUrl(), ...env })
    service = await startYjsService(scope, { apiUrl: inkcast.apiUrl, port })
    const server = http.createServer(sirv(PAGE, { dev: true })).listen(0, '127.0.0.1')
    await once(server, 'listening')
    scope.after(() => { server.close(); server.closeAllConnections() })
    pages = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`
    browser = await sharedBrowser()
  }, { timeout: 360_000 })

  /**
   * @param {import('node:test').TestContext} t
   * @param {string} guid
   * @param {string} name of the person
   */
  async function open (t, guid, name) {
    const context = await browser.newContext()
    t.after(() => context.close())
    const page = await context.newPage()
    /** @type {string[]} */
    const wrong = []
    page.on('pageerror', (error) => wrong.push(String(error)))
    t.after(() => assert.deepEqual(wrong, []))
    const go = async (/** @type {string} */ gateway) => {
      await page.goto(`${pages}/?document=${guid}&gateway=${gateway}`)
      await page.waitForSelector('body[data-ready]')
    }
    /** @returns {Promise<string>} */
    const text = () => page.evaluate('String(text)')
    await go(inkcast.url)
    await page.fill('#name', name)
    await page.press('#name', 'Tab')
    return {
      page, go, text,
      /** @param {string} content */
      async type (content) {
        await page.focus('.cm-content')
        await page.keyboard.press('Control+End')
        await page.keyboard.type(content, { delay: DELAY })
      },
      /** @param {string} shown */
      shows: (shown) => waitFor(async () => await page.textContent('[role=status]') === shown, {
        ...PATIENCE, message: () => `${name} to show ${shown}; ${wrong}`
      }),
      /** @returns {Promise<string>} the text that a reload finds without a connection */
      async stored () {
        const updates = /** @type {number[][]} */ (await page.evaluate((name) => new Promise((resolve, reject) => {
          const opening = globalThis.indexedDB.open(name)
          opening.onerror = () => reject(opening.error)
          opening.onsuccess = () => {
            const reading = opening.result.transaction('updates').objectStore('updates').getAll()
            reading.onerror = () => reject(reading.error)
            reading.onsuccess = () => {
              opening.result.close()
              resolve(reading.result.map((update) => [...update]))
            }
          }
        }), `yjs:${guid}`))
        const doc = new Y.Doc()
        for (const update of updates) Y.applyUpdate(doc, Uint8Array.from(update))
        return String(doc.getText('text'))
      },
      people: () => page.locator('#people li').allTextContents(),
      cursors: () => page.locator('.cm-ySelectionInfo').allTextContents()
    }
  }

  /**
   * Waits until pages and service have the same text.
   * @param {string} guid
   * @param {{ text: () => Promise<string> }[]} pages
   */
  async function sameText (guid, ...pages) {
    /** @type {string[]} */
    let texts = []
    await waitFor(async () => {
      texts = [await service.text(guid), ...await Promise.all(pages.map(({ text }) => text()))]
      return texts.every((text) => text === texts[0])
    }, { ...PATIENCE, message: () => texts })
    return texts[0]
  }

  test('two people type at once while workers are killed: every character is there once', async (t) => {
    const [ada, grace] = [await open(t, 'killed', 'Ada'), await open(t, 'killed', 'Grace')]
    await Promise.all([ada.shows('saved'), grace.shows('saved')])
    await waitFor(async () => (await ada.people())[0] === 'Grace' && (await grace.people())[0] === 'Ada', PATIENCE)
    const letters = Array.from({ length: TYPED }, (_, i) => String.fromCharCode(97 + i * 7 % 26)).join('')
    const typing = Promise.all([ada.type(letters), grace.type(letters.toUpperCase())])
    await waitFor(async () => (await grace.text()).length > TYPED / 3, PATIENCE)
    await waitFor(async () => (await grace.cursors()).includes('Ada'), { ...PATIENCE, message: 'the cursor of the other one' })
    for (const { pid, role } of await childrenOf(inkcast.pid)) if (role === 'gateway') process.kill(pid, 'SIGKILL')
    await typing
    await Promise.all([ada.shows('saved'), grace.shows('saved')])
    const text = await sameText('killed', ada, grace)
    assert.equal(text.replaceAll(/[^a-z]/g, ''), letters, 'Ada\'s characters')
    assert.equal(text.replaceAll(/[^A-Z]/g, ''), letters.toUpperCase(), 'Grace\'s characters')
    assert.equal(text.length, 2 * TYPED)

    await ada.page.reload()
    await ada.shows('saved')
    assert.equal(await sameText('killed', ada, grace), text, 'after a reload')
  })

  test('edits without a connection survive a reload, and arrive once', async (t) => {
    const [ada, grace] = [await open(t, 'offline', 'Ada'), await open(t, 'offline', 'Grace')]
    await Promise.all([ada.shows('saved'), grace.shows('saved')])
    await ada.type('one ')
    await waitFor(async () => await grace.text() === 'one ', PATIENCE)
    await ada.shows('saved')

    await ada.go(`http://127.0.0.1:${await freePort()}`)
    await ada.shows('offline: edits are kept here')
    assert.equal(await ada.text(), 'one ', 'the stored text is there')
    await ada.type('two ')
    await waitFor(async () => await ada.stored() === 'one two ', { ...PATIENCE, message: ada.stored })
    await ada.page.reload()
    await ada.type('three ')
    await grace.type('four ')
    await waitFor(async () => await service.text('offline') === 'one four ', PATIENCE)

    await ada.go(inkcast.url)
    await ada.shows('saved')
    const text = await sameText('offline', ada, grace)
    assert.deepEqual(text.trim().split(' ').sort(), ['four', 'one', 'three', 'two'])
  })
})
