import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newTab, noBrowser } from '../helpers/browser.js'
import { startEmbedded } from '../helpers/embedded.js'
import { sharedBrowser } from '../helpers/shared-browser.js'

const OUTPUT = new URL('../output/browser/', import.meta.url).pathname

test('the page of the api shows each operation, and tries one out', { skip: noBrowser }, async (t) => {
  const inkcast = await startEmbedded(t)
  const browser = await sharedBrowser()
  const page = await newTab(t, browser, { viewport: { width: 1280, height: 900 } })
  page.setDefaultTimeout(60_000)
  /** @type {string[]} */
  const complaints = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(inkcast.apiUrl)) complaints.push(request.url())
  })
  await page.goto(`${inkcast.apiUrl}/docs`)
  const broadcast = page.locator('#operations-documents-broadcast')
  await broadcast.waitFor()
  const { paths } = await (await fetch(`${inkcast.apiUrl}/openapi.json`)).json()
  const described = Object.values(paths).flatMap((methods) => Object.keys(methods)).length
  assert.equal(await page.locator('.opblock').count(), described)

  await broadcast.locator('.opblock-summary-control').click()
  await page.screenshot({ path: `${OUTPUT}api-docs.png` })
  await broadcast.getByRole('button', { name: 'Try it out' }).click()
  assert.equal(await broadcast.locator('input[placeholder="guid"]').inputValue(), 'minutes', 'the example is there')
  await broadcast.getByRole('button', { name: 'Execute' }).click()
  const answer = broadcast.locator('.live-responses-table .response')
  await answer.getByText('"offset": 1').first().waitFor()
  assert.match(await answer.first().innerText(), /^202/)
  assert.deepEqual(complaints, [])
})

test('production has no such page', async (t) => {
  const { apiUrl } = await startEmbedded(t, {
    NODE_ENV: 'production', API_TOKENS: 'editor:0123456789abcdef', AUTH_JWT_SECRET: 'x'.repeat(64)
  })
  const answer = await fetch(`${apiUrl}/docs/`, { headers: { authorization: 'Bearer 0123456789abcdef' } })
  assert.equal(answer.status, 404)
})
