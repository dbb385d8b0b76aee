#!/usr/bin/env node
/**
 * Takes the picture of the status page for docs/status.md: a cluster with Redis and Kafka has worked for some minutes,
 * on a machine that does nothing else. Needs Chromium, cwebp (Debian packages chromium and webp), `npm run services`.
 *
 *   node scripts/status-picture.js
 */
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startBrowser } from '../test/helpers/browser.js'
import { startCluster } from '../test/helpers/cluster.js'
import { redisUrl } from '../test/helpers/env.js'
import { reversed } from '../test/helpers/file-scope.js'
import { freshTopics } from '../test/helpers/kafka.js'
import { openStatus } from '../test/helpers/status-page.js'

const FILE = fileURLToPath(new URL('../docs/images/status-light.webp', import.meta.url))
const COMMAND = fileURLToPath(new URL('../cluster.js', import.meta.url))
const MINUTES = 6
const LOAD = ['--connections', '1000', '--ramp', '100', '--documents', '50', '--records', '40']

/** @type {(() => unknown)[]} */
const stops = []
const scope = reversed({ after: (stop) => { stops.push(stop) } })
const folder = mkdtempSync(join(tmpdir(), 'inkcast-picture-'))
try {
  const { env } = freshTopics(scope)
  const { url, apiUrl, adminUrl } = await startCluster(scope, {
    ...env, REDIS_URL: redisUrl(), REDIS_PREFIX: `picture-${process.pid}`, WORKERS: '2', MACHINE_NAME: 'machine-1'
  })
  const load = spawn(process.execPath, [
    COMMAND, 'load', ...LOAD, '--hold', `${MINUTES + 1}m`, '--url', url, '--api', apiUrl, '--admin', adminUrl
  ], { stdio: 'ignore', env: { ...process.env, INKCAST_ENV_FILE: '' } })
  scope.after(() => load.kill())
  console.log(`the picture is taken in ${MINUTES} minutes`)
  await delay(MINUTES * 60_000)
  const { page, reads } = await openStatus(scope, await startBrowser(scope), adminUrl)
  await reads('#tiles', /Deliveries\/s\s+[1-9]/)
  // the legends have no values before the second answer
  await reads('#plots figure:nth-child(1) .u-legend', /open:?\s*[1-9]/)
  const picture = join(folder, 'status.png')
  await page.screenshot({ path: picture, fullPage: true })
  execFileSync('cwebp', ['-quiet', '-near_lossless', '0', '-q', '100', '-m', '6', picture, '-o', FILE])
  console.log(FILE)
} finally {
  for (const stop of stops) await stop()
  rmSync(folder, { recursive: true, force: true })
}
