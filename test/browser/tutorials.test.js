import assert from 'node:assert/strict'
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { newTab, noBrowser } from '../helpers/browser.js'
import { npmPackages } from '../helpers/npm-packages.js'
import { sharedBrowser } from '../helpers/shared-browser.js'
import { followTutorial } from '../helpers/tutorial.js'
import { waitFor } from '../helpers/wait.js'

const PATIENT = { timeout: 20_000 }
/** A cluster of a process for each core starts once, in the first tutorial: nothing in the others depends on it. */
const ALONE = { WORKERS: '1' }

/** A reader can follow the tutorials word for word: their files and commands are taken from the pages. */
describe('tutorials', { skip: noBrowser }, () => {
  /**
   * @param {import('node:test').TestContext} t
   * @param {string} url
   * @param {object} [options]
   * @param {boolean} [options.clock] a tab has its own clock, which runs as usual, but for `waits`
   */
  async function openTabs (t, url, { clock = false } = {}) {
    const browser = await sharedBrowser()
    await waitFor(async () => (await fetch(`${url}/page.js`)).ok, PATIENT)
    return Promise.all([1, 2].map(async () => {
      const page = await newTab(t, browser, { apart: true })
      if (clock) await page.clock.install()
      page.setDefaultTimeout(60_000)
      await page.goto(url)
      return {
        page,
        lines: () => page.locator('li').allTextContents(),
        /** @param {number} seconds that pass at once */
        waits: (seconds) => page.clock.fastForward(1000 * seconds),
        /** @param {string[]} lines */
        shows: (...lines) => waitFor(async () =>
          JSON.stringify(await page.locator('li').allTextContents()) === JSON.stringify(lines),
        { ...PATIENT, message: async () => page.locator('li').allTextContents() }),
        /** @param {string} role @param {string | RegExp} text */
        says: (role, text) => page.getByRole(/** @type {any} */ (role)).filter({ hasText: text }).waitFor(),
        /** @param {string} text */
        async send (text) {
          await page.locator('form button:enabled').waitFor()
          await page.fill('[name=text]', text)
          await page.press('[name=text]', 'Enter')
        }
      }
    }))
  }

  /** @param {number} port @returns {Promise<unknown>} */
  const answers = (port) => waitFor(async () => (await fetch(`http://localhost:${port}/`)).ok, PATIENT)

  test('"Your first live page": two tabs, a service, a cut connection, a lost log', { timeout: 180_000 }, async (t) => {
    const tutorial = await followTutorial(t, 'docs/tutorials/first-live-page.md')
    assert.deepEqual(tutorial.files, ['my-page/index.html', 'my-page/page.js'])
    const gateway = tutorial.start('npm start')
    tutorial.start('npx esbuild')
    await answers(tutorial.port(3000))
    await waitFor(() => gateway.lastOutput().includes('inkcast is running (a cluster of'), {
      ...PATIENT, message: gateway.lastOutput
    })
    const [one, two] = await openTabs(t, `http://localhost:${tutorial.port(8000)}`, { clock: true })
    for (const tab of [one, two]) await tab.says('status', 'connected')
    await one.send('from a tab')
    for (const tab of [one, two]) await tab.shows('from a tab (offset 1)')

    assert.match(await tutorial.run('curl'), /"ok":true,"traceId":"\w+","position":\{"epoch":"\S+","offset":2\}/)
    const both = ['from a tab (offset 1)', 'hello from a service (offset 2)']
    for (const tab of [one, two]) await tab.shows(...both)

    await one.page.click('#cut')
    await one.says('status', 'reconnecting')
    await tutorial.run('for n')
    const missed = [1, 2, 3].map((n) => `line ${n} (offset ${n + 2})`)
    await two.shows(...both, ...missed)
    await one.shows(...both)
    await one.waits(20)
    await one.says('status', /^connected$/)
    await one.shows(...both, ...missed)

    await gateway.kill('SIGINT')
    tutorial.start('npm start', ALONE)
    const lost = 'Some lines are no longer available: a real page would load the document again here'
    for (const tab of [one, two]) await tab.shows(...both, ...missed, lost)
    assert.deepEqual(tutorial.unused(), ['npm ci', 'mkdir my-page'])
  })

  test('"A shared list": what the service refuses, and the page while it or the gateway is stopped', { timeout: 240_000 }, async (t) => {
    const tutorial = await followTutorial(t, 'docs/tutorials/shared-list.md')
    assert.deepEqual(tutorial.files, ['my-list/settings.env', 'my-list/service.js', 'my-list/index.html', 'my-list/page.js'])
    const gateway = tutorial.start('npm start', ALONE)
    const service = tutorial.start('node --env-file')
    tutorial.start('npx esbuild')
    await answers(tutorial.port(3000))
    const [one, two] = await openTabs(t, `http://localhost:${tutorial.port(8000)}`)
    const list = `http://localhost:${tutorial.port(4000)}/shopping`
    await waitFor(async () => (await fetch(list)).ok, PATIENT)
    assert.equal((await fetch(list, { method: 'POST', body: '[]' })).status, 401, 'a request that the gateway did not sign')
    await one.send('Milk')
    for (const tab of [one, two]) await tab.shows('Milk Remove')
    await two.send('milk')
    await two.says('alert', 'milk is on the list')
    assert.equal(await one.page.textContent('[role=alert]'), '')
    await one.page.getByRole('button', { name: 'Remove' }).click()
    for (const tab of [one, two]) await tab.shows()

    await service.kill('SIGINT')
    await one.send('Bread')
    await waitFor(async () => (await one.page.inputValue('[name=text]')) === '')
    tutorial.start('node --env-file')
    for (const tab of [one, two]) await tab.shows('Bread Remove')
    const file = join(tutorial.folder, 'my-list/lists.json')
    assert.ok(existsSync(file))
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')).shopping.map((/** @type {any} */ { text }) => text), ['Bread'])

    await gateway.kill('SIGINT')
    tutorial.start('npm start', ALONE)
    await answers(tutorial.port(3000))
    await waitFor(async () => {
      await one.send('Eggs')
      return true
    }, PATIENT)
    for (const tab of [one, two]) await tab.shows('Bread Remove', 'Eggs Remove')
    assert.deepEqual(tutorial.unused(), ['mkdir my-list'])
  })

  test('"Log in with the session of your application": refused, logged in, logged out', { timeout: 180_000 }, async (t) => {
    const tutorial = await followTutorial(t, 'docs/tutorials/own-session.md')
    assert.deepEqual(tutorial.files, [
      'my-login/settings.env', 'my-login/app.js', 'my-login/public/index.html', 'my-login/page.js', 'my-login/django_connect.py'
    ])
    const [make, install] = tutorial.unused()
    const { modules, missing } = await npmPackages(install.split(' ').slice(4))
    if (missing) return t.skip(missing)
    symlinkSync(modules, join(tutorial.folder, 'my-login/node_modules'))
    tutorial.start('npx esbuild')
    tutorial.start('npm start', ALONE)
    const application = tutorial.start('node --env-file')
    await answers(tutorial.port(3000))
    const page = `http://localhost:${tutorial.port(4000)}`
    await answers(tutorial.port(4000))
    const [one, other] = await openTabs(t, page)
    for (const tab of [one, other]) await tab.says('status', 'refused: Log in first')

    await one.page.fill('[name=uid]', 'ada')
    await one.page.getByRole('button', { name: 'Log in' }).click()
    await one.says('status', /^connected$/)
    await waitFor(() => application.lastOutput().includes(`ada connects from ${page}`), PATIENT)
    const second = await one.page.context().newPage()
    await second.goto(page)
    await second.getByRole('status').filter({ hasText: /^connected$/ }).waitFor()
    await second.getByRole('button', { name: 'Log out' }).click()
    await one.says('status', 'refused')
    await second.getByRole('status').filter({ hasText: 'refused: Log in first' }).waitFor()
    const unsigned = await fetch(`${page}/connect`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })
    assert.equal(unsigned.status, 401)
    assert.deepEqual(tutorial.unused(), [make, install])
  })
})
