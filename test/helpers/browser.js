import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { lacks, pathOf } from '../services/install.js'
import { waitFor } from './wait.js'

/** Folder of screenshots, which are named after their content. */
const OUTPUT = fileURLToPath(new URL('../output/browser/', import.meta.url))
/**
 * Features of Chromium that are off. The last such argument counts, so those that Playwright takes off for pages are
 * named again.
 */
const FEATURES_OFF = [
  'AimEnabled', 'AvoidCorsURLLoaderRestartOnRedirect', 'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose', 'HttpsFirstBalancedModeAutoEnable', 'HttpsUpgrades', 'LensOverlay', 'MediaRouter',
  'NetworkTimeServiceQuerying', 'OptimizationHints', 'PaintHolding', 'PreconnectToSearch', 'ThirdPartyStoragePartitioning',
  // the popups of the address bar are pages, which each window loads in a process of its own: a second of CPU time
  'WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'WebUIOmniboxFullPopup',
  // processes in reserve, and more processes than --renderer-process-limit
  'SpareRendererForSitePerProcess', 'RemoveRendererProcessLimit'
]
/** Timeout that allows for a busy machine, ms. */
const PATIENCE = 20_000

/** Reason why browser tests cannot run here, or false. */
export const noBrowser = await lacks(['chromium'])

/**
 * The distribution's Chromium, headless; closed after the test.
 * @param {{ after: (stop: () => unknown) => void }} t
 */
export async function startBrowser (t) {
  const browser = await chromium.launch({
    executablePath: pathOf('chromium'),
    // Chromium's sandbox does not work as root
    chromiumSandbox: process.getuid?.() !== 0,
    // the tabs of a context share a process and its compiled scripts: a third of the CPU time of a page less
    args: [
      '--renderer-process-limit=1', '--disable-site-isolation-trials', '--disable-gpu',
      `--disable-features=${FEATURES_OFF.join()}`
    ]
  })
  t.after(() => browser.close())
  return browser
}

/** @typedef {Map<string, Promise<import('playwright-core').BrowserContext>>} Contexts by options as JSON */
/** @typedef {import('playwright-core').BrowserContextOptions & { apart?: boolean }} TabOptions */

/** @type {WeakMap<import('playwright-core').Browser, Contexts>} with the options that a page cannot have by itself */
const contexts = new WeakMap()

/**
 * A tab, closed after the test. Tabs with the same options share a context, because a new context starts processes and
 * compiles each script again: 1 to 2 s of CPU time. So they share cookies and `localStorage`, as tabs of one person do.
 *
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {import('playwright-core').Browser} browser
 * @param {TabOptions} [options] apart: in a context, and so in a process, of its own
 * @returns {Promise<import('playwright-core').Page>}
 */
export async function newTab (t, browser, { viewport, colorScheme, reducedMotion, apart = false, ...options } = {}) {
  const shared = contexts.get(browser) ?? /** @type {Contexts} */ (new Map())
  contexts.set(browser, shared)
  const key = JSON.stringify(options)
  const context = apart ? browser.newContext(options) : shared.get(key) ?? browser.newContext(options)
  if (!apart) shared.set(key, context)
  const page = await (await context).newPage()
  t.after(async () => apart ? (await context).close() : page.close())
  if (viewport) await page.setViewportSize(viewport)
  await page.emulateMedia({ colorScheme: colorScheme ?? null, reducedMotion: reducedMotion ?? null })
  return page
}

/** @typedef {Awaited<ReturnType<typeof openDemo>>} DemoPage */

/**
 * Opens the demo in a tab of its own, as another person. Unexpected messages on its console fail the test.
 *
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {import('playwright-core').Browser} browser
 * @param {string} url
 * @param {object} [options]
 * @param {string} [options.document]
 * @param {string} [options.query] appended to the address, such as `codec=msgpack`
 * @param {string} [options.name] of the person
 * @param {boolean} [options.second] with the second view, if there is room; default: without
 * @param {RegExp} [options.mayComplain] messages allowed on the console
 * @param {(page: import('playwright-core').Page) => Promise<unknown>} [options.prepare]
 * @param {TabOptions} [options.context]
 */
export async function openDemo (
  t,
  browser,
  url,
  { document = 'demo', query = '', name, second = false, mayComplain, prepare, context } = {}
) {
  /** @type {string[]} */
  const complaints = []
  const complain = (/** @type {string} */ text) => {
    if (!mayComplain?.test(text)) complaints.push(text)
  }
  // without animations, which are drawn all the time
  const page = await newTab(t, browser, { viewport: { width: 1360, height: 860 }, reducedMotion: 'reduce', ...context })
  t.after(() => assert.deepEqual(complaints, [], 'no errors on the console'))
  await prepare?.(page)
  page.setDefaultTimeout(PATIENCE)
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      complain(`${message.text()} (${message.location().url})`)
  })
  page.on('pageerror', (error) => complain(String(error)))
  await page.goto(`${url}/?document=${encodeURIComponent(document)}${second ? '' : '&views=1'}${query && `&${query}`}`)
  await page.waitForSelector('body[data-ready]')
  if (name !== undefined) {
    await page.fill('#name', name)
    await page.press('#name', 'Tab')
  }

  /** @param {string} cell */
  const field = (cell) => page.locator(`#sheet td[data-cell="${cell}"]`)
  /** @param {string} cell */
  const shown = async (cell) => (await field(cell).locator('.text').textContent()) ?? ''
  /** @param {string} selector */
  const text = async (selector) => (await page.textContent(selector)) ?? ''
  return {
    page,
    field,
    shown,
    text,
    /** @param {string} cell @param {string} words appended to the cell letter by letter */
    async type (cell, words) {
      await field(cell).focus()
      await field(cell).press('F2')
      await page.keyboard.type(words)
    },
    /** @param {string} cell @param {string} words appended to the cell at once: each letter costs 20 ms of CPU time */
    async insert (cell, words) {
      await field(cell).focus()
      await field(cell).press('F2')
      await page.keyboard.insertText(words)
    },
    /** @param {string} cell @param {string} words @returns {Promise<unknown>} resolves when the cell has them */
    shows: (cell, words) =>
      waitFor(async () => (await shown(cell)) === words, {
        timeout: PATIENCE,
        message: () => `${cell} of ${name ?? 'a page'} to be ${words}; ${complaints}`
      }),
    /** @param {string} selector @param {RegExp} pattern @returns {Promise<string>} the text, when it matches */
    async reads (selector, pattern) {
      let last = ''
      await waitFor(async () => pattern.test((last = await text(selector))), {
        timeout: PATIENCE,
        message: () => `${selector} to match ${pattern}; it is ${last}; ${complaints}`
      })
      return last
    },
    /** @param {string} shot name of the screenshot */
    async screenshot (shot) {
      mkdirSync(OUTPUT, { recursive: true })
      await page.screenshot({ path: `${OUTPUT}${shot}.png` })
    }
  }
}
