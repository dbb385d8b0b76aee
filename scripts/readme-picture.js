#!/usr/bin/env node
/**
 * Takes the picture of the README: the demo page in two windows, after some edits.
 *
 *   node scripts/readme-picture.js
 */
import { mkdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startBrowser } from '../test/helpers/browser.js'
import { startEmbedded } from '../test/helpers/embedded.js'

const OUTPUT = fileURLToPath(new URL('../docs/images/', import.meta.url))
/** @type {(() => unknown)[]} */
const stops = []
const t = { after: (/** @type {() => unknown} */ stop) => { stops.unshift(stop) } }

try {
  const { url } = await startEmbedded(t)
  const browser = await startBrowser(t)
  const context = await browser.newContext({ viewport: { width: 1200, height: 600 } })
  const page = await context.newPage()
  const guest = await (await browser.newContext()).newPage()
  for (const one of [page, guest]) await one.goto(url)
  await page.getByRole('button', { name: /guests/ }).click()
  // the guests type and point
  await delay(6000)
  await page.evaluate('scrollTo(0, 0)')
  mkdirSync(OUTPUT, { recursive: true })
  await page.screenshot({ path: `${OUTPUT}demo.png` })
} finally {
  for (const stop of stops) await stop()
}
