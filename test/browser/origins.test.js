import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { before, describe, test } from 'node:test'
import { createClientFiles } from '../../packages/demo/client-files.js'
import * as inkcast from '../../src/operate/roles/demo-parts.js'
import { newTab, noBrowser } from '../helpers/browser.js'
import { startEmbedded } from '../helpers/embedded.js'
import { fileScope } from '../helpers/file-scope.js'
import { sharedBrowser } from '../helpers/shared-browser.js'

describe('a page of another origin', { skip: noBrowser }, () => {
  /** @type {Awaited<ReturnType<typeof sharedBrowser>>} */
  let browser
  let pages = ''
  const suite = fileScope()

  before(async () => {
    browser = await sharedBrowser()
    const client = createClientFiles(inkcast)
    const server = http.createServer((req, res) => {
      if (req.url?.startsWith('/client/')) client(req, res, () => res.writeHead(404).end())
      else res.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>x</title>')
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    suite.after(() => {
      server.close()
      server.closeAllConnections()
    })
    pages = `http://localhost:${/** @type {import('net').AddressInfo} */ (server.address()).port}`
  })

  /**
   * @param {import('node:test').TestContext} t
   * @param {string} url of the gateway
   * @param {object} [options] of the client
   * @returns {Promise<{ state: string, code?: string, message?: string }>} the final state
   */
  async function connectFrom (t, url, options = {}) {
    const opened = await newTab(t, browser)
    await opened.goto(pages)
    return opened.evaluate(async ({ url, options }) => {
      const path = '/client/index.js'
      const { connect } = await import(path)
      return new Promise((resolve) => {
        const client = connect(url, options)
        client.on('state', (/** @type {string} */ state, /** @type {any} */ reason) => {
          if (state === 'connected' || state === 'refused')
            resolve({ state, ...(reason && { code: reason.code, message: reason.message }) })
        })
      })
    }, { url, options })
  }

  for (const transports of [undefined, ['websocket'], ['polling']]) {
    test(
      `that may not connect gets an error that names the setting: ${transports ?? 'WebSocket, then long polling'}`,
      { timeout: 60_000 },
      async (t) => {
        const { url } = await startEmbedded(t, { ALLOWED_ORIGINS: 'https://good.example' })
        assert.deepEqual(await connectFrom(t, url, transports && { transports }), {
          state: 'refused',
          code: 'origin_refused',
          message: `pages of ${pages} may not connect: add this origin to ALLOWED_ORIGINS`
        })
      }
    )
  }

  test('on the same machine connects to a gateway in development', { timeout: 60_000 }, async (t) => {
    const { url } = await startEmbedded(t)
    assert.deepEqual(await connectFrom(t, url), { state: 'connected' })
  })

  test('cannot start or read a session from a script', { timeout: 60_000 }, async (t) => {
    const { url, gateway } = await startEmbedded(t, { ALLOWED_ORIGINS: 'https://good.example' })
    const opened = await newTab(t, browser)
    await opened.goto(pages)
    const came = await opened.evaluate((url) => new Promise((resolve) => {
      const page = /** @type {any} */ (globalThis)
      page.___eio = [resolve]
      const script = page.document.createElement('script')
      script.src = `${url}/socket.io/?EIO=4&transport=polling&j=0`
      script.onload = () => resolve('loaded')
      script.onerror = () => resolve('refused')
      page.document.head.append(script)
    }), url)
    assert.equal(came, 'refused')
    assert.equal(gateway.engine.sessions().length, 0)
  })
})
