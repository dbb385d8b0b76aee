#!/usr/bin/env node
/**
 * Takes the pictures of the docs site, after `npm run docs:site`:
 *
 *   node scripts/site-pictures.js
 */
import { fileURLToPath } from 'node:url'
import { startBrowser } from '../test/helpers/browser.js'
import { startEmbedded } from '../test/helpers/embedded.js'

const OUTPUT = fileURLToPath(new URL('../docs/images/', import.meta.url))
const LAPTOP = { width: 1280, height: 800 }
const PHONE = { width: 390, height: 844 }
const PICTURES = /** @type {const} */ ([
  { name: 'site-home', path: '', viewport: LAPTOP, colorScheme: 'light' },
  { name: 'site-settings-dark', path: 'configuration.html', viewport: LAPTOP, colorScheme: 'dark' },
  { name: 'site-phone', path: 'client-api.html', viewport: PHONE, colorScheme: 'light' }
])
/** @type {(() => unknown)[]} */
const stops = []
const t = { after: (/** @type {() => unknown} */ stop) => { stops.unshift(stop) } }

try {
  const { url } = await startEmbedded(t)
  const browser = await startBrowser(t)
  for (const { name, path, ...context } of PICTURES) {
    const page = await (await browser.newContext({ reducedMotion: 'reduce', ...context })).newPage()
    await page.goto(`${url}/docs/${path}`, { waitUntil: 'networkidle' })
    await page.screenshot({ path: `${OUTPUT}${name}.png` })
  }
} finally {
  for (const stop of stops) await stop()
}
