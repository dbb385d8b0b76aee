import { before } from 'node:test'
import { openDemo } from './browser.js'
import { startCluster } from './cluster.js'
import { fileScope } from './file-scope.js'
import { ownRedisUrl } from './own-redis.js'
import { sharedBrowser } from './shared-browser.js'
import { waitFor } from './wait.js'

/** @typedef {import('./browser.js').DemoPage} DemoPage */

/** A connection of a killed worker, and of one that is replaced; a button that is pressed too early. */
const CONNECTIONS = /ERR_CONNECTION|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|WebSocket|503|409|429/

/**
 * A cluster with two workers and a Redis of its own, and a browser, for the tests of the suite that calls it.
 */
export function faultCluster () {
  const scope = fileScope()
  /** @type {Awaited<ReturnType<typeof startCluster>>} */
  let inkcast
  /** @type {import('playwright-core').Browser} */
  let browser
  before(async () => {
    const REDIS_URL = await ownRedisUrl(scope)
    inkcast = await startCluster(scope, { WORKERS: '2', REDIS_URL })
    browser = await sharedBrowser()
  }, { timeout: 120_000 })

  return {
    get url () { return inkcast.url },

    /** @type {typeof inkcast.post} */
    post: (...call) => inkcast.post(...call),

    /**
     * Opens the demo, and waits for the section with the faults.
     * @param {import('node:test').TestContext} t
     * @param {string} document
     * @param {Parameters<typeof openDemo>[3]} [options]
     */
    async open (t, document, options) {
      const ada = await openDemo(t, browser, inkcast.url, { mayComplain: CONNECTIONS, document, ...options })
      await ada.page.waitForSelector('#faults:not([hidden])')
      return ada
    }
  }
}

/** Waits until the page has told its result. @param {DemoPage} ada */
export async function told (ada) {
  await waitFor(async () => (await ada.page.getAttribute('#faults', 'data-state')) === 'idle', {
    timeout: 60_000,
    message: async () => `the end of the fault; ${await ada.text('#faults')}`
  })
  return { story: await ada.text('#faults-story'), count: await ada.text('#faults-count') }
}

/**
 * Presses a button, again if a fault of the page of an earlier test has not ended.
 * @param {DemoPage} ada
 * @param {string} kind
 */
export async function press (ada, kind) {
  for (;;) {
    await ada.page.click(`#fault-${kind}`)
    const result = await told(ada)
    if (!/wait (?:a second|until)/.test(await ada.text('#faults-problem'))) return result
  }
}
