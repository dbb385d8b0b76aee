import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { promisify } from 'node:util'
import { test } from 'node:test'
import { OUTPUT as SITE } from '../../scripts/site/config.js'
import { ROOT, readGroups } from '../../scripts/site/groups.js'
import { addressOf, sitePages, siteFileOf } from '../../scripts/site/links.js'
import { COLORS, passesAxe } from '../helpers/axe.js'
import { noBrowser } from '../helpers/browser.js'
import { startEmbedded } from '../helpers/embedded.js'
import { fileScope } from '../helpers/file-scope.js'
import { sharedBrowser } from '../helpers/shared-browser.js'
import { PHONE } from '../helpers/status-page.js'
import { waitFor } from '../helpers/wait.js'

const SHOTS = `${ROOT}test/output/browser/`
const LAPTOP = { viewport: { width: 1280, height: 800 } }
const DEVICES = { laptop: LAPTOP, phone: PHONE }

// also the test that the site builds, without dead links. A build that is newer than all its sources is kept
if (isOutdated()) await promisify(execFile)(process.execPath, ['scripts/docs-site.js'], { cwd: ROOT, timeout: 600_000 })
const scope = fileScope()
const { url } = await startEmbedded(scope)
const browser = noBrowser ? undefined : await sharedBrowser()

test('the built site has every page for users, all in the sidebar, and an index for the search', () => {
  const html = (/** @type {string} */ path) => readFileSync(`${SITE}/${siteFileOf(path).replace(/\.md$/, '.html')}`, 'utf8')
  for (const path of sitePages()) assert.match(html(path), /<h1/, path)
  const chunks = readdirSync(`${SITE}/assets/chunks`)
  const metadata = readFileSync(`${SITE}/assets/chunks/${chunks.find((name) => name.startsWith('metadata'))}`, 'utf8')
  const grouped = readGroups().flatMap(({ sections }) => sections.flatMap(({ pages }) => pages))
  for (const { path } of grouped) assert.ok(metadata.includes(addressOf(path)), path)
  assert.doesNotMatch(metadata, /internals/, 'pages for contributors are in a checkout only')
  const index = readFileSync(`${SITE}/assets/chunks/${chunks.find((name) => name.includes('localSearchIndex'))}`, 'utf8')
  for (const id of ['client.html#the-log-of-the-user', 'configuration.html#limits']) assert.ok(index.includes(id), id)
})

/** @type {[string, string, keyof typeof DEVICES, ('light' | 'dark')[]][]} */
const PAGES = [
  ['home', '', 'laptop', ['dark', 'light']],
  ['settings', 'configuration.html', 'laptop', ['dark', 'light']],
  ['client-api', 'client-api.html', 'phone', ['light']],
  ['api', 'http-api.html', 'phone', ['light']]
]

for (const [name, path, device, schemes] of PAGES) {
  test(`the page "${name}" is accessible on a ${device}, in ${schemes.join(' and ')}`, { skip: noBrowser }, async (t) => {
    const { page, complaints } = await open(t, DEVICES[device])
    await page.emulateMedia({ colorScheme: schemes[0] })
    await page.goto(`${url}/docs/${path}`, { waitUntil: 'networkidle' })
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme })
      // not page.waitForFunction, which the policy of the page stops when the first look does not suffice
      await waitFor(() => page.evaluate(`document.documentElement.classList.contains("dark") === ${colorScheme === 'dark'} &&
        [...document.querySelectorAll(".VPSwitchAppearance")].every(({ title }) => title !== "")`), { timeout: 20_000 })
      await page.screenshot({ path: `${SHOTS}docs-${name}-${device}-${colorScheme}.png` })
      await passesAxe(page, colorScheme === 'dark' ? COLORS : {})
    }
    assert.deepEqual(complaints, [])
  })
}

test('the search finds a setting, and a copy button copies the code', { skip: noBrowser }, async (t) => {
  const { page, complaints } = await open(t, { ...LAPTOP, permissions: ['clipboard-read', 'clipboard-write'] })
  await page.goto(`${url}/docs/client.html`, { waitUntil: 'networkidle' })
  await page.locator('button.copy').first().click({ force: true })
  assert.match(String(await page.evaluate('navigator.clipboard.readText()')), /^npm install inkcast-client/)
  await page.getByRole('button', { name: 'Search' }).click()
  await page.locator('#localsearch-input').fill('MAX_WAITING_BYTES')
  const result = page.locator('#localsearch-list a').first()
  await result.waitFor()
  await page.screenshot({ path: `${SHOTS}docs-search.png` })
  await result.click()
  await page.waitForURL(/\.html/)
  await page.getByRole('switch').first().click()
  assert.equal(await page.evaluate('document.documentElement.classList.contains("dark")'), true)
  assert.deepEqual(complaints, [])
})

function isOutdated () {
  const sources = ['docs/.vitepress/theme/style.css', 'docs/.vitepress/theme/index.js', 'package-lock.json']
  const scripts = readdirSync(`${ROOT}scripts/site`).map((name) => `scripts/site/${name}`)
  const changed = [...sources, ...scripts, ...sitePages()].map((path) => statSync(ROOT + path).mtimeMs)
  return (statSync(`${SITE}/index.html`, { throwIfNoEntry: false })?.mtimeMs ?? 0) < Math.max(...changed)
}

/**
 * @param {import('node:test').TestContext} t
 * @param {import('playwright-core').BrowserContextOptions} options
 */
async function open (t, options) {
  mkdirSync(SHOTS, { recursive: true })
  const context = await /** @type {import('playwright-core').Browser} */ (browser)
    .newContext({ reducedMotion: 'reduce', ...options })
  t.after(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  /** @type {string[]} */
  const complaints = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(url)) complaints.push(request.url())
  })
  return { page, complaints }
}
