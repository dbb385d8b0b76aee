#!/usr/bin/env node
/**
 * Takes the picture of docs/demo.md: the fault buttons after a killed worker, in front of a crowd, with the hops of the
 * records.
 *
 *   node scripts/faults-picture.js
 */
import { mkdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startBrowser } from '../test/helpers/browser.js'
import { startCluster } from '../test/helpers/cluster.js'
import { startRedis } from '../test/services/redis.js'

const OUTPUT = fileURLToPath(new URL('../docs/images/', import.meta.url))
/** @type {(() => unknown)[]} */
const stops = []
const t = { after: (/** @type {() => unknown} */ stop) => { stops.unshift(stop) } }

try {
  const redis = await startRedis()
  t.after(() => redis.stop())
  const { url } = await startCluster(t, { REDIS_URL: redis.url, WORKERS: '2', OVERLOAD_LAG: '0' })
  const browser = await startBrowser(t)
  const page = await (await browser.newContext({ viewport: { width: 1200, height: 800 } })).newPage()
  page.setDefaultTimeout(90_000)
  await page.goto(url)
  await page.waitForSelector('#faults:not([hidden])')
  await page.click('#hops-show')
  await page.click('#crowd')
  await page.getByText(/1,000 of 1,000 guests/).waitFor()
  await page.click('#fault-kill')
  await page.waitForSelector('#faults[data-state=idle]')
  await page.getByText(/[1-9]\d* reconnects · 0 lost/).waitFor()
  await delay(4000)
  // both sections, without the bar at the top
  await page.evaluate('document.querySelector(".bar").style.position = "static"')
  const [faults, hops] = await Promise.all(['#faults', '#hops'].map((part) => page.locator(part).boundingBox()))
  if (faults === null || hops === null) throw new Error('the sections are not on the page')
  mkdirSync(OUTPUT, { recursive: true })
  await page.screenshot({
    path: `${OUTPUT}demo-faults.png`,
    fullPage: true,
    clip: { x: faults.x - 8, y: faults.y + await page.evaluate('scrollY') - 8, width: faults.width + 16, height: hops.y + hops.height - faults.y + 16 }
  })
} finally {
  for (const stop of stops) await stop()
}
