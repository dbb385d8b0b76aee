#!/usr/bin/env node
/**
 * Films the demo for the README: two people type, a worker is killed, and the page counts what was lost. Needs Chromium
 * and img2webp (Debian packages chromium and webp).
 *
 *   node scripts/film.js
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openDemo, startBrowser } from '../test/helpers/browser.js'
import { startCluster } from '../test/helpers/cluster.js'
import { reversed } from '../test/helpers/file-scope.js'

const FILE = fileURLToPath(new URL('../docs/images/demo.webp', import.meta.url))
const SIZE = { width: 1100, height: 560 }
/** A picture at most this often, ms. */
const STEP = 100
/** The last picture stays, ms. */
const END = 1800

/** @type {(() => unknown)[]} */
const stops = []
const scope = reversed({ after: (stop) => { stops.push(stop) } })
const folder = mkdtempSync(join(tmpdir(), 'inkcast-film-'))
try {
  const { url } = await startCluster(scope, { WORKERS: '2' })
  const demo = await openDemo(scope, await startBrowser(scope), url, {
    name: 'Ada', second: true, mayComplain: /./, context: { viewport: SIZE, reducedMotion: 'no-preference' }
  })
  await demo.page.waitForSelector('#faults:not([hidden])')
  await demo.page.locator('#second-canvas td[data-cell="A7"]').waitFor()
  await demo.page.locator('#faults').scrollIntoViewIfNeeded()
  await demo.page.evaluate('scrollTo(0, document.querySelector("#faults").getBoundingClientRect().top + scrollY - 12)')

  /** @type {{ at: number, data: string }[]} */
  const pictures = []
  const session = await demo.page.context().newCDPSession(demo.page)
  session.on('Page.screencastFrame', ({ data, metadata, sessionId }) => {
    const at = (metadata.timestamp ?? 0) * 1000
    if (at - (pictures.at(-1)?.at ?? 0) >= STEP) pictures.push({ at, data })
    session.send('Page.screencastFrameAck', { sessionId }).catch(() => {}) // the page may be closed
  })
  await session.send('Page.startScreencast', { format: 'png' })
  const type = async (/** @type {string} */ cell, /** @type {string} */ text) => {
    await demo.field(cell).click()
    await demo.page.keyboard.type(text, { delay: 90 })
  }
  await type('A7', 'Paint the sign')
  await demo.page.click('#fault-kill')
  await type('A8', 'Nothing is lost')
  await demo.page.keyboard.press('Enter')
  await demo.reads('#faults-story', /records lost\.$/)
  await delay(2 * STEP)
  await session.send('Page.stopScreencast')

  const args = pictures.flatMap(({ at, data }, i) => {
    const file = join(folder, `${String(i).padStart(4, '0')}.png`)
    writeFileSync(file, Buffer.from(data, 'base64'))
    return ['-d', String(Math.round((pictures[i + 1]?.at ?? at + END) - at)), file]
  })
  execFileSync('img2webp', ['-loop', '0', '-lossy', '-q', '82', '-m', '6', '-kmin', '60', '-kmax', '100', ...args, '-o', FILE])
  const seconds = (pictures[pictures.length - 1].at + END - pictures[0].at) / 1000
  console.log(`${FILE}: ${pictures.length} pictures, ${seconds.toFixed(1)} s, ${Math.ceil(statSync(FILE).size / 1024)} KB`)
  console.log(await demo.text('#faults-story'))
} finally {
  for (const stop of stops) await stop()
  rmSync(folder, { recursive: true, force: true })
}
