#!/usr/bin/env node
/**
 * Takes the picture of a load report, for docs/load.md: the first run of the last report of `npm run load:published`.
 *
 *   node scripts/load-picture.js
 */
import { fileURLToPath } from 'node:url'
import { startBrowser } from '../test/helpers/browser.js'

const RESULTS = new URL('../bench/results/', import.meta.url)
const OUTPUT = fileURLToPath(new URL('../docs/images/load-report.png', import.meta.url))
/** The second scenario: records to everyone, with receipts. */
const SECTION = 1

/** @type {(() => unknown)[]} */
const stops = []
try {
  const browser = await startBrowser({ after: (stop) => { stops.unshift(stop) } })
  const page = await browser.newPage({ viewport: { width: 1240, height: 1000 } })
  await page.goto(new URL('published.html', RESULTS).href)
  await page.locator('.plots').nth(SECTION).screenshot({ path: OUTPUT })
} finally {
  for (const stop of stops) await stop()
}
